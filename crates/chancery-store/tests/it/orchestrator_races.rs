//! Runs beside each other: two connections, no sleeps. Whoever is second waits, and then sees what the first one did.

use chancery_engine::approval;
use chancery_model::refusal::Code::{RA005, RO007, RS025};
use chancery_store::{Error, Role};
use chancery_testkit::until;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use crate::approval_world::refusal;
use crate::orchestrator_world::{Run, World};
use crate::session::{Isolation, Session, Watch};
use crate::support::codes;

async fn ask(connection: &mut PgConnection, call: &str) -> Result<Value, Error> {
    let query = AssertSqlSafe(format!("select orchestrator.{call}"));
    Ok(sqlx::query_scalar(query).fetch_one(connection).await?)
}

fn start(run: &Run) -> String {
    format!(
        "fn_orchestrate_start('{}', '{}', '{}', '{}', 'edith')",
        run.id, run.name, run.document, run.entry
    )
}

fn gate(world: &World, run: &Run, gate: &str) -> String {
    let evidence = world.evidence(run, gate);
    format!("fn_orchestrate_gate('{}', '{gate}', '{evidence}', '# Receipt', 'edith')", run.id)
}

/// ORC-2: of two starts at once one makes the run; the other waits and is told of it.
#[tokio::test]
async fn of_two_starts_at_once_one_makes_the_run() {
    let world = World::new().await;
    world.document("alpha").await;
    let (one, two) = (world.planned("alpha").await, world.planned("alpha").await);
    let mut first = Session::open(&world.cutter.db, Role::CutterExec).await;
    let mut second = Session::open(&world.cutter.db, Role::CutterExec).await;
    let pid = second.pid;
    first.begin(Isolation::ReadCommitted).await;
    ask(&mut first.connection, &start(&one)).await.expect("started");
    let call = start(&two);
    let other = tokio::spawn(async move { ask(&mut second.connection, &call).await });
    Watch::new(&world.cutter.db).until_blocked(pid).await;
    first.commit().await.expect("committed");
    let way = format!("cutter orchestrate resume --run-id {}", one.name);
    let facts =
        json!({ "document_id": "alpha", "run_id": one.name, "state": "pending", "way": way });
    assert_eq!(refusal(other.await.expect("an answer")), (RO007, facts));
    assert_eq!(world.cutter.db.count("orchestrator.run").await, 1);
}

/// ORC-8: two runners of one run take turns at a gate, and it is passed once.
#[tokio::test]
async fn two_runners_of_one_run_take_turns() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    let mut first = Session::open(&world.cutter.db, Role::CutterExec).await;
    let mut second = Session::open(&world.cutter.db, Role::CutterExec).await;
    let pid = second.pid;
    let call = gate(&world, &run, "IG_source_pin");
    first.begin(Isolation::ReadCommitted).await;
    let passed = ask(&mut first.connection, &call).await.expect("passed");
    let other = tokio::spawn(async move { ask(&mut second.connection, &call).await });
    Watch::new(&world.cutter.db).until_blocked(pid).await;
    first.commit().await.expect("committed");
    let again = other.await.expect("an answer").expect("the first answer");
    assert_eq!((&passed["replayed"], &again["replayed"]), (&json!(false), &json!(true)));
    assert_eq!((&passed["seq"], &again["seq"]), (&json!(2), &json!(2)));
    let receipt = format!("kb.revision where path = '{}'", run.path("01-source-pin"));
    assert_eq!(world.cutter.db.count(&receipt).await, 1);
}

/// ORC-4: while a gate uses an approval nobody votes on it; who comes after finds it used.
#[tokio::test]
async fn a_vote_waits_for_the_gate_that_uses_the_approval() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    world.drive(&run, "SG_cut_authz_request").await;
    let given = world.given(&run, "SG_cut_authz").await;
    let id = given["approval_id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let mut runner = Session::open(&world.cutter.db, Role::CutterExec).await;
    runner.begin(Isolation::ReadCommitted).await;
    let call = format!("fn_cut_leg_a('{}', '{given}', '# Leg A', 'test', 'edith')", run.id);
    ask(&mut runner.connection, &call).await.expect("written");
    let rita = world.cutter.actor("rita");
    let reject = approval::Decision::Reject;
    let against =
        approval::vote(&world.cutter.review, rita, "review_authority", id, reject, Some("no"));
    let watch = Watch::new(&world.cutter.db);
    let waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    let (voted, ()) = tokio::join!(against, async {
        until("the vote waits", || async { watch.count(waiting).await > 0 }).await;
        runner.commit().await.expect("committed");
    });
    let error = voted.expect_err("too late");
    assert_eq!(error.refusal().map(|refusal| refusal.code), Some(RA005));
    assert_eq!(world.state(&run).await, "cut_leg_a_committed");
}

/// ORC-9: on an old snapshot a gate could not see what changed under it, and is refused.
#[tokio::test]
async fn an_old_snapshot_is_refused() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    world.document("beta").await;
    let calls = [start(&world.planned("beta").await), gate(&world, &run, "IG_source_pin")];
    for isolation in [Isolation::RepeatableRead, Isolation::Serializable] {
        for call in &calls {
            let mut session = Session::open(&world.cutter.db, Role::CutterExec).await;
            session.begin(isolation).await;
            assert_eq!(codes(ask(&mut session.connection, call).await), [RS025], "{call}");
            session.rollback().await;
        }
    }
}
