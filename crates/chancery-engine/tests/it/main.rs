//! Use-cases against a real database.

mod digests;
mod phases;
mod races;
mod refusals;
mod retries;
mod scene;
mod verdicts;
