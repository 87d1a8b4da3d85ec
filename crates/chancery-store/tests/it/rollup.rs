//! Roll-up, critical path and downstream-of-blocker against a reference that shares nothing with the SQL, on random runs.
//!
//! `CHANCERY_TEST_GRAPHS` says on how many, `CHANCERY_TEST_SEED` repeats them. Rows are written by the superuser, past the doors: any mix
//! of states can be had that way, also those that take long to come about. What the doors make of them is asked in `rollup_walks`.

use std::collections::BTreeMap;

use chancery_model::reference::rollup::{
    Block, Policy, Relation, State, Step, critical_path, downstream, rollup,
};
use chancery_testkit::{TestDb, slice};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Row as _};
use uuid::Uuid;

const POLICY: Policy = Policy { blocked_escalation_treats_as_red: true, late_treats_as_red: true };
const DEFINITIONS: usize = 200;
const MOST_STEPS: usize = 40;
/// Runs that are written, asked about and forgotten together.
const BATCH: usize = 500;
/// Seconds that a block may last, by class of workflow.
const CLASSES: [(&str, i64); 2] = [("standard", 14_400), ("urgent", 600)];
/// Where the clock stands, in microseconds since 1970.
const NOW: i64 = 1_790_000_000_000_000;
const SECOND: i64 = 1_000_000;

/// The relations of a definition; a step's place in the order is its number.
struct Graph {
    id: Uuid,
    steps: usize,
    relations: Vec<(usize, usize)>,
}

/// A run as the reference sees it, with the times that make its blocks what they are.
struct Run {
    id: Uuid,
    graph: usize,
    class: &'static str,
    steps: Vec<Step>,
    relations: Vec<Relation>,
    /// Microseconds: since when it is blocked, and its deadline.
    times: Vec<(i64, Option<i64>)>,
}

/// What is added to a run, or changed in it, and must not make it look better.
#[derive(Debug, Clone, Copy)]
enum Change {
    Optional,
    Skipped,
    Worse(usize),
}

impl Graph {
    fn random(rng: &mut StdRng, n: usize) -> Self {
        let steps = rng.gen_range(1..=MOST_STEPS);
        let density = rng.gen_range(0.5..3.0) / steps as f64;
        let mut relations = Vec::new();
        for to in 1..steps {
            for from in 0..to {
                if rng.gen_bool(density.min(1.0)) {
                    relations.push((from, to));
                }
            }
        }
        Self { id: Uuid::from_u128(1 << 100 | n as u128), steps, relations }
    }
}

impl Run {
    fn random(rng: &mut StdRng, n: usize, graphs: &[Graph]) -> Self {
        let graph = rng.gen_range(0..graphs.len());
        let (class, bears) = CLASSES[rng.gen_range(0..CLASSES.len())];
        // A run is mostly of one mood: even chances for each state would make every run red.
        let trouble = [0.0, 0.02, 0.2][rng.gen_range(0..3)];
        let mut times = Vec::new();
        let steps = (0..graphs[graph].steps)
            .map(|_| {
                let age = [0, SECOND, bears * SECOND - 1, bears * SECOND, bears * 2 * SECOND]
                    [rng.gen_range(0..5)];
                let deadline = [None, Some(1), Some(0), Some(-1), Some(-3600 * SECOND)]
                    [if rng.gen_bool(0.6) { 0 } else { rng.gen_range(1..5) }];
                times.push((NOW - age, deadline.map(|from_now| NOW + from_now)));
                random_step(rng, trouble, age >= bears * SECOND, deadline)
            })
            .collect();
        let relations = graphs[graph]
            .relations
            .iter()
            .map(|&(from, to)| Relation { from, to, decided: rng.gen_bool(0.2) })
            .collect();
        Self {
            id: Uuid::from_u128(2 << 100 | (n as u128) << 16),
            graph,
            class,
            steps,
            relations,
            times,
        }
    }

    fn step_id(&self, step: usize) -> Uuid {
        Uuid::from_u128(self.id.as_u128() + 1 + step as u128)
    }

    fn number(&self, step: &Value) -> usize {
        let id: Uuid = step.as_str().expect("an id").parse().expect("an id");
        usize::try_from(id.as_u128() - self.id.as_u128() - 1).expect("a step of the run")
    }

