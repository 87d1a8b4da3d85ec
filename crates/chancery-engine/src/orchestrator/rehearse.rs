//! A dry run: everything that a run does, in a transaction that is rolled back. Its documents and approvals are files beside the sidecar,
//! and the database is left as it was.
//!
//! The phases before the first gate are the real ones, through the real doors. What comes after a gate needs rows that only the sovereign's
//! own login writes, so it is rehearsed with the executor's doors alone, and what stands in the transaction is compared with the plan.

mod answer;
mod halt;
mod rows;

pub use answer::{approve_rehearsal, rehearsal_asks};
pub use halt::{remove_rehearsal, stop_rehearsal, void_rehearsal};

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use chancery_store::iu::NewUnit;
use chancery_store::orchestrator::RunRow;
use chancery_store::{Role, Store, Target};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use self::answer::{answered, approval_name, read_request};
use self::rows::Rehearsed;
use super::aides::{Aides, Watch};
use super::document::page;
use super::phase::{Phase, STATES, question};
use super::phases::Work;
use super::plan::{Choice, Planned, chosen, entry_id, outlook};
use super::run_id::RunId;
use super::runner::Ended;
use super::sidecar::{Mode, PhaseRecord, PhaseResult, Run, Sidecar};
use super::stop::Stop;
use super::view;
use crate::Error;
use crate::cutter::EXECUTOR_TOOL;
use crate::run::Actor;

/// Somebody who rehearses: with the executor's login, in transactions that end with a rollback.
#[expect(missing_debug_implementations, reason = "a display cannot be shown in a log line")]
pub struct Rehearsal<'a, A> {
    pub target: &'a Target,
    pub store: &'a Store,
    pub actor: &'a Actor,
    pub aides: &'a A,
    pub watch: &'a mut dyn Watch,
    pub root: &'a Path,
}

