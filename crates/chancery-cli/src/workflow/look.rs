//! Workflows, changes and runs as people read them.

use chancery_engine::workflow::{Pictures, Status};
use chancery_model::layout::Options;
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::workflow::{ChangeRow, Listing, Pictured, VersionRow, WorkRow, WorkflowRunRow};
use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{pairs, short, table, time};
use crate::saying::reader;
use crate::session::refusal;

#[derive(Debug, Args)]
pub(crate) struct Changes {
    /// Only changes of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Only changes in this state, such as review
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// A workflow by its name, or a run or a change by its id
    of: String,
    /// Which version of the workflow [default: the newest]
    #[arg(long, value_name = "N")]
    version: Option<i32>,
    /// The window that it is for, in pixels
    #[arg(long, value_name = "WxH", default_value = "1280x800", value_parser = window)]
    window: (u32, u32),
    /// A category that is shown as one node; may be repeated
    #[arg(long, value_name = "CATEGORY")]
    collapse: Vec<String>,
    /// Leave the lanes out
    #[arg(long)]
    no_lanes: bool,
}

fn window(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    sides
        .filter(|&(w, h)| (1..=100_000).contains(&w) && (1..=100_000).contains(&h))
        .ok_or_else(|| "a width and a height such as 1280x800".to_owned())
}

pub(super) async fn graph(context: &mut Context, args: Graph) -> Result<Outcome, Failure> {
    let store = reader(context).await?;
    let options = Options {
        width: args.window.0,
        height: args.window.1,
        lanes: !args.no_lanes,
        collapsed: args.collapse.into_iter().collect(),
    };
    let pictures = Pictures::default();
    // Names of workflows are words, so an id is never one.
    let subjects = match Uuid::parse_str(&args.of) {
        Ok(id) => vec![Pictured::Run(id), Pictured::Change(id)],
        Err(_) => vec![Pictured::Version { workflow: args.of.clone(), version: args.version }],
    };
    for subject in &subjects {
        if let Some(layout) = pictures.of(&store, subject, &options).await? {
            context.out.answer(&*layout, || serde_json::to_string(&*layout).unwrap_or_default())?;
            return Ok(Outcome::Done);
        }
    }
    let facts = json!({ "kind": "workflow", "id": args.of, "version": args.version });
    Err(refusal(&store, Code::RW001, facts).await)
}

pub(super) async fn changes(context: &mut Context, args: Changes) -> Result<Outcome, Failure> {
    let store = reader(context).await?;
    let listing = Listing { name: args.workflow, state: args.state, limit: args.limit };
    let changes = store.workflow_changes(&listing).await?;
    if changes.is_empty() {
        context.out.note("there are no such changes; write one with `chancery workflow propose`");
    }
    let row = |change: &ChangeRow| {
        let number = |n: Option<i32>| n.map(|n| n.to_string()).unwrap_or_default();
        vec![
            change.change_request_id.to_string(),
            change.workflow.clone(),
            number(change.base_version),
            change.revision_no.to_string(),
            change.state.clone(),
            number(change.merged_version),
            change.proposer.clone(),
            time(&change.last_transition_at),
            change.title.clone(),
        ]
    };
    let header =
        ["change", "workflow", "on", "revision", "state", "merged as", "by", "since", "title"];
    context.out.answer(&changes, || table(&header, changes.iter().map(row)))?;
    Ok(Outcome::Done)
}

pub(super) async fn list(context: &mut Context) -> Result<Outcome, Failure> {
    let store = reader(context).await?;
    let workflows = store.workflows().await?;
    if workflows.is_empty() {
        context.out.note("there are no workflows; propose one with `chancery workflow propose`");
    }
    context.out.answer(&workflows, || {
        let rows = workflows.iter().map(|one| {
            vec![
                one.workflow.clone(),
                one.version.to_string(),
                one.steps.to_string(),
                one.open_runs.to_string(),
                one.merged_by.clone(),
                time(&one.merged_at),
                one.title["en"].as_str().unwrap_or_default().to_owned(),
            ]
        });
        table(&["workflow", "version", "steps", "open runs", "merged by", "at", "title"], rows)
    })?;
    Ok(Outcome::Done)
}