    fn numbers(&self, steps: &Value) -> Vec<usize> {
        steps.as_array().expect("a list").iter().map(|step| self.number(step)).collect()
    }

    /// What is to be asked once more, with a change that has to leave the colour as it is or make it worse.
    fn change(&self, rng: &mut StdRng) -> Change {
        let with_say: Vec<usize> = (0..self.steps.len())
            .filter(|&n| !self.steps[n].optional && !self.steps[n].skipped)
            .collect();
        match rng.gen_range(0..3) {
            0 => Change::Optional,
            1 => Change::Skipped,
            _ if with_say.is_empty() => Change::Skipped,
            _ => Change::Worse(with_say[rng.gen_range(0..with_say.len())]),
        }
    }
}

fn random_step(rng: &mut StdRng, trouble: f64, too_old: bool, deadline: Option<i64>) -> Step {
    const WELL: [State; 4] = [State::NotStarted, State::Ready, State::InProgress, State::Completed];
    let state = if rng.gen_bool(trouble) {
        State::ALL[rng.gen_range(0..State::ALL.len())]
    } else if rng.gen_bool(0.1) {
        [State::Blocked, State::Waiting][rng.gen_range(0..2)]
    } else {
        WELL[rng.gen_range(0..WELL.len())]
    };
    Step {
        state,
        optional: rng.gen_bool(0.2),
        skipped: state == State::NotStarted && rng.gen_bool(0.3),
        block: Block {
            too_old,
            on_critical_path: rng.gen_bool(0.2),
            deadline_passed: deadline.is_some_and(|from_now| from_now <= 0),
            escalated: rng.gen_bool(0.1),
        },
    }
}

/// A state that is worse than this one, as the traffic light has it.
fn worse(state: State) -> State {
    match state {
        State::NotStarted | State::Ready | State::InProgress | State::Completed => State::Waiting,
        _ => State::Failed,
    }
}

/// A database with definitions, a clock that stands still, and no guards on the rows that are written here.
async fn lay_out(db: &TestDb, graphs: &[Graph]) {
    let operator = db.store(chancery_store::Role::Migrator);
    chancery_engine::registry::install_product_machines(&operator, "test").await.expect("machines");
    operator.close().await;
    let mut admin = db.superuser().await;
    for table in [
        "config.dot_config",
        "workflow.workflow_version",
        "workflow.workflow_step_relations",
        "workflow.workflow_run",
        "workflow.step_run",
        "workflow.relation_outcome",
    ] {
        let statement = format!("alter table {table} disable trigger all");
        admin.execute(sqlx::AssertSqlSafe(statement)).await.expect("a superuser may");
    }
    admin
        .execute(sqlx::AssertSqlSafe(format!(
            "create or replace function internal.now() returns timestamptz language sql as 'select internal.from_micros({NOW})'"
        )))
        .await
        .expect("the clock is one function");
    admin
        .execute("insert into config.dot_config (key, value, description) values ('block_severity.threshold_seconds.urgent', '600', 'test')")
        .await
        .expect("a class of its own");
    for graph in graphs {
        sqlx::query(
            "insert into workflow.workflow_version (workflow_def_id, workflow, version, definition, definition_sha256, change_request_id, merged_by, merged_at, row_digest)
             values ($1, 'random_' || left($1::text, 8) || right($1::text, 8), 1, '{}', '', $1, 'test', now(), '')",
        )
        .bind(graph.id)
        .execute(&mut admin)
        .await
        .expect("a version");
        let (from, to): (Vec<i32>, Vec<i32>) =
            graph.relations.iter().map(|&(from, to)| (no(from), no(to))).unzip();
        sqlx::query(
            "insert into workflow.workflow_step_relations (workflow_def_id, relation_no, from_no, to_no, relation_kind, reads_outputs)
             select $1, w.no, w.f, w.t, 'trigger', '{}' from unnest($2::int[], $3::int[]) with ordinality w (f, t, no)",
        )
        .bind(graph.id)
        .bind(from)
        .bind(to)
        .execute(&mut admin)
        .await
        .expect("relations");
    }
    admin.execute("analyze").await.expect("statistics");
}

fn no(step: usize) -> i32 {
    i32::try_from(step + 1).expect("few steps")
}

