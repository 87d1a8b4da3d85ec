//! ORC-6, ORC-11: kill -9 at a random instant, the backup included, and gone on with at once.
//!
//! Where `crash` enumerates what a runner does to the world, here the instant is drawn from the time that a command takes: a process may
//! be anywhere, also in the backup, between two processes, or in what nobody thought of. `CHANCERY_TEST_KILLS` says how many.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use chancery_engine::orchestrator::RunId;
use chancery_testkit::slice;

use super::scene::Scene;

/// How many runs are killed by default.
const SLICE: usize = 4;
const UNITS: usize = 2;

/// Where a run is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// While its backup is taken.
    Backup,
    /// Anywhere before the first gate.
    Start,
    /// Anywhere between the gates.
    Cut,
    /// Anywhere after the second gate.
    Enact,
}

const PLACES: [Place; 4] = [Place::Backup, Place::Start, Place::Cut, Place::Enact];

/// ORC-6, ORC-11: each of them reaches `closeout_reported`, with its units once and one line in the index; the audit finds nothing.
#[expect(clippy::print_stderr, reason = "a run of an hour tells how far it is")]
#[test]
fn runs_killed_at_random_instants_reach_their_end() {
    let scene = Scene::new();
    let mut draw = Draw(slice::seed(20_261_119) | 1);
    let clocks = PLACES.map(|place| Clock::of(&scene, place));
    let kills = slice::amount("CHANCERY_TEST_KILLS", SLICE);
    let mut met = 0;
    for n in 0..kills {
        let place = PLACES[n % PLACES.len()];
        let document = format!("killed{n}");
        scene.document(&document, UNITS);
        let run = RunId::new(jiff::Timestamp::now()).to_string();
        let runner = begun(&scene, place, &document, &run);
        let after = clocks[n % PLACES.len()].0.mul_f64(draw.fraction());
        let was_at_work = runner.killed_after(after);
        met += usize::from(was_at_work);
        finish(&scene, &document, &run);
        eprintln!("{} of {kills}: {place:?} after {after:?}, at work: {was_at_work}", n + 1);
    }
    let enacted = "select count(*) from iu.information_unit where lifecycle_status = 'enacted' and canonical_address like 'KILLED%'";
    assert_eq!(scene.one(enacted), (kills * UNITS).to_string(), "{met} of {kills} met a runner");
    assert!(met * 2 >= kills, "only {met} of {kills} kills met a runner at work");
    scene.audit_is_clean();
}

/// What a command takes that nobody kills; the backup, from its beginning to its end.
struct Clock(Duration);

impl Clock {
    fn of(scene: &Scene, place: Place) -> Self {
        let document = format!("timed{}", place as u8);
        scene.document(&document, UNITS);
        let run = RunId::new(jiff::Timestamp::now()).to_string();
        let mut runner = begun(scene, place, &document, &run);
        let begun = Instant::now();
        if place == Place::Backup {
            runner.reads("backup: passed");
        } else {
            runner.reads_all();
        }
        let took = begun.elapsed();
        runner.reads_all();
        runner.child.wait().expect("it ends");
        finish(scene, &document, &run);
        Self(took)
    }
}

/// A command at work.
struct Runner {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
}

/// Brings a run to its place and begins the command that is killed there.
fn begun(scene: &Scene, place: Place, document: &str, run: &str) -> Runner {
    let start = ["start", document, "--run-id", run, "--as", "executor"];
    let approval = matches!(place, Place::Cut | Place::Enact).then(|| {
        scene.orchestrate(&start).ends_with(4);
        let approval = scene.approved(run);
        if place == Place::Cut {
            return approval;
        }
        scene.resume(run, Some(&approval)).ends_with(4);
        scene.approved(run)
    });
    let args = match &approval {
        None => start.to_vec(),
        Some(path) => {
            vec!["resume", "--run-id", run, "--approval-kb-id", path, "--as", "executor"]
        }
    };
    let args = [&["cutter", "orchestrate"], &args[..]].concat();
    let mut command = scene.place.command(&args);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut runner = Runner { child, stderr };
    if place == Place::Backup {
        runner.reads("backup: begun");
    }
    runner
}

impl Runner {
    /// Reads what it says up to this.
    fn reads(&mut self, what: &str) {
        let mut line = String::new();
        while !line.starts_with(what) {
            line.clear();
            let read = self.stderr.read_line(&mut line).expect("text");
            assert!(read > 0, "it ends before {what}");
        }
    }

    fn reads_all(&mut self) {
        self.stderr.read_to_end(&mut Vec::new()).expect("all of it");
    }

    /// Ends it after so long, or sees it end by itself; gives whether it was still at work.
    fn killed_after(mut self, time: Duration) -> bool {
        let (ended, ends) = mpsc::channel::<()>();
        let mut stderr = self.stderr;
        let reader = std::thread::spawn(move || {
            let _ = stderr.read_to_end(&mut Vec::new());
            drop(ended);
        });
        // The draw is the instant: it is waited for, unless the command ends first.
        let was_at_work = ends.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
        self.child.kill().expect("a signal");
        self.child.wait().expect("it ends");
        reader.join().expect("a reader");
        was_at_work
    }
}

/// Goes on at once, and then as a person would: approves what is asked, until the run is over.
fn finish(scene: &Scene, document: &str, run: &str) {
    let said = scene.resume(run, None);
    if said.stderr.contains("STOP_RUN_NOT_FOUND") {
        let start = ["start", document, "--run-id", run, "--as", "executor"];
        scene.orchestrate(&start).ends_with(4);
    } else {
        assert!(matches!(said.exit, Some(0 | 4)), "gone on with at once: {said:?}");
    }
    for _ in 0..2 {
        if scene.state(run) != "closeout_reported" {
            let approval = scene.approved(run);
            let said = scene.resume(run, Some(&approval));
            assert!(matches!(said.exit, Some(0 | 4)), "{said:?}");
        }
    }
    assert_eq!(scene.state(run), "closeout_reported");
    let lines = format!(
        "select count(*) from (select distinct on (path) body from kb.revision where path like 'orchestrator/runs-index/%' order by path, revision desc) k,
                regexp_split_to_table(k.body, E'\\n') line where position('{run}' in line) > 0"
    );
    assert_eq!(scene.one(&lines), "1", "one line in the index");
}

/// Numbers that a seed leads to (xorshift).
struct Draw(u64);

impl Draw {
    /// From 0 up to 1.
    fn fraction(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        f64::from(u32::try_from(self.0 >> 32).unwrap_or_default()) / f64::from(u32::MAX)
    }
}
