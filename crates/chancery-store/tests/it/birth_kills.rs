//! SIGKILL of those who ask for permits, of those who use them, and of PostgreSQL, at any moment: no half birth, nothing lost that was
//! answered, and who comes again completes it.
//!
//! `CHANCERY_TEST_KILLS` says how many, `CHANCERY_TEST_SEED` repeats them. Clients are psql, on a cluster of the test's own.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use chancery_engine::registry;
use chancery_store::managed::{BinarySearch, Cluster, Env, Home, Options, find_binaries};
use chancery_store::{Role, Store, Target};
use chancery_testkit::{slice, until};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::birth_load::{assert_chained, assert_whole, protect};

/// Codes a round; each of three writers has a third of them.
const CODES: usize = 300;
/// Rounds that nobody disturbs: the first warms up, the second gives the time within which kills fall.
const CALM: usize = 2;

/// A cluster of one's own, with full durability.
struct House {
    cluster: Cluster,
    target: Target,
    _folder: tempfile::TempDir,
}

impl House {
    async fn build() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // The server's user has to pass through.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("its mode");
        let home =
            Home::resolve(Some(folder.path().join("home")), &Env::default()).expect("a home");
        let path = std::env::var_os("PATH");
        let binaries = find_binaries(&BinarySearch::on_this_machine(path.as_deref(), &home))
            .expect("PostgreSQL");
        let cluster = Cluster::open(home, binaries, Options::default()).expect("a cluster");
        cluster.start().expect("it starts");
        let target = Target::managed(&cluster).expect("a target").with_database("house");
        target.migrate().await.expect("the schema installs");
        let operator = Store::open(&target, Role::Migrator).expect("a store");
        registry::install_product_machines(&operator, "test").await.expect("machines");
        let classes = ["executor_worker".to_owned()];
        operator.fn_principal_add("desk", "service", &classes, None).await.expect("a principal");
        operator.close().await;
        let house = Self { cluster, target, _folder: folder };
        let mut admin = house.admin().await;
        protect(&mut admin, 3600).await;
        admin.close().await.expect("the superuser leaves");
        house
    }

    async fn admin(&self) -> PgConnection {
        self.target.admin_options().connect().await.expect("the superuser gets in")
    }

    /// psql under a login, with a script that runs statement by statement and stops at the first error.
    fn client(&self, role: Role, script: &str) -> Child {
        let psql = self.cluster.binaries().psql.clone().expect("psql is installed");
        let mut command = std::process::Command::new(psql);
        self.target.let_in(role, &mut command).expect("a login");
        let mut child = command
            .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("psql runs");
        // Shorter than a pipe holds, so that nobody waits for a client that is dead.
        let mut stdin = child.stdin.take().expect("its stdin");
        stdin.write_all(script.as_bytes()).expect("a script");
        child
    }

    /// The clients of one round, and what each leaves behind when it ends well.
    fn clients(&self, round: usize) -> Vec<(Child, String)> {
        let [first, second, third, end] = [0, 1, 2, 3].map(|n| round * CODES + n * CODES / 3);
        let there = |from: usize, to: usize| {
            format!(
                "(select count(*) = {} from shop.item where slot >= {from} and slot < {to})",
                to - from
            )
        };
        let at_once = format!(
            "begin; insert into shop.item select 'item-' || n, n from generate_series({first}, {second} - 1) n; commit;"
        );
        let one_by_one: String = (second..third)
            .map(|n| format!("insert into shop.item values ('item-{n}', {n});\n"))
            .collect();
        let rows: String = (third..end).map(|n| format!("item-{n}\t{n}\n")).collect();
        let copied = format!("copy shop.item from stdin;\n{rows}\\.\n");
        let next = round + 1;
        let reserved = format!(
            "(select count(*) = {CODES} from birth.birth_admission_permit where status = 'RESERVED'
                 and substr(entity_code, 6)::int / {CODES} = {next})"
        );
        vec![
            (self.client(Role::BirthWriter, &at_once), there(first, second)),
            (self.client(Role::BirthWriter, &one_by_one), there(second, third)),
            (self.client(Role::BirthWriter, &copied), there(third, end)),
            (self.client(Role::App, &request(next)), reserved),
        ]
    }

    async fn run(&self, role: Role, script: &str) {
        let status = self.client(role, script).wait().expect("it ends");
        assert!(status.success(), "{script}");
    }

    fn kill_the_server(&self) {
        let status = self.cluster.status().expect("a status");
        kill_9(status.running.expect("it runs").pid);
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // A test that broke off must not leave a server behind.
        drop(self.cluster.stop());
    }
}

/// Permits for the codes of a round, in three calls.
fn request(round: usize) -> String {
    let call = |part: usize| {
        let first = round * CODES + part * CODES / 3;
        let last = round * CODES + (part + 1) * CODES / 3 - 1;
        format!(
            "select birth.fn_birth_permit_request('shop.item', (select jsonb_agg(jsonb_build_object('code', 'item-' || n))
               from generate_series({first}, {last}) n), 'desk', 'executor_worker');\n"
        )
    };
    [0, 1, 2].map(call).concat()
}

