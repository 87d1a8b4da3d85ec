//! The sidecar as the database has it: after every move, and after a crash, by the same way.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use chancery_store::Store;
use chancery_store::orchestrator::{RunMove, RunRow};
use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::phase::{Phase, STATES};
use super::plan::Ids;
use super::sidecar::{
    Approval, Artifact, Error as SidecarError, Gate, LastError, PhaseRecord, PhaseResult, Run,
    Sidecar,
};
use super::stop::Stop;
use crate::Error;

/// Brings the sidecar up to the database and keeps it, when that changes anything.
pub(super) async fn bring_up(
    store: &Store,
    sidecar: &mut Sidecar,
    run: &RunRow,
) -> Result<Vec<RunMove>, Stop> {
    let moves = store.orchestrator_moves(run.run_id).await.map_err(Error::from)?;
    let before = sidecar.run().clone();
    agrees(&before, run, &moves, sidecar)?;
    for one in &moves {
        apply(sidecar, run, one)?;
    }
    sidecar.run_mut().state.clone_from(&run.state);
    write_reports(store, sidecar, &moves).await?;
    if *sidecar.run() != before {
        sidecar.store()?;
    }
    Ok(moves)
}

/// Whether the file is whole and yet not what the database says.
pub(super) async fn is_edited(
    store: &Store,
    sidecar: &Sidecar,
    run: &RunRow,
) -> Result<bool, Stop> {
    let moves = store.orchestrator_moves(run.run_id).await.map_err(Error::from)?;
    let agrees = agrees(sidecar.run(), run, &moves, sidecar);
    Ok(agrees.is_err_and(|stop| stop.code == "STOP_SIDECAR_EDITED"))
}

/// What the sidecar says happened, the database must know as well.
fn agrees(before: &Run, run: &RunRow, moves: &[RunMove], sidecar: &Sidecar) -> Result<(), Stop> {
    let place = |state: &str| STATES.iter().position(|known| *known == state);
    let ahead = match (place(&before.state), place(&run.state)) {
        (Some(ours), Some(theirs)) => ours > theirs,
        _ => false,
    };
    if ahead {
        return Err(Stop::new(
            "STOP_DATABASE_BEHIND",
            format!("the sidecar says {}, and the database says {}", before.state, run.state),
            "find out whether the database was restored from an older backup; the sovereign can void the run",
        ));
    }
    let others =
        before.document_id != run.document_id || before.source_version_id != run.source_version_id;
    let pinned = pins(moves);
    let edited = before.state == run.state
        && before
            .context_pins
            .iter()
            .any(|(key, value)| pinned.get(key).is_some_and(|known| known != value));
    if others || edited {
        let what = "does not say what the database says".to_owned();
        let path = sidecar.folder().state();
        let stop = Stop::from(SidecarError::Edited { run_id: before.run_id, path, what });
        let way = "look at what happened to the file, then `cutter orchestrate resume --run-id RUN --rebuild-sidecar`";
        return Err(Stop { way: way.to_owned(), ..stop });
    }
    Ok(())
}

/// What the moves pinned; the latest holds.
pub(super) fn pins(moves: &[RunMove]) -> serde_json::Map<String, Value> {
    let mut pins = serde_json::Map::new();
    for one in moves {
        if let Some(Value::Object(more)) = one.evidence.get("pins") {
            pins.extend(more.clone());
        }
    }
    pins
}

