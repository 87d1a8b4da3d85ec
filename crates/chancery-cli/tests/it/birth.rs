//! The rows `birth` and `dot-birth-admit` of the CLI: a table of one's own, from its protection to its release.

use serde_json::{Value, json};

use crate::place::{Place, Said};

/// A table that was there before, with rows, a counter and a constraint that speaks at the end.
const SHOP: &str = "
  create schema shop;
  create table shop.label (title text primary key);
  insert into shop.label values ('The Trial'), ('F for Fake');
  create table shop.film (id serial primary key, code text not null unique, title text, minutes int constraint minutes_are_some check (minutes > 0),
    constraint has_a_label foreign key (title) references shop.label deferrable initially deferred);
  insert into shop.film (code, title) values ('F-0', 'The Trial')";

fn with_shop() -> Place {
    Place::prepared("birth", |place| {
        for (name, class) in [("alice", "pic_human"), ("bob", "reviewer"), ("carol", "sovereign")] {
            place.done(&["principal", "add", name, "--kind", "human", "--class", class]);
            place.done(&["key", "new", name]);
        }
        place.superuser(SHOP);
    })
}

fn protect(place: &Place, more: &[&str]) -> Value {
    let protect = ["birth", "protect", "shop.film", "--code", "code", "--name-column", "title"];
    let rule = ["--rule", "^F-[0-9]+$", "--as", "alice"];
    place.json(&[&protect[..], &rule, more].concat())
}

fn admit(place: &Place, code: &str, name: &str, payload: &str, more: &[&str]) -> Said {
    let what = ["--collection", "shop.film", "--code", code, "--name", name, "--payload", payload];
    let how = ["--species", "FILM", "--role", "governed", "--actor", "alice"];
    place.dot_birth_admit(&[&what[..], &how, more].concat())
}

/// A refusal behind the steps that were made until then.
#[track_caller]
fn refused(said: &Said, code: &str) {
    assert!(said.stderr.starts_with(&format!("refused {code} ")), "{said:?}");
    assert!(said.stderr.contains("\nhint: "), "{said:?}");
}

fn films(place: &Place) -> String {
    place.superuser("select string_agg(code, ' ' order by code) from shop.film").trim().to_owned()
}

fn permits(place: &Place) -> String {
    let status = place.json(&["birth", "status", "shop.film"]);
    let count =
        |row: &Value| format!("{} {}", row["status"].as_str().unwrap_or("?"), row["permits"]);
    let rows = status["permits"].as_array().expect("permits").iter().map(count);
    rows.collect::<Vec<_>>().join(", ")
}

/// ADM-1, ADM-2, ADM-3, ADM-5, ADM-8 and the rows `dot-birth-admit` and `birth` of the CLI.
#[test]
fn a_table_of_ones_own_from_its_protection_to_its_release() {
    let place = with_shop();
    a_table_that_does_not_fit_stays_as_it_is(&place);
    let family = protect(&place, &["--enforce"])["family"].clone();
    assert_eq!(
        (&family["collection_name"], &family["mode"], &family["armed"]),
        (&json!("shop.film"), &json!("enforced"), &json!(true))
    );
    a_rehearsal_leaves_everything_as_it_was(&place);
    an_object_is_born_once(&place);
    what_the_rules_refuse(&place);
    what_the_table_does_not_take_is_on_record(&place);
    permits_for_a_manifest(&place);
    a_permit_is_taken_back(&place);
    a_login_of_ones_own_inserts(&place);
    a_gate_that_was_taken_away_is_found(&place);
    a_birth_that_needs_an_approval(&place);
    the_glass_is_broken_with_somebody_elses_word(&place);

    let released = place.json(&["birth", "release", "shop.film", "--as", "alice"]);
    assert_eq!(released["family"]["mode"], "released");
    place.superuser("insert into shop.film (code) values ('by hand')");
    assert_eq!(place.superuser("select count(*) from pg_trigger where tgname like '%chancery%' and tgrelid = 'shop.film'::regclass").trim(), "0");
    let rights = "select has_table_privilege('birth_writer', 'shop.film', 'insert')";
    assert_eq!(place.superuser(rights).trim(), "f", "what the protection gave is taken back");
    place.refused("RB002", &["birth", "check", "--collection", "shop.film", "--code", "F-1"]);
    assert_eq!(place.json(&["audit", "verify"])["ok"], true);
}

