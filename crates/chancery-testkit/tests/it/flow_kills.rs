//! SIGKILL of the processes that drive workflows and of PostgreSQL, at any moment: every step is done once, nothing is left over, and the
//! history has no hole.
//!
//! `CHANCERY_TEST_FLOWS` says how many runs there are (with 200 each has 50 steps, with fewer 20), `CHANCERY_TEST_KILLS` how many kills,
//! `CHANCERY_TEST_SEED` repeats the victims. A cluster of the test's own, with full durability.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use chancery_engine::audit::{self, Pins};
use chancery_store::managed::{BinarySearch, Cluster, Env, Home, Options, find_binaries};
use chancery_store::{Role, Store, Target};
use chancery_testkit::slice;
use chancery_testkit::workflows::{CLASS, Flows};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

const LOOPS: usize = 4;
const WORKERS: usize = 8;
/// One kill of so many is the server's.
const SERVER_EVERY: usize = 5;
/// Without any progress for so long, something is stuck.
const STUCK: Duration = Duration::from_secs(60);

/// A process of the run, and how to start it again.
struct Process {
    what: &'static str,
    name: String,
    child: Child,
}

/// A cluster of one's own, and the processes that work in it.
struct House {
    home: PathBuf,
    cluster: Cluster,
    target: Target,
    processes: Vec<Process>,
    _folder: tempfile::TempDir,
}

