//! `chancery machine …`: from a file to the registry and back to a page.

use std::path::{Path, PathBuf};

use chancery_engine::approval::activate_transition;
use chancery_engine::registry::{self, Loaded};
use chancery_model::machine::{Definition, Scope, diagram};
use chancery_model::refusal::Code;
use chancery_store::fsm::{Activate, MachineRow};
use chancery_store::{Role, Store};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Context;
use crate::acting::Acting;
use crate::failure::{Failure, Outcome};
use crate::output::{pairs, table, yes_no};
use crate::session::{Session, refusal};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a machine file; needs no database
    #[command(after_help = "Example:\n  $ chancery machine check purchase_approval.yaml")]
    Check {
        /// The machine file (YAML)
        file: PathBuf,
    },
    /// Put a machine into the registry; the same file again changes nothing
    #[command(after_help = "\
A machine of your own (scope custom) becomes active at once; a machine of the product is stored, \
and activated when you ask for it and its guards are registered. A version older than the active one is \
refused, unless you say --older.

Example:
  $ chancery machine apply purchase_approval.yaml
  $ chancery machine apply purchase_approval-1.0.yaml --older")]
    Apply(Apply),
    /// List the machines in the registry
    #[command(after_help = "Example:\n  $ chancery machine list")]
    List,
    /// Show a machine: its states and who may make which move
    #[command(after_help = "Example:\n  $ chancery machine show purchase_approval")]
    Show {
        /// A name (its active version, or else its newest) or an id such as purchase_approval@1.0.0
        name: String,
    },
    /// Let a proposed transition fire, by its approval
    #[command(after_help = "\
The transition's id stands in the refusal of a move along it, and in `chancery run show --json`.

Example:
  $ chancery machine activate-transition 'letter@1.0.0#post:draft>posted/reader' --approval 0197… --as alice")]
    ActivateTransition {
        /// The transition
        transition: String,
        /// The approval of exactly this transition
        #[arg(long, value_name = "UUID")]
        approval: Uuid,
        /// The actor class to act in
        #[arg(long, value_name = "CLASS")]
        class: Option<String>,
    },
    /// Print a machine as a Markdown page with a diagram
    #[command(
        after_help = "Example:\n  $ chancery machine diagram purchase_approval > purchase_approval.md"
    )]
    Diagram {
        /// A machine in the registry, or a machine file
        #[arg(value_name = "NAME|FILE")]
        what: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// The machine file (YAML)
    file: PathBuf,
    /// Make this version the active one
    #[arg(long, conflicts_with = "no_activate")]
    activate: bool,
    /// Only store it
    #[arg(long)]
    no_activate: bool,
    /// Make it active although it is older than the active version
    #[arg(long, conflicts_with = "no_activate")]
    older: bool,
}

/// Who is on record as having applied a machine when nobody was named.
pub(crate) const OPERATOR: &str = "operator";

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Check { file } => check(context, &file),
        Command::Apply(args) => apply(context, &args).await,
        Command::List => list(context).await,
        Command::Show { name } => show(context, &name).await,
        Command::ActivateTransition { transition, approval, class } => {
            activate(context, &transition, approval, class.as_deref()).await
        }
        Command::Diagram { what } => print_diagram(context, &what).await,
    }
}

fn check(context: &mut Context, file: &Path) -> Result<Outcome, Failure> {
    let definition = load_sound(file)?;
    let answer = json!({
        "ok": true, "machine": definition.id(), "scope": definition.scope, "states": definition.states.len(),
        "transitions": definition.transitions.len(), "guards": definition.guards.len(), "events": definition.events.len(),
        "invariants": definition.invariants.len(),
    });
    context.out.answer(&answer, || {
        format!(
            "{} holds together: {} states, {} transition rows, {} guards, {} events, {} invariants proven",
            definition.id(),
            definition.states.len(),
            definition.transitions.len(),
            definition.guards.len(),
            definition.events.len(),
            definition.invariants.len()
        )
    })?;
    Ok(Outcome::Done)
}

fn load_sound(file: &Path) -> Result<Definition, Failure> {
    let Loaded { definition, findings } = registry::load(file)?;
    if findings.is_empty() {
        Ok(definition)
    } else {
        Err(Failure::Unsound { file: file.to_owned(), machine: definition.id(), findings })
    }
}

async fn apply(context: &mut Context, args: &Apply) -> Result<Outcome, Failure> {
    let definition = load_sound(&args.file)?;
    let activate = if args.older {
        Activate::AlsoOlder
    } else {
        Activate::from(!args.no_activate && (args.activate || definition.scope == Scope::Custom))
    };
    let store = Session::open(context).await?.store(Role::Migrator).await?;
    let applied_by = context.config.principal.as_deref().unwrap_or(OPERATOR);
    let applied = registry::apply_definition(&store, &definition, applied_by, activate).await?;
    if !applied.guards_not_registered.is_empty() {
        context.out.note(&format!(
            "stored, not active; guards that nobody registered yet: {}",
            applied.guards_not_registered.join(", ")
        ));
    }
    context.out.answer(&applied, || {
        let active = if applied.active { "active" } else { "not active" };
        format!("{}  {}  {active}", applied.machine, applied.outcome)
    })?;
    Ok(Outcome::Done)
}

