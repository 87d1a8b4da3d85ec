//! Runs of workflows: each has exactly the steps of its version, its ways were taken as its steps ended, it completed when nothing
//! mandatory was left, and its counts are what its rows say. `version`, `proposal` and `work` have the rest of the room.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use chancery_model::chain::LogRow;
use chancery_model::cutter::derived_uuid;
use chancery_model::machine::Transition;
use chancery_store::{RawRow, Shape, Snapshot};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::check::Checker;
use super::entry::{evidence_of, text_of};
use super::proposal;
use super::queue::transitions_of;
use super::report::Report;
use super::rows::{Row, Rows, Source, ids};
use super::signers::Signers;
use super::table::{
    self, CYCLE, LOGGED_STEP, LOGGED_TASK, OUTCOME, REQUEST, SNAPSHOT, STEP, STEP_DECISION, TASK,
    USE, WAIT, WORKFLOW_RUN,
};
use super::version::{self, Part, Version, Versions};
use super::whole::found;
use super::work::Walked;
use crate::Error;

/// Runs of a page, and steps of a page with all that their moves kept.
const RUNS: i64 = 200;
const STEPS: i64 = 250;
/// Steps that nothing leads to are named up to this number.
const ORPHANS: i64 = 100;

const COUNTS: &str = "counts_are_of_the_steps";
const WAYS: &str = "ways_are_as_the_steps_ended";

fn of_runs() -> &'static [Transition] {
    static TRANSITIONS: OnceLock<Vec<Transition>> = OnceLock::new();
    TRANSITIONS
        .get_or_init(|| transitions_of(include_str!("../../../../machines/workflow_run.yaml")))
}

/// Tables that are not stamped.
struct Shapes {
    step: Shape,
    task: Shape,
    outcome: Shape,
}

impl Shapes {
    async fn read(snapshot: &mut Snapshot) -> Result<Self, Error> {
        let names = [LOGGED_STEP, LOGGED_TASK, OUTCOME];
        let mut shapes = snapshot.shapes(&names).await?.into_iter();
        let mut next = || shapes.next().expect("a shape for each name");
        Ok(Self { step: next(), task: next(), outcome: next() })
    }
}

/// What is left of a step when its page is gone.
#[derive(Debug)]
struct Fate {
    id: Uuid,
    mandatory: bool,
    skipped: bool,
    ready: bool,
    completed_ever: bool,
    cancelled: bool,
    closed_ever: bool,
    /// Whether it was completed, or closed at least, when its run was completed.
    completed_then: bool,
    closed_then: bool,
    /// What it says about the ways that lead to it: how many are open, and whether one was taken or missed.
    open: [i64; 3],
    met: [bool; 3],
}

/// A run while its steps are looked at.
struct Tally {
    version: Arc<Version>,
    completed_at: Option<i64>,
    steps: Vec<Option<Fate>>,
    completed: i64,
    colours: BTreeMap<String, i64>,
    /// Rank, number, id and state of the step that the colour is from.
    decisive: Option<(i64, usize, Uuid, String)>,
    started_by: String,
    trace_id: String,
    correlation_id: String,
}