impl House {
    async fn build() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // The server's user has to pass through.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("its mode");
        let home_folder = folder.path().join("home");
        let home = Home::resolve(Some(home_folder.clone()), &Env::default()).expect("a home");
        let path = std::env::var_os("PATH");
        let binaries = find_binaries(&BinarySearch::on_this_machine(path.as_deref(), &home))
            .expect("PostgreSQL");
        let cluster = Cluster::open(home, binaries, Options::default()).expect("a cluster");
        cluster.start().expect("it starts");
        let target = Target::managed(&cluster).expect("a target").with_database("flows");
        target.migrate().await.expect("the schema installs");
        Self { home: home_folder, cluster, target, processes: Vec::new(), _folder: folder }
    }

    async fn admin(&self) -> PgConnection {
        self.target.admin_options().connect().await.expect("the superuser gets in")
    }

    fn spawn(&self, what: &'static str, name: &str) -> Process {
        let child = Command::new(env!("CARGO_BIN_EXE_flow-process"))
            .args([what, name])
            .arg(&self.home)
            .arg("flows")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        Process { what, name: name.to_owned(), child }
    }

    fn spawn_all(&mut self) {
        for (what, count) in [("loop", LOOPS), ("worker", WORKERS)] {
            for n in 0..count {
                let process = self.spawn(what, &format!("{what}:{n}"));
                self.processes.push(process);
            }
        }
    }

    fn kill(&mut self, victim: usize) {
        let process = &mut self.processes[victim];
        process.child.kill().expect("it is killed");
        process.child.wait().expect("it has ended");
        let (what, name) = (process.what, process.name.clone());
        self.processes[victim] = self.spawn(what, &name);
    }

    fn kill_the_server(&self) {
        let pid = self.cluster.status().expect("a status").running.expect("it runs").pid;
        let pid = rustix::process::Pid::from_raw(pid).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is killed");
        self.cluster.start().expect("it recovers");
    }

    /// Nobody ends unless it is killed.
    fn all_are_running(&mut self) {
        for process in &mut self.processes {
            let ended = process.child.try_wait().expect("a child");
            assert!(ended.is_none(), "{} ended by itself: {ended:?}", process.name);
        }
    }

    /// Waits until so many steps are done, as long as there is progress.
    async fn done(&mut self, count: i64) {
        let mut admin = self.admin().await;
        let (mut last, mut at) = (-1, Instant::now());
        loop {
            let moves: i64 = one(&mut admin, "select count(*) from fsm.transition_log").await;
            let done: i64 = one(
                &mut admin,
                "select count(*) from workflow.step_run s where s.state_code = 'completed'",
            )
            .await;
            if done >= count {
                break;
            }
            self.all_are_running();
            if moves > last {
                (last, at) = (moves, Instant::now());
            }
            if at.elapsed() > STUCK {
                let open: Vec<(String, String, i64)> = sqlx::query_as(
                    "select s.state_code, s.step_key, count(*) from workflow.step_run s where s.state_code <> 'completed' and not s.skipped group by 1, 2",
                )
                .fetch_all(&mut admin)
                .await
                .expect("an answer");
                panic!("{done} of {count} steps are done, nothing moves any more: {open:?}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        admin.close().await.expect("the superuser leaves");
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // A test that broke off must not leave processes behind.
        for process in &mut self.processes {
            drop(process.child.kill());
            drop(process.child.wait());
        }
        drop(self.cluster.stop());
    }
}

/// Groups of five: the first leads to three, of which the third is skipped; the last joins them. Some fail once, some wait for a time.
fn definition(steps: usize, until: &str) -> Value {
    let key = |n: usize| format!("s{n}");
    let list: Vec<Value> = (0..steps)
        .map(|n| {
            let with = match n % 7 {
                2 => json!({ "fails": 1 }),
                4 => json!({ "until": until }),
                _ => json!({}),
            };
            json!({ "key": key(n), "title": { "en": key(n), "vi": key(n) }, "executor": CLASS, "retry": "relentless", "with": with,
                    "optional": n % 10 == 8 })
        })
        .collect();
    let mut relations = Vec::new();
    for first in (0..steps).step_by(5) {
        if first > 0 {
            relations.push(json!({ "from": key(first - 1), "to": key(first) }));
        }
        relations.extend([
            json!({ "from": key(first), "to": key(first + 1), "kind": "parallel" }),
            json!({ "from": key(first), "to": key(first + 2), "kind": "condition", "when": "$.run.workflow == \"another\"" }),
            json!({ "from": key(first), "to": key(first + 3), "kind": "parallel" }),
            json!({ "from": key(first + 1), "to": key(first + 4), "kind": "and" }),
            json!({ "from": key(first + 2), "to": key(first + 4), "kind": "trigger" }),
            json!({ "from": key(first + 3), "to": key(first + 4), "kind": "and" }),
        ]);
    }
    json!({ "workflow": "errand", "title": { "en": "Errand", "vi": "Việc" }, "steps": list, "relations": relations })
}

/// What there must be none of, when all is done. `audit verify` asks more; this is what can be asked by SQL.
const NEVER: [(&str, &str); 12] = [
    ("runs that are not completed", "workflow.workflow_run r where r.state_code <> 'completed'"),
    ("steps that are neither done nor skipped", "workflow.step_run s where (s.state_code = 'completed') = s.skipped"),
    (
        "steps that were done more than once, or never",
        "workflow.step_run s where (select count(*) from fsm.transition_log l where l.run_id = s.step_run_id and l.to_state = 'completed') <> (not s.skipped)::int",
    ),
    (
        "outputs that are missing or too many",
        "workflow.step_run s where (select count(*) from workflow.step_run_snapshot o where o.run_id = s.step_run_id and o.snapshot_kind = 'output') <> (not s.skipped)::int",
    ),
    (
        "rows that stand elsewhere than their log says",
        "(select step_run_id as id, state_code, seq, head_hash from workflow.step_run
          union all select workflow_run_id, state_code, seq, head_hash from workflow.workflow_run) r
           cross join lateral (select l.to_state, l.seq, l.hash from fsm.transition_log l where l.run_id = r.id order by l.seq desc limit 1) l
          where (r.state_code, r.seq, r.head_hash) is distinct from (l.to_state, l.seq, l.hash)",
    ),
    (
        "holes in the log, or links that do not hold",
        "(select l.seq, l.from_state, l.prev_hash, row_number() over w as no, lag(l.to_state) over w as before, lag(l.hash) over w as hash_before
            from fsm.transition_log l window w as (partition by l.run_id order by l.seq)) l
          where l.seq <> l.no or l.from_state is distinct from l.before or l.prev_hash is distinct from l.hash_before",
    ),
    (
        "moves without their event, or events without their move",
        "(select l.run_id, l.seq from fsm.transition_log l where l.event_type is not null) l
           full join (select o.subject_id, o.subject_seq from event.event_outbox o where o.subject_kind in
                        (select distinct l.run_kind from fsm.transition_log l)) o on o.subject_id = l.run_id and o.subject_seq = l.seq
          where l.run_id is null or o.subject_id is null",
    ),
    (
        "runs whose stored roll-up is not the computed one",
        "workflow.workflow_run r cross join lateral workflow.fn_workflow_rollup_compute(r.workflow_run_id) c
          where (r.rollup_state_code, r.red_count, r.yellow_count, r.green_count, r.skipped_count, r.optional_excluded_count, r.decisive_step_run_id)
                is distinct from (c ->> 'rollup_state_code', (c ->> 'red_count')::int, (c ->> 'yellow_count')::int, (c ->> 'green_count')::int,
                                  (c ->> 'skipped_count')::int, (c ->> 'optional_excluded_count')::int, (c ->> 'decisive_step_run_id')::uuid)",
    ),
    (
        "relations that were not decided",
        "workflow.workflow_run r join workflow.workflow_step_relations w using (workflow_def_id)
           left join workflow.relation_outcome o using (workflow_run_id, relation_no) where o.relation_no is null",
    ),
    ("jobs that are left", "queue.job_queue q where q.job_kind like 'workflow.%'"),
    ("waits that are open", "workflow.wait w where w.resolved_at is null"),
    ("timers and items that are left", "(select workflow_run_id from workflow.agenda union all select workflow_run_id from workflow.timer) a where a.workflow_run_id is not null"),
];

