//! The audit: every hash, link and signature recomputed from raw columns, never by the audited database.
//!
//! [`verify`] looks at a whole database in one snapshot, [`export`] writes one entry with everything that proves it into a
//! file, [`verify_bundle`] proves such a file with nothing else at hand. Both run the same checks: they are about rows in memory
//! (`rows`), wherever these came from.
//!
//! Start reading at `log` (what holds for every run), then `entry` (what each move of an entry wrote), `manifest`, `lane`,
//! `verification` and `unit`; `approval`, `kb`, `orchestrator`, `queue`, `birth` (with `policy` and `ledger`) and `workflow`
//! (with `version`, `proposal` and `work`) are rooms of their own; `whole` has what only shows when everything is looked at.
//!
//! Invariant: which tables are evidence and what the digests of each version are over is said by `chancery_model::evidence`, which
//! transitions there are by the machine file in the binary; the audited database is asked for columns, and for nothing else.

mod report;
mod rows;
mod signers;
mod table;

mod log;

mod check;
mod driven;
mod entry;
mod lane;
mod manifest;
mod unit;
mod verification;

mod approval;
mod birth;
mod kb;
mod ledger;
mod orchestrator;
mod policy;
mod proposal;
mod queue;
mod span;
mod version;
mod work;
mod workflow;

mod bundle;
mod whole;

use std::sync::Arc;

use chancery_model::evidence::{Registry, release};
use chancery_store::Store;
use uuid::Uuid;

pub use report::{KeyUse, Mismatch, Report};
pub use signers::Pins;

use crate::Error;
use signers::Signers;

/// Replays the whole log and compares it with the runs. `progress` is called after each page with the rows seen so far.
///
/// # Errors
/// When the database does not answer.
pub async fn verify_log(store: &Store, mut progress: impl FnMut(u64)) -> Result<Report, Error> {
    let mut snapshot = store.snapshot(release()).await?;
    let mut signers = Signers::read(&mut snapshot, Pins::default()).await?;
    let mut report = Report::default();
    let mut reader = log::Reader::open(&mut snapshot).await?;
    log::verify(&mut reader, &mut signers, &mut report, &mut |report| progress(report.rows))
        .await?;
    signers.tell(&mut report);
    Ok(report)
}

/// Replays everything: the log, every entry of the cutter from log, signatures and artefacts, and what these lean on.
/// `progress` is called now and then with what was seen so far.
///
/// # Errors
/// When the database does not answer.
pub async fn verify(
    store: &Store,
    pins: Pins,
    progress: impl FnMut(&Report),
) -> Result<Report, Error> {
    verify_as(release(), store, pins, progress).await
}

/// As [`verify`], with what another release knows of evidence.
///
/// # Errors
/// When the database does not answer.
pub async fn verify_as(
    registry: &Arc<Registry>,
    store: &Store,
    pins: Pins,
    mut progress: impl FnMut(&Report),
) -> Result<Report, Error> {
    let mut snapshot = store.snapshot(registry).await?;
    let mut signers = Signers::read(&mut snapshot, pins).await?;
    let mut report = Report::default();
    let mut reader = log::Reader::open(&mut snapshot).await?;
    log::verify(&mut reader, &mut signers, &mut report, &mut progress).await?;
    whole::verify(&mut snapshot, &mut signers, &mut report, &mut progress).await?;
    signers.tell(&mut report);
    Ok(report)
}

/// Looks at the knowledge base alone: every text is what its digest says, every signature under it is its signer's. With a path, at
/// that document.
///
/// # Errors
/// When the database does not answer.
pub async fn verify_kb(store: &Store, path: Option<&str>, pins: Pins) -> Result<Report, Error> {
    let mut snapshot = store.snapshot(release()).await?;
    let mut signers = Signers::read(&mut snapshot, pins).await?;
    let mut report = Report::default();
    let mut source = rows::Source::database(&mut snapshot).await?;
    match path {
        Some(path) => kb::verify_one(&mut source, path, &mut signers, &mut report).await?,
        None => kb::verify(&mut source, None, &mut signers, &mut report, &mut |_| ()).await?,
    }
    signers.tell(&mut report);
    Ok(report)
}

/// One file with everything that proves an entry of the cutter; nothing when there is no such entry.
///
/// # Errors
/// When the database does not answer.
pub async fn export(store: &Store, entry_id: Uuid) -> Result<Option<Vec<u8>>, Error> {
    export_as(release(), store, entry_id).await
}

/// As [`export`], with what another release knows of evidence.
///
/// # Errors
/// When the database does not answer.
pub async fn export_as(
    registry: &Arc<Registry>,
    store: &Store,
    entry_id: Uuid,
) -> Result<Option<Vec<u8>>, Error> {
    let mut snapshot = store.snapshot(registry).await?;
    bundle::export(&mut snapshot, entry_id).await
}

/// Proves a file that [`export`] made, with nothing but the file and the keys that the auditor trusts.
///
/// # Errors
/// None that a file can cause: what does not fit is in the report.
pub async fn verify_bundle(file: &[u8], pins: Pins) -> Result<Report, Error> {
    verify_bundle_as(release(), file, pins).await
}

/// As [`verify_bundle`], with what another release knows of evidence.
///
/// # Errors
/// None that a file can cause: what does not fit is in the report.
pub async fn verify_bundle_as(
    registry: &Arc<Registry>,
    file: &[u8],
    pins: Pins,
) -> Result<Report, Error> {
    bundle::verify(registry, file, pins).await
}