/// Looks at versions, proposals and runs. Gives the approvals that were used for any of them.
pub(super) async fn verify(
    source: &mut Source<'_>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<HashSet<Uuid>, Error> {
    let mut used = HashSet::new();
    version::verify(source, signers, report, progress).await?;
    proposal::changes(source, &mut used, signers, report, progress).await?;
    proposal::proposals(source, &mut used, signers, report, progress).await?;
    let shapes = Shapes::read(source.reader().0).await?;
    let mut versions = Versions::default();
    let mut after: Option<Vec<String>> = None;
    loop {
        let (snapshot, stamped) = source.reader();
        let key = table::key_of(WORKFLOW_RUN);
        let page =
            snapshot.evidence_page(&stamped[WORKFLOW_RUN], key, after.as_deref(), RUNS).await?;
        let Some(last) = page.last() else { break };
        after = Some(vec![Row { table: WORKFLOW_RUN, raw: last }.key()]);
        let rows = with_log(snapshot, stamped, WORKFLOW_RUN, page).await?;
        let mut tallies = HashMap::new();
        for run in rows.all(WORKFLOW_RUN) {
            if let Some(made) = versions.get(snapshot, stamped, run.id("workflow_def_id")).await? {
                tallies.insert(run.id("workflow_run_id"), Tally::of(run, made));
            }
        }
        let mut checker = Checker::new(&rows, signers, report);
        checker.digests(|row| row.table == WORKFLOW_RUN);
        for run in rows.all(WORKFLOW_RUN) {
            checker.workflow_run(run, tallies.get_mut(&run.id("workflow_run_id")), &mut used);
        }
        steps(snapshot, stamped, &shapes, &mut tallies, &mut used, signers, report, progress)
            .await?;
        let outcomes = outcomes(snapshot, &shapes, &tallies).await?;
        let mut checker = Checker::new(&rows, signers, report);
        for run in rows.all(WORKFLOW_RUN) {
            let id = run.id("workflow_run_id");
            if let Some(tally) = tallies.get(&id) {
                checker.entry_id = Some(id);
                checker.rolled_up(run, tally);
                let taken = outcomes.get(&id).map_or(&[][..], Vec::as_slice);
                ways(tally, id, taken, checker.report);
            }
        }
        progress(report);
    }
    let (snapshot, stamped) = source.reader();
    let (key, id) = ([("step_run_id", "uuid")], "workflow_run_id");
    let runs = &stamped[WORKFLOW_RUN];
    let lost = snapshot.evidence_orphans(&shapes.step, &key, id, runs, id, ORPHANS).await?;
    for key in lost {
        let what = "workflow_run_id names no row of workflow.workflow_run";
        report.found(found(STEP, key, None, "row_has_an_origin", what));
    }
    let (key, id) = ([("task_run_id", "uuid")], "step_run_id");
    let lost = snapshot.evidence_orphans(&shapes.task, &key, id, &shapes.step, id, ORPHANS).await?;
    for key in lost {
        let what = "step_run_id names no row of workflow.step_run";
        report.found(found(TASK, key, None, "row_has_an_origin", what));
    }
    Ok(used)
}

/// Rows of a table with their log and the approvals that it names.
pub(super) async fn with_log(
    snapshot: &mut Snapshot,
    stamped: &HashMap<&'static str, Shape>,
    table: &'static str,
    page: Vec<RawRow>,
) -> Result<Rows, Error> {
    let mut rows = Rows::default();
    let key = table::key_of(table)[0].0;
    let runs: Vec<Uuid> = page.iter().map(|raw| Row { table, raw }.id(key)).collect();
    rows.add(table, page);
    rows.add_log(snapshot.log_of(&runs).await?);
    approvals(snapshot, stamped, &mut rows, Vec::new()).await?;
    Ok(rows)
}

/// Adds the approvals that the log names, and others.
async fn approvals(
    snapshot: &mut Snapshot,
    stamped: &HashMap<&'static str, Shape>,
    rows: &mut Rows,
    mut others: Vec<Uuid>,
) -> Result<(), Error> {
    let log = rows.logs().flat_map(|(_, log)| log);
    let named = log.filter(|row| row.evidence.contains("approval_id"));
    others.extend(
        named.filter_map(|row| text_of(&evidence_of(row), "approval_id").parse::<Uuid>().ok()),
    );
    others.sort_unstable();
    others.dedup();
    for table in [REQUEST, USE] {
        let key = "approval_id";
        rows.add(table, snapshot.evidence_of(&stamped[table], key, &others, &[key]).await?);
    }
    Ok(())
}

/// Every step of some runs, a page at a time, with its tasks and all that their moves kept.
#[allow(clippy::too_many_arguments, reason = "one loop, cut out for its length")]
async fn steps(
    snapshot: &mut Snapshot,
    stamped: &HashMap<&'static str, Shape>,
    shapes: &Shapes,
    tallies: &mut HashMap<Uuid, Tally>,
    used: &mut HashSet<Uuid>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let order = [("workflow_run_id", "uuid"), ("step_no", "integer")];
    let Some(last) = tallies.keys().max().copied() else { return Ok(()) };
    let first = tallies.keys().min().copied().unwrap_or_default();
    let mut after = vec![first.to_string(), i32::MIN.to_string()];
    loop {
        let mut page = snapshot.evidence_page(&shapes.step, &order, Some(&after), STEPS).await?;
        let whole = i64::try_from(page.len()) == Ok(STEPS);
        page.retain(|raw| Row { table: STEP, raw }.id("workflow_run_id") <= last);
        let rest = whole && i64::try_from(page.len()) == Ok(STEPS);
        let Some(end) = page.last() else { return Ok(()) };
        let end = Row { table: STEP, raw: end };
        after = order.iter().map(|(column, _)| end.text(column).to_owned()).collect();
        let rows = work(snapshot, stamped, shapes, page).await?;
        let mut checker = Checker::new(&rows, signers, report);
        checker.digests(|row| ![REQUEST, USE].contains(&row.table));
        for step in rows.all(STEP) {
            if let Some(tally) = tallies.get_mut(&step.id("workflow_run_id")) {
                checker.step_run(step, tally, used);
            }
        }
        progress(report);
        if !rest {
            return Ok(());
        }
    }
}

