//! SEC-1, SEC-3: a signature is verified before any lock is taken. While somebody else holds every table there is, each door that stores a signature
//! refuses a forged one at once; only the true one goes on to where it has to wait.

use std::collections::BTreeSet;

use chancery_store::{Error, Role};
use chancery_testkit::{TestDb, keys, repo_path};
use ed25519_dalek::Signer as _;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use uuid::Uuid;

use crate::cutter_world::World;
use crate::flow_world::{Flow, single};
use crate::orchestrator_world::World as Orchestra;
use crate::support::{LETTER, birth};

const CLASSES: [&str; 7] = [
    "pic_human",
    "reviewer",
    "sovereign",
    "review_authority",
    "executor_worker",
    "executor_dot991",
    "verifier_dot992",
];

/// A call of a door as `pia`; `{key}` stands for her key, `{0}` and `{1}` for signatures in the order in which they are looked at.
struct Deed {
    login: Role,
    call: String,
}

fn deed(login: Role, call: impl Into<String>) -> Deed {
    Deed { login, call: call.into() }
}

/// Holds every table of ours: who wants to lock a row or to write one waits, who reads does not.
async fn hold_everything(db: &TestDb) -> PgConnection {
    let mut holder = db.superuser().await;
    let tables: Vec<String> = sqlx::query_scalar(
        "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where n.nspowner = 'chancery_owner'::regrole and c.relkind in ('r', 'p') order by 1",
    )
    .fetch_all(&mut holder)
    .await
    .expect("the tables");
    let statement = format!("begin; lock table {} in exclusive mode", tables.join(", "));
    holder.execute(AssertSqlSafe(statement)).await.expect("nobody else is here");
    holder
}

/// What a door says: the statement that was not signed, or nothing when it waits for a lock.
async fn told(connection: &mut PgConnection, call: &str) -> Option<(String, String)> {
    connection.execute("begin; set local lock_timeout = '20ms'").await.expect("a transaction");
    let answer = connection.execute(AssertSqlSafe(format!("select {call}"))).await;
    connection.execute("rollback").await.expect("nothing stays");
    let error = answer.expect_err("everything is locked");
    if error.as_database_error().and_then(|e| e.code()).as_deref() == Some("55P03") {
        return None;
    }
    let error = Error::from(error);
    let refusal = error.refusal().unwrap_or_else(|| panic!("{call}: {error:?}"));
    let [problem] = &refusal.problems[..] else { panic!("{call}: {refusal:?}") };
    assert_eq!(problem.code.as_str(), "RI051", "{call}: {problem:?}");
    let fact = |name: &str| problem.facts[name].as_str().expect("a text").to_owned();
    assert_eq!(fact("principal"), "pia", "{call}");
    Some((fact("payload_type"), fact("statement")))
}

/// What pia signs for a text of this type.
fn sign(payload_type: &str, text: &str) -> Vec<u8> {
    let encoded = format!("DSSEv1 {} {payload_type} {} {text}", payload_type.len(), text.len());
    keys::signing_key("pia").sign(encoded.as_bytes()).to_vec()
}

/// Each forged signature is refused beside the locks, one after the other; with all of them true the door comes to a lock, and waits.
async fn no_forgery_waits(db: &TestDb, deeds: &[Deed]) {
    let key =
        db.text("select key_id::text from identity.signing_key where principal = 'pia'").await;
    let before = db.fingerprint().await;
    let holder = hold_everything(db).await;
    for Deed { login, call } in deeds {
        let mut connection = db.connect(*login).await;
        let wanted = if call.contains("{1}") { 2 } else { 1 };
        let mut signatures = vec![vec![1; 64]; wanted];
        for n in 0..=wanted {
            let mut filled = call.replace("{key}", &key);
            for (n, signature) in signatures.iter().enumerate() {
                filled = filled.replace(&format!("{{{n}}}"), &hex::encode(signature));
            }
            match told(&mut connection, &filled).await {
                Some((payload_type, text)) => {
                    let place = signatures.get_mut(n);
                    let place =
                        place.unwrap_or_else(|| panic!("one signature more: {text}: {call}"));
                    *place = sign(&payload_type, &text);
                }
                None => assert_eq!(n, wanted, "it waits with a forged signature: {call}"),
            }
        }
        connection.close().await.expect("a login leaves");
    }
    holder.close().await.expect("the holder leaves");
    assert_eq!(before, db.fingerprint().await);
}

/// Pia, who may do everything, with her key.
async fn with_pia(db: &TestDb) {
    let operator = db.store(Role::Migrator);
    operator
        .fn_principal_add("pia", "human", &CLASSES.map(str::to_owned), None)
        .await
        .expect("a person");
    keys::register(&operator, "pia").await;
}

