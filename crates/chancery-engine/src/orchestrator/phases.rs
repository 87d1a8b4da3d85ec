//! What each phase does. A phase ends with one call of one door, which writes, checks every invariant, files the receipt and moves the
//! run, or does nothing.

use std::path::Path;

use chancery_model::cutter::{EXECUTOR_LANE, Effect, executor_attested};
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::orchestrator::{Gate, RunMove, RunReport, RunRow};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::aides::Aides;
use super::authority::{self, Question};
use super::backup;
use super::document::page;
use super::phase::Phase;
use super::plan::{Ids, Planned, chosen};
use super::sidecar::{PhaseResult, Sidecar};
use super::stop::Stop;
use crate::Error;
use crate::cutter::{EXECUTOR_TOOL, Retry, refused, sign_in_lane, trusted_manifest};
use crate::run::Actor;

/// What a phase works with.
pub(super) struct Work<'a, A> {
    pub(super) store: &'a Store,
    pub(super) actor: &'a Actor,
    pub(super) aides: &'a A,
    pub(super) run: &'a RunRow,
    pub(super) pins: &'a serde_json::Map<String, Value>,
    /// The moves of the run, when the phase was begun before and broke off: what held at the last gate must hold still.
    pub(super) interrupted: Option<&'a [RunMove]>,
    /// The sovereign's answer, where the phase needs one: the question and where the document stands.
    pub(super) answer: Option<&'a (Question, String)>,
}

