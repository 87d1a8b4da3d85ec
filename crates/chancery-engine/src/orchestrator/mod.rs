//! The orchestrator: one command takes a document from its request to its report.

pub mod backup;
