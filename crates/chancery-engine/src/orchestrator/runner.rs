//! The runner: one state forward at a time, the database first, the sidecar after it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::orchestrator::{Gate, RunMove, RunRow};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::aides::{Aides, Watch};
use super::authority::{self, Question};
use super::document::{self, approval_path, page};
use super::halt::{Halted, halt, way_on};
use super::lock::{self, Lock};
use super::phase::{Phase, question};
use super::phases::Work;
use super::plan::{Choice, chosen, entry_id, outlook};
use super::refused_runs::{over, refused_approval_stop, refused_start};
use super::run_id::RunId;
use super::sidecar::{Error as SidecarError, Mode, PhaseRecord, PhaseResult, Run, Sidecar};
use super::sign_documents::{sign, unsigned_documents};
use super::stop::{Stop, drift_code};
use super::view;
use crate::Error;
use crate::run::Actor;

/// Somebody who runs runs: with the executor's login and key, and no other.
#[expect(missing_debug_implementations, reason = "a display cannot be shown in a log line")]
pub struct Runner<'a, A> {
    pub store: &'a Store,
    pub actor: &'a Actor,
    pub aides: &'a A,
    pub watch: &'a mut dyn Watch,
    /// Where sidecars lie.
    pub root: &'a Path,
}

/// How a command ends that did not stop.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Ended {
    /// The run is complete.
    ClosedOut { run_id: String, state: String },
    /// The sovereign is asked.
    Paused {
        run_id: String,
        state: String,
        gate: String,
        approval_id: uuid::Uuid,
        request: Value,
        approval_kb_id: String,
    },
}

