//! A batch moves its runs together where it can and one by one where it must; nobody can tell from what it did (decision 0027).

use chancery_model::refusal::Code;
use chancery_store::fsm::{Move, MoveReport, Start};
use chancery_store::{Role, Store};
use chancery_testkit::TestDb;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::archive::finish;
use crate::locking::two_batches_finish_each_paper_once;
use crate::outbox::{meters, tick};
use crate::session::{Isolation, Session, Watch};
use crate::support::{a_move, birth, codes};

/// Moves with and without an event, with a guard that reads the run's data, and with one that reads who acts.
const PARCEL: &str = r#"
machine: parcel
scope: custom
version: 1.0.0
description: A parcel on its way.
data: { type: object, properties: { weight: {} } }
events:
  - { type: parcel.moved, description: A parcel was carried on. }
guards:
  - { name: can_be_lifted, kind: config, rule: '$.run.data.weight < 30', reads: [], description: It is not too heavy. }
  - { name: not_by_its_sender, kind: config, rule: '$.actor.principal != $.run.started_by', reads: [], description: Nobody receives their own parcel. }
states:
  - { code: packed, class: idle, initial: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Packed, vi: Đã gói }, message: { en: waits, vi: chờ } }
  - { code: moving, class: active, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Moving, vi: Đang đi }, message: { en: moves, vi: đi } }
  - { code: received, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Received, vi: Đã nhận }, message: { en: there, vi: đến } }
transitions:
  - { id: begin, from: "∅", to: packed, actors: [executor_worker], trigger: { kind: rpc, ref: parcel_begin } }
  - { id: carry, from: [packed, moving], to: moving, actors: [executor_worker], trigger: { kind: rpc, ref: parcel_carry }, guards: [can_be_lifted], event: parcel.moved }
  - { id: rest, from: moving, to: packed, actors: [executor_worker], trigger: { kind: rpc, ref: parcel_rest } }
  - { id: receive, from: moving, to: received, actors: [executor_worker], trigger: { kind: rpc, ref: parcel_receive }, guards: [not_by_its_sender] }
"#;

/// Rows of the log that do not follow the row before them, or are not what their hash says.
const BROKEN_CHAINS: &str = "
    select count(*) from (
      select l.*, lag(l.hash) over (partition by l.run_id order by l.seq) as before,
             lag(l.at) over (partition by l.run_id order by l.seq) as time_before from fsm.transition_log l) l
     where l.prev_hash is distinct from l.before or l.at < l.time_before
        or l.hash <> internal.log_hash(
             l.run_id, l.seq, l.log_id, l.run_kind, l.state_machine_id, l.transition_id, l.from_state, l.to_state, l.facet, l.principal,
             l.actor_class, l.trigger_kind, l.trigger_ref, l.reason, l.evidence, l.event_type, l.artefact_digest, l.idempotency_key,
             l.key_id, l.signature, l.at, l.prev_hash)";

/// What is longer than the short way takes.
fn at_length(m: Move) -> Move {
    Move { evidence: json!({ "note": "long ".repeat(30) }), ..m }
}

fn carry(run: Uuid) -> Move {
    a_move(run, "moving", "writer", "executor_worker", "rpc:parcel_carry", json!({}))
}

fn rest(run: Uuid) -> Move {
    a_move(run, "packed", "writer", "executor_worker", "rpc:parcel_rest", json!({}))
}

fn receive(run: Uuid, who: &str) -> Move {
    a_move(run, "received", who, "executor_worker", "rpc:parcel_receive", json!({}))
}

const PARCELS: usize = 12;

/// Parcels in the order of their ids; the fifth is too heavy.
async fn parcels(store: &Store) -> Vec<Uuid> {
    let mut runs = Vec::new();
    for n in 0..PARCELS {
        let weight = if n == 5 { 40 } else { n };
        let born = birth("parcel", json!({ "weight": weight }));
        let born = Start { trigger_ref: "parcel_begin".to_owned(), ..born };
        runs.push(store.fn_run_start(&born).await.expect("a parcel").run_id);
    }
    runs
}

async fn post_office() -> (TestDb, Store) {
    let db = TestDb::new().await;
    db.service("writer", &["executor_worker"]).await;
    db.service("reader", &["executor_worker"]).await;
    db.machine(PARCEL).await;
    let store = db.store(Role::App);
    (db, store)
}