fn name(call: &str) -> &str {
    call.split('(').next().expect("a name")
}

/// Doors whose signatures are not found in their parameters' names, or that are tried elsewhere.
const BESIDES: [(&str, &str); 2] = [
    ("fsm.fn_state_transition_apply_batch", "the signatures stand in its moves"),
    ("birth.fn_birth_permit_request", "the signatures stand in its requests"),
];

/// SEC-1: in every room but the orchestrator's, which has a test of its own.
#[tokio::test]
async fn a_forged_signature_waits_for_nobody() {
    let db = TestDb::new().await;
    db.service("writer", &["executor_worker", "pic_human"]).await;
    db.machine(LETTER).await;
    let world = World::on(db).await;
    let document = world.document("one", "ONE").await;
    let pending = world.pending(&document, "one").await;
    let review = world.a_review(&document, pending, "approve").await;
    let new = world.a_mark(&document, "new");
    let letter = world.app.fn_run_start(&birth("letter", json!({ "words": 3 }))).await;
    let letter = letter.expect("a letter").run_id;
    let flow = Flow::on(world.db).await;
    with_pia(&flow.db).await;
    let finding = std::fs::read_to_string(repo_path("machines/finding.yaml")).expect("a file");
    flow.db.machine(&finding).await;

    let dead = flow.dead("d", 2).await;
    let replay = flow.proposal(Uuid::now_v7(), &dead[..1], 0);
    flow.store.fn_dlq_replay_propose(&replay).await.expect("a batch");
    let request = "select dlq_replay_request_id::text from queue.dlq_replay_request";
    let request = flow.db.text(request).await;
    flow.begun(single("automatic", json!({ "executor": "noop" }))).await;
    flow.turn().await;
    let leased = flow.leased().await;
    let by_hand = flow.begun(single("by_hand", json!({}))).await;
    flow.turn().await;
    let step = flow.step(by_hand, "work").await;
    let cancelled = flow.put("c").await;
    let change = Uuid::now_v7();
    flow.propose(change, &single("other", json!({}))).await.expect("a draft");
    let mut connection = flow.db.connect(Role::App).await;
    let read = "select kb.fn_kb_put('a/b', 'policy', 'text', null, 'writer', 'pic_human')";
    connection.execute(read).await.expect("a document to sign");
    let issue: String = sqlx::query_scalar(
        "select governance.fn_log_issue('test', 'warning', 'title', null, 'thing', 'a', 'trouble', '{}', 'chancery') ->> 'issue_id'",
    )
    .fetch_one(&mut connection)
    .await
    .expect("a finding");
    let permit = Uuid::now_v7();
    let reserve = format!(
        "select birth.fn_birth_permit_request('iu.information_unit', '[{{\"permit_id\": \"{permit}\", \"code\": \"{permit}\"}}]', 'writer', 'executor_worker')"
    );
    connection.execute(AssertSqlSafe(reserve)).await.expect("a permit");

    let id = Uuid::now_v7();
    let by = "'{key}', '\\x{0}'";
    let (app, exec, verify, decide) =
        (Role::App, Role::CutterExec, Role::CutterVerify, Role::CutterReview);
    let lane = "'{key}', 1, '{}', '\\x{0}'";
    let hex = |bytes: &[u8]| format!("'\\x{}'", hex::encode(bytes));
    let no_inputs = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    let deeds = [
        deed(
            app,
            format!(
                "fsm.fn_run_start('{id}', 'letter', '{{\"words\": 3}}', 'pic_human', 'rpc', 'letter_begin', '{{}}', 'pia', 'k', null, null, null, null, {by})"
            ),
        ),
        deed(
            app,
            format!(
                "fsm.fn_state_transition_apply('{letter}', 'custom', null, 'checked', 'reviewer', 'rpc', 'letter_check', '{{}}', 'pia', 'k', null, null, {by})"
            ),
        ),
        deed(
            app,
            format!(
                "workflow.fn_workflow_start('{id}', 'by_hand', '{{}}', '{{\"inputs_sha256\": \"{no_inputs}\"}}', 'pia', 'pic_human', 'k', null, {by})"
            ),
        ),
        deed(
            app,
            format!(
                "workflow.fn_workflow_move('{by_hand}', 'workflow_pause', '{{\"audit_ref\": \"A\"}}', 'pia', 'reviewer', 'k', null, {by})"
            ),
        ),
        deed(
            app,
            format!(
                "workflow.fn_work_move('step', '{step}', 'step_claim', '{{\"audit_ref\": \"A\"}}', null, 'pia', 'pic_human', 'k', null, {by})"
            ),
        ),
        deed(
            app,
            format!(
                "workflow.fn_work_begin('{}', {}, 'w', 'pia', {by})",
                leased.job_id, leased.lease_no
            ),
        ),
        deed(
            app,
            format!(
                "workflow.fn_work_report('{}', {}, 'w', 'pia', 'step_complete', '{{}}', null, {by})",
                leased.job_id, leased.lease_no
            ),
        ),
        deed(
            app,
            format!(
                "workflow.fn_proposal_move('workflow_change', '{change}', 'submit', '{{}}', 'pia', 'pic_human', 'k', null, {by})"
            ),
        ),
        deed(
            app,
            format!(
                "workflow.fn_workflow_propose('{id}', '{{\"workflow\": \"x\"}}', 't', 'pia', 'pic_human', 'k', '{{}}', {by})"
            ),
        ),
        deed(
            app,
            format!(
                "workflow.fn_workflow_merge('{change}', '{{}}', 'pia', 'pic_human', 'k', {by})"
            ),
        ),
        deed(
            app,
            format!(
                "queue.fn_dlq_replay_propose('{id}', '{{{},{}}}', 'r', 0, 'pic_human', 'pia', '{{key}}', array['\\x{{0}}'::bytea, '\\x{{1}}'])",
                dead[0], dead[1]
            ),
        ),
        deed(
            app,
            format!(
                "queue.fn_dlq_replay_withdraw('{request}', 'r', 'pic_human', 'pia', 'k', {by})"
            ),
        ),
        deed(
            app,
            format!(
                "queue.fn_dead_letter_dismiss('{}', 'r', 'reviewer', 'pia', 'k', {by})",
                dead[1]
            ),
        ),
        deed(
            app,
            format!("queue.fn_job_cancel('{cancelled}', 'r', 'pic_human', 'pia', 'k', {by})"),
        ),
        deed(
            app,
            format!(
                "governance.fn_proposal_create('{id}', 'k', 'c', 't', '{{}}', '{{}}', '[]', '{{}}', 'pia', 'pic_human', 'k', {by})"
            ),
        ),
        deed(
            app,
            format!(
                "governance.fn_proposal_carry_out('{id}', '{{}}', '{{}}', 'pia', 'pic_human', 'k', {by})"
            ),
        ),
        deed(
            app,
            format!("governance.fn_issue_resolve('{issue}', 'r', 'pia', 'reviewer', 'k', {by})"),
        ),
        deed(
            app,
            format!(
                "governance.fn_issue_acknowledge('{issue}', 'r', 'pia', 'reviewer', 'k', {by})"
            ),
        ),
        deed(
            app,
            format!("birth.fn_birth_permit_revoke('{permit}', 'r', 'reviewer', 'pia', 'k', {by})"),
        ),
        deed(
            app,
            format!(
                "birth.fn_birth_permit_request('iu.information_unit', '[{{\"permit_id\": \"{id}\", \"code\": \"{id}\", \"signature\": \"{{0}}\"}}]', 'pia', 'pic_human', p_key_id => '{{key}}')"
            ),
        ),
        deed(
            app,
            format!(
                "approval.fn_approval_request('{id}', 'note', 'n', null, 'low', 't', '{{}}', (extract(epoch from now()) * 1000000)::bigint + 60000000, 'pia', 'sovereign', {lane})"
            ),
        ),
        deed(
            app,
            format!(
                "approval.fn_approval_vote('{id}', '{id}', 'approve', null, 'pia', 'sovereign', {lane})"
            ),
        ),
        deed(app, format!("kb.fn_kb_sign('{id}', 'a/b', 1, 'read', 'pia', 'sovereign', {lane})")),
        deed(
            app,
            format!(
                "identity.fn_key_request('{id}', 'pia', {}, {}, {by})",
                hex(&keys::public_key("new")),
                hex(&keys::possession("new", "pia"))
            ),
        ),
        deed(
            app,
            format!(
                "cutter_governance.fn_mark('{}', 'cut_request', '{}', '{{}}', null, 'pic_human', 'pia', null, null, {by})",
                new.entry_id, new.payload
            ),
        ),
        deed(app, format!("cutter_governance.fn_abandon('{pending}', 'r', 'A', 'pia', 'k', {by})")),
        deed(
            decide,
            format!(
                "cutter_governance.fn_review('{pending}', 'approve', '{}', {}, '{id}', '{id}', null, '{{}}', 'r', 'low', 't', 'pia', 'k', {lane}, '\\x{{1}}')",
                review.manifest,
                hex(&review.manifest_digest)
            ),
        ),
        deed(
            decide,
            format!(
                "cutter_governance.fn_lifecycle_review('{pending}', 'approve', '{id}', null, '{{}}', 'r', 'low', 'pia', {lane})"
            ),
        ),
        deed(
            exec,
            format!(
                "cutter_governance.fn_cut('{pending}', '{id}', null, '\\x00', 't', 'pia', '{id}', null, {lane})"
            ),
        ),
        deed(
            verify,
            format!(
                "cutter_governance.fn_verify('{pending}', '{id}', '{id}', 'pass', '{{\"findings\": []}}', null, 't', 'pia', '{id}', null, {lane})"
            ),
        ),
    ];
    no_forgery_waits(&flow.db, &deeds).await;

    // A batch says it of each move by itself, and a forged one holds nothing up.
    let key =
        flow.db.text("select key_id::text from identity.signing_key where principal = 'pia'").await;
    let moves = json!([{
        "run_id": letter, "run_kind": "custom", "to": "checked", "actor_class": "reviewer", "trigger_kind": "rpc", "trigger_ref": "letter_check",
        "evidence": {}, "principal": "pia", "idempotency_key": "k", "key_id": key, "signature": "00".repeat(64),
    }]);
    let holder = hold_everything(&flow.db).await;
    let mut connection = flow.db.connect(Role::App).await;
    connection.execute("set lock_timeout = '20ms'").await.expect("a setting");
    let reports: serde_json::Value =
        sqlx::query_scalar("select fsm.fn_state_transition_apply_batch($1)")
            .bind(&moves)
            .fetch_one(&mut connection)
            .await
            .expect("reports");
    assert_eq!(reports[0]["problems"][0]["code"], "RI051");
    holder.close().await.expect("the holder leaves");

    // No door is left out.
    let tried: BTreeSet<&str> = deeds
        .iter()
        .map(|deed| name(&deed.call))
        .chain(BESIDES.iter().map(|(name, _)| *name))
        .chain(ORCHESTRATORS)
        .collect();
    let doors = flow
        .db
        .texts(
            "select distinct p.oid::regproc::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
              where n.nspowner = 'chancery_owner'::regrole and p.prosecdef and p.proname like 'fn\\_%'
                and exists (select from unnest(p.proargnames) a where a like 'p\\_%signature%' and a not like '%signature\\_id' and a not like '%payload')",
        )
        .await;
    let doors: Vec<String> = doors.into_iter().flatten().collect();
    let missing: Vec<&String> =
        doors.iter().filter(|door| !tried.contains(door.as_str())).collect();
    assert!(doors.len() > 25 && missing.is_empty(), "doors without a case: {missing:?}");
}

