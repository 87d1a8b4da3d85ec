//! `chancery worker --role`: does what waits for an executor or a verifier.
//!
//! Nothing is claimed beforehand. The phase itself is the claim: the database lets one worker do it and answers the others
//! with what that one did. So a worker can die at any moment, and another one goes on.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use chancery_engine::{cutter as engine, orchestrator};
use chancery_store::cutter::{EntryFilter, EntryReport, EntryRow};
use chancery_store::orchestrator::RunReport;
use clap::ValueEnum;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Context;
use crate::cutter::{self, Desk, look};
use crate::entry::Rules;
use crate::failure::{Failure, Outcome};
use crate::output::{Out, watched};
use crate::stop::Stop;

/// So many entries are looked at in a pass.
const BATCH: i64 = 1000;
/// An entry that was refused is tried again, ever more rarely.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Duty {
    Executor,
    Verifier,
}

impl Duty {
    const fn at_the_desk(self) -> cutter::Duty {
        match self {
            Self::Executor => cutter::Duty::Cut,
            Self::Verifier => cutter::Duty::Verify,
        }
    }

    /// The door that the entries wait for.
    const fn door(self) -> &'static str {
        match self {
            Self::Executor => "cut",
            Self::Verifier => "verify",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Executor => "executor",
            Self::Verifier => "verifier",
        }
    }
}

pub(super) async fn work(
    context: &mut Context,
    duty: Duty,
    once: bool,
    interval: Duration,
) -> Result<Outcome, Failure> {
    let desk = Desk::open(context, duty.at_the_desk()).await?;
    let stop = Stop::on_signals()?;
    let mut bench = Bench {
        out: context.out.clone(),
        duty,
        desk,
        stop,
        interval,
        held: HashMap::new(),
        tally: Tally::default(),
    };
    if !once {
        bench.out.note(&format!(
            "{} {} is at work and looks every {} s; Ctrl-C ends it",
            duty.name(),
            bench.desk.actor.principal,
            interval.as_secs()
        ));
    }
    bench.work(once).await?;
    let Tally { done, refused, failed } = bench.tally;
    bench.out.note(&format!("{done} done, {refused} refused, {failed} failed"));
    Ok(match (once, failed, refused) {
        (false, ..) | (true, 0, 0) => Outcome::Done,
        (true, 0, _) => Outcome::Refused,
        (true, ..) => Outcome::Failed,
    })
}

/// What a worker has before it.
struct Bench {
    out: Out,
    duty: Duty,
    desk: Desk,
    stop: Stop,
    interval: Duration,
    /// Entries that were refused, and when they are tried again.
    held: HashMap<Uuid, Held>,
    tally: Tally,
}

#[derive(Debug, Default)]
struct Tally {
    done: u32,
    refused: u32,
    failed: u32,
}

#[derive(Debug)]
struct Held {
    again: Instant,
    pause: Duration,
}

impl Bench {
    async fn work(&mut self, once: bool) -> Result<(), Failure> {
        let mut complaint = String::new();
        loop {
            match self.pass().await {
                Ok(()) => complaint.clear(),
                // A server that is away comes back; what was asked for is still there.
                Err(Failure::Failed(why)) if !once => {
                    if why != complaint {
                        self.out.note(&format!("error: {why}; trying again"));
                    }
                    complaint = why;
                }
                Err(failure) => return Err(failure),
            }
            if once || self.stop.asked() {
                return Ok(());
            }
            tokio::select! {
                () = self.stop.wait() => return Ok(()),
                () = tokio::time::sleep(self.interval) => {}
            }
        }
    }

    /// Looks once, and does what is there, oldest first.
    async fn pass(&mut self) -> Result<(), Failure> {
        let rules = Rules::read(&self.desk.store).await?;
        for status in rules.waiting_for(self.duty.door()) {
            let filter = EntryFilter {
                status: Some(status),
                limit: BATCH,
                oldest_first: true,
                ..EntryFilter::default()
            };
            for entry in self.desk.store.entries(&filter).await? {
                if self.stop.asked() {
                    return Ok(());
                }
                // What a run drives, the run cuts; its verifier may well be this one.
                if self.duty == Duty::Executor && run_of(&entry).is_some() {
                    continue;
                }
                let held = self.held.get(&entry.entry_id);
                if held.is_some_and(|held| held.again > Instant::now()) {
                    continue;
                }
                // To wait for somebody who holds this one would be to keep the others waiting.
                if self.desk.store.fn_entry_is_free(entry.entry_id).await? {
                    self.attempt(&entry).await?;
                } else {
                    self.hold(&entry, Why::Held);
                }
            }
        }
        Ok(())
    }

    async fn attempt(&mut self, entry: &EntryRow) -> Result<(), Failure> {
        match self.phase(entry).await {
            Ok(()) => {
                self.held.remove(&entry.entry_id);
                Ok(())
            }
            // Who may not act at all need not try the next one.
            Err(trouble) if trouble.failure.is_about_the_actor() => Err(trouble.failure),
            Err(Trouble { failure, of_this_one: true }) => {
                // Somebody did it, or gave it up, between our look and our attempt: then it no longer waits for us.
                let now = self.desk.store.entry(entry.entry_id).await?;
                if now.is_some_and(|now| now.status == entry.status) {
                    self.hold(entry, Why::Failed(&failure));
                }
                Ok(())
            }
            Err(trouble) => Err(trouble.failure),
        }
    }

