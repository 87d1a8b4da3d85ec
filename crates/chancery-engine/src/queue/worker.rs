//! A worker: leases jobs of a class, has them done, and reports.
//!
//! What it knows is only a copy: the database decides whose a job is. So a worker can be killed, stopped or cut off at any moment.
//! A job that it was given and did not report on is given to another one when the lease runs out; a report that comes after that
//! is refused, and the worker drops it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::{self, Poll, Waker};
use std::time::{Duration, Instant};

use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::queue::{AckReport, JobOutcome, JobResult, LeasedJob};
use rand::Rng as _;
use serde::Serialize;
use serde_json::json;
use tokio::task::{AbortHandle, JoinSet};
use uuid::Uuid;

use super::executor::{Executor, Failure};
use super::step::{self, Settled};
use crate::Error;
use crate::governance::Pulse;

/// With nothing to do, the next look is ever later, up to this.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// A result waits for company no longer than this.
const LINGER: Duration = Duration::from_millis(20);
/// With something in hand and nothing more in the queue, the next look is so much later.
const LOOK: Duration = Duration::from_millis(50);
/// A sign of life, so often.
const BEAT: Duration = Duration::from_secs(5);
/// While the database is away, the next try is ever later, up to this.
const LONGEST_AWAY: Duration = Duration::from_secs(5);

/// How a worker works.
#[derive(Debug, Clone)]
pub struct Settings {
    pub class: String,
    /// A name of its own: leases are given to it.
    pub worker: String,
    pub principal: String,
    /// So many jobs at the same time.
    pub concurrency: usize,
    /// So many jobs are leased ahead of those; more of them mean fewer transactions, and more to give back at the end.
    pub prefetch: usize,
    /// The lease of the class. It is kept when a third of it is over.
    pub lease: Duration,
    /// End when the queue has nothing due.
    pub once: bool,
    /// So long running jobs may take after the worker was asked to end.
    pub grace: Duration,
}

/// What a worker has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub succeeded: u64,
    pub failed: u64,
    /// Reports that came too late and changed nothing.
    pub late: u64,
    /// Given back unstarted.
    pub released: u64,
}

struct Held {
    lease_no: i32,
    /// When the lease was last given or kept, by our own clock, which goes on while the process is stopped.
    since: Instant,
    task: AbortHandle,
}

