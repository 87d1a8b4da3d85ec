//! SEC-3: no login that may little can stop the work of the others: what one does at a time is held by rows and not by advisory locks,
//! connections are shared out, and what a session sets for itself does not reach what others rely on.

use chancery_store::{Error, LOGINS, Role};
use chancery_testkit::TestDb;
use serde_json::json;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::governance_world::{clock_ahead, governed};
use crate::hardening::sqlstate;
use crate::outbox::{delivered, meters, tick};
use crate::session::{Isolation, Session, Watch};
use crate::support::{a_move, check, draft, letters};

/// No function of ours takes an advisory lock: any login could take the same key and keep it.
#[tokio::test]
async fn nothing_waits_for_an_advisory_lock() {
    let db = TestDb::new().await;
    let taking: Vec<String> = sqlx::query_scalar(
        "select p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
          where n.nspowner = 'chancery_owner'::regrole and p.prosrc ~ 'pg_(try_)?advisory' order by 1",
    )
    .fetch_all(&mut db.superuser().await)
    .await
    .expect("the functions");
    assert_eq!(taking, Vec::<String>::new());
}

/// What the redacted reader can lock holds up nobody: every name that a door takes its turn by, taken as an advisory lock.
#[tokio::test]
async fn a_low_login_holds_up_nobody() {
    let (db, store) = letters().await;
    let mut low = db.connect(Role::CutterReadOnly).await;
    let closed =
        low.execute("select pg_advisory_lock(1)").await.expect_err("our own cluster is closed");
    assert_eq!(sqlstate(&closed), "42501");
    let closed = low.execute("select lo_create(0)").await.expect_err("our own cluster is closed");
    assert_eq!(sqlstate(&closed), "42501");
    // Elsewhere others may need them, and nothing of ours waits for one.
    db.superuser()
        .await
        .execute("grant execute on function pg_advisory_lock(bigint) to public")
        .await
        .expect("a superuser may");
    for name in [
        "kb.path:handbook/a",
        "governance.fn_summaries_run",
        "fsm.fn_machine_apply",
        "chancery migrate",
        "event.fn_ensure_partitions",
    ] {
        let lock = format!("select pg_advisory_lock(hashtextextended('{name}', 0))");
        low.execute(AssertSqlSafe(lock)).await.expect("anybody may");
    }
    store.fn_summaries_run("chancery").await.expect("not held up");
    db.machine(&crate::support::LETTER.replace("version: 1.0.0", "version: 1.1.0")).await;
    db.target().migrate().await.expect("not held up");
    let denied = low.execute("insert into queue.turn (name) values ('kb.path:handbook/a')").await;
    assert_eq!(sqlstate(&denied.expect_err("no right")), "42501");
    let denied = low.execute("select internal.take_turn('kb.path:handbook/a')").await;
    assert_eq!(sqlstate(&denied.expect_err("no right")), "42501");
    let lock = "do $$ begin lock table internal.migration in share row exclusive mode; end $$";
    let denied = low.execute(lock).await;
    assert_eq!(sqlstate(&denied.expect_err("no right")), "42501");
}

async fn definer(db: &TestDb) -> PgConnection {
    let mut admin = db.superuser().await;
    let become_definer = "set role chancery_definer; set lock_timeout = '200ms'";
    admin.execute(become_definer).await.expect("the superuser may");
    admin
}

/// A turn is one transaction's until it ends, and that transaction's as often as it likes.
#[tokio::test]
async fn a_turn_is_taken_by_one_at_a_time() {
    let db = TestDb::new().await;
    let (mut first, mut second) = (definer(&db).await, definer(&db).await);
    let take = "select internal.take_turn('a')";
    for end in ["commit", "rollback"] {
        for statement in ["begin", take, take, "savepoint s", take, "rollback to s", take] {
            first.execute(statement).await.expect(statement);
        }
        let waiting = second.execute(take).await.expect_err("somebody has it");
        assert_eq!(sqlstate(&waiting), "55P03");
        second.execute("select internal.take_turn('b')").await.expect("another name");
        first.execute(end).await.expect(end);
        second.execute(take).await.expect("it is free");
    }
}

