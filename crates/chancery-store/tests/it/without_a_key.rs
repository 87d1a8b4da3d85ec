//! SEC-1, SEC-3: what each login can do in a person's name without that person's key. The table stands in docs/operate/roles.md; each of its cells
//! is tried here.

use std::fmt::Write as _;

use chancery_model::envelope::Statement;
use chancery_store::{Error, LOGINS, Role};
use chancery_testkit::{TestDb, keys, repo_path};
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::cutter_world::World;
use crate::flow_world::Flow;
use crate::support::{LETTER, birth};

/// Somebody who may do everything, with their key.
const CLASSES: [&str; 6] = [
    "pic_human",
    "reviewer",
    "sovereign",
    "review_authority",
    "executor_dot991",
    "verifier_dot992",
];

/// What is done, and the statement; `{key}` and `{signature}` stand where the person's would be.
async fn acts(world: World) -> (Flow, Vec<(&'static str, String)>) {
    let document = world.document("one", "ONE").await;
    let pending = world.pending(&document, "one").await;
    let review = world.a_review(&document, pending, "approve").await;
    let new = world.a_mark(&document, "new");
    let cut = world.cut(&world.document("two", "TWO").await, "two").await;
    let approved = world.approved(&world.document("three", "THREE").await, "three").await;
    let letter = world.app.fn_run_start(&birth("letter", json!({ "words": 3 }))).await;
    let letter = letter.expect("a letter").run_id;
    let flow = Flow::on(world.db).await;
    let run = flow.begun(crate::flow_world::single("doc", json!({}))).await;
    let job = flow.put("job").await;
    let approval = flow.asked("note", "low", "n").await;
    let mut app = flow.db.connect(Role::App).await;
    crate::approval_world::put_on(&mut app, "policies/one", "a text", None).await.expect("a text");
    let (public, possession) = (keys::public_key("new"), keys::possession("new", "pia"));
    let asked = Uuid::now_v7();
    let operator = flow.db.store(Role::Migrator);
    let classes = CLASSES.map(str::to_owned);
    operator.fn_principal_add("pia", "human", &classes, None).await.expect("a person");
    let own = keys::register(&operator, "pia").await;
    flow.store.fn_key_request(asked, "pia", &public, &possession, None).await.expect("asked");
    let now = flow.now().await;
    let new_id = Uuid::now_v7();
    let hex = |bytes: &[u8]| format!("decode('{}', 'hex')", hex::encode(bytes));
    let by = "{key}, {signature}";
    let signed = format!("{{key}}, {now}, '{{}}', {{signature}}");
    let acts = vec![
        ("start a run", format!("fsm.fn_run_start('{new_id}', 'letter', '{{\"words\": 3}}', 'pic_human', 'rpc', 'letter_begin', '{{}}', 'pia', 'k', null, null, null, null, {by})")),
        ("move a run", format!("fsm.fn_state_transition_apply('{letter}', 'custom', null, 'checked', 'reviewer', 'rpc', 'letter_check', '{{}}', 'pia', 'k', null, null, {by})")),
        ("start a workflow", format!("workflow.fn_workflow_start('{new_id}', 'doc', '{{}}', '{{\"inputs_sha256\": \"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\"}}', 'pia', 'pic_human', 'k', null, {by})")),
        ("hold a workflow", format!("workflow.fn_workflow_move('{run}', 'workflow_pause', '{{\"audit_ref\": \"A\"}}', 'pia', 'reviewer', 'k', null, {by})")),
        ("cancel a job", format!("queue.fn_job_cancel('{job}', 'no', 'pic_human', 'pia', 'k', {by})")),
        ("reserve a birth", format!("birth.fn_birth_permit_request('iu.information_unit', '[{{\"permit_id\": \"{new_id}\", \"code\": \"{new_id}\", \"signature\": {{hex}}}}]', 'pia', 'pic_human', p_key_id => {{key}})")),
        ("ask for an approval", format!("approval.fn_approval_request('{new_id}', 'note', 'n', null, 'low', 't', '{{}}', {}, 'pia', 'sovereign', {signed})", now + 60_000_000)),
        ("vote", format!("approval.fn_approval_vote('{new_id}', '{approval}', 'approve', null, 'pia', 'sovereign', {signed})")),
        ("sign a document", format!("kb.fn_kb_sign('{new_id}', 'policies/one', 1, 'read', 'pia', 'sovereign', {signed})")),
        ("mark a document to be cut", format!("cutter_governance.fn_mark('{}', 'cut_request', '{}', '{{}}', null, 'pic_human', 'pia', null, null, {by})", new.entry_id, new.payload)),
        ("give up a request to cut", format!("cutter_governance.fn_abandon('{pending}', 'no', 'A', 'pia', 'k', {by})")),
        ("decide on a manifest", format!("cutter_governance.fn_review('{pending}', 'approve', '{}', {}, '{new_id}', '{new_id}', null, '{{}}', 'r', 'low', 't', 'pia', 'k', {signed}, null)", review.manifest, hex(&review.manifest_digest))),
        ("cut", format!("cutter_governance.fn_cut('{approved}', '{new_id}', null, '\\x00', 't', 'pia', '{new_id}', null, {signed})")),
        ("give a verdict on a cut", format!("cutter_governance.fn_verify('{cut}', '{new_id}', '{new_id}', 'pass', '{{\"findings\": []}}', null, 't', 'pia', '{new_id}', null, {signed})")),
        ("open a proposed transition", format!("fsm.fn_transition_activate('{}', '{new_id}', 'pia', 'pic_human')", crate::approval_world::SHORTCUT)),
        ("write a document", "kb.fn_kb_put('policies/two', 'policy', 'a text', null, 'pia', 'sovereign')".to_owned()),
        ("put a job in the queue", "queue.fn_job_enqueue('[{\"class\": \"noop\", \"kind\": \"test\", \"key\": \"mine\", \"payload\": {}}]', 'pia', 'pic_human')".to_owned()),
        ("make an API token", format!("identity.fn_token_issue('{new_id}', 'pia', 'l', '{{self.read}}', 3600, sha256('k'), null, 'pia')")),
        ("ask the operator for a key", format!("identity.fn_key_request('{new_id}', 'pia', {}, {})", hex(&keys::public_key("second")), hex(&keys::possession("second", "pia")))),
        ("put a key in the place of the person's", format!("identity.fn_key_request('{new_id}', 'pia', {}, {}, '{own}', {{signature}})", hex(&keys::public_key("second")), hex(&keys::possession("second", "pia")))),
        ("register a key", format!("identity.fn_key_register('{new_id}', 'pia', {}, decode(repeat('00', 64), 'hex'))", hex(&keys::public_key("another")))),
        ("accept a key that the person made", format!("identity.fn_key_request_settle('{asked}', true, 'pia')")),
        ("give the person a class", "identity.fn_principal_add('pia', 'human', '{observer}')".to_owned()),
    ];
    (flow, acts)
}

/// What a login is told, in one word: `yes`, a code, or `—` where it has no such function. Nothing of it stays.
async fn told(db: &TestDb, role: Role, statement: &str) -> String {
    let mut connection = db.connect(role).await;
    connection.execute("begin").await.expect("a transaction");
    let answer = connection.execute(AssertSqlSafe(format!("select {statement}"))).await;
    connection.execute("rollback").await.expect("nothing stays");
    match answer.map_err(Error::from) {
        Ok(_) => "yes".to_owned(),
        Err(Error::Denied(_)) => "—".to_owned(),
        Err(error) => {
            let refusal =
                error.refusal().unwrap_or_else(|| panic!("{role:?}: {statement}: {error:?}"));
            // A person has to sign: that stands before whatever else may be wrong.
            let codes: Vec<&str> = refusal.problems.iter().map(|p| p.code.as_str()).collect();
            ["RI004", "RI008", "RI051"]
                .into_iter()
                .find(|code| codes.contains(code))
                .unwrap_or(codes[0])
                .to_owned()
        }
    }
}

/// SEC-1, SEC-3: each login's cell for each act is as docs/operate/roles.md says; where a signature is asked for, 64 zeros are none.
#[tokio::test]
async fn what_a_login_can_do_without_a_key_is_written_down() {
    let db = TestDb::new().await;
    db.service("writer", &["executor_worker", "pic_human"]).await;
    db.machine(LETTER).await;
    let (flow, acts) = acts(World::on(db).await).await;
    let key =
        flow.db.text("select key_id::text from identity.signing_key where principal = 'pia'").await;
    let before = flow.db.fingerprint().await;
    let mut table = String::from("| In a person's name, without their key |");
    for &role in LOGINS {
        write!(table, " `{}` |", role.name()).expect("a text");
    }
    writeln!(table, "\n|---|{}", ":-:|".repeat(LOGINS.len())).expect("a text");
    for (what, statement) in &acts {
        let unsigned = statement
            .replace("{key}", "null")
            .replace("{signature}", "null")
            .replace("{hex}", "null");
        let zeros = statement
            .replace("{key}", &format!("'{key}'"))
            .replace("{signature}", "decode(repeat('00', 64), 'hex')")
            .replace("{hex}", &format!("\"{}\"", "00".repeat(64)));
        write!(table, "| {what} |").expect("a text");
        for &role in LOGINS {
            let cell = told(&flow.db, role, &unsigned).await;
            let forged = told(&flow.db, role, &zeros).await;
            // A door verifies before it asks anything else, so 64 zeros may be refused before the class is.
            let expected = match cell.as_str() {
                "RI008" => &["RI051"][..],
                "RI004" => &["RI051", "RI004"],
                same => &[same],
            };
            assert!(expected.contains(&forged.as_str()), "{what} as {role:?}: {cell}, {forged}");
            write!(table, " {cell} |").expect("a text");
        }
        table.push('\n');
    }
    assert_eq!(before, flow.db.fingerprint().await);
    let page = std::fs::read_to_string(repo_path("docs/operate/roles.md")).expect("the page");
    assert!(page.contains(&table), "docs/operate/roles.md does not have this table:\n{table}");
}

/// SEC-1: the same acts with the person's own signature are not refused for it.
#[tokio::test]
async fn with_the_key_it_is_another_matter() {
    let db = TestDb::new().await;
    db.service("writer", &["executor_worker", "pic_human"]).await;
    db.machine(LETTER).await;
    let (flow, acts) = acts(World::on(db).await).await;
    let key =
        flow.db.text("select key_id::text from identity.signing_key where principal = 'pia'").await;
    // The text '{}' is signed, which is not what would be stored: that is said instead.
    for (what, login, statement) in [
        ("ask for an approval", Role::App, Statement::approval("{}")),
        ("vote", Role::App, Statement::approval("{}")),
        ("sign a document", Role::App, Statement::kb("{}")),
    ] {
        let (_, sql) = acts.iter().find(|(name, _)| *name == what).expect("an act");
        let signature = hex::encode(keys::sign("pia", &statement));
        let sql = sql
            .replace("{key}", &format!("'{key}'"))
            .replace("{signature}", &format!("decode('{signature}', 'hex')"));
        assert_eq!(told(&flow.db, login, &sql).await, "RC007", "{what}");
    }
}
