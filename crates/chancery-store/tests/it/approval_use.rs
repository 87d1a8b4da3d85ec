//! APR-1, FSM-11: an approval allows exactly what was asked, once, whoever else tries at the same time.

use chancery_model::refusal::Code::{
    RA002, RA003, RA005, RA006, RI003, RI004, RS004, RS011, RS025,
};
use chancery_store::{Error, Role};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::approval_world::{Panel, SHORTCUT, activate_on, refusal, vote_on};
use crate::session::{Isolation, Session, Watch};
use crate::support::{LETTER, codes, draft, letters, post};

/// A door that does nothing but use an approval, as the doors of the rooms do.
const USE: &str = "
create function approval.try_use(p_approval_id uuid, p_kind text, p_subject_ref text, p_subject_digest bytea, p_used_for_ref text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform approval.consume(p_approval_id, p_kind, p_subject_ref, p_subject_digest, 'note', p_used_for_ref, 'wanda');
  return 'null';
end
$$;
alter function approval.try_use owner to chancery_definer;
grant execute on function approval.try_use to chancery_app;";

async fn panel() -> Panel {
    let panel = Panel::new().await;
    panel.admin.execute(USE).await.expect("a door");
    panel
}

/// Kind, reference and digest.
type Subject<'a> = (&'a str, &'a str, Option<&'a [u8]>);

async fn use_on(
    connection: &mut PgConnection,
    approval: Uuid,
    subject: Subject<'_>,
    used_for: &str,
) -> Result<Value, Error> {
    let answer = sqlx::query_scalar("select approval.try_use($1, $2, $3, $4, $5)")
        .bind(approval)
        .bind(subject.0)
        .bind(subject.1)
        .bind(subject.2)
        .bind(used_for)
        .fetch_one(connection)
        .await?;
    Ok(answer)
}

/// An approval for a note of these bytes.
async fn about(panel: &Panel, digest: &[u8]) -> Uuid {
    let mut ask = panel.an_ask("note", "low", "n").await;
    ask.subject_digest = Some(digest.to_vec());
    panel.sign_ask(&mut ask).await;
    panel.ask(&ask).await.expect("a request");
    panel.votes(ask.approval_id, "wanda", "approve").await.expect("a vote");
    ask.approval_id
}

