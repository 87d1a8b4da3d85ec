//! Guards: where the rule lives, whether it refuses what it cannot answer, and how far it may look.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::expand::{Definition, Transition};
use super::super::file::Guard;
use super::super::rule::{self, Fault, Path, Step};
use super::super::schema_subset;
use super::super::vocabulary::{GuardKind, Scope};
use super::finding::{Finding, Rule};
use super::graph::edge;

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
        if let (GuardKind::Config, Some(text)) =
            (guard.kind, guard.rule.as_deref().filter(|_| has_rule))
        {
            match rule::parse(text) {
                Ok(parsed) => paths(definition, guard, &parsed.paths, findings),
                Err(fault) => {
                    let broken = match fault {
                        Fault::Malformed(_) => Rule::MalformedRule,
                        Fault::Open { .. } => Rule::OpenRule,
                    };
                    findings.push(Finding::new(
                        broken,
                        format!("the rule of guard {name} is not accepted: {fault}"),
                    ));
                }
            }
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

/// What a rule reads must be there in each transition that carries the guard.
fn paths(definition: &Definition, guard: &Guard, paths: &[Path], findings: &mut Vec<Finding>) {
    let mut reported = BTreeSet::new();
    for path in paths {
        if let Some(read) = undeclared_read(guard, path) {
            if reported.insert((path, read)) {
                let message = format!(
                    "guard {} reads {path} and does not declare it: reads: [{read}]",
                    guard.name
                );
                findings.push(Finding::new(Rule::UndeclaredRead, message));
            }
            continue;
        }
        for row in definition.transitions.iter().filter(|row| row.guards.contains(&guard.name)) {
            if !is_declared(&document(definition, row), path) && reported.insert((path, &row.label))
            {
                let message = format!(
                    "guard {} reads {path}, which is not there in transition {}{}",
                    guard.name,
                    row.label,
                    where_declared(path)
                );
                findings.push(Finding::new(Rule::UnknownMember, message).with_path(edge(row)));
            }
        }
    }
}

/// The read that a path needs and the guard does not declare.
fn undeclared_read(guard: &Guard, path: &Path) -> Option<&'static str> {
    let [Step::Member(root), Step::Member(member), ..] = path.0.as_slice() else { return None };
    let read = match (root.as_str(), member.as_str()) {
        ("run", "parent") => "parent",
        ("run", "children") => "children",
        ("now", _) => ": ask $.now_s, the time in seconds",
        ("run", "movers" | "moves") => "history",
        _ => return None,
    };
    (!guard.reads.iter().any(|declared| declared == read)).then_some(read)
}

/// Where the members of this part of the document are declared.
fn where_declared(path: &Path) -> &'static str {
    let name = |at: usize| match path.0.get(at) {
        Some(Step::Member(name)) => name.as_str(),
        Some(Step::Element(_)) | None => "",
    };
    match (name(0), name(1)) {
        ("evidence", "event") => ": the schema of its event names the members",
        ("evidence", _) => ": its `evidence` names the members",
        ("run", "data") => ": `data` at the head of the file names the members",
        ("now", _) => ": ask $.now_s, the time in seconds",
        ("run", "movers" | "moves") => ": no transition has this label",
        _ => "",
    }
}

/// The shape of the document that the rules of a row are asked of, as a schema. A part whose members nobody here can know is open.
fn document(definition: &Definition, row: &Transition) -> Value {
    let members = |names: &[&str]| -> Value {
        names.iter().map(|name| ((*name).to_owned(), json!({}))).collect::<Map<_, _>>().into()
    };
    let open = json!({ "open": true });
    let labels: Map<String, Value> =
        definition.transitions.iter().map(|row| (row.label.clone(), json!({}))).collect();
    let mut run = members(&["id", "kind", "machine", "state", "started_by", "seq", "since_s"]);
    run["data"] = definition.data.clone().unwrap_or_else(|| json!({}));
    run["parent"] = json!({ "properties": members(&["id", "state", "started_by", "terminal"]) });
    run["parent"]["properties"]["data"] = open.clone();
    run["children"] = json!({ "properties": { "total": {}, "open": {}, "by_state": open } });
    run["movers"] = json!({ "properties": labels });
    run["moves"] = json!({ "properties": labels });
    let mut evidence =
        row.evidence.as_ref().map_or_else(|| json!({}), |schema| schema["properties"].clone());
    if !evidence.is_object() {
        evidence = json!({});
    }
    if row.audit {
        evidence["audit_ref"] = json!({});
    }
    if definition.states.iter().any(|state| state.code == row.to && !state.facets.is_empty()) {
        evidence["facet"] = json!({});
        evidence["facets"] = json!({});
    }
    let event =
        definition.events.iter().find(|event| Some(&event.event_type) == row.event.as_ref());
    evidence["event"] = event.map_or_else(|| json!({}), |event| event.schema.clone());
    json!({ "properties": {
        "run": { "properties": run },
        "actor": { "properties": members(&["principal", "kind", "class"]) },
        "evidence": { "properties": evidence },
        // Only the database knows the settings; it refuses a machine whose rules name one that does not exist.
        "config": { "open": true },
        // The time as a text ($.now) is there for older rules only: texts with other zones do not compare.
        "now_s": {},
    } })
}

fn is_declared(shape: &Value, path: &Path) -> bool {
    let nothing = json!({});
    let mut shape = shape;
    for step in &path.0 {
        if shape["open"] == json!(true) {
            return true;
        }
        let inner = match step {
            // A declared time is there as seconds too.
            Step::Member(name) => shape["properties"].get(name).or_else(|| {
                let time = name.strip_suffix("_s")?;
                (shape["properties"][time]["format"] == json!("date-time")).then_some(&nothing)
            }),
            Step::Element(_) => Some(shape.get("items").unwrap_or(&nothing)),
        };
        let Some(inner) = inner else { return false };
        shape = inner;
    }
    true
}

/// The shapes that rules rest on keep to what the database can check.
pub(super) fn shapes(definition: &Definition, findings: &mut Vec<Finding>) {
    let mut labels = BTreeSet::new();
    let of_moves = definition
        .transitions
        .iter()
        .filter(|row| labels.insert(&row.label))
        .filter_map(|row| Some((format!("evidence of {}", row.label), row.evidence.as_ref()?)));
    let of_data = definition.data.iter().map(|schema| ("data".to_owned(), schema));
    for (name, schema) in of_data.chain(of_moves) {
        for violation in schema_subset::violations(schema) {
            let message =
                format!("schema of {name} at {:?}: {}", violation.pointer, violation.message);
            findings.push(Finding::new(Rule::SchemaOutsideSubset, message));
        }
    }
}