async fn list(context: &mut Context) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::Migrator).await?;
    let machines = store.machines().await?;
    if machines.is_empty() {
        context.out.note("there are no machines yet; apply one with `chancery machine apply FILE`");
    }
    let summary = |machine: &MachineRow| {
        let mut value = json!(machine);
        // The whole definition stands in `machine show`.
        value.as_object_mut().map(|object| object.remove("definition"));
        value
    };
    context.out.answer(&machines.iter().map(summary).collect::<Vec<_>>(), || {
        table(
            &["machine", "scope", "active", "states", "rows", "guards missing", "description"],
            machines.iter().map(|machine| {
                vec![
                    machine.state_machine_id.clone(),
                    machine.scope.clone(),
                    yes_no(machine.active),
                    machine.states.to_string(),
                    machine.transitions.to_string(),
                    machine.guards_not_registered.as_array().map_or(0, Vec::len).to_string(),
                    machine.description.clone(),
                ]
            }),
        )
    })?;
    Ok(Outcome::Done)
}

async fn show(context: &mut Context, name: &str) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::Migrator).await?;
    let machine = find(&store, name).await?;
    let definition = definition_of(&machine)?;
    context.out.answer(&machine, || {
        let head = pairs(&[
            ("machine", machine.state_machine_id.clone()),
            ("scope", machine.scope.clone()),
            ("active", yes_no(machine.active)),
            ("description", machine.description.clone()),
            ("guards missing", missing_guards(&machine)),
            ("data", declared(definition.data.as_ref())),
        ]);
        [head, states(&definition), transitions(&definition)].join("\n\n")
    })?;
    Ok(Outcome::Done)
}

async fn activate(
    context: &mut Context,
    transition: &str,
    approval: Uuid,
    class: Option<&str>,
) -> Result<Outcome, Failure> {
    let Acting { store, actor, class } = Acting::open(context, class, &[], &[Role::App]).await?;
    let done = activate_transition(&store, &actor.principal, &class, transition, approval).await?;
    if !context.out.is_json() && done.replayed {
        context.out.note("it was activated by this approval before; nothing was done twice");
    }
    context.out.answer(&done, || done.transition_id.clone())?;
    Ok(Outcome::Done)
}

fn missing_guards(machine: &MachineRow) -> String {
    let missing = machine.guards_not_registered.as_array().map_or(&[][..], Vec::as_slice);
    missing.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

/// The members that a shape names.
fn declared(schema: Option<&Value>) -> String {
    let members = schema.and_then(|schema| schema["properties"].as_object());
    members
        .map(|members| members.keys().cloned().collect::<Vec<_>>().join(", "))
        .unwrap_or_default()
}

fn states(definition: &Definition) -> String {
    let label = |key: &str| {
        let english =
            definition.messages.iter().find(|message| message.key == key && message.locale == "en");
        english.map(|message| message.text.clone()).unwrap_or_default()
    };
    table(
        &["state", "class", "is", "label", "facets"],
        definition.states.iter().map(|state| {
            let marks = [
                (state.initial, "initial"),
                (state.terminal, "terminal"),
                (state.conceptual, "conceptual"),
            ];
            let marks = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark);
            vec![
                state.code.clone(),
                state.class.to_string(),
                marks.collect::<Vec<_>>().join(", "),
                label(&state.label_key),
                state.facets.iter().map(|facet| facet.code.as_str()).collect::<Vec<_>>().join(", "),
            ]
        }),
    )
}

fn transitions(definition: &Definition) -> String {
    table(
        &["move", "from", "to", "by", "trigger", "guards", "event", "audit", "evidence"],
        definition.transitions.iter().map(|row| {
            vec![
                row.label.clone(),
                row.from_code().to_owned(),
                row.to.clone(),
                row.actor.to_string(),
                format!("{}:{}", row.trigger_kind, row.trigger_ref),
                row.guards.join(", "),
                row.event.clone().unwrap_or_default(),
                if row.audit { "audit_ref" } else { "" }.to_owned(),
                declared(row.evidence.as_ref()),
            ]
        }),
    )
}

async fn print_diagram(context: &mut Context, what: &str) -> Result<Outcome, Failure> {
    let file = Path::new(what);
    // A name of the registry has neither a dot nor a slash in front of its version, a machine file has.
    let definition = if file.is_file() {
        registry::load(file)?.definition
    } else if what.contains('/') || what.ends_with(".yaml") || what.ends_with(".yml") {
        return Err(Failure::Failed(format!("there is no file {what}")));
    } else {
        let store = Session::open(context).await?.store(Role::Migrator).await?;
        definition_of(&find(&store, what).await?)?
    };
    let page = diagram(&definition);
    context
        .out
        .answer(&json!({ "machine": definition.id(), "markdown": page }), || page.clone())?;
    Ok(Outcome::Done)
}

/// The machine of that id, or of that name: its active version, or else its newest.
async fn find(store: &Store, name: &str) -> Result<MachineRow, Failure> {
    let mut machines = store.machines().await?;
    // Oldest version first, so the last one that fits is the newest.
    let by_id = machines.iter().position(|machine| machine.state_machine_id == name);
    let chosen = by_id
        .or_else(|| machines.iter().position(|machine| machine.name == name && machine.active))
        .or_else(|| machines.iter().rposition(|machine| machine.name == name));
    match chosen {
        Some(index) => Ok(machines.swap_remove(index)),
        None => {
            let known: Vec<_> =
                machines.iter().map(|machine| machine.state_machine_id.as_str()).collect();
            Err(refusal(store, Code::RS018, json!({ "machine": name, "known": known })).await)
        }
    }
}

fn definition_of(machine: &MachineRow) -> Result<Definition, Failure> {
    Definition::from_document(&machine.definition).map_err(|error| {
        Failure::Failed(format!(
            "{} is stored in a shape this binary does not know: {error}",
            machine.state_machine_id
        ))
    })
}
