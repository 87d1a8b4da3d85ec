//! Machines: from a file to the registry.

use std::path::Path;

use chancery_model::canonical;
use chancery_model::machine::{self, Definition, File, Finding};
use chancery_store::Store;
use chancery_store::fsm::{Activate, MachineApplied};
use serde_json::Value;

use crate::Error;

/// The machines of the product whose rooms exist: the binary brings them along.
const PRODUCT_MACHINES: &[(&str, &str)] = &[
    ("machines/cut_request.yaml", include_str!("../../../machines/cut_request.yaml")),
    ("machines/orchestrator_run.yaml", include_str!("../../../machines/orchestrator_run.yaml")),
    ("machines/birth_permit.yaml", include_str!("../../../machines/birth_permit.yaml")),
    (
        "machines/governance_candidate.yaml",
        include_str!("../../../machines/governance_candidate.yaml"),
    ),
    ("machines/step.yaml", include_str!("../../../machines/step.yaml")),
    ("machines/task.yaml", include_str!("../../../machines/task.yaml")),
    ("machines/workflow_run.yaml", include_str!("../../../machines/workflow_run.yaml")),
    ("machines/proposal.yaml", include_str!("../../../machines/proposal.yaml")),
    ("machines/job.yaml", include_str!("../../../machines/job.yaml")),
    ("machines/dlq_replay.yaml", include_str!("../../../machines/dlq_replay.yaml")),
    ("machines/finding.yaml", include_str!("../../../machines/finding.yaml")),
];

/// A machine file, parsed and expanded; it may still have findings.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub definition: Definition,
    pub findings: Vec<Finding>,
}

/// Reads a machine file and checks it.
///
/// # Errors
/// When the file cannot be read or is no machine file; findings are part of the answer.
pub fn load(path: &Path) -> Result<Loaded, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::File { path: path.to_owned(), source })?;
    let file =
        File::parse(&text).map_err(|source| Error::Parse { path: path.to_owned(), source })?;
    let definition = Definition::from(&file);
    let findings = machine::check(&definition);
    Ok(Loaded { definition, findings })
}

/// Puts a machine file into the registry. The same file again changes nothing.
///
/// # Errors
/// `Unsound` with every finding, or the database's refusal.
pub async fn apply(
    store: &Store,
    path: &Path,
    applied_by: &str,
    activate: impl Into<Activate>,
) -> Result<MachineApplied, Error> {
    let loaded = load(path)?;
    if !loaded.findings.is_empty() {
        return Err(Error::Unsound { machine: loaded.definition.id(), findings: loaded.findings });
    }
    Ok(apply_definition(store, &loaded.definition, applied_by, activate).await?)
}

/// Puts the machines of the product into the registry and activates them. Part of every release; repeating it changes nothing.
///
/// # Errors
/// The database's refusal: a guard that is not registered, or a version that has runs and another text.
pub async fn install_product_machines(
    store: &Store,
    applied_by: &str,
) -> Result<Vec<MachineApplied>, Error> {
    let mut applied = Vec::new();
    for (path, text) in PRODUCT_MACHINES {
        let file =
            File::parse(text).map_err(|source| Error::Parse { path: path.into(), source })?;
        let definition = Definition::from(&file);
        let findings = machine::check(&definition);
        if !findings.is_empty() {
            return Err(Error::Unsound { machine: definition.id(), findings });
        }
        applied.push(apply_definition(store, &definition, applied_by, true).await?);
    }
    Ok(applied)
}

/// Puts a definition into the registry.
///
/// # Errors
/// The database's refusal.
pub async fn apply_definition(
    store: &Store,
    definition: &Definition,
    applied_by: &str,
    activate: impl Into<Activate>,
) -> Result<MachineApplied, chancery_store::Error> {
    let json: Value = serde_json::to_value(definition).expect("a definition is plain data");
    let digest =
        canonical::sha256(&json).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    store.fn_machine_apply(&json, &digest, applied_by, activate).await
}
