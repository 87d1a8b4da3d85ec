//! Approvals on the command line: from a refused move to the move.

use serde_json::{Value, json};

use crate::place::Place;

pub(crate) const LETTER: &str = r#"
machine: letter
scope: custom
version: 1.0.0
description: A letter that is written and sent.
events:
  - { type: letter.drafted, description: A letter was begun. }
  - { type: letter.posted, description: It left the house. }
states:
  - { code: draft, class: idle, initial: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Draft, vi: Nháp }, message: { en: being written, vi: đang viết } }
  - { code: sent, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Sent, vi: Đã gửi }, message: { en: gone, vi: đã đi } }
transitions:
  - { id: begin, from: "∅", to: draft, actors: [pic_human], trigger: { kind: rpc, ref: letter_begin }, event: letter.drafted }
  - { id: post, from: draft, to: sent, actors: [pic_human], trigger: { kind: rpc, ref: letter_post }, event: letter.posted, proposed: true }
"#;

fn with_people() -> Place {
    Place::prepared("approval", |place| {
        for (name, kind, classes) in [
            ("alice", "human", "pic_human"),
            ("bob", "human", "reviewer"),
            ("carol", "human", "sovereign"),
            ("rita", "human", "review_authority"),
            ("both", "human", "reviewer,sovereign"),
            ("executor", "service", "executor_dot991"),
            ("verifier", "service", "verifier_dot992"),
        ] {
            place.done(&["principal", "add", name, "--kind", kind, "--class", classes]);
            place.done(&["key", "new", name]);
        }
    })
}