fn a_table_that_does_not_fit_stays_as_it_is(place: &Place) {
    let before = place.fingerprint();
    let protect = |table: &str, code: &str| {
        place.run(&["birth", "protect", table, "--code", code, "--enforce", "--as", "alice"])
    };
    let said = protect("shop.films", "code").ends_with(1);
    assert!(said.stderr.contains("there is no table shop.films"), "{said:?}");
    let said = protect("film", "code").ends_with(1);
    assert!(said.stderr.contains("SCHEMA.TABLE"), "{said:?}");
    refused(&protect("shop.film", "colour").ends_with(3), "RB018");
    refused(&protect("shop.film", "title").ends_with(3), "RB018");
    refused(&protect("fsm.run", "run_id").ends_with(3), "RB018");
    let said = place.run(&["birth", "protect", "shop.film", "--code", "code", "--as", "nobody"]);
    refused(&said.ends_with(3), "RI001");
    assert_eq!(place.fingerprint(), before);
    assert_eq!(place.superuser("select count(*) from pg_trigger where tgname like '%chancery%' and tgrelid = 'shop.film'::regclass").trim(), "0");
}

fn a_rehearsal_leaves_everything_as_it_was(place: &Place) {
    let before = place.fingerprint();
    let said = admit(place, "F-1", "The Trial", r#"{"minutes": 118}"#, &[]).ends_with(0);
    assert!(said.stdout.contains("would be born: shop.film F-1"), "{said:?}");
    assert!(said.stderr.contains("nothing was changed"), "{said:?}");
    let answer = admit(place, "F-1", "The Trial", r#"{"minutes": 118}"#, &["--dry-run", "--json"]);
    let answer = answer.ends_with(0).json();
    assert_eq!(answer["standing"], "would_be_born");
    assert_eq!(answer["row"], json!({ "code": "F-1", "title": "The Trial", "minutes": 118 }));
    // A constraint of the row, one that is deferred, and a rule of ours.
    let said = admit(place, "F-1", "The Trial", r#"{"minutes": -1}"#, &[]).ends_with(3);
    assert!(said.stdout.contains("would be rejected by the table: 23514"), "{said:?}");
    let late = admit(place, "F-1", "Nobody", "{}", &["--json"]).ends_with(3).json();
    assert_eq!(late["rejected"]["constraint"], "has_a_label", "{late}");
    let said = admit(place, "Film 1", "The Trial", "{}", &[]).ends_with(3);
    assert!(said.stdout.contains("would be refused RB003"), "{said:?}");
    assert_eq!(place.fingerprint(), before);
}

fn an_object_is_born_once(place: &Place) {
    let commit =
        || admit(place, "F-1", "The Trial", r#"{"minutes": 118}"#, &["--commit"]).ends_with(0);
    let said = commit();
    let phases: Vec<&str> = said
        .stdout
        .lines()
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        phases,
        ["REQUESTED", "VALIDATED", "RESERVED", "CONSUMED", "FINALIZED", "HANDOFF_ENQ", "DONE"]
    );
    assert!(said.stdout.contains("  ok  code_keeps_the_rule"), "{said:?}");
    let row = "select format('%s %s %s', code, title, minutes) from shop.film where code = 'F-1'";
    assert_eq!(place.superuser(row).trim(), "F-1 The Trial 118");

    let before = place.fingerprint();
    assert!(commit().stderr.contains("nothing was done twice"));
    let payload = r#"{"minutes": 118}"#;
    let same = [
        "birth",
        "admit",
        "--collection",
        "film",
        "--code",
        "F-1",
        "--name",
        "The Trial",
        "--species",
        "FILM",
        "--role",
        "governed",
        "--payload",
        payload,
        "--commit",
        "--as",
        "alice",
    ];
    let again = place.json(&same);
    assert_eq!((&again["replayed"], &again["phase"]), (&json!(true), &json!("DONE")));
    assert_eq!(place.fingerprint(), before, "a repeated command changes nothing");
}

fn what_the_rules_refuse(place: &Place) {
    let refuse = |code: &str, what: &str| {
        refused(&admit(place, what, "The Trial", "{}", &["--commit"]).ends_with(3), code);
    };
    refuse("RB010", "F-1");
    refuse("RB003", "Film 1");
    let said = admit(place, "F-2", "The Trial", r#"{"colour": "red"}"#, &["--commit"]).ends_with(3);
    refused(&said, "RB020");
    let said = admit(place, "F-2", "The Trial", "{minutes}", &["--commit"]).ends_with(2);
    assert!(said.stderr.contains("payload is not JSON: line 1 column 2"), "{said:?}");
    place.refused(
        "RB002",
        &[
            "birth",
            "admit",
            "--collection",
            "shop.actor",
            "--code",
            "A",
            "--as",
            "alice",
            "--commit",
        ],
    );
    // By hand, as the login that inserts and as the administrator.
    for (login, exit) in [("--role=birth_writer", 1), ("--admin", 1)] {
        let insert = "insert into shop.film (code) values ('F-2')";
        let said = place.run(&["db", "psql", login, "--", "-c", insert]).ends_with(exit);
        assert!(said.stderr.contains("Nothing may be born here without a permit"), "{said:?}");
    }
    assert_eq!(films(place), "F-0 F-1");
    let steps = "select string_agg(phase || ' ' || status, ', ' order by at) from iu.dot_iu_command_run where after_state like '%RB003%'";
    assert_eq!(place.superuser(steps).trim(), "FAILED failed", "a refused request is on record");
}

fn what_the_table_does_not_take_is_on_record(place: &Place) {
    let said = admit(place, "F-2", "The Trial", r#"{"minutes": -1}"#, &["--commit"]).ends_with(3);
    assert!(
        said.stderr.starts_with("refused insert_rejected: shop.film did not take F-2: 23514 "),
        "{said:?}"
    );
    assert!(said.stdout.lines().any(|line| line.starts_with("FAILED ")), "{said:?}");
    let said = admit(place, "F-2", "Nobody", "{}", &["--commit", "--json"]).ends_with(3).json();
    let problem = &said["refused"]["problems"][0];
    assert_eq!(
        (&problem["phase"], &problem["rejected"]["constraint"]),
        (&json!("FAILED"), &json!("has_a_label"))
    );
    assert_eq!(films(place), "F-0 F-1");
    assert_eq!(permits(place), "FAILED 2, FINALIZED 1");
    let why = "select string_agg(distinct evidence::jsonb ->> 'failure_reason', ' | ') from fsm.transition_log where to_state = 'FAILED'";
    let why = place.superuser(why);
    assert!(why.contains("23514 ") && why.contains("has_a_label"), "{why}");
    // Mended, it gets a fresh permit.
    admit(place, "F-2", "F for Fake", r#"{"minutes": 88}"#, &["--commit"]).ends_with(0);
    assert_eq!(films(place), "F-0 F-1 F-2");
}

fn permits_for_a_manifest(place: &Place) {
    let manifest = "F-10\n\nF-11\n{\"code\": \"F-12\", \"name\": \"The Trial\"}\n";
    let batch =
        ["birth", "batch", "--collection", "shop.film", "--file", "-", "--as", "alice", "--json"];
    let reserved = place.fed(manifest.as_bytes(), &batch).ends_with(0).json();
    assert_eq!(reserved["reserved"], 3);
    let again = place.fed(manifest.as_bytes(), &batch).ends_with(0).json();
    assert_eq!((&again["reserved"], &again["permits"]), (&json!(0), &reserved["permits"]));
    let wrong = place.fed(b"F-13\nF-13\n", &batch).ends_with(3).json();
    assert_eq!(wrong["refused"]["code"], "RB003", "all or none");
    // Whoever may insert uses them, in one statement.
    place.superuser("insert into shop.film (code) values ('F-10'), ('F-11')");
    assert_eq!(permits(place), "FAILED 2, FINALIZED 4, RESERVED 1");
    // A live permit stands for its own intent only.
    let said = admit(place, "F-12", "F for Fake", "{}", &["--commit"]).ends_with(3);
    refused(&said, "RB009");
}

fn a_permit_is_taken_back(place: &Place) {
    let permit = "select permit_id from birth.birth_admission_permit where status = 'RESERVED'";
    let permit = place.superuser(permit).trim().to_owned();
    let revoke =
        |by: &'static str| ["birth", "revoke", &permit, "--reason", "ordered twice", "--as", by];
    place.refused("RB016", &[&revoke("alice")[..], &["--class", "reviewer"]].concat());
    assert_eq!(place.done(&revoke("bob")).stdout, "REVOKED\n");
    let again = place.json(&revoke("bob"));
    assert_eq!((&again["status"], &again["replayed"]), (&json!("REVOKED"), &json!(true)));
    let insert = "insert into shop.film (code) values ('F-12')";
    let said = place.run(&["db", "psql", "--admin", "--", "-c", insert]).ends_with(1);
    assert!(said.stderr.contains("\"why\": \"revoked\""), "{said:?}");
    assert_eq!(permits(place), "FAILED 2, FINALIZED 4, REVOKED 1");
}

/// A trigger of the table's owner that writes elsewhere runs as who inserts: birth_writer may not, a login of one's own may.
fn a_login_of_ones_own_inserts(place: &Place) {
    place.superuser(
        "create table shop.diary (what text);
         create function shop.note() returns trigger language plpgsql as $$ begin insert into shop.diary values (new.code || ' by ' || session_user); return null; end $$;
         create trigger note after insert on shop.film for each row execute function shop.note();
         create role shop_clerk login password 'till'; grant usage on schema shop to shop_clerk;
         grant insert on shop.film, shop.diary to shop_clerk; grant usage on sequence shop.film_id_seq to shop_clerk;
         grant connect on database chancery to shop_clerk",
    );
    let said = admit(place, "F-3", "The Trial", "{}", &["--commit"]).ends_with(3);
    assert!(said.stderr.contains("42501") && said.stderr.contains("--writer"), "{said:?}");
    let status = place.json(&["db", "status"]);
    let socket = status["socket_dir"].as_str().expect("a folder");
    let writer = format!("postgresql://shop_clerk:till@/chancery?host={socket}");
    let said = admit(place, "F-3", "The Trial", "{}", &["--writer", &writer]).ends_with(1);
    assert!(said.stderr.contains("grant execute on function birth.fn_birth_rehearse"), "{said:?}");
    assert!(!said.stderr.contains("till"), "no password in a message: {said:?}");
    admit(place, "F-3", "The Trial", "{}", &["--commit", "--writer", &writer]).ends_with(0);
    assert_eq!(place.superuser("select what from shop.diary").trim(), "F-3 by shop_clerk");
    place.superuser("drop trigger note on shop.film");
}

fn the_glass_is_broken_with_somebody_elses_word(place: &Place) {
    let glass = [
        "birth",
        "break-glass",
        "shop.film",
        "--reason",
        "the old shop",
        "--minutes",
        "5",
        "--as",
        "alice",
    ];
    let said = place.run(&glass).ends_with(4);
    let approval = said.stdout.trim().to_owned();
    let with = |approval: &'static str| -> Vec<&str> { [&glass[..], &[approval]].concat() };
    place.refused("RA006", &[with("--approval"), vec![&approval]].concat());
    place.done(&["approval", "vote", &approval, "--approve", "--as", "carol"]);
    place.done(&[with("--approval"), vec![&approval]].concat());
    let status = place.json(&["birth", "status", "shop.film"]);
    assert_eq!(status["families"][0]["mode"], "glass_broken");
    place.superuser("insert into shop.film (code) values ('F-20')");
    let said = place.done(&["birth", "status", "film"]);
    let row =
        said.stdout.lines().find(|line| line.contains("glass_broken") && line.contains("F-20"));
    assert!(row.is_some_and(|row| row.contains("chancery_admin")), "{said:?}");
}

/// ADM-3: where the policy asks for it, each birth has an approval of its own, for exactly this request.
fn a_birth_that_needs_an_approval(place: &Place) {
    protect(place, &["--enforce", "--require-approval"]);
    let rehearsed = admit(place, "F-4", "The Trial", "{}", &["--json"]).ends_with(3).json();
    assert_eq!(rehearsed["refused"]["code"], "RB011", "{rehearsed}");
    let digest = rehearsed["request_hash"].as_str().expect("a digest");
    refused(&admit(place, "F-4", "The Trial", "{}", &["--commit"]).ends_with(3), "RB011");
    let ask = ["approval", "request", "--kind", "birth_admission", "--subject", "shop.film/F-4"];
    let about = ["--digest", digest, "--title", "F-4 may be born", "--as", "alice"];
    let approval = place.done(&[&ask[..], &about].concat()).stdout.trim().to_owned();
    let given = ["--commit", "--approval", &approval];
    refused(&admit(place, "F-4", "The Trial", "{}", &given).ends_with(3), "RA006");
    place.done(&["approval", "vote", &approval, "--approve", "--as", "bob"]);
    let other = admit(place, "F-4", "F for Fake", "{}", &given).ends_with(3);
    refused(&other, "RA003");
    admit(place, "F-4", "The Trial", "{}", &given).ends_with(0);
    admit(place, "F-4", "The Trial", "{}", &given).ends_with(0);
    assert!(films(place).contains("F-4"));
    protect(place, &["--enforce"]);
}

fn a_gate_that_was_taken_away_is_found(place: &Place) {
    place.superuser("alter table shop.film disable trigger zzz_chancery_birth_gate");
    let said = place.run(&["doctor"]).ends_with(1);
    let line = said.stdout.lines().find(|line| line.starts_with("the gates of all tables"));
    assert!(line.is_some_and(|line| line.contains("no") && line.contains("shop.film")), "{said:?}");
    let said = place.done(&["birth", "status"]);
    assert!(said.stderr.contains("the gate of shop.film is not in place"), "{said:?}");
    let family = protect(place, &["--enforce"])["family"].clone();
    assert_eq!(family["armed"], true);
    place.done(&["doctor"]);
    // Protecting again changes what is named, and nothing else: what only reports again says so.
    let said = place.done(&["birth", "protect", "shop.film", "--as", "alice"]);
    assert!(said.stdout.contains("enforced since"), "{said:?}");
    let said = place.done(&["birth", "protect", "shop.film", "--report-only", "--as", "alice"]);
    assert!(said.stdout.contains("report_only"), "{said:?}");
    place.superuser("insert into shop.film (code) values ('any code')");
    let said = place.done(&["birth", "status", "shop.film"]);
    assert!(said.stdout.contains("permit_missing"), "{said:?}");
    assert_eq!(protect(place, &["--enforce"])["family"]["mode"], "enforced");
}