/// A worker at work.
pub struct Worker {
    store: Store,
    pulse: Pulse,
    executor: Arc<dyn Executor>,
    settings: Settings,
    waiting: VecDeque<(LeasedJob, Instant)>,
    running: HashMap<Uuid, Held>,
    tasks: JoinSet<(LeasedJob, Settled)>,
    results: Vec<JobResult>,
    /// Since when the oldest of them waits.
    results_since: Instant,
    tally: Tally,
    /// What of it the last sign of life told.
    beat: Option<(Instant, Tally)>,
    /// The last look found less than was asked for; until the next one, results wait for company.
    is_drained: bool,
    look_at: Instant,
    /// When leases are looked at next.
    keep_at: Instant,
    away: Option<Duration>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Worker {
    pub fn new(store: Store, executor: Arc<dyn Executor>, settings: Settings) -> Self {
        let Settings { class, worker, principal, .. } = &settings;
        Self {
            pulse: Pulse::new(store.clone(), class, worker, principal),
            store,
            executor,
            settings,
            waiting: VecDeque::new(),
            running: HashMap::new(),
            tasks: JoinSet::new(),
            results: Vec::new(),
            results_since: Instant::now(),
            tally: Tally::default(),
            beat: None,
            is_drained: false,
            look_at: Instant::now(),
            keep_at: Instant::now(),
            away: None,
        }
    }

    /// Works until `stop` is ready, or with `once` until nothing is due. Whatever was done is reported before it returns, and
    /// what was not started is given back.
    ///
    /// # Errors
    /// When a rule refuses the worker itself. A database that is away is waited for.
    pub async fn run(mut self, stop: impl Future<Output = ()> + Send) -> Result<Tally, Error> {
        let mut stop = std::pin::pin!(stop);
        let mut pause = SHORTEST_PAUSE;
        loop {
            self.beat().await?;
            let got = self.turn().await?;
            self.start();
            if got > 0 || !self.results.is_empty() {
                pause = SHORTEST_PAUSE;
            }
            let idle = self.tasks.is_empty() && self.waiting.is_empty() && self.results.is_empty();
            if self.settings.once && idle && got == 0 && self.away.is_none() {
                return self.end().await;
            }
            let wait = match self.away {
                Some(pause) => pause,
                None if self.results.is_empty() => pause,
                None => LINGER,
            };
            // With nothing in hand but results, there is nothing to wait for.
            let is_free = self.tasks.is_empty() && self.waiting.is_empty();
            tokio::select! {
                biased;
                () = &mut stop => return self.end().await,
                () = std::future::ready(()), if is_free && !self.results.is_empty() && self.away.is_none() => {}
                Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    self.collect(done);
                    // What is ready now goes into the same report.
                    while let Some(done) = self.tasks.try_join_next() {
                        self.collect(done);
                    }
                }
                () = tokio::time::sleep(jittered(wait)), if self.tasks.is_empty() || !self.results.is_empty() || self.away.is_some() || self.has_room() => {
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                () = tokio::time::sleep(self.settings.lease / 6), if !self.tasks.is_empty() => {}
            }
            self.keep_leases().await?;
        }
    }

    /// Says that the worker is there, and whether things went well since it last did: a worker all of whose jobs fail is not well.
    async fn beat(&mut self) -> Result<(), Error> {
        let told = match self.beat {
            Some((at, _)) if at.elapsed() < BEAT => return Ok(()),
            Some((_, told)) => told,
            None => Tally::default(),
        };
        let ok = self.tally.failed == told.failed || self.tally.succeeded > told.succeeded;
        match self.pulse.beat(ok, &json!(self.tally)).await {
            Ok(_) => {
                self.beat = Some((Instant::now(), self.tally));
                Ok(())
            }
            Err(error) => self.bear(error).await,
        }
    }

    fn has_room(&self) -> bool {
        self.waiting.len() + self.running.len() < self.settings.concurrency
    }

    /// Reports what is done and takes what there is room for, in one transaction.
    async fn turn(&mut self) -> Result<usize, Error> {
        let Settings { class, worker, principal, concurrency, prefetch, .. } = &self.settings;
        let held = self.waiting.len() + self.running.len();
        // A turn must be worth its commit: there is nothing else to do, half of what is leased ahead is used up and there is more,
        // or results have waited long enough.
        let is_low = self.waiting.len() <= prefetch / 2;
        let is_due = !self.results.is_empty()
            && (self.results.len() >= *prefetch || self.results_since.elapsed() >= LINGER);
        let is_wanted = is_low && (held == 0 || !self.is_drained || self.look_at <= Instant::now());
        if !is_due && !is_wanted {
            return Ok(0);
        }
        let wanted = if is_low { (concurrency + prefetch).saturating_sub(held) } else { 0 };
        let asked = Instant::now();
        let answer = if wanted > 0 {
            let limit = i32::try_from(wanted).unwrap_or(i32::MAX);
            self.store.fn_job_turn(class, limit, worker, principal, &self.results).await
        } else if self.results.is_empty() {
            return Ok(0);
        } else {
            let report = self.store.fn_job_ack(worker, principal, &self.results).await;
            report.map(|report| (report, Vec::new()))
        };
        match answer {
            Ok((report, jobs)) => {
                self.away = None;
                self.results.clear();
                self.take_note(&report);
                let got = jobs.len();
                if wanted > 0 {
                    self.is_drained = got < wanted;
                    self.look_at = Instant::now() + LOOK;
                }
                // The lease is at least as long as it looks from here: the clock started before the database was asked.
                self.waiting.extend(jobs.into_iter().map(|job| (job, asked)));
                Ok(got)
            }
            Err(error) => self.bear(error).await.map(|()| 0),
        }
    }

    /// What cannot be helped by waiting ends the worker; a result that the database will not have becomes a failure of its job.
    async fn bear(&mut self, error: chancery_store::Error) -> Result<(), Error> {
        use chancery_store::Error as Store;
        match &error {
            Store::Away(_) | Store::Conflict(_) => {
                let pause = self.away.map_or(SHORTEST_PAUSE * 10, |pause| pause * 2);
                if self.away.is_none() {
                    tracing::warn!(%error, "waiting for the database");
                }
                self.away = Some(pause.min(LONGEST_AWAY));
                Ok(())
            }
            Store::Refused(refusal) if refusal.code == Code::RE008 && !self.results.is_empty() => {
                self.report_one_by_one().await
            }
            Store::Refused(_)
            | Store::Schema(_)
            | Store::Denied(_)
            | Store::Locks(_)
            | Store::Bug { .. }
            | Store::Managed(_) => Err(error.into()),
        }
    }

    async fn report_one_by_one(&mut self) -> Result<(), Error> {
        let (worker, principal) = (&self.settings.worker, &self.settings.principal);
        let mut reports = Vec::new();
        for mut result in std::mem::take(&mut self.results) {
            let mut answer = self.store.fn_job_ack(worker, principal, &[result.clone()]).await;
            if let Err(chancery_store::Error::Refused(refusal)) = &answer {
                result.outcome = JobOutcome::FailedForGood;
                result.detail = json!({ "reason": format!("the result was refused: {} {refusal}", refusal.code) });
                answer = self.store.fn_job_ack(worker, principal, &[result]).await;
            }
            reports.push(answer?);
        }
        for report in &reports {
            self.take_note(report);
        }
        Ok(())
    }

    fn take_note(&mut self, report: &AckReport) {
        for late in &report.refused {
            tracing::warn!(job_id = %late.job_id, lease_no = late.lease_no, code = late.code, "a result came too late and was refused");
            self.tally.late += 1;
        }
    }

    /// Starts what waits, as far as there is room. A lease that has grown old meanwhile is kept first, and if that fails the job
    /// is somebody else's.
    fn start(&mut self) {
        while self.running.len() < self.settings.concurrency
            && self.waiting.front().is_some_and(|(_, since)| !self.is_old(*since))
        {
            let Some((job, since)) = self.waiting.pop_front() else { return };
            let executor = Arc::clone(&self.executor);
            let (job_id, lease_no) = (job.job_id, job.lease_no);
            let task = if step::is_step(&job) {
                let store = self.store.clone();
                let Settings { worker, principal, .. } = self.settings.clone();
                self.tasks.spawn(async move {
                    let settled = step::work(&store, &*executor, &job, &worker, &principal).await;
                    (job, settled)
                })
            } else {
                let mut work = Box::pin(async move {
                    let answer = executor.execute(&job).await;
                    (job, Settled::Open(answer))
                });
                // What is done at once is not worth a task.
                if let Poll::Ready((job, settled)) =
                    work.as_mut().poll(&mut task::Context::from_waker(Waker::noop()))
                {
                    self.note(&job, settled);
                    continue;
                }
                self.tasks.spawn(work)
            };
            self.running.insert(job_id, Held { lease_no, since, task });
        }
    }

    fn is_old(&self, since: Instant) -> bool {
        since.elapsed() > self.settings.lease / 3
    }

    fn collect(&mut self, done: Result<(LeasedJob, Settled), tokio::task::JoinError>) {
        match done {
            Ok((job, settled)) => {
                self.running.remove(&job.job_id);
                self.note(&job, settled);
            }
            // Aborted, because its lease is lost; or it panicked, and the job is tried again when its lease runs out.
            Err(error) => {
                self.running.retain(|_, held| !held.task.is_finished());
                if error.is_panic() {
                    tracing::error!(%error, "an executor panicked; its job is tried again when the lease runs out");
                }
            }
        }
    }

    fn note(&mut self, job: &LeasedJob, settled: Settled) {
        let answer = match settled {
            // Reported already, with the work itself.
            Settled::Succeeded => return self.tally.succeeded += 1,
            Settled::Failed => return self.tally.failed += 1,
            Settled::Late => return self.tally.late += 1,
            Settled::Open(answer) => answer,
        };
        let (outcome, detail) = match answer {
            Ok(value) => {
                self.tally.succeeded += 1;
                (JobOutcome::Succeeded, value)
            }
            Err(Failure { reason, for_good }) => {
                self.tally.failed += 1;
                let outcome = if for_good { JobOutcome::FailedForGood } else { JobOutcome::Failed };
                (outcome, json!({ "reason": reason }))
            }
        };
        if self.results.is_empty() {
            self.results_since = Instant::now();
        }
        self.results.push(JobResult {
            job_id: job.job_id,
            lease_no: job.lease_no,
            outcome,
            detail,
        });
    }

    /// Keeps the leases that have grown old; what is lost is dropped, also in the middle of its work.
    async fn keep_leases(&mut self) -> Result<(), Error> {
        if Instant::now() < self.keep_at {
            return Ok(());
        }
        self.keep_at = Instant::now() + self.settings.lease / 12;
        let old: Vec<(Uuid, i32)> = self
            .running
            .iter()
            .filter(|(_, held)| self.is_old(held.since))
            .map(|(id, held)| (*id, held.lease_no))
            .chain(
                self.waiting
                    .iter()
                    .filter(|(_, since)| self.is_old(*since))
                    .map(|(job, _)| (job.job_id, job.lease_no)),
            )
            .collect();
        if old.is_empty() {
            return Ok(());
        }
        let asked = Instant::now();
        let (worker, principal) = (&self.settings.worker, &self.settings.principal);
        let kept = match self.store.fn_job_extend(worker, principal, &old).await {
            Ok(kept) => kept,
            Err(error) => return self.bear(error).await,
        };
        for (job_id, _) in old {
            if kept.contains(&job_id) {
                if let Some(held) = self.running.get_mut(&job_id) {
                    held.since = asked;
                }
                for (job, since) in &mut self.waiting {
                    if job.job_id == job_id {
                        *since = asked;
                    }
                }
            } else {
                self.tally.late += 1;
                tracing::warn!(%job_id, "the lease was lost; the job is somebody else's");
                self.waiting.retain(|(job, _)| job.job_id != job_id);
                if let Some(held) = self.running.remove(&job_id) {
                    held.task.abort();
                }
            }
        }
        Ok(())
    }

    /// Gives back what was not started, waits for what runs, and reports.
    async fn end(mut self) -> Result<Tally, Error> {
        let leases: Vec<(Uuid, i32)> =
            self.waiting.drain(..).map(|(job, _)| (job.job_id, job.lease_no)).collect();
        let Settings { worker, principal, grace, .. } = self.settings.clone();
        let deadline = Instant::now() + grace;
        while !self.tasks.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            match tokio::time::timeout(left.min(self.settings.lease / 6), self.tasks.join_next())
                .await
            {
                Ok(Some(done)) => self.collect(done),
                Ok(None) => break,
                Err(_) if left.is_zero() => break,
                Err(_) => self.keep_leases().await?,
            }
        }
        // What would not end in time is given back as well: it was tried, and its next worker gets a higher number.
        let unfinished = self.running.iter().map(|(id, held)| (*id, held.lease_no));
        let leases: Vec<(Uuid, i32)> = leases.into_iter().chain(unfinished).collect();
        self.tasks.abort_all();
        while Instant::now() < deadline + grace {
            match self.hand_over(&worker, &principal, &leases).await {
                Ok(()) => {
                    self.pulse.end().await?;
                    return Ok(self.tally);
                }
                Err(error) => self.bear(error).await?,
            }
            if let Some(pause) = self.away {
                tokio::time::sleep(jittered(pause)).await;
            }
        }
        Ok(self.tally)
    }

    async fn hand_over(
        &mut self,
        worker: &str,
        principal: &str,
        leases: &[(Uuid, i32)],
    ) -> Result<(), chancery_store::Error> {
        if !self.results.is_empty() {
            let report = self.store.fn_job_ack(worker, principal, &self.results).await?;
            self.results.clear();
            self.take_note(&report);
        }
        if !leases.is_empty() {
            let released = self.store.fn_job_release(worker, principal, leases).await?;
            self.tally.released += u64::try_from(released).unwrap_or_default();
        }
        Ok(())
    }
}

/// Many workers that wait must not come back at the same moment.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(rand::thread_rng().gen_range(0.5..1.0))
}