/// APR-1, FSM-11 and the rows `approval`, `machine` of the CLI.
#[test]
fn a_proposed_transition_is_approved_activated_and_fires() {
    let place = with_people();
    let file = place.file("letter.yaml", LETTER);
    place.done(&["machine", "apply", &file]);
    let run = place.done(&["run", "start", "--machine", "letter", "--as", "alice"]);
    let run = run.stdout.trim_end().to_owned();
    let post = ["run", "move", &run, "--to", "sent", "--as", "alice"];
    let refused = place.refused("RS011", &post);
    let transition = refused["problems"][0]["transition_id"].as_str().expect("an id").to_owned();
    assert!(place.done(&["run", "show", &run]).stdout.contains("approval"));

    let id = a_request_is_made_once(&place, &transition);
    let activate = ["machine", "activate-transition", &transition, "--approval", &id];
    let activate = [&activate[..], &["--as", "alice"]].concat();
    place.refused("RA006", &activate);
    it_is_voted_on(&place, &id);
    place.refused("RS011", &post);
    let said = place.done(&activate);
    assert_eq!(said.stdout, format!("{transition}\n"));
    assert_eq!(place.json(&activate)["replayed"], true);
    assert_eq!(place.done(&post).stdout, "sent\n");

    let shown = place.json(&["approval", "show", &id]);
    assert_eq!(
        (&shown["state"], &shown["used"]["used_for_ref"]),
        (&json!("used"), &json!(transition))
    );
    let text = place.done(&["approval", "show", &id]).stdout;
    for word in [
        "carol",
        "sovereign",
        "used",
        "for the transition",
        "the annex is missing",
        "1 of 1 sovereigns",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    place.refused(
        "RA005",
        &["approval", "vote", &id, "--reject", "--as", "both", "--class", "sovereign"],
    );
    others_are_told_apart(&place, &transition);
    assert_eq!(place.json(&["audit", "verify"])["ok"], true);
}

fn a_request_is_made_once(place: &Place, transition: &str) -> String {
    let facts = place.file("facts.json", r#"{"minutes": 7}"#);
    let facts = format!("@{facts}");
    let id = "0197c0de-0000-7000-8000-000000000001";
    let ask = [
        "approval",
        "request",
        "--kind",
        "transition_activation",
        "--subject",
        transition,
        "--title",
        "Letters may be posted",
        "--facts",
        &facts,
        "--id",
        id,
        "--as",
        "alice",
    ];
    let said = place.done(&ask);
    assert_eq!(said.stdout, format!("{id}\n"));
    assert!(said.stderr.contains("pending · missing: 1 sovereign\n"), "{said:?}");
    let before = place.fingerprint();
    let again = place.json(&ask);
    assert_eq!((&again["replayed"], &again["missing"]["sovereigns"]), (&json!(true), &json!(1)));
    assert!(again["expires_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{again}");
    let other: Vec<&str> =
        ask.iter().map(|arg| if *arg == ask[7] { "Other" } else { arg }).collect();
    place.refused("RA008", &other);
    let with = |extra: &[&'static str]| -> Vec<&str> {
        ask.iter().take(8).copied().chain(["--as", "alice"]).chain(extra.iter().copied()).collect()
    };
    place.refused("RA001", &with(&["--risk", "low"]));
    place.refused("RA001", &with(&["--expires", "31d"]));
    place.refused("RA001", &with(&["--facts", "[]"]));
    place.refused("RA001", &with(&["--facts", r#"{"a": "\u0000"}"#]));
    assert_eq!(place.fingerprint(), before);
    let listed = place.json(&["approval", "list", "--state", "pending", "--subject", transition]);
    assert_eq!(
        (listed[0]["approval_id"].clone(), listed[0]["facts"].clone()),
        (json!(id), json!({ "minutes": 7 }))
    );
    assert_eq!(place.json(&["approval", "list", "--state", "used"]), json!([]));
    id.to_owned()
}

fn it_is_voted_on(place: &Place, id: &str) {
    let vote = |args: &[&'static str]| -> Vec<String> {
        ["approval", "vote", id].iter().chain(args).map(|arg| (*arg).to_owned()).collect()
    };
    let run = |args: &[&'static str]| {
        let args = vote(args);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        place.run(&args)
    };
    let refused = |code: &str, args: &[&'static str]| {
        let args = vote(args);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        place.refused(code, &args)
    };
    let before = place.fingerprint();
    refused("RA004", &["--approve", "--as", "alice"]);
    refused("RI004", &["--approve", "--as", "verifier"]);
    refused("RI003", &["--approve", "--as", "bob", "--class", "sovereign"]);
    let said = run(&["--approve", "--as", "both"]).ends_with(2);
    assert!(said.stderr.contains("--class"), "{said:?}");
    assert_eq!(place.fingerprint(), before);

    let said = run(&["--abstain", "--reason", "the annex is missing", "--as", "rita"]).ends_with(0);
    assert_eq!(said.stdout, "pending\n", "behind a login of her own: {said:?}");
    assert_eq!(run(&["--approve", "--as", "bob"]).ends_with(0).stdout, "pending\n");
    assert_eq!(run(&["--approve", "--as", "carol"]).ends_with(0).stdout, "approved\n");
    let before = place.fingerprint();
    let again = run(&["--approve", "--as", "carol", "--json"]).ends_with(0).json();
    assert_eq!((&again["replayed"], &again["state"]), (&json!(true), &json!("approved")));
    refused("RA005", &["--reject", "--as", "carol"]);
    assert_eq!(place.fingerprint(), before);
    let shown = place.json(&["approval", "show", id]);
    let voters: Vec<&Value> =
        shown["votes"].as_array().expect("votes").iter().map(|vote| &vote["voter"]).collect();
    assert_eq!(voters, ["rita", "bob", "carol"]);
    assert_eq!(shown["votes"][0]["rationale"], "the annex is missing", "why stands with the vote");
    let signed = "select vote_payload::jsonb ->> 'rationale' from approval.approval_vote where voter = 'rita'";
    assert_eq!(
        place.superuser(signed).trim(),
        "the annex is missing",
        "and is part of what was signed"
    );
    assert!(place.done(&["approval", "show", id]).stdout.contains("the annex is missing"));
}

fn others_are_told_apart(place: &Place, transition: &str) {
    let asked = place.done(&[
        "approval",
        "request",
        "--kind",
        "run_transition",
        "--subject",
        transition,
        "--title",
        "Not this",
        "--risk",
        "high",
        "--expires",
        "90m",
        "--as",
        "executor",
    ]);
    let other = asked.stdout.trim_end();
    assert!(asked.stderr.contains("missing: 1 sovereign, 2 reviewers"), "{asked:?}");
    let activate =
        ["machine", "activate-transition", transition, "--approval", other, "--as", "alice"];
    assert_eq!(place.refused("RA003", &activate)["problems"][0]["differs_in"], "kind");
    let nobody = "0197c0de-0000-7000-8000-00000000ffff";
    place.refused("RA002", &["approval", "show", nobody]);
    place.refused("RA002", &["approval", "vote", nobody, "--approve", "--as", "carol"]);
    place.refused(
        "RS004",
        &["machine", "activate-transition", "x", "--approval", other, "--as", "alice"],
    );
    let listed = place.done(&["approval", "list"]).stdout;
    assert!(listed.contains(other) && listed.contains("APPROVAL"), "{listed}");
}
