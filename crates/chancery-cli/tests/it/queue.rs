//! The queue on the command line: from a job to a dead letter that runs again, by three people.

use serde_json::{Value, json};

use crate::place::Place;

fn with_people() -> Place {
    Place::prepared("queue", |place| {
        for (name, kind, classes) in [
            ("alice", "human", "pic_human"),
            ("bob", "human", "reviewer"),
            ("carol", "human", "pic_human,reviewer"),
            ("hall", "service", "executor_worker"),
        ] {
            place.done(&["principal", "add", name, "--kind", kind, "--class", classes]);
            place.done(&["key", "new", name]);
        }
    })
}

/// What a worker does, behind its login.
fn worker(place: &Place, call: &str) -> String {
    place.superuser(&format!("set session authorization chancery_app; select {call}"))
}

/// Leases what is due and reports on all of it.
fn work(place: &Place, outcome: &str, detail: &Value) {
    let report = worker(
        place,
        &format!(
            "queue.fn_job_ack('w', 'hall', array_agg(c.job_id), array_agg(c.lease_no), array_agg('{outcome}'::text), array_agg('{detail}'::jsonb))
               from queue.fn_job_claim('noop', 100, 'w', 'hall') c"
        ),
    );
    assert!(report.contains(r#""refused": []"#), "{report}");
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} in {value}"))
}

/// EVT-4 and the row `queue` of the CLI: a job dies; alice proposes, cannot approve herself, bob approves, carol runs it; the outcome is
/// recorded, the original settled, and the audit holds.
#[test]
fn a_dead_letter_runs_again_through_three_people() {
    let place = with_people();
    let add =
        ["queue", "add", "--class", "noop", "--kind", "greet", "--key", "greet-1", "--as", "alice"];
    let said = place.done(&[&add[..], &["--payload", r#"{"whom": "doc/42"}"#]].concat());
    let job = said.stdout.trim_end().to_owned();
    let again = place.json(&[&add[..], &["--payload", r#"{"whom": "doc/42"}"#]].concat());
    assert_eq!(again[0], json!({ "job_id": job, "key": "greet-1", "replayed": true }));
    place.refused("RE009", &[&add[..], &["--payload", r#"{"whom": "doc/43"}"#]].concat());
    work(&place, "failed_for_good", &json!({ "reason": "doc/42 is not there" }));

    let letters = place.json(&["queue", "dead", "list"]);
    assert_eq!(
        (text(&letters[0], "job_id"), text(&letters[0], "reason")),
        (job.as_str(), "doc/42 is not there")
    );
    for show in [&["queue", "dead", "show", &job][..], &["queue", "show", &job]] {
        let shown = place.done(show).stdout;
        assert!(shown.contains("doc/42 is not there") && shown.contains("dead_letter"), "{shown}");
    }
    let preview = place.json(&["queue", "replay", "preview", &job, "--stagger", "5s"]);
    assert_eq!(
        (&preview[0]["against"], &preview[0]["payload"]["whom"]),
        (&Value::Null, &json!("doc/42"))
    );

    let batch = "0197c0de-0000-7000-8000-000000000002";
    let propose = [
        "queue",
        "replay",
        "propose",
        &job,
        "--reason",
        "it is there now",
        "--batch",
        batch,
        "--as",
        "alice",
    ];
    let proposed = place.json(&propose);
    let approval = text(&proposed["approval"], "approval_id").to_owned();
    let before = place.fingerprint();
    assert_eq!(place.json(&propose)["approval"]["approval_id"], json!(approval), "asked once");
    assert_eq!(before, place.fingerprint(), "nothing changed");
    assert!(place.done(&propose).stdout.contains(&format!("approval  {approval}")));

    let run = [
        "queue",
        "replay",
        "run",
        batch,
        "--approval",
        &approval,
        "--as",
        "carol",
        "--class",
        "pic_human",
    ];
    place.refused("RA006", &run);
    place.refused("RA004", &["approval", "vote", &approval, "--approve", "--as", "alice"]);
    place
        .refused("RA002", &["queue", "replay", "run", batch, "--approval", batch, "--as", "alice"]);
    place.refused(
        "RE016",
        &["queue", "replay", "run", &job, "--approval", &approval, "--as", "alice"],
    );
    place.refused("RE015", &["queue", "dead", "dismiss", &job, "--reason", "no", "--as", "bob"]);
    assert_eq!(
        place.done(&["approval", "vote", &approval, "--approve", "--as", "bob"]).stdout,
        "approved\n"
    );
    let replay = place.done(&run).stdout.trim_end().to_owned();
    assert_eq!(place.json(&run)["replayed"], true);
    let new = place.json(&["queue", "show", &replay]);
    let request = text(&new, "replay_request_id").to_owned();
    assert_eq!(text(&new, "idempotency_key"), format!("replay:{request}"));

    work(&place, "succeeded", &json!({ "sent": 1 }));
    let end = place.json(&["queue", "replay", "show", batch]);
    assert_eq!(
        (text(&end[0], "state"), text(&end[0]["outcome"], "outcome")),
        ("completed", "succeeded")
    );
    assert_eq!(text(&place.json(&["queue", "show", &job]), "state"), "cleaned");
    assert_eq!(place.json(&["queue", "dead", "list"]), json!([]));
    assert_eq!(place.json(&["queue", "dead", "list", "--all"]).as_array().map(Vec::len), Some(1));
    let audit = place.json(&["audit", "verify"]);
    assert_eq!(audit["ok"], true, "{audit}");
}

/// The row `queue` of the CLI: many jobs from stdin, what a person takes back, and what is refused.
#[test]
fn jobs_are_added_looked_at_and_taken_back() {
    let place = with_people();
    let lines = "{\"key\": \"a\"}\n\n{\"key\": \"b\", \"kind\": \"other\", \"priority\": 1}\n{\"delay_ms\": 60000}\n";
    let add = ["queue", "add", "--class", "noop", "--kind", "greet", "--stdin", "--as", "carol"];
    let said = place.fed(lines.as_bytes(), &add).ends_with(0);
    let ids: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(ids.len(), 3);
    let listed = place.json(&["queue", "list", "--class", "noop", "--state", "queued"]);
    let kinds: Vec<&str> =
        listed.as_array().expect("a list").iter().map(|job| text(job, "job_kind")).collect();
    assert_eq!(kinds, ["greet", "other", "greet"], "the newest first");
    for (wrong, why) in [
        ("{\"key\": 1}\n", "line 1"),
        ("{}\n[]\n", "line 2"),
        ("\n", "no jobs"),
        ("{\"colour\": 1}", "colour"),
    ] {
        let said = place.fed(wrong.as_bytes(), &add).ends_with(2);
        assert!(said.stderr.contains(why), "{said:?}");
    }
    let depth = place.json(&["queue", "depth"]);
    assert_eq!((&depth[0]["state"], &depth[0]["jobs"]), (&json!("queued"), &json!(3)));
    assert!(place.done(&["queue", "depth"]).stdout.contains("queued"));

    let cancel = ["queue", "cancel", ids[0], "--reason", "ordered twice", "--as", "alice"];
    assert_eq!(place.done(&cancel).stdout, "cancelled\n");
    assert_eq!(place.json(&cancel)["replayed"], true);
    let shown = place.json(&["queue", "show", ids[0]]);
    assert_eq!(
        (text(&shown, "state"), &shown["history"][0]["principal"]),
        ("cancelled", &json!("alice"))
    );
    work(&place, "succeeded", &json!({}));
    place.refused("RE012", &["queue", "cancel", ids[1], "--reason", "late", "--as", "alice"]);
    let nobody = "01a1decd-0b7f-736d-9439-d078b0a6b934";
    place.refused("RE011", &["queue", "cancel", nobody, "--reason", "r", "--as", "alice"]);
    place.refused("RE011", &["queue", "show", nobody]);
    place.refused("RE015", &["queue", "dead", "show", nobody]);
    place.refused("RE016", &["queue", "replay", "show", nobody]);
    place.refused(
        "RE006",
        &["queue", "add", "--class", "nobody", "--kind", "k", "--key", "k", "--as", "alice"],
    );
    place.refused(
        "RE007",
        &["queue", "add", "--class", "noop", "--kind", "k", "--key", " ", "--as", "alice"],
    );
    let secret = [
        "queue",
        "add",
        "--class",
        "noop",
        "--kind",
        "k",
        "--key",
        "k",
        "--payload",
        r#"{"password": "x"}"#,
    ];
    place.refused("RE008", &[&secret[..], &["--as", "alice"]].concat());
    place.refused(
        "RI003",
        &["queue", "add", "--class", "noop", "--kind", "k", "--key", "k", "--as", "bob"],
    );
    assert_eq!(place.json(&["audit", "verify"])["ok"], true);
}

/// The row `queue` of the CLI: classes and policies are the operator's, and data.
#[test]
fn classes_and_policies_are_put_and_listed() {
    let place = with_people();
    let policy =
        ["queue", "policy", "put", "brisk", "--tries", "3", "--first", "200ms", "--longest", "5s"];
    let policy = [&policy[..], &["--description", "Three quick tries"]].concat();
    assert_eq!(place.done(&policy).stdout, "brisk\n");
    place.refused("RE013", &[&policy[..], &["--jitter", "2"]].concat());
    let class =
        ["queue", "class", "put", "post", "--lease", "2m", "--description", "Posts letters"];
    assert_eq!(place.done(&[&class[..], &["--policy", "brisk"]].concat()).stdout, "post\n");
    place.refused("RE014", &[&class[..], &["--policy", "nothing"]].concat());
    let classes = place.json(&["queue", "class", "list"]);
    let names: Vec<&str> =
        classes.as_array().expect("a list").iter().map(|c| text(c, "executor_class")).collect();
    assert_eq!(names, ["command", "cutter", "http", "noop", "post"]);
    assert_eq!(
        (&classes[4]["lease_seconds"], &classes[4]["max_attempts"]),
        (&json!(120), &json!(3))
    );
    let policies = place.json(&["queue", "policy", "list"]);
    assert_eq!(policies.as_array().map(Vec::len), Some(4));
    for list in [["queue", "class", "list"], ["queue", "policy", "list"]] {
        assert!(place.done(&list).stdout.contains("brisk"));
    }
}