/// Names that nobody is alone at are swept, one that somebody holds or waits for is not, and whoever comes meanwhile has its turn.
#[tokio::test]
async fn turns_that_nobody_holds_are_swept() {
    let db = TestDb::new().await;
    let (mut first, mut second) = (definer(&db).await, definer(&db).await);
    let mut sweeper = db.superuser().await;
    let names = "select coalesce(string_agg(name, ' ' order by name), '') from queue.turn where name in ('held', 'left')";
    second.execute("select internal.take_turn('left')").await.expect("taken and left");
    for statement in ["begin", "select internal.take_turn('held')"] {
        first.execute(statement).await.expect(statement);
    }
    second.execute("select internal.take_turn('other')").await.expect("another name");
    first.execute("commit").await.expect("known to all");
    for statement in ["begin", "select internal.take_turn('held')"] {
        first.execute(statement).await.expect(statement);
    }
    // By the loop's own door.
    db.text_as(Role::App, "select event.fn_retention_apply()::text").await;
    let left: String = sqlx::query_scalar(names).fetch_one(&mut sweeper).await.expect("names");
    assert_eq!(left, "held");
    let waiting = second.execute("select internal.take_turn('held')").await;
    assert_eq!(sqlstate(&waiting.expect_err("somebody still has it")), "55P03");
    first.execute("commit").await.expect("done");
    // Who comes while the row goes waits for the sweep, and makes it again.
    sweeper.execute("begin").await.expect("a transaction");
    let swept: i32 = sqlx::query_scalar("select internal.sweep_turns()")
        .fetch_one(&mut sweeper)
        .await
        .expect("swept");
    assert!(swept >= 1, "{swept}");
    let waiting = second.execute("select internal.take_turn('held')").await;
    assert_eq!(sqlstate(&waiting.expect_err("the sweep has it")), "55P03");
    sweeper.execute("commit").await.expect("gone");
    for statement in ["begin", "select internal.take_turn('held')"] {
        second.execute(statement).await.expect(statement);
    }
    // A transaction that sweeps keeps its own turns.
    second.execute("select internal.sweep_turns()").await.expect("swept");
    let waiting = first.execute("select internal.take_turn('held')").await;
    assert_eq!(sqlstate(&waiting.expect_err("still held")), "55P03");
    second.execute("commit").await.expect("done");
    let left: String = sqlx::query_scalar(names).fetch_one(&mut sweeper).await.expect("names");
    assert_eq!(left, "held", "it stands, and is swept another time");
}

/// A login cannot take all connections of the server; a limit that an operator set stands.
#[tokio::test]
async fn every_login_leaves_connections_to_the_others() {
    let db = TestDb::new().await;
    let limits: Vec<(String, i32, i32)> = sqlx::query_as(
        "select rolname::text, rolconnlimit, current_setting('max_connections')::integer from pg_roles where rolname = any ($1)",
    )
    .bind(LOGINS.iter().map(|role| role.name()).collect::<Vec<_>>())
    .fetch_all(&mut db.superuser().await)
    .await
    .expect("the logins");
    assert_eq!(limits.len(), LOGINS.len());
    for (login, limit, most) in limits {
        // The operator comes in when all others are at their limits.
        let expected = if login == "chancery_migrator" {
            limit == -1
        } else {
            limit > 0 && limit * 10 <= most * 7
        };
        assert!(expected, "{login} may have {limit} of {most} connections");
    }
}

/// A session that was forgotten does not hold locks, and one that nobody uses does not stay, where logins only look or write now and then.
#[tokio::test]
async fn every_login_has_its_time_outs() {
    let db = TestDb::new().await;
    let settings: Vec<(String, String)> = sqlx::query_as(
        "select r.rolname::text, array_to_string(s.setconfig, ' ') from pg_roles r join pg_db_role_setting s on s.setrole = r.oid and s.setdatabase = 0
          where r.rolname = any ($1)",
    )
    .bind(LOGINS.iter().map(|role| role.name()).collect::<Vec<_>>())
    .fetch_all(&mut db.superuser().await)
    .await
    .expect("the logins");
    assert_eq!(settings.len(), LOGINS.len());
    for (login, set) in settings {
        for name in ["idle_in_transaction_session_timeout=60s", "lock_timeout=10s"] {
            assert!(set.contains(name), "{login} has {set}");
        }
        let looks = ["auditor_ro", "cutter_ro", "birth_writer"].contains(&login.as_str());
        assert_eq!(set.contains("idle_session_timeout=30min"), looks, "{login} has {set}");
    }
}

