//! Every argument of every door of the cutter left out, one by one: a refusal with a code, or an answer that does not need it.
//! Never an error that only a programmer can read.

use chancery_store::Role;
use uuid::Uuid;

use crate::cutter_world::World;
use crate::hardening::attempt;

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

fn bytes(value: &[u8]) -> String {
    let digits: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("decode('{digits}', 'hex')")
}

fn id(value: Uuid) -> String {
    format!("'{value}'::uuid")
}

fn maybe(value: Option<Uuid>) -> String {
    value.map_or_else(|| "null".to_owned(), id)
}

/// A call that would be answered.
struct Call {
    login: Role,
    door: &'static str,
    arguments: Vec<String>,
}

/// IU-2: what becomes a part of a unit's profile as it stands is a flat object and cannot smuggle members into it.
#[tokio::test]
async fn a_provenance_is_a_flat_object() {
    let world = World::new().await;
    let mut executor = world.db.connect(Role::CutterExec).await;
    let mut create = async |address: &str, provenance: &str| {
        let statement = format!(
            "select iu.fn_iu_create('{address}', 't', 'b', 'executor', 'law_unit', 'clause', null, 'law', null, 0, {})",
            text(provenance)
        );
        attempt(&mut executor, &statement).await
    };
    for bad in [
        r#"{},"x":1"#,
        r#"{"a":{}}"#,
        r#"{"a":"\u0000"}"#,
        r#"{ "a":1}"#,
        r#"{"a":1,}"#,
        r#"{"a":"b"},"title":"other""#,
        "",
        "[]",
    ] {
        assert_eq!(create("POL/x", bad).await.as_deref(), Some("RI024"), "{bad}");
    }
    assert_eq!(create("POL/x", r#"{"change_set_id":"0199","span":[0,12],"n":3}"#).await, None);
}

/// FSM-5 for the rooms: what is missing is refused by name. Tried in transactions that are rolled back.
#[tokio::test]
async fn a_missing_argument_is_refused_by_code() {
    let world = World::new().await;
    let before = world.db.fingerprint().await;
    let mut found = Vec::new();
    for call in calls(&world).await {
        let mut connection = world.db.connect(call.login).await;
        let whole = format!("select {}({})", call.door, call.arguments.join(", "));
        if let Some(state) = attempt(&mut connection, &whole).await {
            found.push(format!("{} with everything: {state}", call.door));
        }
        for n in 0..call.arguments.len() {
            let mut arguments = call.arguments.clone();
            arguments[n] = "null".to_owned();
            let statement = format!("select {}({})", call.door, arguments.join(", "));
            match attempt(&mut connection, &statement).await {
                Some(state) if !state.starts_with('R') => {
                    found.push(format!("{} without argument {}: {state}", call.door, n + 1));
                }
                _ => {}
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert_ne!(before, world.db.fingerprint().await, "there was something to ask for");
}

async fn calls(world: &World) -> Vec<Call> {
    let mut calls = sources_and_units(world).await;
    calls.extend(marks_and_decisions(world).await);
    calls.extend(cuts_and_verdicts(world).await);
    calls
}

async fn sources_and_units(world: &World) -> Vec<Call> {
    let document = world.document("enacted", "EN").await;
    let entry = world.verified(&document, "enacted").await;
    let enactment = world.a_lifecycle_review(entry, "approve").await;
    world.review.fn_lifecycle_review(&enactment).await.expect("decided");
    world.exec.fn_iu_create(&world.a_unit("LOOSE/one")).await.expect("a unit");
    let draft = Uuid::now_v7();
    world
        .exec
        .fn_iu_edit_draft(draft, "LOOSE/one", "T", "text", "executor")
        .await
        .expect("a draft");
    let again = world.a_lifecycle_review(entry, "reject").await;
    let decided = again.decision.as_ref().expect("signed");
    vec![
        Call {
            login: Role::App,
            door: "iu.fn_source_add",
            arguments: vec![
                text("new"),
                text("NEW"),
                text("text/plain"),
                bytes(b"text"),
                text("executor"),
            ],
        },
        Call {
            login: Role::CutterExec,
            door: "iu.fn_iu_create",
            arguments: ["NEW/one", "T", "text", "executor", "law_unit", "article", "alice", "law"]
                .map(text)
                .into_iter()
                .chain([
                    "null".to_owned(),
                    "1".to_owned(),
                    text("{}"),
                    id(Uuid::now_v7()),
                    id(Uuid::now_v7()),
                ])
                .chain([id(Uuid::now_v7()), text("tool")])
                .collect(),
        },
        Call {
            login: Role::CutterExec,
            door: "iu.fn_iu_edit_draft",
            arguments: vec![
                id(Uuid::now_v7()),
                text("LOOSE/one"),
                text("T"),
                text("other"),
                text("executor"),
            ],
        },
        Call {
            login: Role::CutterExec,
            door: "iu.fn_iu_apply_edit_draft",
            arguments: vec![id(draft), text("executor"), text("read")],
        },
        Call {
            login: Role::CutterExec,
            door: "iu.fn_iu_enact",
            arguments: vec![
                text("EN/one"),
                text("executor"),
                id(enactment.review_decision_id),
                text("enacted"),
                "null".to_owned(),
                text("because"),
                text("tool"),
                "false".to_owned(),
            ],
        },
        Call {
            login: Role::CutterReview,
            door: "cutter_governance.fn_lifecycle_review",
            arguments: vec![
                id(entry),
                text(&again.verdict),
                id(again.review_decision_id),
                maybe(again.prior_review_decision_id),
                text(&again.findings.to_string()),
                "null".to_owned(),
                text(&again.risk),
                text(&again.principal),
                id(decided.key_id),
                again.signed_at.to_string(),
                text(&again.decision_payload),
                bytes(&decided.signature),
            ],
        },
    ]
}

async fn marks_and_decisions(world: &World) -> Vec<Call> {
    let document = world.document("pending", "PE").await;
    let entry = world.pending(&document, "pending").await;
    let mark = world.a_mark(&document, "new");
    let review = world.a_review(&document, entry, "approve").await;
    let decided = review.decision.as_ref().expect("signed");
    vec![
        Call {
            login: Role::CutterExec,
            door: "cutter_governance.fn_mark",
            arguments: vec![
                id(mark.entry_id),
                text(&mark.kind),
                text(&mark.payload.to_string()),
                format!("array[{}]", id(entry)),
                text("scenario"),
                text(&mark.actor_class),
                text(&mark.principal),
                text("because"),
                text(&"1".repeat(32)),
                "null".to_owned(),
                "null".to_owned(),
            ],
        },
        Call {
            login: Role::CutterExec,
            door: "cutter_governance.fn_sweep",
            arguments: vec![
                id(Uuid::now_v7()),
                text("executor_dot991"),
                text("executor"),
                text("manual"),
                "5".to_owned(),
            ],
        },
        Call {
            login: Role::CutterReview,
            door: "cutter_governance.fn_review",
            arguments: vec![
                id(entry),
                text(&review.verdict),
                text(&review.manifest.to_string()),
                bytes(&review.manifest_digest),
                id(review.envelope_id),
                id(review.review_decision_id),
                maybe(review.prior_review_decision_id),
                text(&review.findings.to_string()),
                text("as planned"),
                text(&review.risk),
                text(&review.tool_revision),
                text(&review.principal),
                text(&review.idempotency_key),
                id(decided.key_id),
                review.signed_at.to_string(),
                text(&review.decision_payload),
                bytes(&decided.signature),
                "null".to_owned(),
            ],
        },
        Call {
            login: Role::App,
            door: "cutter_governance.fn_abandon",
            arguments: vec![
                id(entry),
                text("because"),
                text("A-1"),
                text("sovereign"),
                text("key"),
                "null".to_owned(),
                "null".to_owned(),
            ],
        },
    ]
}

async fn cuts_and_verdicts(world: &World) -> Vec<Call> {
    let document = world.document("approved", "AP").await;
    let entry = world.approved(&document, "approved").await;
    let other = world.cut(&world.document("cut", "CU").await, "cut").await;
    let cut = world.a_cut(&document, entry, "executor").await;
    let verdict = world.a_verdict(other, "pass", "verifier").await;
    let lane = |signature: &chancery_store::cutter::LaneSignature| {
        let signed = signature.signed.as_ref().expect("signed");
        vec![
            id(signature.signature_id),
            maybe(signature.prior_signature_id),
            id(signed.key_id),
            signature.signed_at.to_string(),
            text(&signature.payload),
            bytes(&signed.signature),
        ]
    };
    let mut of_cut = vec![
        id(entry),
        id(cut.change_set_id),
        maybe(cut.review_decision_id),
        bytes(&cut.change_set_digest),
        text(&cut.tool_revision),
        text(&cut.principal),
    ];
    of_cut.extend(lane(&cut.signature));
    let mut of_verdict = vec![
        id(other),
        id(verdict.verify_result_id),
        id(verdict.change_set_id),
        text(&verdict.verdict),
        text(&verdict.findings.to_string()),
        maybe(verdict.prior_verify_result_id),
        text(&verdict.tool_revision),
        text(&verdict.principal),
    ];
    of_verdict.extend(lane(&verdict.signature));
    vec![
        Call { login: Role::CutterExec, door: "cutter_governance.fn_cut", arguments: of_cut },
        Call {
            login: Role::CutterVerify,
            door: "cutter_governance.fn_verify",
            arguments: of_verdict,
        },
    ]
}