/// Steps with their tasks, and what belongs to both.
async fn work(
    snapshot: &mut Snapshot,
    stamped: &HashMap<&'static str, Shape>,
    shapes: &Shapes,
    page: Vec<RawRow>,
) -> Result<Rows, Error> {
    let mut rows = Rows::default();
    rows.add(STEP, page);
    let steps: Vec<Uuid> = rows.all(STEP).map(|step| step.id("step_run_id")).collect();
    let order = ["step_run_id", "task_no"];
    rows.add(TASK, snapshot.evidence_of(&shapes.task, order[0], &steps, &order).await?);
    let mut all = steps;
    all.extend(ids(rows.all(TASK), "task_run_id"));
    rows.add_log(snapshot.log_of(&all).await?);
    for (table, order) in [
        (SNAPSHOT, ["run_id", "taken_at"]),
        (CYCLE, ["run_id", "cycle_no"]),
        (STEP_DECISION, ["run_id", "decided_at"]),
        (WAIT, ["run_id", "wait_id"]),
    ] {
        rows.add(table, snapshot.evidence_of(&stamped[table], order[0], &all, &order).await?);
    }
    let named = ids(rows.all(STEP_DECISION), "approval_id").into_iter().collect();
    approvals(snapshot, stamped, &mut rows, named).await?;
    Ok(rows)
}

/// Which ways of each run were decided, by the number of the relation.
async fn outcomes(
    snapshot: &mut Snapshot,
    shapes: &Shapes,
    tallies: &HashMap<Uuid, Tally>,
) -> Result<HashMap<Uuid, Vec<(i64, bool)>>, Error> {
    let runs: Vec<Uuid> = tallies.keys().copied().collect();
    let order = ["workflow_run_id", "relation_no"];
    let mut outcomes: HashMap<Uuid, Vec<(i64, bool)>> = HashMap::new();
    for raw in snapshot.evidence_of(&shapes.outcome, order[0], &runs, &order).await? {
        let row = Row { table: OUTCOME, raw: &raw };
        let number = row.number("relation_no").unwrap_or_default();
        let taken = row.text("taken") == "true";
        outcomes.entry(row.id("workflow_run_id")).or_default().push((number, taken));
    }
    Ok(outcomes)
}

impl Tally {
    fn of(run: Row<'_>, version: Arc<Version>) -> Self {
        Self {
            completed_at: None,
            steps: version.steps.iter().map(|_| None).collect(),
            version,
            completed: 0,
            colours: BTreeMap::new(),
            decisive: None,
            started_by: run.text("started_by").to_owned(),
            trace_id: run.text("trace_id").to_owned(),
            correlation_id: run.text("correlation_id").to_owned(),
        }
    }
}

/// The class that a state adds to the colour of its run; of a block, which can be both, the lesser one.
fn colour_of(state: &str) -> &'static str {
    match state {
        "not_started" => "gray",
        "waiting" | "blocked" => "yellow",
        "overdue" | "failed" | "cannot_complete" | "cancelled" => "red",
        _ => "green",
    }
}