/// A session that does not wait for the disk is made to, where it writes evidence.
#[tokio::test]
async fn evidence_waits_for_the_disk_whatever_the_session_says() {
    let (db, store) = letters().await;
    let run = draft(&store).await;
    let mut session = Session::open(&db, Role::App).await;
    session.run("set synchronous_commit = off").await.expect("a login's own setting");
    session.begin(Isolation::ReadCommitted).await;
    session.apply(&check(run)).await.expect("checked");
    session.run("set constraints all immediate").await.expect("what is asked at COMMIT");
    let setting: String = sqlx::query_scalar("show synchronous_commit")
        .fetch_one(&mut session.connection)
        .await
        .expect("the setting");
    assert_eq!(setting, "on");
    session.commit().await.expect("committed");
}

/// EVT-2: a pass that somebody leaves open holds up positions for one lock time-out, and is then ended.
#[tokio::test]
async fn an_open_pass_does_not_stall_positions() {
    let (db, store, runs) = meters(2).await;
    let limit = format!(
        "alter role chancery_app in database \"{}\" set lock_timeout = '200ms'",
        db.target().database()
    );
    db.superuser().await.execute(AssertSqlSafe(limit)).await.expect("the superuser may");
    let mut open = Session::open(&db, Role::App).await;
    open.begin(Isolation::ReadCommitted).await;
    open.run("select event.fn_sequence_events(10)").await.expect("a pass, not committed");
    let fresh = db.fresh_store(Role::App);
    fresh.fn_state_transition_apply(&tick(runs[0])).await.expect("ticked");
    let held_up = fresh.fn_sequence_events(10).await;
    assert!(matches!(held_up, Err(Error::Conflict(_))), "{held_up:?}");
    let watch = Watch::new(&db);
    chancery_testkit::until("the open pass was ended", async || {
        sqlx::query_scalar::<_, i64>("select count(*) from pg_stat_activity where pid = $1")
            .bind(open.pid)
            .fetch_one(&watch.pool)
            .await
            .expect("a count")
            == 0
    })
    .await;
    fresh.fn_sequence_events(100).await.expect("positions");
    assert!(delivered(&store).await.contains(&(runs[0], 2)), "nothing was lost");
}

/// RUN-8: a clock of the database that goes back is a finding until it has caught up, and no log row is earlier than the one before it.
#[tokio::test]
async fn a_clock_that_goes_back_is_noticed() {
    let (db, store) = governed().await;
    db.service("writer", &["executor_worker", "pic_human"]).await;
    db.service("reader", &["reviewer", "executor_worker"]).await;
    db.machine(crate::support::LETTER).await;
    let open = async || {
        let open = "select issue_type || ' ' || (evidence ->> 'seconds_back')::numeric::integer from governance.system_issues where state = 'open'";
        db.texts(open).await.into_iter().flatten().collect::<Vec<String>>()
    };
    store.fn_silent_check("chancery").await.expect("a look at the clock");
    clock_ahead(&db, "1 hour").await;
    store.fn_silent_check("chancery").await.expect("a look at the clock");
    let run = draft(&store).await;
    assert_eq!(open().await, Vec::<String>::new());

    clock_ahead(&db, "-1 hour").await;
    store.fn_state_transition_apply(&check(run)).await.expect("checked");
    let hold = a_move(
        run,
        "held",
        "reader",
        "reviewer",
        "rpc:letter_hold",
        json!({ "facet": "waiting_stamp" }),
    );
    store.fn_state_transition_apply_batch(&[hold]).await.expect("held");
    let release = a_move(run, "checked", "writer", "executor_worker", "event:held_over", json!({}));
    store.fn_state_transition_apply(&release).await.expect("released");
    let back = "select count(*)::text from fsm.transition_log l join fsm.transition_log b on b.run_id = l.run_id and b.seq = l.seq - 1 where l.at < b.at";
    assert_eq!(db.text(back).await, "0", "times do not go back within a run");
    store.fn_silent_check("chancery").await.expect("a look at the clock");
    assert_eq!(open().await, ["clock_went_back 7200"]);
    store.fn_silent_check("chancery").await.expect("a look at the clock");
    assert_eq!(open().await, ["clock_went_back 7200"], "once");

    clock_ahead(&db, "2 hours").await;
    store.fn_silent_check("chancery").await.expect("a look at the clock");
    assert_eq!(open().await, Vec::<String>::new(), "it has caught up");
}
