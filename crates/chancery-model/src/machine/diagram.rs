//! The page people read about a machine.
//!
//! Generated and committed, so the text depends on the machine alone: no dates, no hash order.

use std::fmt::Write as _;

use super::expand::{Definition, State, Transition};
use super::file::{Claim, Invariant};

/// Words that mean something else to mermaid when they stand where a state's name should.
const MERMAID_KEYWORDS: [&str; 10] =
    ["as", "class", "classDef", "click", "default", "direction", "end", "note", "state", "style"];

/// A Markdown page with a mermaid diagram and the tables behind it.
pub fn diagram(definition: &Definition) -> String {
    let mut page = format!("# {}\n\n{}\n\n", definition.id(), one_line(&definition.description));
    write_line(
        &mut page,
        &format!(
            "Scope `{}`. Generated from the machine file: change that, not this page.\n",
            definition.scope
        ),
    );
    mermaid(definition, &mut page);
    states(definition, &mut page);
    transitions(definition, &mut page);
    shapes(definition, &mut page);
    guards(definition, &mut page);
    events(definition, &mut page);
    invariants(definition, &mut page);
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn mermaid(definition: &Definition, page: &mut String) {
    write_line(page, "```mermaid\nstateDiagram-v2");
    for state in definition.states.iter().filter(|s| MERMAID_KEYWORDS.contains(&&*s.code)) {
        write_line(page, &format!("    state \"{}\" as {}", state.code, node(&state.code)));
    }
    for (from, to, labels) in arrows(definition) {
        let from = from.map_or_else(|| "[*]".to_owned(), node);
        write_line(page, &format!("    {from} --> {} : {}", node(to), labels.join(", ")));
    }
    for state in definition.states.iter().filter(|state| state.terminal && !state.conceptual) {
        write_line(page, &format!("    {} --> [*]", node(&state.code)));
    }
    for note in notes_of_conceptual_states(definition) {
        write_line(page, &note);
    }
    write_line(page, "```\n");
}

/// One arrow for each pair of states, however many transitions and actors share it.
fn arrows(definition: &Definition) -> Vec<(Option<&str>, &str, Vec<&str>)> {
    let mut arrows: Vec<(Option<&str>, &str, Vec<&str>)> = Vec::new();
    for row in &definition.transitions {
        let (from, to, label) = (row.from.as_deref(), row.to.as_str(), row.label.as_str());
        match arrows.iter_mut().find(|arrow| (arrow.0, arrow.1) == (from, to)) {
            Some((_, _, labels)) => push_new(labels, label),
            None => arrows.push((from, to, vec![label])),
        }
    }
    arrows
}

fn notes_of_conceptual_states(definition: &Definition) -> Vec<String> {
    let mut notes = Vec::new();
    for row in &definition.transitions {
        let (Some(from), Some(via)) = (&row.from, &row.via) else { continue };
        let (label, to) = (&row.label, &row.to);
        let note = format!("    note right of {} : {label} passes {via} to {to}", node(from));
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn states(definition: &Definition, page: &mut String) {
    let rows = definition.states.iter().map(|state| {
        vec![
            state.ordinal.to_string(),
            code(&state.code),
            english(definition, &state.label_key),
            english(definition, &state.message_key),
            state.class.to_string(),
            code(&state.color),
            remarks(state),
        ]
    });
    table(
        page,
        "States",
        &["#", "State", "Label", "Meaning", "Class", "Color", "Remarks"],
        rows.collect(),
    );
}

fn remarks(state: &State) -> String {
    let mut remarks = Vec::new();
    if state.initial {
        remarks.push("initial".to_owned());
    }
    if state.terminal {
        remarks.push("terminal".to_owned());
    }
    if state.conceptual {
        remarks.push("conceptual: passed inside a transaction, never stored".to_owned());
    }
    if let Some(derived) = &state.derived {
        remarks.push(format!(
            "derived, on the floor {}: {}",
            code(&derived.floor_equivalent),
            derived.justification
        ));
    }
    if !state.facets.is_empty() {
        remarks.push(format!("facets {}", codes(state.facets.iter().map(|f| f.code.as_str()))));
    }
    remarks.join("; ")
}

fn transitions(definition: &Definition, page: &mut String) {
    let rows = declarations(definition).into_iter().map(|rows| {
        let first = rows[0];
        let mut audit = if first.audit { "yes" } else { "no" }.to_owned();
        if first.proposed {
            audit.push_str(", proposed");
        }
        vec![
            code(&first.label),
            codes(rows.iter().map(|row| row.from_code())),
            codes(rows.iter().map(|row| row.to.as_str())),
            codes(rows.iter().map(|row| row.actor.code())),
            format!("{} {}", first.trigger_kind, code(&first.trigger_ref)),
            codes(first.guards.iter().map(String::as_str)),
            first.event.as_deref().map(code).unwrap_or_default(),
            audit,
        ]
    });
    table(
        page,
        "Transitions",
        &["Label", "From", "To", "Actors", "Trigger", "Guards", "Event", "Audit"],
        rows.collect(),
    );
}

/// The rows of each transition of the file, in its order.
fn declarations(definition: &Definition) -> Vec<Vec<&Transition>> {
    let mut groups: Vec<Vec<&Transition>> = Vec::new();
    for row in &definition.transitions {
        match groups.last_mut() {
            Some(group) if group[0].declaration == row.declaration => group.push(row),
            Some(_) | None => groups.push(vec![row]),
        }
    }
    groups
}

/// What is brought, where the machine declares it.
fn shapes(definition: &Definition, page: &mut String) {
    let data = definition
        .data
        .iter()
        .map(|schema| vec!["the data of a run".to_owned(), code(&schema.to_string())]);
    let moves = declarations(definition).into_iter().filter_map(|rows| {
        let schema = rows[0].evidence.as_ref()?;
        Some(vec![format!("the evidence of {}", code(&rows[0].label)), code(&schema.to_string())])
    });
    table(page, "Shapes", &["Of", "Schema"], data.chain(moves).collect());
}

fn guards(definition: &Definition, page: &mut String) {
    let rows = definition.guards.iter().map(|guard| {
        vec![
            code(&guard.name),
            guard.kind.to_string(),
            guard.rule.as_deref().map(code).unwrap_or_default(),
            codes(guard.reads.iter().map(String::as_str)),
            guard.description.clone(),
        ]
    });
    table(page, "Guards", &["Guard", "Kind", "Rule", "Reads", "Meaning"], rows.collect());
}

fn events(definition: &Definition, page: &mut String) {
    let rows = definition.events.iter().map(|event| {
        vec![
            code(&event.event_type),
            event.stream.to_string(),
            event.lane.to_string(),
            event.description.clone(),
        ]
    });
    table(page, "Events", &["Event", "Stream", "Lane", "Meaning"], rows.collect());
}

fn invariants(definition: &Definition, page: &mut String) {
    let rows = definition.invariants.iter().map(|invariant| {
        vec![code(&invariant.id), claim_in_words(invariant), invariant.why.clone()]
    });
    table(page, "Invariants", &["Invariant", "Claim", "Why"], rows.collect());
}

fn claim_in_words(invariant: &Invariant) -> String {
    let list = |names: &[String]| codes(names.iter().map(String::as_str));
    match &invariant.claim {
        Claim::NeverEdge(claim) => {
            let mut words = format!("never an edge {} → {}", list(&claim.from), list(&claim.to));
            if !claim.except.is_empty() {
                let _ = write!(words, " except {}", list(&claim.except));
            }
            if !claim.actors.is_empty() {
                let _ = write!(words, " by {}", codes(claim.actors.iter().map(|a| a.code())));
            }
            words
        }
        Claim::NeverPath(claim) => {
            format!("never a way {} → {}", list(&claim.from), list(&claim.to))
        }
        Claim::AlwaysVia(claim) => {
            format!("every way to {} visits {}", code(&claim.to), code(&claim.visits))
        }
        Claim::Separation(claim) => {
            format!("{} never in one hand, held by {}", list(&claim.edges), code(&claim.guard))
        }
    }
}

/// A section with a table; nothing at all when there are no rows.
fn table(page: &mut String, title: &str, header: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    write_line(page, &format!("## {title}\n"));
    write_line(page, &format!("| {} |", header.join(" | ")));
    write_line(page, &format!("|{}", " --- |".repeat(header.len())));
    for row in rows {
        let cells: Vec<_> = row.iter().map(|cell| one_line(cell).replace('|', "\\|")).collect();
        write_line(page, &format!("| {} |", cells.join(" | ")));
    }
    page.push('\n');
}

fn english(definition: &Definition, key: &str) -> String {
    let message = definition.messages.iter().find(|m| m.key == key && m.locale == "en");
    message.map(|m| m.text.clone()).unwrap_or_default()
}

/// The name of a state as a mermaid node.
fn node(state: &str) -> String {
    if MERMAID_KEYWORDS.contains(&state) { format!("{state}_") } else { state.to_owned() }
}

fn code(word: &str) -> String {
    format!("`{word}`")
}

fn codes<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut distinct = Vec::new();
    words.for_each(|word| push_new(&mut distinct, word));
    distinct.into_iter().map(code).collect::<Vec<_>>().join(", ")
}

fn push_new<'a>(list: &mut Vec<&'a str>, word: &'a str) {
    if !list.contains(&word) {
        list.push(word);
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn write_line(page: &mut String, line: &str) {
    page.push_str(line);
    page.push('\n');
}
