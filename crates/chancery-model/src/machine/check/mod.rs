//! Proofs over a machine before it may become active.
//!
//! The graph is the whole table, also rows that are only proposed: an invariant that breaks on the
//! day a row is approved is broken today. Guards are not evaluated: a claim that holds only because
//! a guard happens to refuse is not proven.

mod checker;
mod finding;

mod declarations;
mod floor;
mod guards;
mod invariants;
mod payloads;
mod structure;

mod graph;

pub use checker::check;
pub use finding::{Finding, Rule};
