//! The end of a rehearsal before its time. It has nothing to take back: what it wrote are files.

use std::path::Path;

use jiff::Timestamp;

use super::super::run_id::RunId;
use super::super::sidecar::{LastError, Run, Sidecar};
use super::super::stop::Stop;

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
