//! Use-cases against a real database.

mod admission;
mod approvals;
mod digests;
mod executors;
mod flow_loops;
mod flow_scene;
mod kb;
mod loops;
mod payloads;
mod phases;
mod pictures;
mod races;
mod refusals;
mod retries;
mod scene;
mod summaries;
mod verdicts;
mod workflow_audit;
