//! Guards: where the rule lives, and how far a user's guard may look.

use super::super::expand::Definition;
use super::super::vocabulary::{GuardKind, Scope};
use super::finding::{Finding, Rule};

/// What a guard of a user's machine may read: rows the engine locks for every machine alike.
const READS_OF_CUSTOM: [&str; 3] = ["parent", "children", "history"];

pub(super) fn check(definition: &Definition, findings: &mut Vec<Finding>) {
    let custom = definition.scope == Scope::Custom;
    for guard in &definition.guards {
        let name = &guard.name;
        let has_rule = guard.rule.as_ref().is_some_and(|rule| !rule.trim().is_empty());
        match guard.kind {
            GuardKind::Config if !has_rule => {
                let message = format!("config guard {name} has no rule");
                findings.push(Finding::new(Rule::ConfigGuardWithoutRule, message));
            }
            GuardKind::PredicateFn if guard.rule.is_some() => {
                let message = format!("predicate guard {name} has a rule, which nobody would read");
                findings.push(Finding::new(Rule::PredicateGuardWithRule, message));
            }
            GuardKind::Config | GuardKind::PredicateFn => {}
        }
        if custom && guard.kind == GuardKind::PredicateFn {
            let message = format!("guard {name} is a function; custom machines use config guards");
            findings.push(Finding::new(Rule::PredicateGuardInCustom, message));
        }
        for target in
            guard.reads.iter().filter(|t| custom && !READS_OF_CUSTOM.contains(&t.as_str()))
        {
            let message = format!("guard {name} reads {target}; custom machines may not");
            findings.push(Finding::new(Rule::ForeignReadInCustom, message));
        }
    }
}
