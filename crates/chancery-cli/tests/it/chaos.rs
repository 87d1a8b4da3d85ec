//! Workers that are killed and stopped at random: every job is done once, or lies in the dead letters with its reason.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use chancery_testkit::{pause_thread, slice};

use crate::crash::Random;
use crate::place::{Place, run_it};

const WORKERS: usize = 8;
const LEASE: Duration = Duration::from_secs(2);

/// EVT-3: SIGKILL and SIGSTOP of workers and of the host, at random moments.
#[expect(clippy::print_stdout, reason = "a run tells what it went through")]
#[test]
fn every_job_is_done_once_or_dead_with_its_reason() {
    let jobs: i64 = slice::amount("CHANCERY_TEST_JOBS", 2_000);
    let seed = slice::seed(5);
    println!("{jobs} jobs, seed {seed}");
    let place = Place::with_database();
    let operator = |sql: &str| {
        place.done(&["db", "psql", "--role", "chancery_migrator", "--", "-Atqc", sql]);
    };
    operator("select queue.fn_retry_policy_put('quick', 8, 50, 2, 1000, 0.2, 'For a test.')");
    operator("select queue.fn_executor_class_put('noop', 'quick', 2, 1000, true, 'For a test.')");
    enqueue(&place, jobs);

    let mut crew = Crew::new(&place, Random::seeded(seed));
    crew.stop_one_at_work();
    let deadline = Instant::now()
        + Duration::from_secs(60)
        + Duration::from_millis(10) * u32::try_from(jobs).expect("a number");
    while place
        .superuser("select count(*) from queue.job_queue where state <> 'dead_letter'")
        .trim()
        != "0"
        || crew.killed == 0
    {
        assert!(Instant::now() < deadline, "jobs are left: {}", left(&place));
        crew.trouble();
    }
    let late = crew.dismiss();
    println!("{} killed, {} stopped, {late} results too late", crew.killed, crew.stopped);
    assert!(crew.killed > 0 && crew.stopped > 0 && late > 0, "the trouble was none");

    let fated = (1..=jobs).filter(|n| n % 97 == 0).count();
    let facts = place.superuser(
        "select (select count(*) from queue.job_finished), (select count(distinct job_id) from queue.job_finished),
                (select count(*) from queue.job_dead_letter), (select count(*) from queue.job_dead_letter where classification = 'permanent'),
                (select count(*) from queue.job_dead_letter d join queue.job_queue q using (job_id) where q.state = 'dead_letter' and q.seq = 2),
                (select count(*) from queue.job_dead_letter where classification <> 'permanent' and attempts < max_attempts)",
    );
    let facts: Vec<i64> = facts.trim().split('|').map(|n| n.parse().expect("a number")).collect();
    let [finished, distinct, dead, permanent, logged, given_up_early] = facts[..] else {
        panic!("{facts:?}")
    };
    assert_eq!(finished, distinct, "no job is done twice");
    assert_eq!(finished + dead, jobs, "no job is lost");
    assert_eq!(permanent, i64::try_from(fated).expect("a number"), "what cannot work is dead");
    assert_eq!((logged, given_up_early), (dead, 0), "each death is in the log, after its last try");
    assert_eq!(place.json(&["audit", "verify"])["ok"], true);
}

/// Some fail once, some for good, all take their time: whoever is killed has something in hand.
fn enqueue(place: &Place, jobs: i64) {
    let sql = format!(
        "do $$ begin
           for b in 0..({jobs} - 1) / 5000 loop
             perform queue.fn_job_enqueue((
               select jsonb_agg(jsonb_build_object('class', 'noop', 'kind', 'chaos', 'key', 'chaos-' || n, 'priority', 100 + n % 2, 'payload',
                        jsonb_build_object('sleep_ms', 10 + n % 20, 'fail_attempts', (n % 50 = 0)::int, 'fail_for_good', n % 97 = 0)))
                 from generate_series(b * 5000 + 1, least((b + 1) * 5000, {jobs})) n), 'chancery', 'system');
           end loop;
         end $$"
    );
    place.done(&["db", "psql", "--role", "chancery_app", "--", "-Atqc", &sql]);
}

fn left(place: &Place) -> String {
    place.superuser("select state, count(*), min(scheduled_at), min(lease_until), now() from queue.job_queue group by state")
}

/// Workers and a host, and what is done to them.
struct Crew<'a> {
    place: &'a Place,
    random: Random,
    workers: Vec<Member>,
    hired: usize,
    killed: usize,
    stopped: usize,
    /// Whose results are certain to be too late: it is not killed, so that it can tell of them at its end.
    late: Option<usize>,
}