/// How often this session has called the engine's functions so far: one by one, and together.
async fn called(session: &mut Session) -> (i64, i64) {
    sqlx::query_as(
        "select coalesce(sum(calls) filter (where funcname = 'move'), 0)::bigint,
                coalesce(sum(calls) filter (where funcname = 'move_together'), 0)::bigint
           from pg_stat_xact_user_functions where schemaname = 'fsm'",
    )
    .fetch_one(&mut session.connection)
    .await
    .expect("calls")
}

/// How often a batch of these moves calls them. It is not kept.
async fn calls(session: &mut Session, moves: &[Move]) -> (i64, i64) {
    session.begin(Isolation::ReadCommitted).await;
    let before = called(session).await;
    let reports = session.batch(moves).await.expect("verdicts");
    assert!(reports.len() == moves.len() && reports.iter().all(|report| report.ok), "{reports:?}");
    let after = called(session).await;
    session.rollback().await;
    (after.0 - before.0, after.1 - before.1)
}

/// FSM-6: fifty plain moves are one statement; what has to go by itself parts them, and nothing else does.
#[tokio::test]
async fn neighbours_on_the_short_way_move_together() {
    let (db, _store, runs) = meters(50).await;
    let allow = "alter role chancery_app in database %s set track_functions = 'all'";
    let mut admin = db.superuser().await;
    let name: String = sqlx::query_scalar("select current_database()")
        .fetch_one(&mut admin)
        .await
        .expect("a name");
    sqlx::raw_sql(AssertSqlSafe(allow.replace("%s", &name)))
        .execute(&mut admin)
        .await
        .expect("calls are counted");
    let mut session = Session::open(&db, Role::App).await;
    let all: Vec<Move> = runs.iter().copied().map(tick).collect();
    assert_eq!(calls(&mut session, &all).await, (0, 1), "all of them at once");
    assert_eq!(calls(&mut session, &all[..1]).await, (0, 1));
    assert_eq!(calls(&mut session, &[]).await, (0, 0));
    let mut one_apart = all.clone();
    one_apart[20] = at_length(tick(runs[20]));
    assert_eq!(calls(&mut session, &one_apart).await, (1, 2), "before it and after it");
    let mut twice = all.clone();
    twice.push(tick(runs[49]));
    assert_eq!(calls(&mut session, &twice).await, (2, 1), "the second has to see the first");
}

/// Something of everything: plain moves, refused ones, such as take the full way, and a run that is named twice and thrice.
fn of_everything(runs: &[Uuid]) -> Vec<Move> {
    let keyed = |key: &str, m: Move| Move { idempotency_key: key.to_owned(), ..m };
    vec![
        keyed("plain", carry(runs[8])),
        keyed("before the next", carry(runs[2])),
        keyed("stranger", Move { principal: "nobody".to_owned(), ..carry(runs[1]) }),
        keyed("reason", Move { reason: Some("it was due".to_owned()), ..carry(runs[0]) }),
        keyed("after the one before", rest(runs[2])),
        keyed("long", at_length(carry(runs[3]))),
        keyed("from", Move { from: Some("packed".to_owned()), ..carry(runs[4]) }),
        keyed("heavy", carry(runs[5])),
        keyed("names", Move { evidence: json!({ "b": 1, "a": "x" }), ..carry(runs[6]) }),
        keyed("not from", Move { from: Some("moving".to_owned()), ..carry(runs[7]) }),
        keyed("kind", Move { run_kind: "nothing".to_owned(), ..carry(runs[9]) }),
        keyed("again", carry(runs[9])),
        keyed("again", carry(runs[9])),
        keyed("carried", Move { evidence: json!({ "hub": "north: \"a\"" }), ..carry(runs[10]) }),
        keyed("by its sender", receive(runs[10], "writer")),
        keyed("by another", receive(runs[10], "reader")),
        keyed("no word", Move { evidence: json!({ "": "" }), ..carry(runs[11]) }),
    ]
}

/// What was made: transition, event, states and number; and whether it was made before.
type Made = (Option<String>, Option<String>, Option<String>, String, Option<i64>, bool);

fn made(report: MoveReport) -> Made {
    let MoveReport { transition_id, emitted_event_type, from, to, seq, replayed, .. } = report;
    (transition_id, emitted_event_type, from, to, seq, replayed)
}

/// As the door for one move would say it.
fn verdict(report: MoveReport) -> Result<Made, Vec<Code>> {
    match report.ok {
        true => Ok(made(report)),
        false => Err(report.problems.iter().map(|problem| problem.code).collect()),
    }
}