async fn write(connection: &mut PgConnection, graphs: &[Graph], runs: &[Run]) {
    sqlx::query(
        "insert into workflow.workflow_run (workflow_run_id, workflow_def_id, workflow, workflow_class, inputs, state_machine_id, state_code, seq, head_hash,
                                            started_by, trace_id, correlation_id, created_at, last_transition_at, row_digest)
         select r.id, r.def, 'random', r.class, '{}', (select m.state_machine_id from fsm.state_machine_def m where m.scope = 'workflow_run'),
                'in_progress', 1, '', 'chancery', repeat('1', 32), '-', now(), now(), ''
           from unnest($1::uuid[], $2::uuid[], $3::text[]) r (id, def, class)",
    )
    .bind(runs.iter().map(|run| run.id).collect::<Vec<_>>())
    .bind(runs.iter().map(|run| graphs[run.graph].id).collect::<Vec<_>>())
    .bind(runs.iter().map(|run| run.class).collect::<Vec<_>>())
    .execute(&mut *connection)
    .await
    .expect("runs");
    let steps: Vec<(&Run, usize)> =
        runs.iter().flat_map(|run| (0..run.steps.len()).map(move |n| (run, n))).collect();
    let all = |of: fn(&Step) -> bool| -> Vec<bool> {
        steps.iter().map(|(run, n)| of(&run.steps[*n])).collect()
    };
    sqlx::query(
        "insert into workflow.step_run (step_run_id, workflow_run_id, step_def_id, step_no, step_key, mandatory, state_machine_id, state_code, facet, seq, head_hash,
                                        started_by, trace_id, correlation_id, created_at, last_transition_at, and_open, or_open, plain_open, skipped,
                                        executor_class_ref, deadline, completed_at, completion_actor_id, blocked_since, block_reason, block_escalated_at,
                                        retry_limit, on_critical_path, rollup_class)
         select s.id, s.run, s.id, s.no, 'step_' || s.no, not s.optional, m.state_machine_id, s.state, case when s.state = 'waiting' then 'waiting_human' end,
                1, '', 'chancery', repeat('1', 32), '-', now(), now(), 0, 0, 0, s.skipped, 'human', internal.from_micros(s.deadline),
                case when s.state = 'completed' then now() end, case when s.state = 'completed' then 'test' end,
                internal.from_micros(s.since), 'missing_iu', case when s.escalated then now() end, 1, s.critical, 'none'
           from unnest($1::uuid[], $2::uuid[], $3::int[], $4::bool[], $5::text[], $6::bool[], $7::bool[], $8::bool[], $9::bigint[], $10::bigint[])
                  s (id, run, no, optional, state, skipped, escalated, critical, since, deadline),
                fsm.state_machine_def m where m.scope = 'step'",
    )
    .bind(steps.iter().map(|(run, n)| run.step_id(*n)).collect::<Vec<_>>())
    .bind(steps.iter().map(|(run, _)| run.id).collect::<Vec<_>>())
    .bind(steps.iter().map(|(_, n)| no(*n)).collect::<Vec<_>>())
    .bind(all(|step| step.optional))
    .bind(steps.iter().map(|(run, n)| run.steps[*n].state.code()).collect::<Vec<_>>())
    .bind(all(|step| step.skipped))
    .bind(all(|step| step.block.escalated))
    .bind(all(|step| step.block.on_critical_path))
    .bind(steps.iter().map(|(run, n)| run.times[*n].0).collect::<Vec<_>>())
    .bind(steps.iter().map(|(run, n)| run.times[*n].1).collect::<Vec<_>>())
    .execute(&mut *connection)
    .await
    .expect("steps");
    let (mut of_run, mut relation_no) = (Vec::new(), Vec::new());
    for run in runs {
        for (n, _) in run.relations.iter().enumerate().filter(|(_, relation)| relation.decided) {
            of_run.push(run.id);
            relation_no.push(no(n));
        }
    }
    sqlx::query(
        "insert into workflow.relation_outcome (workflow_run_id, relation_no, taken, decided_at)
         select o.run, o.no, true, now() from unnest($1::uuid[], $2::int[]) o (run, no)",
    )
    .bind(of_run)
    .bind(relation_no)
    .execute(&mut *connection)
    .await
    .expect("decided relations");
}