impl<'a> Checker<'a> {
    /// A run was started as it says, and moved by who may.
    fn workflow_run(&mut self, run: Row<'a>, tally: Option<&mut Tally>, used: &mut HashSet<Uuid>) {
        const RULE: &str = "run_is_of_its_version";
        let id = run.id("workflow_run_id");
        self.entry_id = Some(id);
        self.canonical(run, "inputs");
        let (mut completed_at, mut frozen) = (None, None);
        for row in self.rows.log_of(id) {
            self.legal_in(of_runs(), "workflow_run", run, row);
            match row.trigger_ref.as_str() {
                "workflow_create" => self.workflow_started(run, row),
                "workflow_cancel" => {
                    self.nothing_written(row);
                    self.approved(row, "workflow_cancel", used);
                }
                "all_mandatory_steps_completed" => {
                    self.nothing_written(row);
                    let evidence = evidence_of(row);
                    let done = &evidence["completed"];
                    let all =
                        json!({ "audit_ref": "rollup", "completed": done, "mandatory": done });
                    self.expect_evidence(row, &all);
                    completed_at = Some(row.at_micros);
                }
                "step_reopened" => self.went_back(row),
                _ => self.nothing_written(row),
            }
            frozen = (row.to_state == "paused").then(|| row.at_micros.to_string());
        }
        self.expect(run, "colour_stands_still_on_hold", "frozen_at", frozen.as_deref());
        match tally {
            None => {
                let what = format!("its version {} is not there", run.text("workflow_def_id"));
                self.wrong(run, RULE, what);
            }
            Some(tally) => {
                tally.completed_at = completed_at;
                self.expect(run, RULE, "workflow", Some(&tally.version.workflow));
                self.expect(run, RULE, "workflow_class", Some(&tally.version.class));
            }
        }
        self.entry_id = None;
    }

    /// A completed run went back to work with the reopening of a step, on the approval of that.
    fn went_back(&mut self, row: &LogRow) {
        const RULE: &str = "move_was_approved";
        self.nothing_written(row);
        self.expect_move(row, "principal", Some(&row.principal), Some("chancery"));
        let evidence = evidence_of(row);
        let (step, approval) =
            (text_of(&evidence, "step_run_id"), text_of(&evidence, "approval_id"));
        let all = json!({
            "audit_ref": format!("step:{step}"), "step_run_id": step, "approval_id": approval,
        });
        self.expect_evidence(row, &all);
        let (asked, spent) = (
            self.rows.one(REQUEST, "approval_id", approval),
            self.rows.one(USE, "approval_id", approval),
        );
        let (Some(asked), Some(spent)) = (asked, spent) else {
            return self.wrong_move(row, RULE, format!("approval {approval} was not used for it"));
        };
        let expected = [("kind", Some("step_reopen")), ("subject_ref", Some(step))];
        self.expect_all(asked, RULE, &expected);
        if !spent.text("used_for_ref").starts_with(&format!("{step}/")) {
            self.wrong_move(row, RULE, format!("approval {approval} was used for something else"));
        }
    }

    fn workflow_started(&mut self, run: Row<'a>, row: &LogRow) {
        self.artefacts(row, &[run]);
        let evidence = evidence_of(row);
        if row.actor_class == "mow_orchestrator" {
            let parent = run.id("parent_step_run_id");
            self.expect_evidence(row, &json!({ "parent_step_run_id": parent }));
            let id = derived_uuid(parent, "sub_run").to_string();
            self.expect(run, "run_is_of_its_version", "workflow_run_id", Some(&id));
            return;
        }
        let digest = hex::encode(Sha256::digest(run.text("inputs")));
        self.expect_move(row, "inputs_sha256", evidence["inputs_sha256"].as_str(), Some(&digest));
        self.expect_all(
            run,
            "run_is_of_its_version",
            &[("started_by", Some(&row.principal)), ("parent_step_run_id", None)],
        );
    }