/// What a run is and what was written about its moves, without what time and chance put there.
async fn all_of(db: &TestDb, runs: &[Uuid]) -> Vec<Value> {
    sqlx::query_scalar(
        "select jsonb_build_object(
                  'run', to_jsonb(r) - '{run_id,head_hash,trace_id,correlation_id,created_at,last_transition_at}'::text[],
                  'as the log says', (select l.hash = r.head_hash and l.at = r.last_transition_at and l.seq = r.seq
                                        from fsm.transition_log l where l.run_id = r.run_id order by l.seq desc limit 1),
                  'log', (select jsonb_agg(to_jsonb(l) - '{run_id,log_id,at,prev_hash,hash}'::text[] order by l.seq)
                            from fsm.transition_log l where l.run_id = r.run_id and l.seq > 1),
                  'events', (select jsonb_agg(to_jsonb(o) - '{outbox_id,event_id,created_at,subject_id,trace_id,correlation_id,xid}'::text[]
                                      || jsonb_build_object('of its move', (l.log_id, l.at) = (o.event_id, o.created_at),
                                                            'of its run', (r.trace_id, r.correlation_id) = (o.trace_id, o.correlation_id))
                                      order by o.subject_seq)
                               from event.event_outbox o
                               left join fsm.transition_log l on l.run_id = o.subject_id and l.seq = o.subject_seq
                              where o.subject_id = r.run_id))
           from unnest($1::uuid[]) with ordinality u (run_id, n) join fsm.run r using (run_id) order by u.n",
    )
    .bind(runs)
    .fetch_all(&mut db.superuser().await)
    .await
    .expect("rows")
}

/// FSM-6, FSM-7: a batch leaves the rows and gives the answers that its moves leave and give one by one, also when it is sent again.
#[tokio::test]
async fn a_batch_does_what_its_moves_do_one_by_one() {
    let (db, store) = post_office().await;
    let (together, alone) = (parcels(&store).await, parcels(&store).await);
    let mut new = Vec::new();
    for sent in ["first", "again"] {
        let batch = of_everything(&together);
        let reports = store.fn_state_transition_apply_batch(&batch).await.expect("verdicts");
        for (report, m) in reports.iter().zip(&batch) {
            assert_eq!(report.run_id, m.run_id, "in the order given");
        }
        let at_once: Vec<_> = reports.into_iter().map(verdict).collect();
        let mut one_by_one = Vec::new();
        for m in of_everything(&alone) {
            let answer = store.fn_state_transition_apply(&m).await;
            one_by_one.push(if answer.is_ok() {
                answer.map(made).map_err(|_| Vec::new())
            } else {
                Err(codes(answer))
            });
        }
        assert_eq!(at_once, one_by_one, "{sent}");
        assert_eq!(all_of(&db, &together).await, all_of(&db, &alone).await, "{sent}");
        new.push(at_once.iter().flatten().filter(|(.., replayed)| !replayed).count());
    }
    assert_eq!(new, [11, 0], "sent again it makes nothing");
    assert_eq!(Watch::new(&db).count(BROKEN_CHAINS).await, 0);
}

/// FSM-6, FSM-7: a batch waits for who holds one of its runs. That run is then judged as it has become, the others as they were; and a
/// move that was made meanwhile under the very same key is not made again.
#[tokio::test]
async fn a_run_that_moved_meanwhile_is_judged_again() {
    for same_key in [false, true] {
        let (db, store) = post_office().await;
        let watch = Watch::new(&db);
        let runs = parcels(&store).await;
        let batch: Vec<Move> = runs[..5].iter().copied().map(carry).collect();
        let mut holder = Session::open(&db, Role::App).await;
        holder.begin(Isolation::ReadCommitted).await;
        let first = match same_key {
            true => batch[2].clone(),
            false => carry(runs[2]),
        };
        let first = holder.apply(&first).await.expect("carried");
        let mut session = Session::open(&db, Role::App).await;
        let pid = session.pid;
        let waiting = tokio::spawn(async move { session.batch(&batch).await });
        watch.until_blocked(pid).await;
        holder.commit().await.expect("the first holds");
        let reports = waiting.await.expect("no panic").expect("verdicts");
        assert!(reports.iter().all(|report| report.ok), "{reports:?}");
        let seqs: Vec<i64> = reports.iter().filter_map(|report| report.seq).collect();
        if same_key {
            assert_eq!(seqs, [2, 2, 2, 2, 2]);
            assert!(reports[2].replayed, "its first answer stands");
            assert_eq!(reports[2].hash, first.hash);
        } else {
            assert_eq!(seqs, [2, 2, 3, 2, 2], "after the one that came before it");
        }
        assert_eq!(reports.iter().filter(|report| report.replayed).count(), usize::from(same_key));
        assert_eq!(watch.count(BROKEN_CHAINS).await, 0);
        let moved = if same_key { 5 } else { 6 };
        assert_eq!(
            watch.count("select count(*) from fsm.transition_log where seq > 1").await,
            moved
        );
        assert_eq!(watch.count("select count(*) from event.event_outbox").await, moved);
    }
}