/// Every run of the batch says what the reference says; gives its colour.
async fn compare(
    connection: &mut PgConnection,
    runs: &[Run],
    policy: Policy,
) -> BTreeMap<Uuid, String> {
    let answers = sqlx::query(
        "select r.id, workflow.fn_workflow_rollup_compute(r.id), workflow.critical_path(r.id),
                coalesce((select jsonb_agg(jsonb_build_array(d.step_run_id, d.held_by)) from workflow.fn_workflow_downstream(r.id) d), '[]')
           from unnest($1::uuid[]) with ordinality r (id, n) order by r.n",
    )
    .bind(runs.iter().map(|run| run.id).collect::<Vec<_>>())
    .fetch_all(&mut *connection)
    .await
    .expect("answers");
    let mut colours = BTreeMap::new();
    for (run, answer) in runs.iter().zip(&answers) {
        let found: Value = answer.get(1);
        let want = rollup(&run.steps, policy);
        let decisive = &found["decisive_step_run_id"];
        let got = json!({
            "colour": found["rollup_state_code"],
            "counts": [found["red_count"], found["yellow_count"], found["green_count"], found["skipped_count"], found["optional_excluded_count"]],
            "basis": run.numbers(&found["basis_step_run_ids"]),
            "decisive": (!decisive.is_null()).then(|| run.number(decisive)),
            "state": found["decisive_state_code"],
            "critical": run.numbers(&found["critical_path"]),
        });
        let flagged: Vec<usize> =
            (0..run.steps.len()).filter(|&n| run.steps[n].block.on_critical_path).collect();
        let expected = json!({
            "colour": want.colour.code(),
            "counts": [want.red, want.yellow, want.green, want.skipped, want.optional_excluded],
            "basis": want.basis,
            "decisive": want.decisive,
            "state": want.decisive.map(|n| run.steps[n].state.code()),
            "critical": flagged,
        });
        assert_eq!(got, expected, "{:?}", run.steps);
        let path: Vec<usize> =
            answer.get::<Vec<i32>, _>(2).into_iter().map(|no| no as usize - 1).collect();
        assert_eq!(
            path,
            critical_path(&run.steps, &run.relations),
            "{:?} {:?}",
            run.steps,
            run.relations
        );
        let held: Vec<(usize, usize)> = answer
            .get::<Value, _>(3)
            .as_array()
            .expect("a list")
            .iter()
            .map(|pair| (run.number(&pair[0]), run.number(&pair[1])))
            .collect();
        assert_eq!(
            held,
            downstream(&run.steps, &run.relations),
            "{:?} {:?}",
            run.steps,
            run.relations
        );
        colours.insert(run.id, want.colour.code().to_owned());
    }
    colours
}

/// Who has no say is added, somebody who has becomes worse: asked of the database itself.
async fn change(
    connection: &mut PgConnection,
    rng: &mut StdRng,
    runs: &[Run],
    colours: &BTreeMap<Uuid, String>,
) {
    let changes: Vec<Change> = runs.iter().map(|run| run.change(rng)).collect();
    for (run, change) in runs.iter().zip(&changes) {
        if let Change::Worse(n) = *change {
            let state = worse(run.steps[n].state);
            sqlx::query(
                "update workflow.step_run s set state_code = $2, facet = case when $2 = 'waiting' then 'waiting_human' end where s.step_run_id = $1",
            )
            .bind(run.step_id(n))
            .bind(state.code())
            .execute(&mut *connection)
            .await
            .expect("a change");
        }
    }
    let added: Vec<(&Run, bool)> = runs
        .iter()
        .zip(&changes)
        .filter(|(_, change)| !matches!(change, Change::Worse(_)))
        .map(|(run, change)| (run, matches!(change, Change::Skipped)))
        .collect();
    let states: Vec<&str> = added
        .iter()
        .map(|(_, skipped)| {
            if *skipped {
                "not_started"
            } else {
                State::ALL[rng.gen_range(0..State::ALL.len())].code()
            }
        })
        .collect();
    sqlx::query(
        "insert into workflow.step_run
         select (jsonb_populate_record(s, jsonb_build_object(
                   'step_run_id', a.id, 'step_no', s.step_no + 100, 'step_key', 'one_more', 'mandatory', a.skipped, 'skipped', a.skipped, 'state_code', a.state,
                   'facet', case when a.state = 'waiting' then 'waiting_human' end, 'completed_at', internal.now(), 'completion_actor_id', 'test'))).*
           from unnest($1::uuid[], $2::uuid[], $3::bool[], $4::text[]) a (id, run, skipped, state)
           join workflow.step_run s on s.workflow_run_id = a.run and s.step_no = 1",
    )
    .bind(added.iter().map(|(run, _)| run.step_id(1000)).collect::<Vec<_>>())
    .bind(added.iter().map(|(run, _)| run.id).collect::<Vec<_>>())
    .bind(added.iter().map(|(_, skipped)| *skipped).collect::<Vec<_>>())
    .bind(&states)
    .execute(&mut *connection)
    .await
    .expect("one more step");
    let answers: Vec<(Uuid, String)> = sqlx::query_as(
        "select r.id, workflow.fn_workflow_rollup_compute(r.id) ->> 'rollup_state_code' from unnest($1::uuid[]) with ordinality r (id, n) order by r.n",
    )
    .bind(runs.iter().map(|run| run.id).collect::<Vec<_>>())
    .fetch_all(&mut *connection)
    .await
    .expect("answers");
    let rank = |colour: &str| ["gray", "green", "yellow", "red"].iter().position(|c| *c == colour);
    for ((id, colour), change) in answers.iter().zip(&changes) {
        match change {
            Change::Optional | Change::Skipped => assert_eq!(*colour, colours[id], "{change:?}"),
            Change::Worse(_) => {
                assert!(
                    rank(colour) >= rank(&colours[id]),
                    "{change:?}: {} → {colour}",
                    colours[id]
                );
            }
        }
    }
}