/// RUN-14, RUN-15, RUN-18: four replicas and eight workers, killed at random together with the server, do every step once.
#[expect(clippy::print_stdout, reason = "a run tells what it went through")]
#[tokio::test]
async fn kills_at_any_moment_leave_every_step_done_once() {
    let flows_asked = slice::amount("CHANCERY_TEST_FLOWS", 10);
    let steps = if flows_asked >= 200 { 50 } else { 20 };
    let kills = slice::amount("CHANCERY_TEST_KILLS", 10);
    let seed = slice::seed(20_261_116);
    let mut rng = StdRng::seed_from_u64(seed);
    let mut house = House::build().await;
    let flows = Flows::new(&house.target).await;
    let mut admin = house.admin().await;
    let until: String = one(&mut admin, "select to_char(now() at time zone 'utc' + interval '5 seconds', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')").await;
    flows.install(&definition(steps, &until)).await;
    for _ in 0..flows_asked {
        flows.start("errand").await;
    }
    flows.store.close().await;
    flows.admin.close().await;
    admin.close().await.expect("the superuser leaves");
    // One of five is skipped.
    let total = (flows_asked * steps * 4 / 5) as i64;
    let begun = Instant::now();
    house.spawn_all();
    let mut of_the_server = 0;
    for kill in 0..kills {
        let after = total as usize * kill / kills + rng.gen_range(0..=total as usize / kills / 2);
        house.done(after as i64).await;
        if kill % SERVER_EVERY == SERVER_EVERY - 1 {
            house.kill_the_server();
            of_the_server += 1;
        } else {
            // Loops and workers alike.
            let victim = if rng.gen_bool(0.5) {
                rng.gen_range(0..LOOPS)
            } else {
                LOOPS + rng.gen_range(0..WORKERS)
            };
            house.kill(victim);
        }
    }
    house.done(total).await;
    let mut admin = house.admin().await;
    let at = Instant::now();
    loop {
        let open: i64 = one(
            &mut admin,
            "select (select count(*) from workflow.agenda) + (select count(*) from workflow.workflow_run r where r.state_code <> 'completed')",
        )
        .await;
        if open == 0 || at.elapsed() > STUCK {
            break;
        }
        house.all_are_running();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for (what, rows) in NEVER {
        let count: i64 = one(&mut admin, &format!("select count(*) from {rows}")).await;
        assert_eq!(count, 0, "{what}");
    }
    let findings: Vec<String> =
        sqlx::query_scalar("select i.title from governance.system_issues i")
            .fetch_all(&mut admin)
            .await
            .expect("an answer");
    assert_eq!(findings, Vec::<String>::new(), "nothing had to be put off");
    let auditor = Store::open(&house.target, Role::Auditor).expect("the auditor's store");
    let report = audit::verify(&auditor, Pins::default(), |_| ()).await.expect("an audit");
    assert_eq!(report.mismatches, []);
    auditor.close().await;
    let (moves, lost): (i64, i64) = sqlx::query_as(
        "select (select count(*) from fsm.transition_log), (select coalesce(sum(f.lease_no - 1), 0)::bigint from queue.job_finished f)",
    )
    .fetch_one(&mut admin)
    .await
    .expect("an answer");
    println!(
        "{flows_asked} runs of {steps} steps, {kills} kills ({of_the_server} of the server), seed {seed}: {moves} moves in {:.1} s, {lost} leases given again",
        begun.elapsed().as_secs_f64()
    );
    admin.close().await.expect("the superuser leaves");
}

async fn one<T>(admin: &mut PgConnection, query: &str) -> T
where
    T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres> + Send + Unpin,
{
    sqlx::query_scalar(AssertSqlSafe(query.to_owned()))
        .fetch_one(admin)
        .await
        .unwrap_or_else(|error| panic!("{query}: {error}"))
}
