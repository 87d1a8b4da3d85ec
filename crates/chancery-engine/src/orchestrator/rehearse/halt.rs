//! The end of a rehearsal before its time. It has nothing to take back: what it wrote are files.

use std::path::Path;

use jiff::Timestamp;
use uuid::Uuid;

use super::super::run_id::RunId;
use super::super::sidecar::{LastError, Mode, Run, Sidecar};
use super::super::stop::Stop;
use crate::Error;

const STOPPED: &str = "stopped_sovereign";
const VOIDED: &str = "voided_sovereign";

/// Stops a rehearsal; gives its state. Repeating it changes nothing.
///
/// # Errors
/// When it is over, or its file cannot be read or written.
pub fn stop_rehearsal(root: &Path, run_id: RunId, reason: &str) -> Result<String, Stop> {
    halt(root, run_id, STOPPED, reason)
}

/// Voids a rehearsal; gives its state. Repeating it changes nothing.
///
/// # Errors
/// As [`stop_rehearsal`].
pub fn void_rehearsal(root: &Path, run_id: RunId, reason: &str) -> Result<String, Stop> {
    halt(root, run_id, VOIDED, reason)
}

/// Removes the folder of a rehearsal, in whatever state it is. Nobody works on it meanwhile.
///
/// # Errors
/// When it is a live run, whose folder is part of its evidence; when somebody works on it, or its files cannot be removed.
pub fn remove_rehearsal(root: &Path, run_id: RunId) -> Result<(), Stop> {
    let sidecar = Sidecar::open(root, run_id)?;
    if sidecar.run().mode != Mode::Dryrun {
        return Err(Stop::new(
            "STOP_NOT_A_DRY_RUN",
            format!("run {run_id} is a live run, and its folder is part of its evidence"),
            format!(
                "a live run is ended by a sovereign: `cutter orchestrate void --run-id {run_id} --reason TEXT`"
            ),
        ));
    }
    let path = sidecar.folder().path().to_owned();
    // Aside first, in one step: a removal that is interrupted leaves no half of a run behind.
    let aside = path.with_file_name(format!(".removed-{}", Uuid::now_v7().simple()));
    std::fs::rename(&path, &aside)
        .and_then(|()| std::fs::remove_dir_all(&aside))
        .map_err(|source| Error::File { path, source }.into())
}

fn halt(root: &Path, run_id: RunId, to: &str, reason: &str) -> Result<String, Stop> {
    let mut sidecar = Sidecar::open(root, run_id)?;
    let state = sidecar.run().state.clone();
    if state == to {
        return Ok(state);
    }
    if ["closeout_reported", VOIDED].contains(&state.as_str()) {
        return Err(Stop::new(
            "STOP_REFUSED",
            format!("rehearsal {run_id} is over: it is {state}"),
            again(sidecar.run()),
        ));
    }
    let run = sidecar.run_mut();
    to.clone_into(&mut run.state);
    run.last_error = Some(LastError {
        code: "STOP_SOVEREIGN".to_owned(),
        gate: None,
        reason: reason.to_owned(),
        at_utc: Timestamp::now(),
        report_kb_id: None,
    });
    sidecar.store()?;
    Ok(to.to_owned())
}

/// A rehearsal that was stopped or voided is not gone on with: it costs nothing to begin another one.
pub(super) fn goes_on(run: &Run) -> Result<(), Stop> {
    let code = match run.state.as_str() {
        STOPPED => "STOP_SOVEREIGN",
        VOIDED => "STOP_RUN_VOIDED",
        _ => return Ok(()),
    };
    let why = run.last_error.as_ref().map_or("", |error| &error.reason);
    Err(Stop::new(code, format!("rehearsal {} is {}: {why}", run.run_id, run.state), again(run)))
}

fn again(run: &Run) -> String {
    format!("start another one: `cutter orchestrate start {} --mode dryrun`", run.document_id)
}