/// RUN-15, RUN-16: the database finds what the reference finds; optional and skipped steps change no colour, and worse never looks better.
#[expect(clippy::print_stdout, reason = "a run tells what it went through")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_database_finds_what_the_reference_finds() {
    let count = slice::amount("CHANCERY_TEST_GRAPHS", 1_000);
    let seed = slice::seed(20_261_116);
    let db = TestDb::new().await;
    let mut rng = StdRng::seed_from_u64(seed);
    let graphs: Vec<Graph> = (0..DEFINITIONS).map(|n| Graph::random(&mut rng, n)).collect();
    lay_out(&db, &graphs).await;
    let graphs = std::sync::Arc::new(graphs);
    let mut workers = Vec::new();
    for part in 0..2 {
        let graphs = std::sync::Arc::clone(&graphs);
        let mut admin = db.superuser().await;
        workers.push(tokio::spawn(async move {
            let mut seen = BTreeMap::new();
            let firsts: Vec<usize> = (0..count).step_by(BATCH).skip(part).step_by(2).collect();
            for first in firsts {
                let mut rng = StdRng::seed_from_u64(seed ^ (first as u64 + 1) << 20);
                let runs: Vec<Run> = (first..count.min(first + BATCH))
                    .map(|n| Run::random(&mut rng, n, &graphs))
                    .collect();
                // Forgotten afterwards: the tables stay as small as they were.
                admin.execute("begin").await.expect("begun");
                write(&mut admin, &graphs, &runs).await;
                let colours = compare(&mut admin, &runs, POLICY).await;
                change(&mut admin, &mut rng, &runs, &colours).await;
                admin.execute("rollback").await.expect("forgotten");
                for colour in colours.into_values() {
                    *seen.entry(colour).or_insert(0_usize) += 1;
                }
            }
            seen
        }));
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for worker in workers {
        for (colour, times) in worker.await.expect("no difference") {
            *seen.entry(colour).or_default() += times;
        }
    }
    println!("{count} graphs, seed {seed}: {seen:?}");
    assert_eq!(seen.values().sum::<usize>(), count);
    for colour in ["gray", "green", "yellow", "red"] {
        assert!(seen.get(colour).is_some_and(|&times| times > count / 200), "{colour}: {seen:?}");
    }
}