fn apply(sidecar: &mut Sidecar, run: &RunRow, one: &RunMove) -> Result<(), Stop> {
    let at: Timestamp = one.at.parse().map_err(|_| Stop::bug("the log has a time that is none"))?;
    if let Some(Value::Object(pins)) = one.evidence.get("pins") {
        for (key, value) in pins {
            sidecar.pin(key, value.clone())?;
        }
    }
    let text = |name: &str| one.evidence[name].as_str().map(str::to_owned);
    let gate = text("gate").unwrap_or_default();
    let halted = one.to.starts_with("failed_") || one.to.starts_with("stopped_");
    let record = sidecar.run_mut();
    if let Some(phase) = Phase::of_gate(&gate) {
        let entry = record.phases.entry(phase.name().to_owned()).or_insert_with(|| PhaseRecord {
            phase: phase.name().to_owned(),
            started_utc: at,
            finished_utc: None,
            result: PhaseResult::Running,
            gate_invariants: Default::default(),
            kb_doc_id: None,
            artifacts: Vec::new(),
        });
        if one.to == phase.to() || halted {
            entry.finished_utc = Some(at);
            entry.result = if halted { PhaseResult::Failed } else { PhaseResult::Passed };
            if let Some(Value::Object(invariants)) = one.evidence.get("invariants") {
                entry.gate_invariants =
                    invariants.iter().map(|(k, v)| (k.clone(), *v == Value::Bool(true))).collect();
            }
            entry.kb_doc_id = text("kb_doc_id").or_else(|| text("report_kb_id"));
            record.idempotency_keys.insert(phase.name().to_owned(), phase.gate().to_owned());
        }
    }
    if halted {
        record.last_error = Some(LastError {
            code: text("code").unwrap_or_else(|| "STOP_SOVEREIGN".to_owned()),
            gate: (!gate.is_empty()).then_some(gate.clone()),
            reason: one.reason.clone().unwrap_or_default(),
            at_utc: at,
            report_kb_id: text("report_kb_id"),
        });
    } else {
        record.last_error = None;
    }
    let ids = Ids::of(run.run_id);
    let asked = |question, decision| Approval {
        gate: question,
        requested_utc: at,
        approval_kb_id: None,
        review_decision_id: decision,
        validated_utc: None,
    };
    match gate.as_str() {
        "SG_cut_authz_request" => once(record, asked(Gate::CutAuthz, Some(ids.cut_decision))),
        "SG_lifecycle_authz_request" => {
            once(record, asked(Gate::LifecycleAuthz, Some(ids.lifecycle_decision)));
        }
        "SG_resume_stopped" => once(record, asked(Gate::ResumeStopped, None)),
        "SG_drift_ack" => once(record, asked(Gate::DriftAck, None)),
        _ => {}
    }
    if let (Some(approval_id), Some(kb_id), false) =
        (text("approval_id"), text("approval_kb_id"), halted)
        && !record.consumed_approval_ids.contains(&approval_id)
    {
        record.consumed_approval_ids.push(approval_id);
        let open = record.sovereign_approvals.iter_mut().rev().find(|a| a.validated_utc.is_none());
        if let Some(approval) = open {
            approval.approval_kb_id = Some(kb_id);
            approval.validated_utc = Some(at);
        }
    }
    Ok(())
}

fn once(record: &mut Run, approval: Approval) {
    let known = record
        .sovereign_approvals
        .iter()
        .any(|a| a.gate == approval.gate && a.requested_utc == approval.requested_utc);
    if !known {
        record.sovereign_approvals.push(approval);
    }
}

/// The receipts as files beside the sidecar, as they stand in the knowledge base.
async fn write_reports(
    store: &Store,
    sidecar: &mut Sidecar,
    moves: &[RunMove],
) -> Result<(), Stop> {
    for one in moves {
        let gate = one.evidence["gate"].as_str().unwrap_or_default();
        let Some(phase) = Phase::of_gate(gate) else { continue };
        let Some(number) = phase.number().filter(|_| one.to == phase.to()) else { continue };
        let file = sidecar.folder().phase_report(number);
        let known = sidecar.run().phases.get(phase.name()).is_some_and(|p| !p.artifacts.is_empty());
        if known && file.exists() {
            continue;
        }
        let path = one.evidence["kb_doc_id"].as_str().unwrap_or_default();
        let revision = one.evidence["kb_revision"].as_i64().unwrap_or_default();
        let revision = i32::try_from(revision).unwrap_or_default();
        let Some(body) = store.kb_body(path, revision).await.map_err(Error::from)? else {
            return Err(Stop::new(
                "STOP_RECEIPT_MISSING",
                format!("the knowledge base has no {path}, which the log names"),
                "run `chancery audit verify`: somebody changed the evidence",
            ));
        };
        write_file(&file, body.as_bytes())?;
        let mut artifacts = vec![artifact(&file, body.as_bytes())];
        if let (Phase::Backup, Some(sha256)) = (phase, one.evidence["pins"]["backup_sha"].as_str())
        {
            let path = file_name(&sidecar.folder().backup());
            artifacts.push(Artifact { path, sha256: sha256.to_owned() });
        }
        if let Some(record) = sidecar.run_mut().phases.get_mut(phase.name()) {
            record.artifacts = artifacts;
        }
    }
    Ok(())
}

pub(super) fn artifact(file: &Path, bytes: &[u8]) -> Artifact {
    Artifact { path: file_name(file), sha256: hex::encode(Sha256::digest(bytes)) }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes a file whole: under another name first, so that a crash leaves no half of it. The name is its own: who writes the same file
/// at the same moment has another one.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Stop> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.next", Uuid::now_v7().simple()));
    let next = path.with_file_name(name);
    let written = (|| {
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&next, path)
    })();
    if written.is_err() {
        drop(fs::remove_file(&next));
    }
    written.map_err(|source| Stop::from(Error::File { path: path.to_owned(), source }))
}