fn kill_9(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    // One that ended meanwhile is as dead as it should be.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

/// ADM-3, ADM-4: after each kill the family is whole, what was answered is there, and the next one completes what is missing.
#[expect(clippy::print_stdout, reason = "a run tells what it went through")]
#[tokio::test]
async fn a_kill_at_any_moment_leaves_no_half_birth() {
    let kills = slice::amount("CHANCERY_TEST_KILLS", 12);
    let seed = slice::seed(20_261_116);
    let mut rng = StdRng::seed_from_u64(seed);
    let house = House::build().await;
    let mut usual = Duration::ZERO;
    for round in 0..CALM {
        house.run(Role::App, &request(round)).await;
        let begun = Instant::now();
        for (mut client, _) in house.clients(round) {
            assert!(client.wait().expect("it ends").success(), "nobody disturbs this round");
        }
        usual = begun.elapsed();
    }
    let (mut of_clients, mut of_the_server, mut midway, mut unfinished) = (0, 0, 0, 0);
    for round in CALM..CALM + kills {
        let mut clients = house.clients(round);
        let moment = usual.mul_f64(rng.gen_range(0.1..1.1));
        wait(&mut clients, moment);
        let at_work: Vec<u32> = clients
            .iter_mut()
            .filter_map(|(child, _)| is_running(child).then(|| child.id()))
            .collect();
        let server = round % 2 == 0;
        if server {
            house.kill_the_server();
            of_the_server += 1;
        } else {
            if let Some(&victim) = at_work.choose(&mut rng) {
                kill_9(i32::try_from(victim).expect("a process"));
            }
            of_clients += 1;
        }
        midway += usize::from(!at_work.is_empty());
        let mut answered = Vec::new();
        for (child, fact) in &mut clients {
            if child.wait().expect("it ends").success() {
                answered.push(fact.clone());
            }
        }
        if server {
            house.cluster.start().expect("it recovers");
        }
        let mut admin = house.admin().await;
        // A backend ends some time after its client.
        nobody_is_in(&mut admin).await;
        assert_whole(&mut admin).await;
        for fact in answered {
            let there: bool = sqlx::query_scalar(AssertSqlSafe(format!("select {fact}")))
                .fetch_one(&mut admin)
                .await
                .expect("an answer");
            assert!(
                there,
                "round {round}, killed at {moment:?}: an answer was given, and not {fact}"
            );
        }
        // Who comes again: the same request, and what is not there yet.
        house.run(Role::App, &request(round + 1)).await;
        let (first, last) = (round * CODES, (round + 1) * CODES - 1);
        let there: i64 = sqlx::query_scalar(AssertSqlSafe(format!(
            "select count(*) from shop.item where slot between {first} and {last}"
        )))
        .fetch_one(&mut admin)
        .await
        .expect("an answer");
        unfinished += usize::from((there as usize) < CODES);
        house
            .run(
                Role::BirthWriter,
                &format!(
                    "insert into shop.item select 'item-' || n, n from generate_series({first}, {last}) n
                      where not exists (select from shop.item i where i.slot = n);"
                ),
            )
            .await;
        assert_whole(&mut admin).await;
        admin.close().await.expect("the superuser leaves");
    }
    println!(
        "{of_clients} kills of clients, {of_the_server} of the server; {midway} while somebody was at work, {unfinished} left something to do"
    );
    assert!(midway > 0 && unfinished > 0, "no kill met anybody at work");
    let mut admin = house.admin().await;
    let facts: (i64, i64, i64) = sqlx::query_as(
        "select (select count(*) from shop.item), (select count(*) from birth.birth_registry),
                (select count(*) from birth.birth_admission_permit where status = 'RESERVED')",
    )
    .fetch_one(&mut admin)
    .await
    .expect("an answer");
    let born = i64::try_from((kills + CALM) * CODES).expect("a number");
    assert_eq!(facts, (born, born, CODES as i64), "every code once; the next round is reserved");
    admin.close().await.expect("the superuser leaves");
    assert_chained(&Store::open(&house.target, Role::Auditor).expect("a store")).await;
}

fn is_running(child: &mut Child) -> bool {
    child.try_wait().expect("a child").is_none()
}

/// Until the moment, or until all have ended.
fn wait(clients: &mut [(Child, String)], moment: Duration) {
    let until = Instant::now() + moment;
    while Instant::now() < until && clients.iter_mut().any(|(child, _)| is_running(child)) {
        // The instants that are drawn are milliseconds apart; waiting for one must not keep a core busy.
        std::thread::sleep(Duration::from_micros(200));
    }
}

async fn nobody_is_in(admin: &mut PgConnection) {
    let admin = tokio::sync::Mutex::new(admin);
    until("every client's backend has ended", || async {
        let others: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity where usename in ('birth_writer', 'chancery_app')",
        )
        .fetch_one(&mut **admin.lock().await)
        .await
        .expect("an answer");
        others == 0
    })
    .await;
}
