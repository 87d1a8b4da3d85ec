//! Bad documents and bad requests: each is refused by name with what and where, and nothing is written.

use chancery_model::cutter::entry_id;
use serde_json::{Value, json};

use crate::cutter::{approved, with_people};
use crate::place::Place;

/// A place where nothing may change any more.
struct Still<'a> {
    place: &'a Place,
    before: String,
}

impl<'a> Still<'a> {
    fn new(place: &'a Place) -> Self {
        Self { place, before: place.fingerprint() }
    }

    /// Refused with this code, for people and for programs; answers the first problem.
    #[track_caller]
    fn refuses(&self, code: &str, args: &[&str]) -> Value {
        let refused = self.place.refused(code, args);
        assert_eq!(self.place.fingerprint(), self.before, "something was written after {code}");
        refused["problems"][0].clone()
    }
}

/// IU-1 and the list "bad input": what cannot be cut is not stored.
#[test]
fn a_bad_document_is_refused_with_what_and_where_and_nothing_is_stored() {
    let place = with_people();
    let good = place.file("good.md", "# Good\n");
    place.done(&["doc", "add", &good, "--id", "good", "--prefix", "GG", "--as", "alice"]);
    let still = Still::new(&place);
    let bytes = |name: &str, bytes: &[u8]| {
        let path = place.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path.to_str().expect("a plain path").to_owned()
    };
    let unfit = |file: &str, more: &[&str]| {
        let add = ["doc", "add", file, "--id", "bad", "--prefix", "BB", "--as", "alice"];
        still.refuses("RI022", &[&add, more].concat())
    };

    let problem = unfit(&bytes("latin.md", b"# A\n\nna\xefve\n"), &[]);
    assert_eq!(
        (&problem["reason"], &problem["line"], &problem["offset"]),
        (&json!("not_utf8"), &json!(3), &json!(7))
    );
    let problem = unfit(&bytes("nul.md", b"# A\n\0\n"), &[]);
    assert_eq!((&problem["reason"], &problem["line"]), (&json!("nul_character"), &json!(2)));
    for empty in [&b""[..], b" \n\t\n"] {
        assert_eq!(unfit(&bytes("empty.md", empty), &[])["reason"], "empty");
    }
    assert_eq!(unfit(&bytes("plain.md", b"just words\n"), &[])["reason"], "no_structure");
    let problem = unfit(&bytes("other.md", b"# A heading\n"), &["--profile", "legal-vi"]);
    assert_eq!(
        (&problem["reason"], &problem["profile"]),
        (&json!("no_structure"), &json!("legal-vi"))
    );
    let problem = unfit(&bytes("twice.md", b"# A\n\n## Scope\n\nx\n\n## Scope\n"), &[]);
    assert_eq!(
        (&problem["reason"], &problem["address"]),
        (&json!("address_collision"), &json!("BB/a-scope"))
    );
    assert_eq!((&problem["first_line"], &problem["line"]), (&json!(3), &json!(7)));

    // Two documents with one prefix, another prefix for a known document, none for a new one, a name that is none.
    let add = |id: &str, prefix: &[&str]| {
        [&["doc", "add", &good, "--id", id, "--as", "alice"], prefix].concat().join("\n")
    };
    for (code, line) in [
        ("RI021", add("other", &["--prefix", "GG"])),
        ("RI020", add("good", &["--prefix", "HH"])),
        ("RI020", add("new", &[])),
        ("RI020", add("new", &["--prefix", "lower"])),
        ("RI020", add("No Name", &["--prefix", "NN"])),
        ("RI001", add("new", &["--prefix", "NN"]).replace("alice", "nobody")),
    ] {
        still.refuses(code, &line.split('\n').collect::<Vec<_>>());
    }
    let missing =
        place.run(&["doc", "add", "no/such/file", "--id", "x", "--prefix", "XX", "--as", "alice"]);
    assert!(missing.ends_with(1).stderr.contains("no/such/file"), "the file is named");
    let unknown = place.run(&["doc", "units", "nothing"]).ends_with(1);
    assert!(unknown.stderr.contains("there is no document nothing"), "{unknown:?}");
}

