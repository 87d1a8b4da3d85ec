//! CUT-12: kill -9 at any moment of any phase, of the command or of PostgreSQL: no half state, and a second call completes it.
//!
//! The moment is drawn from a seed over the time that the phase takes when nobody disturbs it, and a little beyond.
//! `CHANCERY_TEST_KILLS` kills are made for each phase and each victim.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use chancery_testkit::slice;

use crate::cutter::{status, with_people};
use crate::place::Place;

/// Enough that a cut takes long enough to be hit in the middle.
const SECTIONS: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Command,
    Server,
}

/// A phase: its arguments after the entry is known, and the states in which its second call may find the entry.
struct Phase {
    name: &'static str,
    before: &'static str,
    after: &'static str,
}

const PHASES: [Phase; 4] = [
    Phase { name: "mark", before: "", after: "marked" },
    Phase { name: "review", before: "review_pending", after: "reviewed_approved" },
    Phase { name: "cut", before: "reviewed_approved", after: "cut_applied" },
    Phase { name: "verify", before: "cut_applied", after: "verified_complete" },
];

#[test]
fn a_kill_at_any_moment_leaves_no_half_state() {
    let kills = slice::amount("CHANCERY_TEST_KILLS", 1);
    let mut random = Random(slice::seed(20_260_516));
    let place = with_people();
    let server = || place.json(&["db", "status"])["pid"].as_i64().expect("the server runs");
    // The undisturbed walk gives the time of each phase.
    let usual = PHASES.map(|phase| {
        if phase.name == "mark" {
            add(&place, "calm");
        } else if phase.name == "review" {
            place.done(&["cutter", "sweep", "--as", "executor"]);
        }
        let begun = Instant::now();
        place.done(&call(&phase, "calm", &entry_of(&place, "calm")));
        begun.elapsed()
    });

    let mut hit_midway = 0;
    let mut number_of_documents = 0;
    for _ in 0..kills {
        for victim in [Victim::Command, Victim::Server] {
            number_of_documents += 1;
            let document = format!("doc{number_of_documents}");
            add(&place, &document);
            for (phase, usual) in PHASES.iter().zip(usual) {
                if phase.name == "review" {
                    place.done(&["cutter", "sweep", "--as", "executor"]);
                }
                let entry = entry_of(&place, &document);
                let mut child = place
                    .command(&call(phase, &document, &entry))
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .expect("it runs");
                let moment = random.below(usual + usual / 4);
                let finished = wait(&mut child, moment);
                match victim {
                    Victim::Command => kill_9(i64::from(child.id())),
                    Victim::Server => kill_9(server()),
                }
                child.wait().expect("it ends");
                hit_midway += u32::from(!finished);

                // What the next reader sees is one of the two committed states, and nothing between.
                let entry = entry_of(&place, &document);
                if !entry.is_empty() {
                    let found = status(&place, &entry);
                    let found = found.as_str().expect("a status");
                    assert!(
                        found == phase.before || found == phase.after,
                        "{document} {} after a kill of {victim:?} at {moment:?}: {found}",
                        phase.name
                    );
                }
                place.done(&call(phase, &document, &entry));
                assert_eq!(
                    status(&place, &entry_of(&place, &document)),
                    phase.after,
                    "{document} {}",
                    phase.name
                );
            }
        }
    }
    assert!(hit_midway > 0, "no kill met a running phase");
    let report = place.json(&["audit", "verify"]);
    assert_eq!(report["ok"], true, "{report}");
    let counts = place.superuser(
        "select (select count(*) from iu.information_unit), (select count(*) from iu.unit_version),
                (select count(*) from cutter_governance.cut_change_set_affected_row), (select count(*) from cutter_governance.cut_change_set),
                (select count(*) from cutter_governance.verify_result), (select count(*) from cutter_governance.dot_pair_signature)",
    );
    let documents = number_of_documents + 1;
    let units = documents * SECTIONS;
    assert_eq!(
        counts.trim(),
        format!("{units}|{units}|{units}|{documents}|{documents}|{}", 2 * documents),
        "nothing twice"
    );
}

/// CUT-12: the sweep as well; it concerns many entries at once.
#[test]
fn a_killed_sweep_promotes_all_or_nothing() {
    let kills = slice::amount("CHANCERY_TEST_KILLS", 1);
    let mut random = Random(slice::seed(20_260_517));
    let place = with_people();
    for n in 0..kills {
        for k in 0..5 {
            let document = format!("s{n}-{k}");
            add(&place, &document);
            place.done(&["cutter", "mark", &document, "--as", "alice"]);
        }
        let mut child = place
            .command(&["cutter", "sweep", "--as", "executor"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        wait(&mut child, random.below(Duration::from_millis(250)));
        kill_9(i64::from(child.id()));
        child.wait().expect("it ends");
        // A killed client's transaction ends with its connection; the lock of the next sweep waits for that.
        place.done(&["cutter", "sweep", "--as", "executor"]);
        let waiting = place.superuser(
            "select count(*) from cutter_governance.decision_backlog_entry where status = 'marked'",
        );
        assert_eq!(waiting.trim(), "0");
        let sweeps = place.superuser(
            "select bool_and(s.promoted_count = (select count(*) from fsm.transition_log l where l.evidence::jsonb ->> 'sweep_id' = s.sweep_id::text))
               from cutter_governance.decision_backlog_sweep_log s",
        );
        assert_eq!(sweeps.trim(), "t", "a pass says exactly what it promoted");
    }
    assert_eq!(place.json(&["audit", "verify"])["ok"], true);
}

fn add(place: &Place, document: &str) {
    let text: String = (0..SECTIONS)
        .map(|n| format!("# Section {n}\n\nWhat section {n} of {document} says.\n\n"))
        .collect();
    let file = place.file(&format!("{document}.md"), &text);
    let prefix = document.to_uppercase();
    place.done(&["doc", "add", &file, "--id", document, "--prefix", &prefix, "--as", "alice"]);
}

fn entry_of(place: &Place, document: &str) -> String {
    let listed = place.json(&["cutter", "list", "--document", document]);
    listed[0]["entry_id"].as_str().unwrap_or_default().to_owned()
}

fn call<'a>(phase: &Phase, document: &'a str, entry: &'a str) -> Vec<&'a str> {
    match phase.name {
        "mark" => vec!["cutter", "mark", document, "--as", "alice"],
        "review" => vec!["cutter", "review", entry, "--approve", "--as", "rita"],
        "cut" => vec!["cutter", "cut", entry, "--as", "executor"],
        _ => vec!["cutter", "verify", entry, "--as", "verifier"],
    }
}

/// Whether the child ended by itself before `moment` was over.
fn wait(child: &mut Child, moment: Duration) -> bool {
    let until = Instant::now() + moment;
    while Instant::now() < until {
        if child.try_wait().expect("a child").is_some() {
            return true;
        }
        // The instants that are drawn are milliseconds apart; waiting for one must not keep a core busy.
        std::thread::sleep(Duration::from_micros(200));
    }
    false
}

fn kill_9(pid: i64) {
    let killed = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .stderr(Stdio::null())
        .status();
    // One that ended meanwhile is as dead as it should be.
    killed.expect("kill runs");
}

/// splitmix64: small, seeded, the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, limit: Duration) -> Duration {
        limit.mul_f64(self.share())
    }

    pub(crate) fn below_number(&mut self, limit: usize) -> usize {
        (self.share() * limit as f64) as usize
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }
}