/// APR-1: another kind, subject or digest is something else, and the refusal says in what it differs.
#[tokio::test]
async fn an_approval_is_for_exactly_its_subject() {
    let panel = panel().await;
    let digest = [7_u8; 32];
    let approval = about(&panel, &digest).await;
    let mut app = panel.db.connect(Role::App).await;
    let before = panel.db.fingerprint().await;
    let hex = "07".repeat(32);
    let other = [8_u8; 32];
    let cases: [(Subject<'_>, Value); 4] = [
        (
            ("run_transition", "n", Some(&digest)),
            json!({ "differs_in": "kind", "approved": "note", "asked": "run_transition" }),
        ),
        (
            ("note", "m", Some(&digest)),
            json!({ "differs_in": "subject_ref", "approved": "n", "asked": "m" }),
        ),
        (
            ("note", "n", Some(&other)),
            json!({ "differs_in": "subject_digest", "approved": hex, "asked": "08".repeat(32) }),
        ),
        (
            ("note", "n", None),
            json!({ "differs_in": "subject_digest", "approved": hex, "asked": null }),
        ),
    ];
    for (subject, mut expected) in cases {
        expected["approval_id"] = json!(approval);
        let answer = refusal(use_on(&mut app, approval, subject, "u").await);
        assert_eq!(answer, (RA003, expected));
    }
    let nowhere = Uuid::now_v7();
    let answer = use_on(&mut app, nowhere, ("note", "n", None), "u").await;
    assert_eq!(refusal(answer), (RA002, json!({ "approval_id": nowhere })));
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");
    use_on(&mut app, approval, ("note", "n", Some(&digest)), "u").await.expect("exactly this");
    assert_eq!(panel.state(approval).await, "used");
}

/// APR-1: what was used is used up; the same use again is no second one.
#[tokio::test]
async fn an_approval_is_used_once() {
    let panel = panel().await;
    let digest = [7_u8; 32];
    let approval = about(&panel, &digest).await;
    let subject = ("note", "n", Some(&digest[..]));
    let mut app = panel.db.connect(Role::App).await;
    use_on(&mut app, approval, subject, "u").await.expect("used");
    let before = panel.db.fingerprint().await;
    use_on(&mut app, approval, subject, "u").await.expect("the same use");
    let (code, facts) = refusal(use_on(&mut app, approval, subject, "v").await);
    assert_eq!((code, &facts["state"]), (RA006, &json!("used")));
    let (code, facts) = refusal(panel.votes(approval, "rita", "reject").await);
    assert_eq!((code, facts), (RA005, json!({ "approval_id": approval, "state": "used" })));
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");
}

/// APR-1: pending, rejected and expired approvals allow nothing, and the refusal says what is missing.
#[tokio::test]
async fn what_is_not_approved_allows_nothing() {
    let panel = panel().await;
    let start = 1_792_073_882_000_000;
    panel.stop_the_clock(start).await;
    let mut app = panel.db.connect(Role::App).await;
    let [pending, rejected, expired] = [
        panel.asked("note", "high", "n").await,
        panel.asked("note", "high", "n").await,
        panel.asked("note", "low", "n").await,
    ];
    panel.votes(pending, "rita", "approve").await.expect("a vote");
    panel.votes(rejected, "rita", "reject").await.expect("a vote");
    panel.votes(expired, "rita", "approve").await.expect("a vote");
    let answer = refusal(use_on(&mut app, pending, ("note", "n", None), "u").await);
    let facts = json!({
        "approval_id": pending, "kind": "note", "subject_kind": "note", "subject_ref": "n", "risk": "high", "proposer": "petra",
        "state": "pending", "expires_at": start + 60_000_000,
        "tally": { "sovereigns": 0, "reviewers": 1, "approvals": 1, "rejects": 0 },
        "quorum": { "sovereigns": 1, "reviewers": 2, "approvals": 3, "rejects_allowed": 0 },
    });
    assert_eq!(answer, (RA006, facts));
    let (code, facts) = refusal(use_on(&mut app, rejected, ("note", "n", None), "u").await);
    assert_eq!((code, &facts["state"]), (RA006, &json!("rejected")));
    assert_eq!(panel.state(expired).await, "approved");
    panel.stop_the_clock(start + 60_000_000).await;
    for approval in [expired, pending] {
        let (code, facts) = refusal(use_on(&mut app, approval, ("note", "n", None), "u").await);
        assert_eq!((code, &facts["state"]), (RA006, &json!("expired")));
    }
    panel.stop_the_clock(start + 59_999_999).await;
    use_on(&mut app, expired, ("note", "n", None), "u").await.expect("to the microsecond");
}

const CROWD: usize = 16;

/// Sixteen connections that all stand in front of the approval's lock before the first may go on.
async fn crowd(
    panel: &Panel,
    approval: Uuid,
    used_for: fn(usize) -> String,
) -> Vec<Result<Value, Error>> {
    let watch = Watch::new(&panel.db);
    let mut lock = watch.pool.begin().await.expect("a transaction");
    sqlx::query("set local role chancery_definer").execute(&mut *lock).await.expect("the definer");
    sqlx::query("select internal.take_turn('approval:' || $1)")
        .bind(approval.to_string())
        .execute(&mut *lock)
        .await
        .expect("the approval is held");
    let mut racers = Vec::new();
    for n in 0..CROWD {
        let mut session = Session::open(&panel.db, Role::App).await;
        let pid = session.pid;
        let racer = tokio::spawn(async move {
            use_on(&mut session.connection, approval, ("note", "n", None), &used_for(n)).await
        });
        watch.until_blocked(pid).await;
        racers.push(racer);
    }
    lock.rollback().await.expect("the approval is free");
    let mut answers = Vec::new();
    for racer in racers {
        answers.push(racer.await.expect("an answer"));
    }
    answers
}

/// APR-1: of sixteen uses at once one is made; sixteen repetitions of one use are one.
#[tokio::test]
async fn a_crowd_uses_an_approval_once() {
    let panel = panel().await;
    let approval = panel.asked("note", "low", "n").await;
    panel.votes(approval, "rita", "approve").await.expect("a vote");
    let answers = crowd(&panel, approval, |n| format!("u{n}")).await;
    let mut used = 0;
    for answer in answers {
        match answer {
            Ok(_) => used += 1,
            Err(_) => {
                let (code, facts) = refusal(answer);
                assert_eq!((code, &facts["state"]), (RA006, &json!("used")));
            }
        }
    }
    assert_eq!(used, 1);
    let again = panel.asked("note", "low", "n").await;
    panel.votes(again, "rita", "approve").await.expect("a vote");
    for answer in crowd(&panel, again, |_| "u".to_owned()).await {
        answer.expect("the same use");
    }
    assert_eq!(panel.one::<i64>("select count(*) from approval.approval_use").await, 2);
}

/// APR-1: a vote that waits for a use finds that it came too late.
#[tokio::test]
async fn a_vote_sees_the_use_that_came_first() {
    let panel = panel().await;
    let approval = panel.asked("note", "low", "n").await;
    panel.votes(approval, "rita", "approve").await.expect("a vote");
    let late = panel.a_vote(approval, "ralf", "reject").await;
    let mut first = Session::open(&panel.db, Role::App).await;
    let mut second = Session::open(&panel.db, Role::App).await;
    let pid = second.pid;
    first.begin(Isolation::ReadCommitted).await;
    use_on(&mut first.connection, approval, ("note", "n", None), "u").await.expect("used");
    let voting = tokio::spawn(async move { vote_on(&mut second.connection, &late).await });
    Watch::new(&panel.db).until_blocked(pid).await;
    first.commit().await.expect("committed");
    let (code, facts) = refusal(voting.await.expect("an answer"));
    assert_eq!((code, &facts["state"]), (RA005, &json!("used")));
}

// ── proposed transitions ────────────────────────────────────────────────────────────────────────────────────────────

/// FSM-11: a proposed transition is closed until somebody activates it with its approval, and open from then on.
#[tokio::test]
async fn a_proposed_transition_fires_once_it_is_approved() {
    let (db, store) = letters().await;
    let panel = Panel::on(db).await;
    let run = draft(&store).await;
    assert_eq!(codes(store.fn_state_transition_apply(&post(run)).await), [RS011]);
    let pending = panel.asked("transition_activation", "medium", SHORTCUT).await;
    let before = panel.db.fingerprint().await;
    let (code, facts) = refusal(panel.activate(SHORTCUT, pending).await);
    assert_eq!((code, &facts["state"]), (RA006, &json!("pending")));
    let (code, facts) = refusal(panel.activate("letter@1.0.0#nothing", pending).await);
    assert_eq!((code, facts), (RS004, json!({ "transition": "letter@1.0.0#nothing" })));
    assert_eq!(codes(panel.activate(SHORTCUT, Uuid::now_v7()).await), [RA002]);
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");

    let elsewhere = panel.approved("transition_activation", "letter@1.0.0#other").await;
    let (code, facts) = refusal(panel.activate(SHORTCUT, elsewhere).await);
    assert_eq!((code, &facts["differs_in"]), (RA003, &json!("subject_ref")));
    let other_kind = panel.approved("run_transition", SHORTCUT).await;
    let (code, facts) = refusal(panel.activate(SHORTCUT, other_kind).await);
    assert_eq!((code, &facts["differs_in"]), (RA003, &json!("kind")));
    assert_eq!(codes(store.fn_state_transition_apply(&post(run)).await), [RS011]);

    panel.votes(pending, "silas", "approve").await.expect("a vote");
    let report = panel.activate(SHORTCUT, pending).await.expect("activated");
    assert_eq!(
        report,
        json!({ "transition_id": SHORTCUT, "proposed": false, "approval_id": pending, "replayed": false })
    );
    store.fn_state_transition_apply(&post(run)).await.expect("the way is open");
    let before = panel.db.fingerprint().await;
    let again = panel.activate(SHORTCUT, pending).await.expect("the same again");
    assert_eq!(again["replayed"], json!(true));
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");
}

/// FSM-11: a version that is replaced under its name is not what was voted on: a used approval opens nothing a second time, and
/// one that pins the definition is good for that definition only.
#[tokio::test]
async fn an_approval_does_not_outlive_the_text_it_was_about() {
    let (db, _store) = letters().await;
    let panel = Panel::on(db).await;
    let pinned = async || {
        let digest: String = panel
            .one("select definition_sha256 from fsm.state_machine_def where state_machine_id = 'letter@1.0.0'")
            .await;
        let mut ask = panel.an_ask("transition_activation", "medium", SHORTCUT).await;
        ask.subject_digest = Some(bytes(&digest));
        panel.sign_ask(&mut ask).await;
        panel.ask(&ask).await.expect("a request");
        panel.votes(ask.approval_id, "silas", "approve").await.expect("a vote");
        ask.approval_id
    };
    let [used, unused] = [pinned().await, pinned().await];
    panel.activate(SHORTCUT, used).await.expect("activated");
    let other = LETTER.replace("A letter that is written", "A letter that is torn up");
    panel.db.machine(&other).await;
    let proposed: bool = panel
        .one(&format!("select proposed from fsm.transition_def where transition_id = '{SHORTCUT}'"))
        .await;
    assert!(proposed, "closed again");
    let (code, facts) = refusal(panel.activate(SHORTCUT, used).await);
    assert_eq!((code, &facts["state"]), (RA006, &json!("used")));
    let (code, facts) = refusal(panel.activate(SHORTCUT, unused).await);
    assert_eq!((code, &facts["differs_in"]), (RA003, &json!("subject_digest")));
    let fresh = pinned().await;
    panel.activate(SHORTCUT, fresh).await.expect("a vote on this text");
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("a digest");
    (0..hex.len()).step_by(2).map(digits).collect()
}

/// FSM-11, SEC-3: who activates is a principal that holds its class, behind the application's login, and sees the newest.
#[tokio::test]
async fn an_activation_has_somebody_behind_it() {
    let (db, _store) = letters().await;
    let panel = Panel::on(db).await;
    let approval = panel.approved("transition_activation", SHORTCUT).await;
    let mut app = Session::open(&panel.db, Role::App).await;
    for (principal, class, expected) in
        [("rita", "sovereign", RI003), ("agnes", "review_authority", RI004)]
    {
        let statement = format!(
            "select fsm.fn_transition_activate('{SHORTCUT}', '{approval}', '{principal}', '{class}')"
        );
        assert_eq!(codes(app.run(&statement).await), [expected]);
    }
    app.begin(Isolation::RepeatableRead).await;
    assert_eq!(codes(activate_on(&mut app.connection, SHORTCUT, approval).await), [RS025]);
    app.rollback().await;
    for role in
        [Role::CutterExec, Role::CutterVerify, Role::CutterReview, Role::Auditor, Role::Backup]
    {
        let mut login = panel.db.connect(role).await;
        let call = AssertSqlSafe(format!(
            "select fsm.fn_transition_activate('{SHORTCUT}', '{approval}', 'petra', 'pic_human')"
        ));
        assert_eq!(
            crate::hardening::sqlstate(&login.execute(call).await.expect_err("closed")),
            "42501"
        );
    }
}

/// FSM-11: sixteen who activate at once do it once.
#[tokio::test]
async fn a_crowd_activates_once() {
    let (db, _store) = letters().await;
    let panel = Panel::on(db).await;
    let approval = panel.approved("transition_activation", SHORTCUT).await;
    let mut racers = Vec::new();
    for _ in 0..CROWD {
        let mut session = Session::open(&panel.db, Role::App).await;
        racers.push(tokio::spawn(async move {
            activate_on(&mut session.connection, SHORTCUT, approval).await
        }));
    }
    let mut made = 0;
    for racer in racers {
        let report = racer.await.expect("an answer").expect("activated");
        made += usize::from(report["replayed"] == json!(false));
    }
    assert_eq!(made, 1);
    assert_eq!(panel.one::<i64>("select count(*) from approval.approval_use").await, 1);
}