/// CUT-1, CUT-3, CUT-4, CUT-5, CUT-11 and the list "bad input": who may not, may not, and nothing is half done.
#[test]
fn a_bad_request_is_refused_by_name_and_changes_nothing() {
    let place = with_people();
    let waiting = approved(&place, "waiting", "WW", "# Waiting\n");
    let cut = approved(&place, "cut", "CC", "# Cut\n");
    place.done(&["cutter", "cut", &cut, "--as", "both"]);
    let file = place.file("marked.md", "# Marked\n");
    place.done(&["principal", "add", "alice", "--kind", "human", "--class", "review_authority"]);
    place.done(&["doc", "add", &file, "--id", "marked", "--prefix", "MM", "--as", "alice"]);
    let marked = place.done(&["cutter", "mark", "marked", "--as", "alice"]).stdout;
    let marked = marked.trim_end();
    let early = Still::new(&place);
    early.refuses("RS004", &["cutter", "review", marked, "--approve", "--as", "rita"]);
    early.refuses("RS004", &["cutter", "cut", marked, "--as", "executor"]);
    early.refuses("RC019", &["cutter", "verify", marked, "--as", "verifier"]);
    place.done(&["cutter", "sweep", "--as", "executor"]);

    let still = Still::new(&place);
    // A request that waits for itself: its id follows from its key.
    let own = entry_id("round").to_string();
    let circle =
        ["cutter", "mark", "marked", "--key", "round", "--depends-on", &own, "--as", "alice"];
    assert_eq!(still.refuses("RC003", &circle)["cycle"], json!([own, own]));
    let unknown = "00000000-0000-7000-8000-000000000000";
    let blocked =
        ["cutter", "mark", "marked", "--key", "x", "--depends-on", unknown, "--as", "alice"];
    assert_eq!(still.refuses("RC004", &blocked)["unknown"], json!([unknown]));
    still.refuses("RC015", &["cutter", "mark", "marked", "--depends-on", &cut, "--as", "alice"]);
    still.refuses("RC002", &["cutter", "mark", "nothing", "--as", "alice"]);
    still.refuses("RI003", &["cutter", "mark", "marked", "--key", "y", "--as", "carol"]);
    still.refuses("RI003", &["cutter", "sweep", "--as", "alice"]);

    // An approval by the one who marked, by nobody in authority, of a plan that changed.
    let own = still.refuses("RS006", &["cutter", "review", marked, "--approve", "--as", "alice"]);
    assert_eq!(own["guard"], "G-REVIEW-AUTH");
    still.refuses("RI003", &["cutter", "review", marked, "--approve", "--as", "carol"]);
    let other = "ab".repeat(32);
    still.refuses(
        "RC006",
        &["cutter", "review", marked, "--approve", "--manifest", &other, "--as", "rita"],
    );

    // A CUT by the verifier, a VERIFY by the executor, and by whoever cut.
    still.refuses("RI003", &["cutter", "cut", &waiting, "--as", "verifier"]);
    still.refuses("RI003", &["cutter", "verify", &cut, "--as", "executor"]);
    still.refuses("RC020", &["cutter", "verify", &cut, "--as", "both"]);
    let doors = [
        (
            "cutter_verify",
            "cutter_governance.fn_cut(null, null, null, null, null, null, null, null, null, null, null, null)",
        ),
        (
            "cutter_exec",
            "cutter_governance.fn_verify(null, null, null, null, null, null, null, null, null, null, null, null, null, null)",
        ),
    ];
    for (login, door) in doors {
        let select = format!("select {door}");
        let said = place.run(&["db", "psql", "--role", login, "--", "-c", &select]).ends_with(1);
        assert!(said.stderr.contains("permission denied for function"), "{said:?}");
    }
    // CUT twice gives the first answer and writes nothing.
    assert_eq!(place.json(&["cutter", "cut", &cut, "--as", "both"])["replayed"], true);

    still.refuses("RI003", &["cutter", "abandon", &waiting, "--reason", "no", "--as", "alice"]);
    for args in [
        &["cutter", "show", unknown][..],
        &["cutter", "show", "nothing"],
        &["cutter", "review", unknown, "--preview"],
        &["cutter", "cut", unknown, "--as", "executor"],
    ] {
        still.refuses("RC001", args);
    }
}