    /// A step is the one that its version says, with the tasks that it says, and its moves hold.
    fn step_run(&mut self, step: Row<'a>, tally: &mut Tally, used: &mut HashSet<Uuid>) {
        const RULE: &str = "step_is_of_its_definition";
        let version = Arc::clone(&tally.version);
        let number = step.number("step_no").unwrap_or_default();
        let place = usize::try_from(number - 1).ok().filter(|place| *place < version.steps.len());
        let Some(place) = place else {
            return self.wrong(step, RULE, format!("its version has no step {number}"));
        };
        let part = &version.steps[place];
        let run = step.id("workflow_run_id");
        self.expect_all(
            step,
            RULE,
            &[
                ("step_run_id", Some(&derived_uuid(run, &part.key).to_string())),
                ("step_key", Some(&part.key)),
                ("step_def_id", Some(&part.def_id.to_string())),
                ("mandatory", Some(if part.optional { "false" } else { "true" })),
                ("executor_class_ref", Some(&part.executor)),
                ("started_by", Some(&tally.started_by)),
                ("trace_id", Some(&tally.trace_id)),
                ("correlation_id", Some(&tally.correlation_id)),
            ],
        );
        let walked = self.work(step, part, tally.completed_at, used);
        self.tasks(step, part, &walked, used);
        let state = step.text("state_code");
        let class = step.text("rollup_class");
        let counts = !part.optional && !walked.skipped;
        let expected = if counts { colour_of(state) } else { "none" };
        // A block counts as red after a while, or when somebody says so; open work when it is past its deadline.
        let due = step.number("deadline");
        let late = matches!(state, "ready" | "in_progress" | "waiting")
            && due.is_some()
            && (step.opt("overdue_first_at").is_some() || due <= step.number("last_transition_at"));
        if class != expected && !(counts && (state == "blocked" || late) && class == "red") {
            let what = format!("rollup_class is {class}, its state makes it {expected}");
            self.wrong(step, COUNTS, what);
        }
        let rank = match class {
            "red" => Some(1),
            "yellow" => Some(2),
            _ => None,
        };
        self.expect(step, COUNTS, "decisive_rank", rank.map(|rank| rank.to_string()).as_deref());
        *tally.colours.entry(class.to_owned()).or_default() += 1;
        tally.completed += i64::from(!part.optional && state == "completed");
        let known = tally.decisive.as_ref().map(|(rank, number, ..)| (*rank, *number));
        if let Some(rank) = rank
            && known.is_none_or(|known| (rank, place) < known)
        {
            tally.decisive = Some((rank, place, step.id("step_run_id"), state.to_owned()));
        }
        let flag = |column: &str| step.text(column) == "true";
        let then = walked.state_then.as_deref();
        let fate = Fate {
            id: step.id("step_run_id"),
            mandatory: !part.optional,
            skipped: walked.skipped,
            ready: walked.ready_at.is_some(),
            completed_ever: walked.completed_at.is_some(),
            cancelled: walked.cancelled,
            closed_ever: walked.completed_at.is_some() || walked.cancelled || walked.skipped,
            completed_then: then == Some("completed"),
            closed_then: matches!(then, Some("completed" | "cancelled")),
            open: ["and_open", "or_open", "plain_open"]
                .map(|column| step.number(column).unwrap_or_default()),
            met: ["and_missed", "or_taken", "plain_taken"].map(flag),
        };
        if tally.steps[place].replace(fate).is_some() {
            self.wrong(step, RULE, "the run has this step twice");
        }
    }

    /// A step that became ready has all its tasks, any other none; a step ends after its tasks.
    fn tasks(&mut self, step: Row<'a>, part: &Part, walked: &Walked, used: &mut HashSet<Uuid>) {
        const RULE: &str = "step_has_its_tasks";
        let tasks: Vec<Row<'a>> =
            self.rows.of(TASK, "step_run_id", step.text("step_run_id")).collect();
        let expected = if walked.ready_at.is_some() { part.tasks.len() } else { 0 };
        if tasks.len() != expected {
            let what = format!("it has {} tasks, not {expected}", tasks.len());
            self.wrong(step, RULE, what);
        }
        for task in tasks {
            let number = task.number("task_no").unwrap_or_default();
            let place = usize::try_from(number - 1).ok();
            let Some(of) = place.and_then(|place| part.tasks.get(place)) else {
                self.wrong(task, "task_is_of_its_definition", format!("there is no task {number}"));
                continue;
            };
            self.task_of(step, task, of);
            let done = self.work(task, of, None, used);
            let late = walked
                .completed_at
                .is_some_and(|at| !done.skipped && done.completed_at.is_none_or(|done| done > at));
            if late {
                self.wrong(task, RULE, "its step was completed before it");
            }
        }
    }