impl<A: Aides> Work<'_, A> {
    /// Does the phase.
    pub(super) async fn perform(&self, phase: Phase, sidecar: &mut Sidecar) -> Result<(), Stop> {
        self.no_drift().await?;
        match phase {
            Phase::SourcePin => self.source_pin(sidecar).await,
            Phase::Mark => self.mark().await,
            Phase::Cutplan => self.cutplan().await,
            Phase::Backup => self.backup(sidecar).await,
            Phase::GrantProbe => self.grant_probe().await,
            Phase::CutAuthzRequest => self.ask("SG_cut_authz", phase, sidecar).await,
            Phase::CutLegA => self.cut_leg_a(sidecar).await,
            Phase::StructuralVerify => self.structural_verify().await,
            Phase::LegBRecord => self.leg_b().await,
            Phase::WriteVerify => self.aides.write_verify(&self.run.run_name).await,
            Phase::LifecycleAuthzRequest => self.ask("SG_lifecycle_authz", phase, sidecar).await,
            Phase::LifecycleEnact => self.lifecycle_enact(sidecar).await,
            Phase::Closeout => self.closeout(sidecar).await,
        }
    }

    /// The gate's door looks again. This look comes before the phase begins, so that where the ground moved nobody is asked, no backup is
    /// taken and no other process is started.
    async fn no_drift(&self) -> Result<(), Stop> {
        // The name of no gate: what drifted, and no invariants.
        let found = self.store.fn_gate_preview(self.run.run_id, "", &json!({})).await;
        let mut differences = found.map_err(Error::from)?.drift;
        if let (true, Some(moves)) = (differences.is_empty(), self.interrupted) {
            differences = self.no_longer_true(moves).await?;
        }
        let Some(first) = differences.first() else { return Ok(()) };
        let facts = json!({
            "run_id": self.run.run_name, "state": self.run.state, "dimension": first["dimension"], "differences": differences,
        });
        Err(refused(self.store, Code::RO003, facts).await.into())
    }

    /// The invariants of the last gate that do not hold any more.
    async fn no_longer_true(&self, moves: &[RunMove]) -> Result<Vec<Value>, Stop> {
        // True of the moment in which the gate was passed, and not to be asked again.
        const PASSING: [&str; 4] = [
            "one_transaction",
            "decision_is_new",
            "approval_authorizes_exactly_this",
            "only_one_result",
        ];
        let Some(last) = Phase::before(&self.run.state) else { return Ok(Vec::new()) };
        let passed = moves
            .iter()
            .rev()
            .find(|one| one.evidence["gate"] == last.gate() && one.to == last.to());
        let Some(passed) = passed else { return Ok(Vec::new()) };
        let mut differences = Vec::new();
        for guard in last.guards() {
            let now = self.store.fn_gate_preview(self.run.run_id, guard, &passed.evidence).await;
            for (name, holds) in now.map_err(Error::from)?.invariants {
                if !holds && !PASSING.contains(&name.as_str()) {
                    differences.push(json!({ "dimension": "invariants", "name": name, "pinned": true, "live": false }));
                }
            }
        }
        Ok(differences)
    }

    fn gate<'g>(&'g self, evidence: &'g Value, document: &'g str) -> Gate<'g> {
        Gate { run_id: self.run.run_id, evidence, document, principal: &self.actor.principal }
    }

    async fn pass(
        &self,
        phase: Phase,
        title: &str,
        words: &str,
        evidence: &Value,
    ) -> Result<(), Stop> {
        let document = page(title, self.run, words, evidence);
        self.store
            .fn_orchestrate_gate(self.gate(evidence, &document), phase.gate())
            .await
            .map_err(Error::from)?;
        Ok(())
    }

    async fn source_pin(&self, sidecar: &Sidecar) -> Result<(), Stop> {
        let chosen = chosen(|name| sidecar.run().context_pins.get(name));
        let plan = Planned::build(self.store, self.run, &chosen).await?;
        let evidence = json!({ "pins": {
            "manifest_digest": plan.manifest_digest(),
            "region_sha": plan.region_sha(),
            "region_bytes": plan.region_bytes,
            "profile": plan.manifest.profile,
            "unit_kind": plan.manifest.unit_kind,
            "publication_type": plan.manifest.publication_type,
        } });
        let words = "The newest version of the document is pinned: every later phase works on these bytes and no others.";
        self.pass(Phase::SourcePin, "Source pinned", words, &evidence).await
    }

    async fn plan(&self) -> Result<Planned, Error> {
        Planned::build(self.store, self.run, &chosen(|name| self.pins.get(name))).await
    }

    async fn mark(&self) -> Result<(), Stop> {
        let plan = self.plan().await?;
        let evidence = json!({
            "region_sha": plan.region_sha(),
            "pins": { "candidate_count": plan.count() },
        });
        let words = "The request to cut the document is marked and before its reviewers.";
        let document = page("Marked", self.run, words, &evidence);
        let request = plan.request(self.run);
        self.store
            .fn_orchestrate_mark(self.gate(&evidence, &document), &request)
            .await
            .map_err(Error::from)?;
        Ok(())
    }

    async fn cutplan(&self) -> Result<(), Stop> {
        // Read and cut twice, so that what is not repeatable shows here and not after it was written.
        let plan = self.plan().await?;
        let again = self.plan().await?;
        let evidence = json!({
            "rebuilt_manifest_digest": again.manifest_digest(),
            "rebuilt_writer_digest": again.writer_digest(),
            "planned_rows": plan.effect.units.len(),
            "distinct_keys": plan.distinct_keys(),
            "vocabulary": plan.vocabulary(),
            "pins": { "writer_digest": plan.writer_digest(), "section_types": plan.section_types() },
        });
        let words = "Two independent rebuilds of the plan agree on every row that will be written.";
        self.pass(Phase::Cutplan, "Cut plan", words, &evidence).await
    }

    async fn backup(&self, sidecar: &mut Sidecar) -> Result<(), Stop> {
        let file = sidecar.folder().backup();
        let taken = self.aides.take_backup(&self.run.run_name, &file).await?;
        let read_back_sha = sha256_of(&file)?;
        let pins = json!({
            "backup_sha": taken.sha256,
            "backup_bytes": taken.size_bytes,
            "backup_fingerprint": taken.fingerprint,
            "backup_utc": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        });
        for (key, value) in pins.as_object().into_iter().flatten() {
            sidecar.pin(key, value.clone())?;
        }
        sidecar.store()?;
        let evidence = json!({
            "read_back_sha": read_back_sha,
            "sidecar_sha256": sha256_of(&sidecar.folder().state())?,
            "pins": pins,
        });
        let words = "The tables that the run will touch are dumped, encrypted to the pinned key, and read back.";
        self.pass(Phase::Backup, "Backup before the write", words, &evidence).await
    }

    async fn grant_probe(&self) -> Result<(), Stop> {
        let empty = json!({});
        let found = self
            .store
            .fn_gate_preview(self.run.run_id, Phase::GrantProbe.gate(), &empty)
            .await
            .map_err(Error::from)?;
        let evidence = json!({ "pins": { "grants_probe_snapshot": found.invariants } });
        let words = "The rights in the database were looked at and not changed.";
        self.pass(Phase::GrantProbe, "Rights", words, &evidence).await
    }

    async fn ask(&self, gate: &str, phase: Phase, sidecar: &Sidecar) -> Result<(), Stop> {
        let question = authority::ask(self.store, self.actor, self.run, gate).await?;
        let mut facts = question.approval.facts.clone();
        for pin in ["region_sha", "candidate_count", "backup_sha", "grants_probe_snapshot"] {
            facts[pin] = self.pins.get(pin).cloned().unwrap_or(Value::Null);
        }
        facts["sidecar_path"] = json!(sidecar.folder().state());
        facts["approval_id"] = json!(question.approval.approval_id);
        facts["expires_at"] = json!(question.expires_at);
        let words = if gate == "SG_cut_authz" {
            "The sovereign is asked to authorize the cut: the units are written as planned, as drafts, and nothing else."
        } else {
            "The sovereign is asked to authorize the enactment of every unit that the run wrote and the verifier passed."
        };
        let document = page(&format!("Request: {gate}"), self.run, words, &facts);
        let evidence = json!({ "approval_id": question.approval.approval_id });
        self.store
            .fn_orchestrate_gate(self.gate(&evidence, &document), phase.gate())
            .await
            .map_err(Error::from)?;
        Ok(())
    }

    fn answered(&self) -> Result<(Value, &str), Stop> {
        let Some((question, path)) = self.answer else {
            return Err(Stop::bug("a phase that needs an approval was begun without one"));
        };
        let evidence =
            json!({ "approval_id": question.approval.approval_id, "approval_kb_id": path });
        Ok((evidence, path))
    }

    async fn cut_leg_a(&self, sidecar: &Sidecar) -> Result<(), Stop> {
        let (evidence, _) = self.answered()?;
        self.backup_is_there(&sidecar.folder().backup())?;
        self.decided().await?;
        let words = "The units are written, all of them in one transaction, as drafts. Their ledger follows in leg B.";
        let document = page("Leg A: units written", self.run, words, &evidence);
        self.store
            .fn_cut_leg_a(self.gate(&evidence, &document), EXECUTOR_TOOL)
            .await
            .map_err(Error::from)?;
        Ok(())
    }

    /// What the run is about to change can still be restored: the file is the one that was recorded.
    fn backup_is_there(&self, file: &Path) -> Result<(), Stop> {
        let sha256 = self.pins.get("backup_sha").and_then(Value::as_str).unwrap_or_default();
        let bytes = self.pins.get("backup_bytes").and_then(Value::as_u64).unwrap_or_default();
        backup::check(file, sha256, bytes).map_err(|error| {
            Stop::new(
                "STOP_BACKUP_LOST",
                error.to_string(),
                "put the recorded file back, or void the run",
            )
        })
    }

    /// The effect of the approved manifest, after everything about the decision was checked.
    async fn decided(&self) -> Result<(Effect, [u8; 32], [u8; 32]), Stop> {
        let ids = Ids::of(self.run.run_id);
        let plan = self.store.plan_evidence(self.run.entry_id).await.map_err(Error::from)?;
        let plan = plan.ok_or_else(|| Stop::bug("the run's request is not there"))?;
        let decision =
            plan.decisions.iter().find(|d| d.uuid("review_decision_id") == Some(ids.cut_decision));
        let Some(decision) = decision else {
            return Err(Stop::new(
                "STOP_APPROVAL_REFUSED",
                "the sovereign's decision on the cut is not there",
                format!(
                    "let the sovereign approve: `cutter orchestrate approve --run-id {}`",
                    self.run.run_name
                ),
            ));
        };
        let keys = self.store.signing_keys().await.map_err(Error::from)?;
        let manifest = trusted_manifest(&plan, decision, &keys)
            .map_err(|findings| Error::Untrusted { entry_id: self.run.entry_id, findings })?;
        let effect = Effect::of(&manifest, ids.change_set, plan.entry.text("started_by"));
        let digest = effect.change_set_digest(&manifest, self.run.entry_id, ids.cut_decision);
        Ok((effect, digest, manifest.digest()))
    }

    async fn structural_verify(&self) -> Result<(), Stop> {
        let words = "What was written is what was planned, in eleven respects.";
        self.pass(Phase::StructuralVerify, "Structure verified", words, &json!({})).await
    }

    async fn leg_b(&self) -> Result<(), Stop> {
        let ids = Ids::of(self.run.run_id);
        let (effect, digest, manifest_digest) = self.decided().await?;
        let attested =
            executor_attested(self.run.entry_id, ids.change_set, &digest, &manifest_digest);
        let evidence = json!({
            "change_set_digest": hex::encode(digest), "effect_digest": hex::encode(effect.effect_digest()),
        });
        let words = "Change set, ledger and executor's signature stand beside the units of leg A.";
        let document = page("Leg B: change recorded", self.run, words, &evidence);
        let mut retry = Retry::new(self.store);
        loop {
            let prior = self
                .store
                .lane_end(EXECUTOR_LANE, &self.actor.principal)
                .await
                .map_err(Error::from)?;
            let signature = sign_in_lane(
                self.actor,
                EXECUTOR_LANE,
                EXECUTOR_TOOL,
                ids.executor_signature,
                prior.as_ref(),
                &attested,
            )?;
            let gate = self.gate(&evidence, &document);
            match self.store.fn_leg_b(gate, &digest, EXECUTOR_TOOL, &signature).await {
                Ok(RunReport { .. }) => return Ok(()),
                // Only another signature of the same executor is waited for; nothing else is tried twice.
                Err(error)
                    if error.refusal().is_some_and(|refusal| refusal.code == Code::RC009) =>
                {
                    retry.or_give_up(error.into()).await?;
                }
                Err(error) => return Err(Error::from(error).into()),
            }
        }
    }

    async fn lifecycle_enact(&self, sidecar: &Sidecar) -> Result<(), Stop> {
        let (evidence, _) = self.answered()?;
        self.backup_is_there(&sidecar.folder().backup())?;
        let words = "Every unit is enacted, in one transaction, and immutable from now on.";
        let document = page("Units enacted", self.run, words, &evidence);
        self.store
            .fn_lifecycle_enact(self.gate(&evidence, &document), EXECUTOR_TOOL)
            .await
            .map_err(Error::from)?;
        Ok(())
    }

    async fn closeout(&self, sidecar: &Sidecar) -> Result<(), Stop> {
        let phases = &sidecar.run().phases;
        let passed = Phase::ALL.into_iter().filter(|phase| {
            phases.get(phase.name()).is_some_and(|record| record.result == PhaseResult::Passed)
        });
        let evidence = json!({
            "sidecar_sha256": sha256_of(&sidecar.folder().state())?,
            "sidecar_gates": passed.map(Phase::gate).collect::<Vec<_>>(),
        });
        let facts = json!({
            "pins": self.pins,
            "phases": sidecar.run().phases.keys().collect::<Vec<_>>(),
            "approvals": sidecar.run().consumed_approval_ids,
        });
        let words =
            "The run is complete: every gate was passed in order, both approvals were used once.";
        let document = page("Final report of the orchestrator", self.run, words, &facts);
        self.store.fn_closeout(self.gate(&evidence, &document)).await.map_err(Error::from)?;
        Ok(())
    }
}

fn sha256_of(path: &Path) -> Result<String, Stop> {
    let mut file = std::fs::File::open(path)
        .map_err(|source| Error::File { path: path.to_owned(), source })?;
    let mut digest = Sha256::new();
    std::io::copy(&mut file, &mut digest)
        .map_err(|source| Error::File { path: path.to_owned(), source })?;
    Ok(hex::encode(digest.finalize()))
}