pub(super) async fn show(
    context: &mut Context,
    name: &str,
    version: Option<i32>,
) -> Result<Outcome, Failure> {
    let store = reader(context).await?;
    let Some(found) = store.workflow_version(name, version).await? else {
        let facts = json!({ "kind": "workflow", "id": name, "version": version });
        return Err(refusal(&store, Code::RW001, facts).await);
    };
    context.out.answer(&found, || version_text(&found))?;
    Ok(Outcome::Done)
}

fn version_text(version: &VersionRow) -> String {
    let definition = &version.definition;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let newest = if version.current { " (the newest)" } else { "" };
    let head = pairs(&[
        ("workflow", version.workflow.clone()),
        ("version", format!("{}{newest}", version.version)),
        ("title", text(&definition["title"]["en"])),
        ("", text(&definition["title"]["vi"])),
        ("class", text(&definition["class"])),
        ("inputs", definition.get("inputs").map(Value::to_string).unwrap_or_default()),
        ("open runs", version.open_runs.to_string()),
        ("merged", format!("{} by {}", time(&version.merged_at), version.merged_by)),
        ("change", version.change_request_id.to_string()),
        ("digest", short(&version.definition_sha256)),
    ]);
    let relations: &[Value] = definition["relations"].as_array().map_or(&[], Vec::as_slice);
    let after = |key: &str| {
        let ways = relations.iter().filter(|way| way["to"] == key).map(|way| {
            match (way["kind"].as_str(), way["when"].as_str()) {
                (_, Some(when)) => format!("{} if {when}", text(&way["from"])),
                (Some(kind @ ("and" | "or")), _) => format!("{kind} {}", text(&way["from"])),
                _ => text(&way["from"]),
            }
        });
        ways.collect::<Vec<_>>().join(", ")
    };
    let rows = definition["steps"].as_array().into_iter().flatten().map(|step| {
        let key = text(&step["key"]);
        let who = match (step["sub_workflow"].as_str(), step["executor"].as_str()) {
            (Some(sub), _) => format!("workflow {sub}"),
            (_, None | Some("human")) => pic(&step["pic"]),
            (_, Some(executor)) => executor.to_owned(),
        };
        let mut notes = Vec::new();
        if step["optional"] == true {
            notes.push("optional".to_owned());
        }
        if let Some(deadline) = step["deadline"].as_str() {
            notes.push(deadline.to_owned());
        }
        if let Some(tasks) = step["tasks"].as_array() {
            notes.push(format!("{} tasks", tasks.len()));
        }
        vec![key.clone(), who, after(&key), notes.join(", "), text(&step["title"]["en"])]
    });
    format!("{head}\n\n{}", table(&["step", "who", "after", "", "title"], rows))
}

/// Who is in charge, by the rule of a definition.
pub(crate) fn pic(rule: &Value) -> String {
    match (rule["principal"].as_str(), rule["class"].as_str()) {
        (Some(name), _) => name.to_owned(),
        (_, Some(class)) => format!("any {class}"),
        _ => "who started it".to_owned(),
    }
}

pub(super) async fn runs(
    context: &mut Context,
    store: &Store,
    listing: &Listing,
) -> Result<Outcome, Failure> {
    let runs = store.workflow_runs(listing).await?;
    if runs.is_empty() {
        context.out.note("there are no such runs; start one with `chancery workflow start`");
    }
    let row = |run: &WorkflowRunRow| {
        vec![
            run.workflow_run_id.to_string(),
            format!("{} {}", run.workflow, run.version),
            run.state_code.clone(),
            run.rollup_state_code.clone(),
            match (&run.decisive_step, &run.decisive_state_code) {
                (Some(step), Some(state)) => format!("{step} is {state}"),
                _ => String::new(),
            },
            format!("{} of {}", run.completed_count, run.mandatory_count),
            run.started_by.clone(),
            time(&run.created_at),
        ]
    };
    let header = ["run", "workflow", "state", "colour", "why", "steps", "started by", "at"];
    context.out.answer(&runs, || table(&header, runs.iter().map(row)))?;
    Ok(Outcome::Done)
}