struct Member {
    name: String,
    child: Child,
    stopped: Option<Instant>,
    is_host: bool,
}

impl<'a> Crew<'a> {
    fn new(place: &'a Place, random: Random) -> Self {
        let mut crew = Self {
            place,
            random,
            workers: Vec::new(),
            hired: 0,
            killed: 0,
            stopped: 0,
            late: None,
        };
        for n in 0..=WORKERS {
            let member = crew.hire(n == WORKERS);
            crew.workers.push(member);
        }
        crew
    }

    fn hire(&mut self, is_host: bool) -> Member {
        self.hired += 1;
        let name = format!("w{}", self.hired);
        let host = ["serve", "--listen", ":0"];
        let worker = [
            "worker",
            "--class",
            "noop",
            "--concurrency",
            "8",
            "--prefetch",
            "32",
            "--name",
            &name,
        ];
        let args = if is_host { &host[..] } else { &worker[..] };
        let mut command = self.place.command(&[args, &["--json"]].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        Member { name, child: child.expect("a process"), stopped: None, is_host }
    }

    /// A worker is stopped while it has jobs in hand, so that its results come too late for certain.
    fn stop_one_at_work(&mut self) {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "nobody has a job in hand");
            // Whoever shows the host's token leases under its principal's name and that of the worker.
            let owners = "select distinct regexp_replace(lease_owner, '^.*/', '') from queue.job_queue where state in ('leased', 'in_progress')";
            let busy = self.place.superuser(owners);
            let found = self.workers.iter().position(|m| busy.lines().any(|owner| owner == m.name));
            let Some(worker) = found else { continue };
            send(&self.workers[worker].child, "-STOP");
            // What it had may just have been done.
            let left = self.place.superuser(owners);
            if left.lines().any(|owner| owner == self.workers[worker].name) {
                self.workers[worker].stopped = Some(Instant::now());
                self.stopped += 1;
                self.late = Some(worker);
                return;
            }
            send(&self.workers[worker].child, "-CONT");
        }
    }

    /// One of them is killed and replaced, or stopped until its leases are long over; then it goes on as if nothing had happened.
    fn trouble(&mut self) {
        for member in &mut self.workers {
            if member.stopped.is_some_and(|since| since.elapsed() > LEASE * 3) {
                send(&member.child, "-CONT");
                member.stopped = None;
            }
        }
        let chosen = self.random.below_number(self.workers.len());
        if self.workers[chosen].stopped.is_some() || self.late == Some(chosen) {
            return;
        }
        if self.random.below_number(2) == 0 {
            send(&self.workers[chosen].child, "-KILL");
            self.workers[chosen].child.wait().expect("a worker that is no more");
            self.workers[chosen] = self.hire(self.workers[chosen].is_host);
            self.killed += 1;
        } else {
            send(&self.workers[chosen].child, "-STOP");
            self.workers[chosen].stopped = Some(Instant::now());
            self.stopped += 1;
        }
    }

    /// Everybody goes home in good order. Says how many results came too late.
    fn dismiss(&mut self) -> u64 {
        let mut late = 0;
        for member in &self.workers {
            send(&member.child, "-CONT");
        }
        // One that was hired just now has to be at its place first: before that a signal simply ends it.
        for member in self.workers.iter().filter(|member| !member.is_host) {
            let at_work = format!(
                "select exists (select from queue.queue_heartbeat where worker = '{}')",
                member.name
            );
            let deadline = Instant::now() + Duration::from_secs(60);
            while self.place.superuser(&at_work).trim() != "t" {
                assert!(Instant::now() < deadline, "{} never came to work", member.name);
                pause_thread();
            }
        }
        for member in self.workers.drain(..) {
            send(&member.child, "-TERM");
            let output = member.child.wait_with_output().expect("a worker that ends");
            // The host may still have been on its way.
            let on_its_way = member.is_host && output.status.signal() == Some(15);
            assert!(output.status.success() || on_its_way, "{output:?}");
            if member.is_host {
                continue;
            }
            let tally: Value = serde_json::from_slice(&output.stdout).expect("a tally");
            late += tally["late"].as_u64().expect("a number");
        }
        late
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        for member in &mut self.workers {
            // A failed test leaves nobody behind.
            drop(member.child.kill());
            drop(member.child.wait());
        }
    }
}

fn send(child: &Child, signal: &str) {
    run_it(Command::new("kill").args([signal, &child.id().to_string()]));
}