/// RUN-15, R-5: what a bad block counts as stands in the policy row and nowhere else; weights, which nobody declared rules for, are refused.
#[tokio::test]
async fn the_policy_is_a_row() {
    let db = TestDb::new().await;
    let mut rng = StdRng::seed_from_u64(7);
    let graphs: Vec<Graph> = (0..20).map(|n| Graph::random(&mut rng, n)).collect();
    lay_out(&db, &graphs).await;
    let runs: Vec<Run> = (0..200).map(|n| Run::random(&mut rng, n, &graphs)).collect();
    let mut admin = db.superuser().await;
    write(&mut admin, &graphs, &runs).await;
    let strict = compare(&mut admin, &runs, POLICY).await;
    admin
        .execute("alter table fsm.rollup_policy_def disable trigger all")
        .await
        .expect("a superuser may");
    admin
        .execute(
            "update fsm.rollup_policy_def p set policy_config_jsonb = p.policy_config_jsonb || '{\"blocked_escalation_treats_as_red\": false}'",
        )
        .await
        .expect("another policy");
    let lenient = Policy { blocked_escalation_treats_as_red: false, ..POLICY };
    let mild = compare(&mut admin, &runs, lenient).await;
    assert_ne!(strict, mild, "some run has a block that is worse than it looks");
    admin
        .execute("update fsm.rollup_policy_def p set policy_config_jsonb = p.policy_config_jsonb || '{\"weights\": {\"red\": 2}}'")
        .await
        .expect("weights");
    let error = sqlx::query("select workflow.fn_workflow_rollup_compute($1)")
        .bind(runs[0].id)
        .execute(&mut admin)
        .await
        .expect_err("nobody knows what they mean");
    assert_eq!(error.as_database_error().and_then(|e| e.code()).as_deref(), Some("RW023"));
}

/// RUN-15, seed C §5.4: weights are asked for by a row of the policy that declares one for each class, and change no colour.
#[tokio::test]
async fn a_policy_with_weights_is_weighed() {
    let db = TestDb::new().await;
    let mut rng = StdRng::seed_from_u64(11);
    let graphs: Vec<Graph> = (0..20).map(|n| Graph::random(&mut rng, n)).collect();
    lay_out(&db, &graphs).await;
    let runs: Vec<Run> = (0..100).map(|n| Run::random(&mut rng, n, &graphs)).collect();
    let mut admin = db.superuser().await;
    write(&mut admin, &graphs, &runs).await;
    let plain = compare(&mut admin, &runs, POLICY).await;
    admin
        .execute("alter table fsm.rollup_policy_def disable trigger all")
        .await
        .expect("a superuser may");
    let mut declare = async |policy: &str, weights: &str| {
        sqlx::query("update fsm.rollup_policy_def p set policy_code = $1, policy_config_jsonb = p.policy_config_jsonb || jsonb_build_object('weights', $2::jsonb)")
            .bind(policy)
            .bind(weights)
            .execute(&mut admin)
            .await
            .expect("another policy");
        sqlx::query_scalar::<_, serde_json::Value>("select workflow.fn_workflow_rollup_compute($1)")
            .bind(runs[0].id)
            .fetch_one(&mut admin)
            .await
    };
    for (policy, weights) in [
        ("weighted", "null"),
        ("weighted", r#"{"red": 0, "yellow": 0.5, "green": 1}"#),
        ("weighted", r#"{"red": 0, "yellow": 0.5, "green": 2, "gray": 0}"#),
        ("weighted", r#"{"red": 0, "yellow": "x", "green": 1, "gray": 0}"#),
        ("another", r#"{"red": 0, "yellow": 0.5, "green": 1, "gray": 0}"#),
    ] {
        let error = declare(policy, weights).await.expect_err("nobody knows what they mean");
        assert_eq!(
            error.as_database_error().and_then(|e| e.code()).as_deref(),
            Some("RW023"),
            "{policy} {weights}"
        );
    }
    let rollup = declare("weighted", r#"{"red": 0, "yellow": 0.5, "green": 1, "gray": 0.125}"#)
        .await
        .expect("weighed");
    let count = |name: &str| rollup[name].as_f64().expect("a count");
    let (red, yellow, green) = (count("red_count"), count("yellow_count"), count("green_count"));
    let considered: f64 = sqlx::query_scalar("select count(*)::float8 from workflow.step_run s where s.workflow_run_id = $1 and s.mandatory and not s.skipped")
        .bind(runs[0].id)
        .fetch_one(&mut admin)
        .await
        .expect("a count");
    let gray = considered - red - yellow - green;
    let expected = (yellow * 0.5 + green + gray * 0.125) / considered;
    let found = rollup["weight"].as_f64().expect("a weight");
    assert!((found - expected).abs() < 0.0001, "{found} {expected} {rollup}");
    assert_eq!(compare(&mut admin, &runs, POLICY).await, plain, "the colours are the same");
}