impl<A: Aides> Rehearsal<'_, A> {
    /// Rehearses a run of a document up to its first sovereign gate.
    ///
    /// # Errors
    /// A stop, with its code and the way forward.
    pub async fn start(
        &mut self,
        run_id: RunId,
        document_id: &str,
        choice: &Choice,
    ) -> Result<Ended, Stop> {
        let source = self.store.source_of(document_id, None).await.map_err(Error::from)?;
        let source_version_id = source.map(|source| source.source_version_id).unwrap_or_default();
        let mut run = Run::begun(
            run_id,
            run_id.began(),
            &self.actor.principal,
            document_id,
            source_version_id,
            Mode::Dryrun,
        );
        choice.pin(&mut run)?;
        let mut sidecar = Sidecar::create(self.root, run)?;
        self.drive(&mut sidecar, None).await
    }

    /// Goes on with a rehearsal.
    ///
    /// # Errors
    /// A stop, with its code and the way forward.
    pub async fn resume(&mut self, run_id: RunId, approval: Option<&str>) -> Result<Ended, Stop> {
        let mut sidecar = Sidecar::open(self.root, run_id)?;
        self.drive(&mut sidecar, approval).await
    }

    async fn drive(
        &mut self,
        sidecar: &mut Sidecar,
        approval: Option<&str>,
    ) -> Result<Ended, Stop> {
        self.watch.standing_at(&sidecar.run().state);
        let name = sidecar.run().run_id.to_string();
        let state = sidecar.run().state.clone();
        if state == "closeout_reported" {
            return Ok(Ended::ClosedOut { run_id: name, state });
        }
        halt::goes_on(sidecar.run())?;
        let asked = question(&state);
        let request = asked.map(|gate| read_request(sidecar, gate)).transpose()?;
        if let (Some(request), None) = (&request, approval) {
            return Ok(self.pause(sidecar, request));
        }
        let open = Store::begin(self.target, Role::CutterExec).await.map_err(Error::from)?;
        let done = self.rehearse(&open, sidecar, request.as_ref(), approval).await;
        open.roll_back().await;
        if let Err(stop) = &done {
            self.watch.stopped(stop.code, &stop.reason);
        }
        done?;
        sidecar.store()?;
        match question(&sidecar.run().state) {
            Some(gate) => {
                let request = read_request(sidecar, gate)?;
                Ok(self.pause(sidecar, &request))
            }
            None => Ok(Ended::ClosedOut { run_id: name, state: sidecar.run().state.clone() }),
        }
    }

    fn pause(&mut self, sidecar: &Sidecar, request: &Value) -> Ended {
        let gate = request["gate"].as_str().unwrap_or_default().to_owned();
        self.watch.paused(&gate);
        Ended::Paused {
            run_id: sidecar.run().run_id.to_string(),
            state: sidecar.run().state.clone(),
            approval_kb_id: approval_name(&gate),
            approval_id: request["approval_id"]
                .as_str()
                .and_then(|id| id.parse().ok())
                .unwrap_or_default(),
            request: request.clone(),
            gate,
        }
    }

    async fn rehearse(
        &mut self,
        open: &Store,
        sidecar: &mut Sidecar,
        request: Option<&Value>,
        approval: Option<&str>,
    ) -> Result<(), Stop> {
        let run = self.up_to_the_gate(open, sidecar).await?;
        let Some(request) = request else { return Ok(()) };
        let gate = request["gate"].as_str().unwrap_or_default();
        let binding =
            open.fn_gate_preview(run.run_id, gate, &json!({})).await.map_err(Error::from)?.binding;
        let file = sidecar.folder().path().join(approval.unwrap_or_default());
        answered(self.store, &file, gate, request, &binding.unwrap_or_default()).await?;
        validated(sidecar, approval.unwrap_or_default(), request);
        let rehearsed = self.write_units(open, &run).await?;
        if gate == "SG_cut_authz" {
            self.after_the_cut(open, sidecar, &run, &rehearsed).await
        } else {
            self.after_the_enactment(open, sidecar, &run, &rehearsed).await
        }
    }

    /// The real phases, up to the request for the cut. A rehearsal that went this far before must find the same again.
    async fn up_to_the_gate(
        &mut self,
        open: &Store,
        sidecar: &mut Sidecar,
    ) -> Result<RunRow, Stop> {
        let first = sidecar.run().state == "pending";
        let run_id = sidecar.run().run_id;
        let name = run_id.to_string();
        let document_id = sidecar.run().document_id.clone();
        let how = chosen(|name| sidecar.run().context_pins.get(name));
        let plan = outlook(open, sidecar.run().source_version_id, &how).await?;
        open.fn_orchestrate_start(
            run_id.uuid(),
            &name,
            &document_id,
            entry_id(&name),
            &self.actor.principal,
            &plan,
        )
        .await
        .map_err(Error::from)?;
        for phase in Phase::ALL.into_iter().take_while(|phase| *phase != Phase::CutLegA) {
            let run = standing(open, &name).await?;
            let moves = open.orchestrator_moves(run.run_id).await.map_err(Error::from)?;
            let pins = view::pins(&moves);
            let aides = Recorded {
                aides: self.aides,
                pins: (!first).then(|| sidecar.run().context_pins.clone()),
            };
            if first {
                self.watch.phase_started(phase, std::time::Duration::from_secs(300));
            }
            let clock = std::time::Instant::now();
            let work = Work {
                store: open,
                actor: self.actor,
                aides: &aides,
                run: &run,
                pins: &pins,
                interrupted: None,
                answer: None,
            };
            work.perform(phase, sidecar).await?;
            if first {
                let moves = open.orchestrator_moves(run.run_id).await.map_err(Error::from)?;
                let reached = moves.last().ok_or_else(|| Stop::bug("a phase left no trace"))?;
                for (name, holds) in
                    reached.evidence["invariants"].as_object().into_iter().flatten()
                {
                    self.watch.invariant(name, *holds == Value::Bool(true));
                }
                self.watch.phase_passed(&reached.to, clock.elapsed());
            }
        }
        let run = standing(open, &name).await?;
        if first {
            view::bring_up(open, sidecar, &run).await?;
            let path = super::document::path(&name, "sg1-cut-authz-request");
            let body = open.kb_body(&path, 1).await.map_err(Error::from)?.unwrap_or_default();
            view::write_file(
                &sidecar.folder().path().join("sg1-cut-authz-request.md"),
                body.as_bytes(),
            )?;
            return Ok(run);
        }
        let pins = view::pins(&open.orchestrator_moves(run.run_id).await.map_err(Error::from)?);
        for name in ["manifest_digest", "writer_digest", "region_sha", "candidate_count", "survey"]
        {
            let (pinned, live) = (sidecar.run().context_pins.get(name), pins.get(name));
            if pinned != live {
                return Err(Stop::new(
                    "STOP_DRIFT",
                    format!("{name} was {} and is {}", json!(pinned), json!(live)),
                    "the ground moved under the rehearsal: start another one",
                ));
            }
        }
        Ok(run)
    }

    /// Every unit through the executor's own door, as leg A does it.
    async fn write_units(&self, open: &Store, run: &RunRow) -> Result<Rehearsed, Stop> {
        let pins = view::pins(&open.orchestrator_moves(run.run_id).await.map_err(Error::from)?);
        let chosen = chosen(|name| pins.get(name));
        let plan = Planned::build(open, run, &chosen).await?;
        let source = open.source_version(run.source_version_id).await.map_err(Error::from)?;
        let source = source.ok_or_else(|| Stop::bug("the source is gone"))?;
        let mut made: HashMap<&str, Uuid> = HashMap::new();
        for unit in &plan.effect.units {
            let bytes = usize::try_from(unit.start).ok().zip(usize::try_from(unit.end).ok());
            let body =
                bytes.and_then(|(start, end)| source.body.get(start..end)).unwrap_or_default();
            let parent = plan
                .manifest
                .units
                .iter()
                .find(|m| m.local_id == unit.local_id)
                .and_then(|m| m.parent.as_deref());
            let report = open
                .fn_iu_create(&NewUnit {
                    canonical_address: unit.address.clone(),
                    title: unit.title.clone(),
                    body: String::from_utf8_lossy(body).into_owned(),
                    actor: self.actor.principal.clone(),
                    unit_kind: Some(plan.manifest.unit_kind.clone()),
                    section_type: Some(unit.section_type.clone()),
                    owner_ref: Some(self.actor.principal.clone()),
                    publication_type: Some(plan.manifest.publication_type.clone()),
                    parent_ref: parent.and_then(|parent| made.get(parent).copied()),
                    sort_order: unit.sort_order,
                    tool_revision: Some(EXECUTOR_TOOL.to_owned()),
                })
                .await
                .map_err(Error::from)?;
            let id = report["unit_id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_default();
            made.insert(&unit.local_id, id);
        }
        let units = open.units(&run.prefix).await.map_err(Error::from)?;
        // What the verifier would do: from the source, again.
        let again = Planned::build(open, run, &chosen).await?;
        Ok(Rehearsed { plan, again, units })
    }

    async fn after_the_cut(
        &mut self,
        open: &Store,
        sidecar: &mut Sidecar,
        run: &RunRow,
        rehearsed: &Rehearsed,
    ) -> Result<(), Stop> {
        let n = rehearsed.plan.count();
        self.rehearsed(
            sidecar,
            run,
            Phase::CutLegA,
            &[
                ("exactly_n_created", rehearsed.units.len() == n),
                (
                    "none_but_drafts",
                    rehearsed.units.iter().all(|unit| unit.lifecycle_status == "draft"),
                ),
            ],
        )?;
        let forbidden: Vec<String> = open
            .setting("orchestrator.forbidden_addresses")
            .await
            .map_err(Error::from)?
            .and_then(|patterns| serde_json::from_value(patterns).ok())
            .unwrap_or_default();
        self.rehearsed(sidecar, run, Phase::StructuralVerify, &rehearsed.structure(&forbidden))?;
        let digest = rehearsed.plan.effect.effect_digest();
        self.rehearsed(
            sidecar,
            run,
            Phase::LegBRecord,
            &[(
                "ledger_is_exact",
                rehearsed.plan.effect.snapshots.len() == n
                    && digest == rehearsed.again.effect.effect_digest(),
            )],
        )?;
        self.rehearsed(
            sidecar,
            run,
            Phase::WriteVerify,
            &[("planned_rows_are_the_source", rehearsed.is_the_source())],
        )?;
        let gate = "SG_lifecycle_authz";
        let binding =
            open.fn_gate_preview(run.run_id, gate, &json!({})).await.map_err(Error::from)?.binding;
        let mut facts = binding.unwrap_or_default();
        let earlier = read_request(sidecar, "SG_cut_authz")?;
        facts["nonce"] =
            json!(hex::encode(Sha256::digest(format!("{}{}", earlier["nonce"], gate))));
        facts["approval_id"] = json!(chancery_model::cutter::derived_uuid(
            run.run_id,
            "approval,SG_lifecycle_authz,1"
        ));
        facts["expires_at"] = earlier["expires_at"].clone();
        facts["sidecar_path"] = json!(sidecar.folder().state());
        let words = "A rehearsal asks the sovereign to authorize the enactment of every unit that it would write.";
        let body = page(&format!("Request: {gate}"), run, words, &facts);
        view::write_file(
            &sidecar.folder().path().join("sg2-lifecycle-authz-request.md"),
            body.as_bytes(),
        )?;
        let complete =
            facts.as_object().is_some_and(|all| all.values().all(|value| !value.is_null()));
        self.rehearsed(
            sidecar,
            run,
            Phase::LifecycleAuthzRequest,
            &[("request_is_complete", complete)],
        )
    }

    async fn after_the_enactment(
        &mut self,
        open: &Store,
        sidecar: &mut Sidecar,
        run: &RunRow,
        rehearsed: &Rehearsed,
    ) -> Result<(), Stop> {
        let preview = open
            .fn_gate_preview(run.run_id, "IG_lifecycle_enact_execute", &json!({}))
            .await
            .map_err(Error::from)?;
        let armed = preview.invariants.get("immutability_is_armed").copied().unwrap_or_default();
        self.rehearsed(
            sidecar,
            run,
            Phase::LifecycleEnact,
            &[
                ("all_would_be_enacted", rehearsed.is_the_source()),
                ("immutability_is_armed", armed),
            ],
        )?;
        let folder = sidecar.folder().path().to_owned();
        let complete = [
            "sg1-cut-authz-request.md",
            "sg1-cut-authz-approval.md",
            "sg2-lifecycle-authz-request.md",
            "sg2-lifecycle-authz-approval.md",
        ]
        .iter()
        .all(|name| folder.join(name).exists());
        self.rehearsed(sidecar, run, Phase::Closeout, &[("all_documents_are_there", complete)])
    }

    /// A phase that was rehearsed: its invariants, its receipt as a file, its state.
    fn rehearsed(
        &mut self,
        sidecar: &mut Sidecar,
        run: &RunRow,
        phase: Phase,
        invariants: &[(&str, bool)],
    ) -> Result<(), Stop> {
        self.watch.phase_started(phase, std::time::Duration::from_secs(300));
        for (name, holds) in invariants {
            self.watch.invariant(name, *holds);
        }
        let held = invariants.iter().all(|(_, holds)| *holds);
        let now = Timestamp::now();
        let mut artifacts = Vec::new();
        if let Some(number) = phase.number() {
            let facts: BTreeMap<&str, bool> = invariants.iter().copied().collect();
            let words = "Rehearsed in a transaction that was rolled back: nothing of it stands in the database.";
            let body = page(
                &format!("Rehearsal: {}", phase.name()),
                run,
                words,
                &json!({ "invariants": facts }),
            );
            let file = sidecar.folder().phase_report(number);
            view::write_file(&file, body.as_bytes())?;
            artifacts.push(view::artifact(&file, body.as_bytes()));
        }
        let record = sidecar.run_mut();
        record.phases.insert(
            phase.name().to_owned(),
            PhaseRecord {
                phase: phase.name().to_owned(),
                started_utc: now,
                finished_utc: Some(now),
                result: if held { PhaseResult::Passed } else { PhaseResult::Failed },
                gate_invariants: invariants
                    .iter()
                    .map(|(name, holds)| ((*name).to_owned(), *holds))
                    .collect(),
                kb_doc_id: None,
                artifacts,
            },
        );
        if !held {
            let failed: Vec<&str> =
                invariants.iter().filter(|(_, holds)| !holds).map(|(name, _)| *name).collect();
            return Err(Stop::new(
                "STOP_INVARIANT",
                format!("{} would fail: {}", phase.gate(), failed.join(", ")),
                "mend the cause, then rehearse again",
            ));
        }
        record.state = phase.to().to_owned();
        debug_assert!(STATES.contains(&phase.to()));
        self.watch.phase_passed(phase.to(), std::time::Duration::ZERO);
        Ok(())
    }
}

