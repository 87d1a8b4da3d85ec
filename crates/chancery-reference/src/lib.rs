//! A second, hand-written source of the machines and of the engine's verdicts.
//!
//! The machine files are what the product runs on. These tables were copied from the seed documents
//! by hand, row by row, and share nothing with the files or their loader, so a differential test
//! against the database compares two readings of the same text and not one reading with itself. Where the seeds have no row (all
//! rows of proposals, T0s of steps and tasks, who besides the loop starts a run) the file came first and the table follows it.
//!
//! Invariant: no product code decides anything by what stands here; the tables in the database do.
//!
//! Read [`rules`] for the shape of a table, one file a machine for the tables, and [`model`] for the
//! engine in memory. Presentation (tokens, texts, semantic classes) is left to the machine files.

pub mod rules;

pub mod birth_permit;
pub mod cut_request;
pub mod dlq_replay;
pub mod finding;
pub mod governance_candidate;
pub mod job;
pub mod orchestrator_run;
pub mod proposal;
pub mod step;
pub mod task;
pub mod workflow_run;

pub mod invariants;
pub mod model;
pub mod problem;
pub mod rollup;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod rollup_laws;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod verdicts;
#[cfg(test)]
mod walls;

use rules::Machine;

/// Every machine of the seed documents.
pub fn machines() -> Vec<Machine> {
    vec![
        step::MACHINE,
        task::MACHINE,
        workflow_run::MACHINE,
        cut_request::MACHINE,
        orchestrator_run::MACHINE,
        birth_permit::MACHINE,
        job::MACHINE,
        dlq_replay::MACHINE,
        finding::MACHINE,
        governance_candidate::MACHINE,
        proposal::MACHINE,
    ]
}

/// The machine of this name.
pub fn machine(name: &str) -> Option<Machine> {
    machines().into_iter().find(|machine| machine.name == name)
}
