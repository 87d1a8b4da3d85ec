//! The sidecar after somebody else than the runner moved the run: stopped or voided, its file says so as well.

use std::path::Path;

use chancery_store::Store;

use super::run_id::RunId;
use super::sidecar::{Error as SidecarError, Sidecar};
use super::stop::Stop;
use super::view;
use crate::Error;

/// Brings the sidecar up to the database, where there is one. A runner that works on the run at this moment does so itself.
///
/// # Errors
/// What is wrong with the file; the run is where the database says all the same.
pub async fn refresh_sidecar(store: &Store, root: &Path, run_id: RunId) -> Result<(), Stop> {
    let mut sidecar = match Sidecar::open(root, run_id) {
        Ok(sidecar) => sidecar,
        Err(SidecarError::NotFound { .. } | SidecarError::Busy { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let name = run_id.to_string();
    let Some(run) = store.orchestrator_run(&name).await.map_err(Error::from)? else {
        return Ok(());
    };
    view::bring_up(store, &mut sidecar, &run).await.map_err(|stop| stop.of_run(&name))?;
    Ok(())
}