/// A run with its steps.
pub(super) fn status_text(status: &Status) -> String {
    let run = &status.run;
    let colour = match &status.why {
        None => run.rollup_state_code.clone(),
        Some(why) => {
            let detail = why.detail.as_ref().map(|d| format!(" ({d})")).unwrap_or_default();
            format!("{}: {} is {}{detail}", run.rollup_state_code, why.step, why.state)
        }
    };
    let mut counts =
        vec![format!("{} of {} mandatory steps", run.completed_count, run.mandatory_count)];
    for (n, what) in [
        (run.red_count, "red"),
        (run.yellow_count, "yellow"),
        (run.green_count, "green"),
        (run.skipped_count, "skipped"),
        (run.optional_excluded_count, "optional, not counted"),
    ] {
        if n > 0 {
            counts.push(format!("{n} {what}"));
        }
    }
    let path = status.critical_path.join(" → ");
    let head = pairs(&[
        ("run", run.workflow_run_id.to_string()),
        ("workflow", format!("{} version {}", run.workflow, run.version)),
        ("state", run.state_code.clone()),
        ("colour", colour),
        ("progress", counts.join("; ")),
        ("frozen since", run.frozen_at.as_deref().map(time).unwrap_or_default()),
        ("critical path", path),
        ("inputs", run.inputs.to_string()),
        ("part of step", run.parent_step_run_id.map(|id| id.to_string()).unwrap_or_default()),
        ("started", format!("{} by {}", time(&run.created_at), run.started_by)),
        ("trace", run.trace_id.clone()),
    ]);
    let held_by = |work: &WorkRow| {
        let held = status.held_up.iter().find(|held| held.step == work.path);
        held.map(|held| format!("held up by {}", held.by))
    };
    let rows = status.steps.iter().flat_map(|step| {
        let tasks = status.tasks.iter().filter(|task| task.step_run_id == step.run_id);
        std::iter::once(step).chain(tasks).map(|work| {
            let mut note = note_of(work);
            if let Some(held) = held_by(work).filter(|_| work.run_kind == "step") {
                note = if note.is_empty() { held } else { format!("{note}, {held}") };
            }
            work_row(work, note)
        })
    });
    format!("{head}\n\n{}", table(&["step", "state", "who", "since", "deadline", "note"], rows))
}

/// A step or task in a list.
pub(crate) fn work_row(work: &WorkRow, note: String) -> Vec<String> {
    let who = match work.executor_class.as_str() {
        "human" => work.pic_id.clone().unwrap_or_else(|| pic(&work.pic_rule)),
        other => other.to_owned(),
    };
    let state = if work.skipped { "skipped" } else { &work.state_code };
    vec![
        work.path.clone(),
        state.to_owned(),
        who,
        time(&work.last_transition_at),
        work.deadline.as_deref().map(time).unwrap_or_default(),
        note,
    ]
}

/// What is to be said of a step beside its state.
pub(crate) fn note_of(work: &WorkRow) -> String {
    let mut notes: Vec<String> = Vec::new();
    match work.state_code.as_str() {
        "waiting" => notes.extend(work.facet.clone()),
        "blocked" => {
            notes.extend(work.block_reason.clone());
            notes.extend(work.blocked_severity.clone());
        }
        "failed" | "cannot_complete" => {
            notes.extend(work.failure_class.clone());
            notes.extend(work.retrying.as_ref().map(|retry| format!("retrying {retry}")));
            notes.extend(work.escalated.then(|| "escalated".to_owned()));
        }
        "completed" if work.completed_after_deadline == Some(true) => notes.push("late".to_owned()),
        _ => {}
    }
    if work.past_deadline && work.state_code != "overdue" {
        notes.push("past its deadline".to_owned());
    } else if work.was_late && !work.past_deadline && work.state_code != "completed" {
        notes.push("was late".to_owned());
    }
    if work.stale_since.is_some() {
        notes.push("its output is stale".to_owned());
    }
    if work.cycle_no > 0 {
        notes.push(format!("correction {}", work.cycle_no));
    }
    if !work.mandatory {
        notes.push("optional".to_owned());
    }
    notes.join(", ")
}