    async fn phase(&mut self, entry: &EntryRow) -> Result<(), Trouble> {
        let what = format!("{} {}", self.duty.door(), entry.entry_id);
        let Desk { store, actor, .. } = &self.desk;
        if let Some(name) = run_of(entry) {
            let Some(run) = store.orchestrator_run(name).await? else { return Ok(()) };
            // Before leg B is recorded there is nothing to verify yet.
            if run.state == "leg_b_recorded" {
                let work = orchestrator::write_verify(store, actor, &run);
                let report = watched(&self.out, &what, work).await?;
                self.told_run(&report)?;
                self.desk.position_events().await;
            }
            return Ok(());
        }
        match self.duty {
            Duty::Executor => {
                let work = engine::cut(store, actor, entry.entry_id);
                let report = watched(&self.out, &what, work).await?;
                self.told(&report, &json!(report), "")?;
            }
            Duty::Verifier => {
                let work = engine::verify(store, actor, entry.entry_id);
                let verified = watched(&self.out, &what, work).await?;
                let findings = look::findings(&verified.findings);
                self.told(&verified.report, &look::verdict(&verified), &findings)?;
            }
        }
        self.desk.position_events().await;
        Ok(())
    }

    fn told_run(&mut self, report: &RunReport) -> Result<(), Failure> {
        if report.replayed {
            return Ok(());
        }
        if report.state == "write_verified" {
            self.tally.done += 1
        } else {
            self.tally.failed += 1
        }
        if self.out.is_json() {
            return self.out.line(&json!(report).to_string());
        }
        self.out.line(&format!(
            "{}  {} · {} · {}",
            report.entry_id, report.document_id, report.state, report.run_name
        ))
    }

    /// A line for each entry that this worker has done; who came second has nothing to say.
    fn told(
        &mut self,
        report: &EntryReport,
        answer: &Value,
        findings: &str,
    ) -> Result<(), Failure> {
        if report.replayed {
            return Ok(());
        }
        if findings.is_empty() {
            self.tally.done += 1;
        } else {
            self.tally.failed += 1;
            self.out.note(findings);
        }
        if self.out.is_json() {
            return self.out.line(&answer.to_string());
        }
        let facts = cutter::facts(report).join(" · ");
        self.out.line(&format!("{}  {facts}", report.entry_id))
    }

    /// Leaves an entry for a while and goes on with the others.
    fn hold(&mut self, entry: &EntryRow, why: Why<'_>) {
        let held = self.held.get(&entry.entry_id);
        if held.is_none() {
            let id = entry.entry_id;
            match why {
                Why::Held => {
                    self.out.note(&format!("{id} is held by somebody; it is tried again later"))
                }
                Why::Failed(failure) if failure.is_only_of_guard("G-CUT-DEPS") => {
                    self.out.note(&format!("{id} waits for {}", failure.blockers().join(", ")));
                }
                Why::Failed(failure) => {
                    if matches!(failure, Failure::Refused(_)) {
                        self.tally.refused += 1;
                    } else {
                        self.tally.failed += 1;
                    }
                    self.out.note(&format!("{id}: {}", failure.as_text()));
                }
            }
        }
        let pause = match (held, why) {
            // Nobody holds a row for long, and to look costs nothing.
            (None, _) | (_, Why::Held) => self.interval,
            (Some(held), Why::Failed(_)) => (held.pause * 2).min(LONGEST_PAUSE),
        };
        self.held.insert(entry.entry_id, Held { again: Instant::now() + pause, pause });
    }
}

/// Why an entry is left for a while.
#[derive(Clone, Copy)]
enum Why<'a> {
    /// Somebody else is at it.
    Held,
    Failed(&'a Failure),
}

/// Why an entry was not done.
struct Trouble {
    failure: Failure,
    /// Whether another entry may fare better.
    of_this_one: bool,
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self { failure, of_this_one: false }
    }
}

impl From<chancery_store::Error> for Trouble {
    fn from(error: chancery_store::Error) -> Self {
        chancery_engine::Error::from(error).into()
    }
}

impl From<chancery_engine::Error> for Trouble {
    fn from(error: chancery_engine::Error) -> Self {
        let of_this_one = error.refusal().is_some() || is_stuck(&error);
        Self { failure: error.into(), of_this_one }
    }
}

impl From<orchestrator::Stop> for Trouble {
    fn from(stop: orchestrator::Stop) -> Self {
        // A key that is missing, or a database that is away, is missing for every entry.
        let of_all = ["STOP_DATABASE_AWAY", "STOP_KEY"].contains(&stop.code);
        Self { failure: stop.into(), of_this_one: !of_all }
    }
}

/// Whether something about this one entry was given up: others go on.
fn is_stuck(error: &chancery_engine::Error) -> bool {
    match error {
        chancery_engine::Error::Untrusted { .. } => true,
        chancery_engine::Error::Exhausted { last, .. } => {
            !matches!(**last, chancery_engine::Error::Store(chancery_store::Error::Away(_)))
        }
        _ => false,
    }
}

/// The run of the orchestrator that drives an entry.
fn run_of(entry: &EntryRow) -> Option<&str> {
    entry.payload["orchestrator_run"].as_str()
}