impl<A: Aides> Runner<'_, A> {
    /// Begins a run of a document and takes it to its first sovereign gate.
    ///
    /// # Errors
    /// A stop, with its code and the way forward.
    pub async fn start(
        &mut self,
        run_id: RunId,
        document_id: &str,
        choice: &Choice,
    ) -> Result<Ended, Stop> {
        let name = run_id.to_string();
        self.start_run(run_id, document_id, choice).await.map_err(|stop| stop.of_run(&name))
    }

    async fn start_run(
        &mut self,
        run_id: RunId,
        document_id: &str,
        choice: &Choice,
    ) -> Result<Ended, Stop> {
        let name = run_id.to_string();
        let versions = self.store.source_of(document_id, None).await.map_err(Error::from)?;
        let source_version_id = versions.map(|source| source.source_version_id).unwrap_or_default();
        // The file first: a run that only its file knows can be begun again, one that only the database knows has lost its file.
        let mut run = Run::begun(
            run_id,
            run_id.began(),
            &self.actor.principal,
            document_id,
            source_version_id,
            Mode::Live,
        );
        choice.pin(&mut run)?;
        let mut sidecar =
            Sidecar::create(self.root, run).map_err(|error| Stop::not_begun(error, document_id))?;
        if let Err(stop) = self.begin(&name, sidecar.run()).await {
            // Nothing was begun, so nothing is left behind. Where it is not known whether it was, the file stays.
            if stop.source.as_ref().is_some_and(|error| error.refusal().is_some()) {
                let _ = std::fs::remove_dir_all(sidecar.folder().path());
            }
            return Err(stop);
        }
        self.drive(&mut sidecar, None).await
    }

    async fn begin(&self, name: &str, run: &Run) -> Result<(), Stop> {
        let run_id: RunId = name.parse().map_err(|_| Stop::bug("a run has no name"))?;
        let chosen = chosen(|name| run.context_pins.get(name));
        let plan = outlook(self.store, run.source_version_id, &chosen).await?;
        self.store
            .fn_orchestrate_start(
                run_id.uuid(),
                name,
                &run.document_id,
                entry_id(name),
                &self.actor.principal,
                &plan,
            )
            .await
            .map_err(|error| refused_start(Error::from(error)))?;
        Ok(())
    }

    /// Goes on with a run. A run that is over, or waits for a sovereign who has not answered, is left as it is.
    ///
    /// # Errors
    /// A stop, with its code and the way forward.
    pub async fn resume(
        &mut self,
        run_id: RunId,
        approval: Option<&str>,
        rebuild: bool,
    ) -> Result<Ended, Stop> {
        let name = run_id.to_string();
        self.resume_run(run_id, approval, rebuild).await.map_err(|stop| stop.of_run(&name))
    }

    async fn resume_run(
        &mut self,
        run_id: RunId,
        approval: Option<&str>,
        rebuild: bool,
    ) -> Result<Ended, Stop> {
        let name = run_id.to_string();
        let mut sidecar = match Sidecar::open(self.root, run_id) {
            Ok(sidecar) => sidecar,
            Err(error) => self.without_sidecar(run_id, error, rebuild).await?,
        };
        let known = self.store.orchestrator_run(&name).await.map_err(Error::from)?;
        if let Some(run) = known.as_ref().filter(|_| rebuild)
            && view::is_edited(self.store, &sidecar, run).await?
        {
            let (path, what) = (sidecar.folder().state(), "was changed".to_owned());
            drop(sidecar);
            let edited = SidecarError::Edited { run_id, path, what };
            sidecar = self.without_sidecar(run_id, edited, rebuild).await?;
        }
        if known.is_none() {
            if sidecar.run().state != "pending" {
                return Err(Stop::new(
                    "STOP_DATABASE_BEHIND",
                    format!(
                        "the sidecar says {}, and the database has no such run",
                        sidecar.run().state
                    ),
                    "find out whether this is the right database, or whether it was restored from an older backup",
                ));
            }
            self.begin(&name, sidecar.run()).await?;
        }
        self.drive(&mut sidecar, approval).await
    }

    /// The file is gone or broken while the database knows the run: it is made again only when somebody says so.
    async fn without_sidecar(
        &self,
        run_id: RunId,
        error: SidecarError,
        rebuild: bool,
    ) -> Result<Sidecar, Stop> {
        let broken = matches!(
            error,
            SidecarError::NotFound { .. }
                | SidecarError::Corrupt { .. }
                | SidecarError::Edited { .. }
        );
        if !broken {
            return Err(error.into());
        }
        let name = run_id.to_string();
        let Some(run) = self.store.orchestrator_run(&name).await.map_err(Error::from)? else {
            return Err(error.into());
        };
        if !rebuild {
            let mut stop = Stop::from(error);
            stop.way = format!(
                "the database knows the run ({}): look at what happened to its file, then `cutter orchestrate resume --run-id {name} --rebuild-sidecar`",
                run.state
            );
            return Err(stop);
        }
        let folder = super::sidecar::Folder::of(self.root, run_id);
        let state = folder.state();
        if state.exists() {
            // Whoever works on the run must not lose its file.
            let _lock = Lock::acquire(&folder.lock()).map_err(|error| match error {
                lock::Error::Held(holder) => Stop::from(SidecarError::Busy { run_id, holder }),
                lock::Error::Io(source) => Error::File { path: folder.lock(), source }.into(),
            })?;
            let aside =
                state.with_extension(format!("json.broken-{}", Timestamp::now().as_second()));
            std::fs::rename(&state, &aside)
                .map_err(|source| Error::File { path: state.clone(), source })?;
        }
        let created_utc = run.created_at.parse().unwrap_or_else(|_| run_id.began());
        Ok(Sidecar::create(
            self.root,
            Run::begun(
                run_id,
                created_utc,
                &run.started_by,
                &run.document_id,
                run.source_version_id,
                Mode::Live,
            ),
        )?)
    }

    async fn drive(
        &mut self,
        sidecar: &mut Sidecar,
        approval: Option<&str>,
    ) -> Result<Ended, Stop> {
        let name = sidecar.run().run_id.to_string();
        let mut given = approval.map(str::to_owned);
        let mut jumped = true;
        let mut seen = HashSet::new();
        loop {
            let run = self.store.orchestrator_run(&name).await.map_err(Error::from)?;
            let run = run.ok_or_else(|| Stop::bug("the run is gone from the database"))?;
            let moves = view::bring_up(self.store, sidecar, &run).await?;
            let is_over =
                ["closeout_", "failed_", "voided_"].iter().any(|s| run.state.starts_with(s));
            self.sign_documents(&moves, is_over, &mut seen).await?;
            if std::mem::take(&mut jumped) {
                self.watch.standing_at(&run.state);
            }
            if run.state == "closeout_reported" {
                return Ok(Ended::ClosedOut { run_id: name, state: run.state });
            }
            if run.state.starts_with("failed_") || run.state.starts_with("voided_") {
                return Err(over(&run, sidecar));
            }
            let answer = match question(&run.state) {
                None => None,
                Some(gate) => {
                    let asked = self.asked(&run, gate).await?;
                    let Some(path) = given.take() else { return Ok(self.pause(&run, asked)) };
                    if asked.approval.state == "rejected" {
                        return Err(Stop::new(
                            "STOP_APPROVAL_REFUSED",
                            format!("the sovereign rejected {gate}"),
                            format!(
                                "void the run: `cutter orchestrate void --run-id {name} --reason …`"
                            ),
                        ));
                    }
                    authority::check(self.store, &asked, &path).await?;
                    Some((asked, path))
                }
            };
            if run.state.starts_with("stopped_") {
                self.go_on(sidecar, &run, answer.as_ref()).await?;
                jumped = true;
                continue;
            }
            self.step(sidecar, &run, &moves, answer.as_ref()).await?;
        }
    }

    /// Puts the runner's signature under what the moves wrote.
    async fn sign_documents(
        &self,
        moves: &[RunMove],
        is_over: bool,
        seen: &mut HashSet<(String, i32)>,
    ) -> Result<(), Stop> {
        for document in unsigned_documents(self.store, moves, is_over, seen).await? {
            self.require_key().await?;
            sign(self.store, self.actor, document).await?;
        }
        Ok(())
    }

    /// What the sovereign is asked; a stopped run asks when somebody wants to go on with it.
    async fn asked(&self, run: &RunRow, gate: &str) -> Result<Question, Stop> {
        let asked = authority::ask(self.store, self.actor, run, gate).await?;
        if run.state.starts_with("stopped_") {
            let name = format!(
                "sg3-{}-request-{}",
                if gate == "SG_drift_ack" { "drift-ack" } else { "resume" },
                run.seq
            );
            let path = document::path(&run.run_name, &name);
            let words = "The run was stopped and asks to go on in the state it was stopped in.";
            let body = page(&format!("Request: {gate}"), run, words, &authority::answer(&asked));
            let put = chancery_store::kb::Put {
                path: &path,
                kind: "request",
                body: &body,
                expected_revision: None,
                principal: &self.actor.principal,
                actor_class: "executor_dot991",
            };
            self.store.fn_kb_put(&put).await.map_err(Error::from)?;
        }
        Ok(asked)
    }

    fn pause(&mut self, run: &RunRow, asked: Question) -> Ended {
        self.watch.paused(&asked.gate);
        Ended::Paused {
            run_id: run.run_name.clone(),
            state: run.state.clone(),
            approval_kb_id: approval_path(&run.run_name, &asked.gate, run.seq),
            approval_id: asked.approval.approval_id,
            request: authority::answer(&asked),
            gate: asked.gate,
        }
    }

    async fn go_on(
        &self,
        sidecar: &mut Sidecar,
        run: &RunRow,
        answer: Option<&(Question, String)>,
    ) -> Result<(), Stop> {
        let Some((question, path)) = answer else {
            return Err(Stop::bug("a stopped run was begun without an approval"));
        };
        let evidence =
            json!({ "approval_id": question.approval.approval_id, "approval_kb_id": path });
        let words = "The sovereign let the stopped run go on.";
        let document = page("Resumed", run, words, &evidence);
        let gate = Gate {
            run_id: run.run_id,
            evidence: &evidence,
            document: &document,
            principal: &self.actor.principal,
        };
        self.store
            .fn_orchestrate_resume(gate)
            .await
            .map_err(|error| refused_approval_stop(Error::from(error).into(), run))?;
        // The time that was allowed is allowed anew.
        sidecar.run_mut().elapsed_ms = 0;
        sidecar.store()?;
        Ok(())
    }

    async fn step(
        &mut self,
        sidecar: &mut Sidecar,
        run: &RunRow,
        moves: &[RunMove],
        answer: Option<&(Question, String)>,
    ) -> Result<(), Stop> {
        let phase =
            Phase::after(&run.state).ok_or_else(|| Stop::bug("a state that leads nowhere"))?;
        self.require_key().await?;
        let caps = Caps::read(self.store, phase).await?;
        self.watch.phase_started(phase, caps.phase);
        let began = Timestamp::now();
        let before = sidecar.run().clone();
        let earlier = before.phases.get(phase.name());
        let broke_off = earlier.is_some_and(|record| record.result == PhaseResult::Running);
        sidecar.run_mut().phases.insert(
            phase.name().to_owned(),
            PhaseRecord {
                phase: phase.name().to_owned(),
                started_utc: began,
                finished_utc: None,
                result: PhaseResult::Running,
                gate_invariants: Default::default(),
                kb_doc_id: None,
                artifacts: Vec::new(),
            },
        );
        sidecar.store()?;
        let pins = view::pins(moves);
        let spent = Duration::from_millis(sidecar.run().elapsed_ms);
        let allowed = caps.phase.min(caps.run.saturating_sub(spent));
        let clock = Instant::now();
        let over_cap = || Stop::over_cap(phase.name(), caps.phase, caps.run, spent);
        let work = Work {
            store: self.store,
            actor: self.actor,
            aides: self.aides,
            run,
            pins: &pins,
            interrupted: broke_off.then_some(moves),
            answer,
        };
        let done = if allowed.is_zero() {
            // Not begun at all: what has no time left must not write because it was quick.
            Err(over_cap())
        } else {
            let working = ticking(self.watch, clock, work.perform(phase, sidecar));
            tokio::time::timeout(allowed, working).await.unwrap_or_else(|_| Err(over_cap()))
        };
        let elapsed = clock.elapsed();
        let spent = u64::try_from((spent + elapsed).as_millis()).unwrap_or(u64::MAX);
        sidecar.run_mut().elapsed_ms = spent;
        match done {
            Ok(()) => self.passed(run, phase, elapsed).await,
            Err(stop) => {
                let stopped = self.not_passed(sidecar, run, phase, stop).await;
                let unbegun = ["STOP_APPROVAL_REFUSED", "STOP_BACKUP_LOST"];
                if stopped.as_ref().is_err_and(|stop| unbegun.contains(&stop.code)) {
                    // A word that is no good, or a backup that is gone, changes nothing, not even here.
                    *sidecar.run_mut() = before;
                    sidecar.store()?;
                }
                stopped
            }
        }
    }

    /// A key that is no good is found out before a phase begins, not when the first signature is due and half the work is written.
    async fn require_key(&self) -> Result<(), Stop> {
        let principal = &self.actor.principal;
        let why = match &self.actor.key {
            None => format!("{principal} has no key in this data directory"),
            Some(own) => {
                let keys = self.store.signing_keys().await.map_err(Error::from)?;
                let known = keys.iter().find(|key| key.key_id == own.key_id);
                if known.is_some_and(|key| key.revoked_at.is_none()) {
                    return Ok(());
                }
                format!("the key {} of {principal} is revoked", own.key_id)
            }
        };
        let way = format!(
            "make one with `chancery key new {principal}`, then `cutter orchestrate resume --run-id RUN`"
        );
        Err(Stop::new("STOP_KEY", why, way))
    }

    async fn passed(&mut self, run: &RunRow, phase: Phase, elapsed: Duration) -> Result<(), Stop> {
        let moves = self.store.orchestrator_moves(run.run_id).await.map_err(Error::from)?;
        let reached = moves.iter().rev().find(|one| one.evidence["gate"] == phase.gate());
        if let Some(Value::Object(invariants)) = reached.map(|one| &one.evidence["invariants"]) {
            for (name, holds) in invariants {
                self.watch.invariant(name, *holds == Value::Bool(true));
            }
        }
        // The verifier's process did its work, and what it found may have failed the run.
        if let Some(failed) = reached.filter(|one| one.to != phase.to()) {
            let code = failed.evidence["code"].as_str().unwrap_or("STOP_INVARIANT");
            let why = failed.reason.as_deref().unwrap_or_default();
            self.watch.stopped(code, &format!("{why}: the run is {}", failed.to));
        } else {
            self.watch.phase_passed(phase.to(), elapsed);
        }
        Ok(())
    }

    /// Says in the database why the run does not go on, where it is about the run; what is about the world around it, or about an
    /// approval that is no good, leaves the run where it is.
    async fn not_passed(
        &mut self,
        sidecar: &mut Sidecar,
        run: &RunRow,
        phase: Phase,
        stop: Stop,
    ) -> Result<(), Stop> {
        let refusal = stop.source.as_ref().and_then(|error| error.refusal());
        let problem = refusal.and_then(|refusal| refusal.problems.first());
        let halted = match refusal.map(|refusal| refusal.code) {
            Some(Code::RO002) => {
                let invariants = problem.and_then(|p| p.facts.get("invariants")).cloned();
                if let Some(Value::Object(all)) = &invariants {
                    for (name, holds) in all {
                        self.watch.invariant(name, *holds == Value::Bool(true));
                    }
                }
                let to = phase.failed();
                Some(Halted {
                    code: "STOP_INVARIANT",
                    to: to.unwrap_or_else(|| "stopped_exception".to_owned()),
                    facts: json!({ "invariants": invariants }),
                })
            }
            Some(Code::RO003) => {
                let differences = problem.and_then(|p| p.facts.get("differences")).cloned();
                let dimension = problem.and_then(|p| p.facts.get("dimension")).cloned();
                let dimensions =
                    differences.as_ref().and_then(Value::as_array).into_iter().flatten();
                let codes: BTreeSet<&str> = dimensions
                    .filter_map(|one| one["dimension"].as_str())
                    .map(drift_code)
                    .collect();
                Some(Halted {
                    code: drift_code(
                        dimension.as_ref().and_then(Value::as_str).unwrap_or_default(),
                    ),
                    to: "stopped_drift".to_owned(),
                    facts: json!({ "dimension": dimension, "differences": differences, "codes": codes }),
                })
            }
            Some(Code::RO004 | Code::RA002 | Code::RA003 | Code::RA006) => {
                return Err(refused_approval_stop(stop, run));
            }
            // Somebody else moved it on meanwhile, and this process only found out now.
            Some(Code::RO005 | Code::RS009) => return Err(self.moved(run, stop).await),
            _ if stop.code == "STOP_OVER_CAP" => Some(Halted {
                code: "STOP_OVER_CAP",
                to: "stopped_over_cap".to_owned(),
                facts: json!({}),
            }),
            _ if stop.code == "STOP_BACKUP" => Some(Halted {
                code: "STOP_BACKUP",
                to: "failed_backup".to_owned(),
                facts: json!({ "invariants": self.backup_invariants(run).await }),
            }),
            _ if matches!(
                stop.code,
                "STOP_BACKUP_CUT_SHORT"
                    | "STOP_BACKUP_LOST"
                    | "STOP_DATABASE_AWAY"
                    | "STOP_DISK_FULL"
                    | "STOP_SIDECAR_IO"
                    | "STOP_APPROVAL_REFUSED"
                    | "STOP_VERIFIER"
            ) =>
            {
                None
            }
            _ => Some(Halted {
                code: "STOP_EXCEPTION",
                to: "stopped_exception".to_owned(),
                facts: json!({}),
            }),
        };
        let Some(halted) = halted else {
            let _ = sidecar.store();
            self.watch.stopped(stop.code, &stop.reason);
            return Err(stop);
        };
        let reported = halt(self.store, self.actor, sidecar, run, phase, &halted, &stop).await;
        let now = self.store.orchestrator_run(&run.run_name).await.map_err(Error::from)?;
        // The sovereign was faster: what holds is that stop, and this one was none.
        if let Some(now) = now.filter(|now| now.seq != run.seq) {
            view::bring_up(self.store, sidecar, &now).await?;
            if now.state != halted.to {
                return Err(self.moved(run, stop).await);
            }
        }
        self.watch.stopped(halted.code, &stop.reason);
        if reported.is_ok() {
            let moves = self.store.orchestrator_moves(run.run_id).await.map_err(Error::from)?;
            // The stop stands; a signature that is missing is put there by whoever goes on with the run, or looks at it again.
            if let Err(unsigned) = self.sign_documents(&moves, false, &mut HashSet::new()).await {
                tracing::warn!(run = run.run_name, %unsigned, "the stop-route report is not signed yet");
            }
        }
        Err(match reported {
            Ok(way) => Stop { code: halted.code, way, ..stop },
            // Both are told: the second may be the cause of the first.
            Err(unsaid) => {
                let reason = format!(
                    "{}; and the database did not take the stop: {}",
                    stop.reason, unsaid.reason
                );
                Stop { code: halted.code, reason, way: unsaid.way, ..stop }
            }
        })
    }

    /// What the gate finds where there is no backup: every invariant of it, by name, and the target was not reached.
    async fn backup_invariants(&self, run: &RunRow) -> BTreeMap<String, bool> {
        let found = self.store.fn_gate_preview(run.run_id, Phase::Backup.gate(), &json!({})).await;
        let mut invariants = found.map(|found| found.invariants).unwrap_or_default();
        invariants.insert("backup_target_reachable".to_owned(), false);
        invariants
    }

    /// The run is not where this process left it: the sovereign stopped or voided it meanwhile.
    async fn moved(&self, run: &RunRow, stop: Stop) -> Stop {
        let Ok(Some(now)) = self.store.orchestrator_run(&run.run_name).await else { return stop };
        if now.state.starts_with("stopped_") || now.state.starts_with("voided_") {
            let reason = format!("run {} became {} meanwhile", run.run_name, now.state);
            let way = way_on(&now, &now.state, now.seq);
            return Stop { code: "STOP_SOVEREIGN", reason, way, ..stop };
        }
        stop
    }
}

/// Shows that the work goes on.
async fn ticking<T>(watch: &mut dyn Watch, clock: Instant, work: impl Future<Output = T>) -> T {
    let mut ticks = tokio::time::interval(Duration::from_millis(250));
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = ticks.tick() => watch.tick(clock.elapsed()),
        }
    }
}

/// Soft cap of a phase and hard cap of a run.
struct Caps {
    phase: Duration,
    run: Duration,
}

impl Caps {
    async fn read(store: &Store, phase: Phase) -> Result<Self, Stop> {
        let minutes = async |name: &str, default: f64| {
            let value = store
                .setting(&format!("orchestrator.cap_minutes.{name}"))
                .await
                .map_err(Error::from)?;
            let minutes = value.as_ref().and_then(Value::as_f64).unwrap_or(default).max(0.0);
            Ok::<_, Stop>(Duration::from_secs_f64((minutes * 60.0).min(1e9)))
        };
        // The gates that only ask have no cap of their own in the settings.
        Ok(Self { phase: minutes(phase.name(), 5.0).await?, run: minutes("run", 60.0).await? })
    }
}
