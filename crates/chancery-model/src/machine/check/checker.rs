//! Runs every check.

use super::super::expand::Definition;
use super::finding::Finding;
use super::graph::Graph;
use super::{declarations, floor, guards, invariants, payloads, structure};

/// Everything that is wrong with a machine; nothing when it may become active.
///
/// All findings are reported, not just the first, in an order that depends on the machine alone.
pub fn check(definition: &Definition) -> Vec<Finding> {
    let graph = Graph::of(definition);
    let mut findings = Vec::new();
    declarations::check(definition, &mut findings);
    structure::check(definition, &graph, &mut findings);
    floor::check(definition, &mut findings);
    guards::check(definition, &mut findings);
    guards::shapes(definition, &mut findings);
    payloads::check(definition, &mut findings);
    invariants::check(definition, &graph, &mut findings);
    findings
}
