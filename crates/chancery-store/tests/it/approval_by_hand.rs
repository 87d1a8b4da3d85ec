//! The doors of approvals and of the knowledge base, and every way past them.

use chancery_model::envelope::Statement;
use chancery_store::{LOGINS, Role};
use chancery_testkit::keys;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::approval_world::{Panel, SHORTCUT};
use crate::hardening::{attempt, hand_writes, not_refused, without_key_violations};
use crate::support::letters;

/// APR-1, KB-1, SEC-3: no login writes these tables by hand, nor the operator as any owner, nor a superuser, also with the
/// triggers of a replica.
#[tokio::test]
async fn nothing_is_written_by_hand() {
    let (db, _store) = letters().await;
    let panel = Panel::on(db).await;
    panel.live().await;
    let evidence = [
        "approval.approval_request",
        "approval.approval_vote",
        "approval.approval_use",
        "kb.revision",
        "kb.revision_signature",
    ]
    .map(str::to_owned);
    let mut admin = panel.db.superuser().await;
    let statements = hand_writes(&mut admin, &evidence).await;
    assert_eq!(statements.len(), 5 * evidence.len(), "each has a row to try it on");
    let before = panel.db.fingerprint().await;
    let mut found = Vec::new();
    for &role in LOGINS {
        let mut connection = panel.db.connect(role).await;
        found.extend(not_refused(&mut connection, &statements).await);
    }
    for owner in ["chancery_owner", "chancery_definer", "chancery_guard"] {
        let mut operator = panel.db.connect(Role::Migrator).await;
        let become_owner = AssertSqlSafe(format!("set role {owner}"));
        operator.execute(become_owner).await.expect("the operator may");
        found.extend(not_refused(&mut operator, &statements).await);
    }
    for replication_role in ["origin", "replica", "local"] {
        let setting = AssertSqlSafe(format!("set session_replication_role = {replication_role}"));
        admin.execute(setting).await.expect("a superuser may");
        found.extend(not_refused(&mut admin, &statements).await);
    }
    assert_eq!(without_key_violations(found), Vec::<String>::new());
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");
}

/// FSM-5 for the rooms: what is missing is refused by code, never by an error that only a programmer can read.
#[tokio::test]
async fn a_missing_argument_is_refused_by_code() {
    let (db, _store) = letters().await;
    let panel = Panel::on(db).await;
    panel.put("policies/one", "a text", None).await.expect("a revision");
    let approval = panel.approved("transition_activation", SHORTCUT).await;
    let pending = panel.asked("note", "high", "n").await;
    let ask = panel.an_ask("note", "low", "n").await;
    let vote = panel.a_vote(pending, "rita", "approve").await;
    let mark = panel.a_mark("policies/one", 1, "read").await;
    let text = |value: &str| format!("'{}'", value.replace('\'', "''"));
    let seal = |principal: &str, statement: &Statement| {
        format!("decode('{}', 'hex')", hex::encode(keys::sign(principal, statement)))
    };
    let calls = [
        (
            "approval.fn_approval_request",
            vec![
                text(&ask.approval_id.to_string()),
                text("note"),
                text("n"),
                "null".to_owned(),
                text("low"),
                text(&ask.title),
                text(&ask.facts.to_string()),
                ask.expires_at.to_string(),
                text("petra"),
                text("pic_human"),
                text(&panel.key("petra").to_string()),
                ask.signed_at.to_string(),
                text(&ask.payload),
                seal("petra", &Statement::approval(&ask.payload)),
            ],
        ),
        (
            "approval.fn_approval_vote",
            vec![
                text(&vote.vote_id.to_string()),
                text(&pending.to_string()),
                text("approve"),
                text("đã đọc"),
                text("rita"),
                text("reviewer"),
                text(&panel.key("rita").to_string()),
                vote.signed_at.to_string(),
                text(&vote.payload),
                seal("rita", &Statement::approval(&vote.payload)),
            ],
        ),
        (
            "fsm.fn_transition_activate",
            vec![text(SHORTCUT), text(&approval.to_string()), text("petra"), text("pic_human")],
        ),
        (
            "kb.fn_kb_put",
            vec![
                text("policies/two"),
                text("policy"),
                text("a text"),
                "0".to_owned(),
                text("petra"),
                text("pic_human"),
            ],
        ),
        (
            "kb.fn_kb_sign",
            vec![
                text(&mark.signature_id.to_string()),
                text("policies/one"),
                "1".to_owned(),
                text("read"),
                text("petra"),
                text("pic_human"),
                text(&panel.key("petra").to_string()),
                mark.signed_at.to_string(),
                text(&mark.payload),
                seal("petra", &Statement::kb(&mark.payload)),
            ],
        ),
    ];
    let before = panel.db.fingerprint().await;
    let mut app = panel.db.connect(Role::App).await;
    let mut found = Vec::new();
    for (door, arguments) in calls {
        let whole = format!("select {door}({})", arguments.join(", "));
        assert_eq!(attempt(&mut app, &whole).await, None, "{whole}");
        for n in 0..arguments.len() {
            let mut arguments = arguments.clone();
            arguments[n] = "null".to_owned();
            let statement = format!("select {door}({})", arguments.join(", "));
            match attempt(&mut app, &statement).await {
                Some(state) if !state.starts_with('R') => {
                    found.push(format!("{door} without argument {}: {state}", n + 1));
                }
                _ => {}
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(before, panel.db.fingerprint().await, "everything was undone");
}