/// The backup is taken once; a rehearsal that goes on has it.
struct Recorded<'a, A> {
    aides: &'a A,
    pins: Option<super::sidecar::Pins>,
}

impl<A: Aides> Aides for Recorded<'_, A> {
    async fn take_backup(
        &self,
        run_name: &str,
        file: &Path,
    ) -> Result<super::aides::TakenBackup, Stop> {
        let Some(pins) = &self.pins else { return self.aides.take_backup(run_name, file).await };
        let text =
            |name: &str| pins.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(super::aides::TakenBackup {
            sha256: text("backup_sha"),
            size_bytes: pins.get("backup_bytes").and_then(Value::as_u64).unwrap_or_default(),
            fingerprint: text("backup_fingerprint"),
        })
    }

    async fn write_verify(&self, run_name: &str) -> Result<(), Stop> {
        self.aides.write_verify(run_name).await
    }
}

fn validated(sidecar: &mut Sidecar, approval: &str, request: &Value) {
    let record = sidecar.run_mut();
    let id = request["approval_id"].as_str().unwrap_or_default().to_owned();
    if record.consumed_approval_ids.contains(&id) {
        return;
    }
    record.consumed_approval_ids.push(id);
    if let Some(open) =
        record.sovereign_approvals.iter_mut().rev().find(|a| a.validated_utc.is_none())
    {
        open.approval_kb_id = Some(approval.to_owned());
        open.validated_utc = Some(Timestamp::now());
    }
}

async fn standing(open: &Store, name: &str) -> Result<RunRow, Stop> {
    let run = open.orchestrator_run(name).await.map_err(Error::from)?;
    run.ok_or_else(|| Stop::bug("the rehearsed run is gone"))
}