const ORCHESTRATORS: [&str; 4] = [
    "orchestrator.fn_orchestrate_halt",
    "orchestrator.fn_orchestrate_void",
    "orchestrator.fn_leg_b",
    "orchestrator.fn_write_verify",
];

/// SEC-1, ORC-5: the sovereign's stop and void, and the lanes of a run.
#[tokio::test]
async fn a_forged_word_of_the_sovereign_waits_for_nobody() {
    let world = Orchestra::new().await;
    let run = world.started("alpha").await;
    world.drive(&run, "IG_mark").await;
    with_pia(&world.cutter.db).await;
    let by = "'{key}', '\\x{0}'";
    let lane = "'{key}', 1, '{}', '\\x{0}'";
    let id = run.id;
    let deeds = [
        deed(
            Role::CutterReview,
            format!(
                "orchestrator.fn_orchestrate_halt('{id}', 'stopped_sovereign', '{{}}', '# Stopped', 'pia', 'sovereign', 'wait', 'k', {by})"
            ),
        ),
        deed(
            Role::CutterReview,
            format!(
                "orchestrator.fn_orchestrate_void('{id}', '{{}}', 'r', 'pia', {by}, '{{}}', '\\x{{1}}')"
            ),
        ),
        deed(
            Role::CutterExec,
            format!(
                "orchestrator.fn_leg_b('{id}', '{{}}', '# B', '\\x00', 't', 'pia', null, {lane})"
            ),
        ),
        deed(
            Role::CutterVerify,
            format!(
                "orchestrator.fn_write_verify('{id}', '{{}}', '# V', 'pass', '{{\"findings\": []}}', 't', 'pia', null, {lane})"
            ),
        ),
    ];
    assert_eq!(deeds.each_ref().map(|deed| name(&deed.call)), ORCHESTRATORS);
    no_forgery_waits(&world.cutter.db, &deeds).await;
}
