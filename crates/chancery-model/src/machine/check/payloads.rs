//! Event payloads: described in the schema subset, without bodies or secrets.

use super::super::expand::Definition;
use super::super::schema_subset;
use super::finding::{Finding, Rule};

pub(super) fn check(definition: &Definition, findings: &mut Vec<Finding>) {
    for event in &definition.events {
        let outside = schema_subset::violations(&event.schema);
        let denied = schema_subset::denied_keys(&event.schema);
        let outside = outside.into_iter().map(|v| (Rule::SchemaOutsideSubset, v));
        let denied = denied.into_iter().map(|v| (Rule::DeniedPayloadKey, v));
        for (rule, violation) in outside.chain(denied) {
            let message = format!(
                "schema of {} at {:?}: {}",
                event.event_type, violation.pointer, violation.message
            );
            findings.push(Finding::new(rule, message));
        }
    }
}