    /// Every step of the version is there once, and what the run says about them is so.
    fn rolled_up(&mut self, run: Row<'a>, tally: &Tally) {
        let missing = tally.steps.iter().position(Option::is_none);
        if let Some(missing) = missing {
            let what = format!("step {} is not there", tally.version.steps[missing].key);
            self.wrong(run, "run_has_every_step_once", what);
        }
        let fates = || tally.steps.iter().flatten();
        let count =
            |of: &dyn Fn(&Fate) -> bool| fates().filter(|fate| of(fate)).count().to_string();
        let coloured =
            |class: &str| tally.colours.get(class).copied().unwrap_or_default().to_string();
        self.expect_all(
            run,
            COUNTS,
            &[
                ("red_count", Some(&coloured("red"))),
                ("yellow_count", Some(&coloured("yellow"))),
                ("green_count", Some(&coloured("green"))),
                ("skipped_count", Some(&count(&|fate| fate.skipped))),
                ("optional_excluded_count", Some(&count(&|fate| !fate.mandatory && !fate.skipped))),
                ("mandatory_count", Some(&count(&|fate| fate.mandatory && !fate.skipped))),
                ("completed_count", Some(&tally.completed.to_string())),
            ],
        );
        if run.opt("frozen_at").is_none() {
            let colours = ["red", "yellow", "green"];
            let colour = colours.into_iter().find(|class| coloured(class) != "0");
            let decisive = tally.decisive.as_ref();
            self.expect_all(
                run,
                COUNTS,
                &[
                    ("rollup_state_code", Some(colour.unwrap_or("gray"))),
                    (
                        "decisive_step_run_id",
                        decisive.map(|(_, _, id, _)| id.to_string()).as_deref(),
                    ),
                    ("decisive_state_code", decisive.map(|(_, _, _, state)| state.as_str())),
                ],
            );
        }
        if tally.completed_at.is_some() {
            let mandatory = fates().any(|fate| fate.mandatory && !fate.skipped);
            let open = fates().filter(|fate| !fate.skipped).filter(|fate| {
                if fate.mandatory { !fate.completed_then } else { !mandatory && !fate.closed_then }
            });
            for fate in open {
                let what = format!("step {} was open when the run was completed", fate.id);
                self.wrong(run, "completed_run_was_complete", what);
            }
        }
    }
}

/// Ways are decided by how the step that they lead from ended, and who became ready or was skipped did so by them.
fn ways(tally: &Tally, run: Uuid, taken: &[(i64, bool)], report: &mut Report) {
    let version = &tally.version;
    let mut decided: Vec<Option<bool>> = vec![None; version.ways.len()];
    for (number, taken) in taken {
        let way = usize::try_from(number - 1).ok().and_then(|place| decided.get_mut(place));
        let mut wrong = |what: &str| {
            report.found(found(OUTCOME, format!("{run}/{number}"), Some(run), WAYS, what));
        };
        let Some(way) = way else {
            wrong("its version has no such way");
            continue;
        };
        *way = Some(*taken);
        let place = usize::try_from(number - 1).unwrap_or_default();
        let from = tally.steps.get(version.ways[place].from).and_then(Option::as_ref);
        let Some(from) = from else { continue };
        if !from.closed_ever {
            wrong("it was decided before the step that it leads from was closed");
        } else if *taken && !from.completed_ever {
            wrong("it was taken, and the step that it leads from was never completed");
        } else if !*taken
            && !version.ways[place].conditional
            && from.completed_ever
            && !from.cancelled
        {
            wrong("nothing was asked for, the step was completed, and the way was not taken");
        }
    }
    let mut led: Vec<([i64; 3], [bool; 3])> =
        version.steps.iter().map(|part| (part.joins, [false; 3])).collect();
    for (way, taken) in version.ways.iter().zip(&decided) {
        if let (Some(taken), Some((open, met))) = (*taken, led.get_mut(way.to)) {
            open[way.join] -= 1;
            // Of those that must all be taken the missed one counts, of the others the taken one.
            met[way.join] |= taken != (way.join == 0);
        }
    }
    for ((fate, part), (open, met)) in tally.steps.iter().zip(&version.steps).zip(led) {
        let Some(fate) = fate else { continue };
        let mut wrong = |what: &str| {
            report.found(found(STEP, fate.id.to_string(), Some(run), WAYS, what));
        };
        if (fate.open, fate.met) != (open, met) {
            wrong("what it says about the ways that lead to it is not how they were decided");
        }
        let way = way_here(part.joins, open, met);
        if fate.skipped && way != Some(false) {
            wrong("it was skipped, and a way leads to it");
        }
        if fate.ready && way != Some(true) {
            wrong("it became ready before its ways led to it");
        }
    }
}

/// Whether it is a step's turn (yes), none leads to it any more (no), or that is not decided.
fn way_here(joins: [i64; 3], open: [i64; 3], met: [bool; 3]) -> Option<bool> {
    let [ands, ors, plains] = joins;
    let [and_missed, or_taken, plain_taken] = met;
    if and_missed
        || (ors > 0 && open[1] == 0 && !or_taken)
        || (ands == 0 && ors == 0 && plains > 0 && open[2] == 0 && !plain_taken)
    {
        return Some(false);
    }
    (open[0] == 0 && (ors == 0 || or_taken) && open[2] == 0).then_some(true)
}