/// FSM-6: a run that moved after the batch had looked at it is locked in its turn all the same: what stands after it waits behind it.
#[tokio::test]
async fn a_run_that_moved_before_its_turn_is_locked_in_its_turn() {
    let (db, store) = post_office().await;
    let watch = Watch::new(&db);
    let runs = parcels(&store).await;
    let mut first = Session::open(&db, Role::App).await;
    let mut last = Session::open(&db, Role::App).await;
    for (holder, run) in [(&mut first, runs[1]), (&mut last, runs[4])] {
        holder.begin(Isolation::ReadCommitted).await;
        holder.apply(&carry(run)).await.expect("held");
    }
    let mut batch: Vec<Move> = runs[..5].iter().copied().map(carry).collect();
    batch[1] = at_length(carry(runs[1]));
    let mut session = Session::open(&db, Role::App).await;
    let pid = session.pid;
    let waiting = tokio::spawn(async move { session.batch(&batch).await });
    watch.until_blocked(pid).await;
    // All is judged, nothing after the first is locked.
    store.fn_state_transition_apply(&carry(runs[3])).await.expect("carried meanwhile");
    first.rollback().await;
    watch.until_blocked_on(pid, last.pid).await;
    let locked = sqlx::query("select from fsm.run where run_id = $1 for update nowait")
        .bind(runs[3])
        .execute(&watch.pool)
        .await
        .expect_err("the batch has it");
    assert_eq!(locked.as_database_error().and_then(|e| e.code()).as_deref(), Some("55P03"));
    last.rollback().await;
    let reports = waiting.await.expect("no panic").expect("verdicts");
    let seqs: Vec<Option<i64>> = reports.iter().map(|report| report.seq).collect();
    assert_eq!(seqs, [Some(2), Some(2), Some(2), Some(3), Some(2)]);
    assert_eq!(watch.count(BROKEN_CHAINS).await, 0);
}

/// FSM-6: batches lock in the order of ids across what moves together and what goes alone: two of them that part their runs in opposite
/// ways come to an end.
#[tokio::test]
async fn batches_that_part_their_runs_differently_do_not_deadlock() {
    two_batches_finish_each_paper_once(|second, papers| {
        // The first waits among its even ones. Were they taken before the rest, it would hold some, and the second all odd ones.
        let alone = |n: usize| n % 2 != usize::from(second);
        let finish = |(n, paper): (usize, &Uuid)| match alone(n) {
            true => at_length(finish(*paper)),
            false => finish(*paper),
        };
        papers.iter().enumerate().map(finish).collect()
    })
    .await;
}

/// FSM-6: what one move of a batch cannot have, such as a digest of the wrong length, undoes all of it: nothing is half done.
#[tokio::test]
async fn a_batch_that_fails_leaves_nothing() {
    let (db, store) = post_office().await;
    let runs = parcels(&store).await;
    let before = db.fingerprint().await;
    let moves: Vec<Value> = runs
        .iter()
        .map(|run| {
            json!({ "run_id": run, "run_kind": "custom", "to": "moving", "actor_class": "executor_worker", "trigger_kind": "rpc",
                    "trigger_ref": "parcel_carry", "principal": "writer", "idempotency_key": "k",
                    "artefact_digest": (*run == runs[7]).then_some("00") })
        })
        .collect();
    let mut session = Session::open(&db, Role::App).await;
    let failed = sqlx::query("select fsm.fn_state_transition_apply_batch($1)")
        .bind(Value::Array(moves))
        .execute(&mut session.connection)
        .await
        .expect_err("no digest of one byte");
    assert!(failed.to_string().contains("log_artefact_digest_is_sha256"), "{failed}");
    assert_eq!(before, db.fingerprint().await);
}
