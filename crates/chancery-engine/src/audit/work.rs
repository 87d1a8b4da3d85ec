//! One step or task: every move follows the machine and wrote what its digest says, and the row is as its moves left it.

use std::collections::HashSet;
use std::sync::OnceLock;

use chancery_model::chain::LogRow;
use chancery_model::cutter::derived_uuid;
use chancery_model::machine::Transition;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::check::Checker;
use super::entry::{evidence_of, text_of};
use super::queue::transitions_of;
use super::rows::Row;
use super::span::Span;
use super::table::{CYCLE, REQUEST, SNAPSHOT, STEP, STEP_DECISION, TASK, USE, WAIT};
use super::version::Part;

const ENDING: &str = "ending_is_as_it_was_logged";
const LEFT: &str = "row_is_as_its_moves_left_it";

fn of_steps() -> &'static [Transition] {
    static TRANSITIONS: OnceLock<Vec<Transition>> = OnceLock::new();
    TRANSITIONS.get_or_init(|| transitions_of(include_str!("../../../../machines/step.yaml")))
}

fn of_tasks() -> &'static [Transition] {
    static TRANSITIONS: OnceLock<Vec<Transition>> = OnceLock::new();
    TRANSITIONS.get_or_init(|| transitions_of(include_str!("../../../../machines/task.yaml")))
}

/// The id of a step or task.
pub(super) fn work_id(work: Row<'_>) -> Uuid {
    work.id(if work.table == STEP { "step_run_id" } else { "task_run_id" })
}

/// What the run of a step has to know about its moves.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) ready_at: Option<i64>,
    pub(super) skipped: bool,
    /// When it was completed first.
    pub(super) completed_at: Option<i64>,
    pub(super) cancelled: bool,
    /// The state that it was in at the time that was asked for.
    pub(super) state_then: Option<String>,
}

/// How a step or task stands while its log is read.
struct Story<'a> {
    id: Uuid,
    kind: &'static str,
    cycle: i64,
    attempt: i64,
    deadline: Option<i64>,
    /// The first of all its deadlines.
    earliest: Option<i64>,
    /// How far off the deadline may be.
    slack: i64,
    output: Option<&'a str>,
    /// The first ending: when, by whom, and how late.
    ended: Option<(i64, &'a str, Option<i64>)>,
    /// When it was overdue first, where a move says so.
    overdue: Option<i64>,
    /// The endings of corrections, each of a cycle.
    corrected: Vec<(i64, i64, &'a str, &'a str)>,
    /// Waits with the cycle and the try in which they were opened.
    waits: Vec<(i64, i64, Row<'a>)>,
    /// Those of them that nothing has ended yet.
    open: Vec<Row<'a>>,
}

impl Story<'_> {
    fn due(&mut self, deadline: Option<i64>, slack: i64) {
        self.deadline = deadline;
        self.slack = slack;
        self.earliest = match (self.earliest, deadline) {
            (Some(earliest), Some(deadline)) => Some(earliest.min(deadline)),
            (earliest, deadline) => earliest.or(deadline),
        };
    }
}

impl<'a> Checker<'a> {
    /// Reads the log of a step or task beside its row. `then` is a time at which its state is asked for; approvals that its moves
    /// used are added to `used`.
    pub(super) fn work(
        &mut self,
        work: Row<'a>,
        part: &Part,
        then: Option<i64>,
        used: &mut HashSet<Uuid>,
    ) -> Walked {
        let (id, is_step) = (work_id(work), work.table == STEP);
        let (kind, transitions) = if is_step { ("step", of_steps()) } else { ("task", of_tasks()) };
        self.entry_id = Some(id);
        let log: &'a [LogRow] = self.rows.log_of(id);
        let mut decisions = self.rows.of(STEP_DECISION, "run_id", &id.to_string()).peekable();
        let mut walked = Walked::default();
        let mut story = Story {
            id,
            kind,
            cycle: 0,
            attempt: 0,
            deadline: None,
            earliest: None,
            slack: 0,
            output: None,
            ended: None,
            overdue: None,
            corrected: Vec::new(),
            waits: Vec::new(),
            open: Vec::new(),
        };
        let mut before: Option<&'a LogRow> = None;
        for row in log {
            while let Some(decision) =
                decisions.next_if(|decision| decision.number("decided_at") <= Some(row.at_micros))
            {
                self.decided(decision, &mut story, used);
            }
            self.legal_in(transitions, kind, work, row);
            let verb = row.trigger_ref.strip_prefix(kind).and_then(|rest| rest.strip_prefix('_'));
            match verb.unwrap_or(&row.trigger_ref) {
                "run_created" => self.by_the_loop(row),
                "precondition_resolved" => {
                    self.became_ready(row, before, part, &mut story);
                    walked.ready_at = Some(row.at_micros);
                }
                "branch_not_taken" => {
                    self.by_the_loop(row);
                    walked.skipped = true;
                }
                "claim" => drop(self.snapshot(row, "input", &story)),
                "retry_attempt" => {
                    story.attempt += 1;
                    self.snapshot(row, "input", &story);
                }
                "wait" => self.waited(row, &mut story),
                "facet_resolved" => self.went_on(row, &mut story),
                "complete" => self.completed(row, &mut story),
                "sub_workflow_rollup" if row.to_state == "completed" => {
                    self.completed(row, &mut story);
                }
                "reopen_for_correction" => self.reopened(row, before, part, &mut story, used),
                "cancel" => {
                    self.nothing_written(row);
                    self.approved(row, "step_cancel", used);
                    walked.cancelled = true;
                }
                "deadline_passed" => {
                    self.nothing_written(row);
                    let first = evidence_of(row)["overdue_first_at"].as_i64();
                    story.overdue = story.overdue.or(first);
                    if story.deadline.is_none_or(|due| due - story.slack > row.at_micros) {
                        self.wrong_move(row, ENDING, "it was overdue before its deadline");
                    }
                }
                "deadline_extended" => self.extended(row, &story),
                _ => self.nothing_written(row),
            }
            if then.is_some_and(|then| row.at_micros <= then) {
                walked.state_then = Some(row.to_state.clone());
            }
            before = Some(row);
        }
        for decision in decisions {
            self.decided(decision, &mut story, used);
        }
        walked.completed_at = story.ended.map(|(at, ..)| at);
        self.stands_as_left(work, &story, walked.skipped);
        self.first_ending(work, &story);
        self.what_belongs_to(work, &story);
        self.entry_id = None;
        walked
    }

    /// The loop made the move, with nothing to show for it.
    fn by_the_loop(&mut self, row: &LogRow) {
        self.nothing_written(row);
        self.expect_evidence(row, &json!({}));
        self.expect_move(row, "principal", Some(&row.principal), Some("chancery"));
    }

    fn became_ready(
        &mut self,
        row: &LogRow,
        before: Option<&LogRow>,
        part: &Part,
        story: &mut Story<'a>,
    ) {
        self.nothing_written(row);
        let deadline = evidence_of(row)["deadline"].as_i64();
        let expected = deadline.map_or_else(|| json!({}), |at| json!({ "deadline": at }));
        self.expect_evidence(row, &expected);
        self.expect_move(row, "principal", Some(&row.principal), Some("chancery"));
        story.due(deadline, 0);
        // The time was taken between this move and the one before it.
        let fits = match (deadline, part.deadline) {
            (None, _) => !part.has_deadline,
            (Some(_), None) => part.has_deadline,
            (Some(due), Some(span)) => {
                let (from, to) = (before.map_or(row.at_micros, |row| row.at_micros), row.at_micros);
                span.after(from).is_none_or(|first| first - span.slack() <= due)
                    && span.after(to).is_none_or(|last| due <= last + span.slack())
            }
        };
        if !fits {
            let what = "the deadline is not what the definition gives it";
            self.wrong_move(row, "log_agrees_with_its_rows", what);
        }
    }

    /// What a move kept of what was worked with, or of what came of it.
    fn snapshot(&mut self, row: &LogRow, kind: &str, story: &Story<'a>) -> Option<Row<'a>> {
        const RULE: &str = "snapshot_is_of_its_move";
        let id = derived_uuid(story.id, &format!("{kind},{}", row.seq)).to_string();
        let Some(kept) = self.rows.one(SNAPSHOT, "snapshot_id", &id) else {
            self.missing(row, SNAPSHOT, &id);
            return None;
        };
        self.artefacts(row, &[kept]);
        let digest = hex::encode(Sha256::digest(kept.text("document")));
        self.expect_all(
            kept,
            RULE,
            &[
                ("run_kind", Some(story.kind)),
                ("run_id", Some(&story.id.to_string())),
                ("snapshot_kind", Some(kind)),
                ("cycle_no", Some(&story.cycle.to_string())),
                ("attempt", Some(&story.attempt.to_string())),
                ("document_sha256", Some(&digest)),
            ],
        );
        if kept.number("taken_at") > Some(row.at_micros) {
            self.wrong(kept, RULE, "it was taken after the move that kept it");
        }
        Some(kept)
    }

    /// The output is the one that was signed for; the first ending is the row's, that of a correction its cycle's.
    fn completed(&mut self, row: &'a LogRow, story: &mut Story<'a>) {
        let Some(output) = self.snapshot(row, "output", story) else { return };
        if row.trigger_ref != "sub_workflow_rollup" {
            let evidence = evidence_of(row);
            let named = evidence["output_sha256"].as_str();
            self.expect_move(row, "output_sha256", named, output.opt("document_sha256"));
        }
        let at = output.number("taken_at").unwrap_or_default();
        story.output = output.opt("snapshot_id");
        if story.ended.is_none() {
            // What the clock declared overdue is late, also when it ends in the same microsecond.
            let overdue = row.from_state.as_deref() == Some("overdue");
            let late = story.deadline.map(|deadline| at - deadline);
            let late = late.filter(|late| *late > 0 || overdue);
            story.ended = Some((at, &row.principal, late));
        }
        if story.cycle > 0 {
            let id = output.text("snapshot_id");
            story.corrected.push((story.cycle, at, &row.principal, id));
        }
    }

    fn reopened(
        &mut self,
        row: &LogRow,
        before: Option<&LogRow>,
        part: &Part,
        story: &mut Story<'a>,
        used: &mut HashSet<Uuid>,
    ) {
        const RULE: &str = "correction_is_as_it_was_logged";
        story.cycle += 1;
        story.attempt = 0;
        self.approved(row, "step_reopen", used);
        let id = story.id.to_string();
        let number = story.cycle.to_string();
        let cycle = self.rows.of(CYCLE, "run_id", &id).find(|row| row.text("cycle_no") == number);
        let Some(cycle) = cycle else {
            return self.missing(row, CYCLE, &format!("{id}/{number}"));
        };
        self.artefacts(row, &[cycle]);
        let evidence = evidence_of(row);
        let key = before.and_then(|before| before.key_id).map(|id| id.to_string());
        let output = story.output.filter(|_| row.from_state.as_deref() == Some("completed"));
        self.expect_all(
            cycle,
            RULE,
            &[
                ("run_kind", Some(story.kind)),
                ("prior_state", row.from_state.as_deref()),
                ("prior_audit_id", before.map(|row| row.log_id.to_string()).as_deref()),
                ("prior_actor", before.map(|row| row.principal.as_str())),
                ("prior_at", before.map(|row| row.at_micros.to_string()).as_deref()),
                ("prior_key_id", key.as_deref()),
                ("original_output_snapshot_id", output),
                ("correction_reason", evidence["correction_reason"].as_str()),
                ("approval_id", evidence["approval_id"].as_str()),
                ("reopened_by", Some(&row.principal)),
            ],
        );
        let at = cycle.number("reopened_at").unwrap_or_default();
        if at > row.at_micros || before.is_some_and(|before| at < before.at_micros) {
            self.wrong(cycle, RULE, "it was opened again at another time");
        }
        if part.deadline.is_some() || !part.has_deadline {
            let deadline = part.deadline.and_then(|span| span.after(at));
            story.due(deadline, part.deadline.map_or(0, Span::slack));
        } else {
            // Written in words that are not understood here: whatever it is.
            story.due(story.deadline, i64::MAX / 4);
        }
    }

    /// A decision of people that moved nothing: a later deadline counts from now on.
    fn decided(&mut self, decision: Row<'a>, story: &mut Story<'a>, used: &mut HashSet<Uuid>) {
        const RULE: &str = "decision_is_of_its_run";
        self.claim(decision);
        self.canonical(decision, "facts");
        self.expect(decision, RULE, "run_kind", Some(story.kind));
        let facts = decision.json("facts");
        if decision.text("decision_kind") == "deadline_extended" {
            self.expect(decision, RULE, "approval_id", None);
            let deadline = facts["deadline"].as_i64();
            if deadline.is_none() || deadline.map(|at| at + story.slack) <= story.deadline {
                self.wrong(decision, RULE, "the deadline is not later than the one before");
            }
            story.due(deadline, 0);
            return;
        }
        self.expect(decision, RULE, "approval_id", facts["approval_id"].as_str());
        let Some(approval) = decision.opt("approval_id") else { return };
        // A block that is not old needs none, and leaves the one that was named.
        let key = format!("{}/{}", story.id, decision.text("idempotency_key"));
        let spent = self.rows.one(USE, "approval_id", approval);
        if spent.is_some_and(|spent| spent.text("used_for_ref") == key) {
            used.insert(decision.id("approval_id"));
            if let Some(asked) = self.rows.one(REQUEST, "approval_id", approval) {
                self.expect(asked, "move_was_approved", "kind", Some("block_escalation"));
            }
        }
    }

    /// The clock gave a deadline back because somebody decided so.
    fn extended(&mut self, row: &LogRow, story: &Story<'a>) {
        self.nothing_written(row);
        let evidence = evidence_of(row);
        let id = text_of(&evidence, "decision_id");
        let decision = self.rows.one(STEP_DECISION, "decision_id", id);
        let fits = decision.is_some_and(|decision| {
            decision.id("run_id") == story.id
                && decision.text("decision_kind") == "deadline_extended"
                && decision.json("facts")["deadline"].as_i64() == story.deadline
        });
        if !fits {
            self.wrong_move(row, "log_agrees_with_its_rows", "nobody decided on another deadline");
        }
    }

    /// The approval that a move names is of the right kind, for exactly this run, and was used for this very move.
    pub(super) fn approved(&mut self, row: &LogRow, kind: &str, used: &mut HashSet<Uuid>) {
        const RULE: &str = "move_was_approved";
        let evidence = evidence_of(row);
        let approval = text_of(&evidence, "approval_id");
        let (asked, spent) = (
            self.rows.one(REQUEST, "approval_id", approval),
            self.rows.one(USE, "approval_id", approval),
        );
        let (Some(asked), Some(spent)) = (asked, spent) else {
            return self.wrong_move(row, RULE, format!("approval {approval} was not used for it"));
        };
        let id = row.run_id.to_string();
        self.expect_all(asked, RULE, &[("kind", Some(kind)), ("subject_ref", Some(&id))]);
        self.expect_all(
            spent,
            RULE,
            &[
                ("used_for_kind", Some(&row.run_kind)),
                ("used_for_ref", Some(&format!("{id}/{}", row.idempotency_key))),
                ("used_by", Some(&row.principal)),
            ],
        );
        used.insert(asked.id("approval_id"));
    }

    /// Each thing that a move says is waited for is a row.
    fn waited(&mut self, row: &LogRow, story: &mut Story<'a>) {
        self.nothing_written(row);
        let evidence = evidence_of(row);
        let id = story.id.to_string();
        for (n, named) in evidence["waits"].as_array().into_iter().flatten().enumerate() {
            let token = named["token_sha256"].as_str();
            let wait = match token {
                Some(token) => self
                    .rows
                    .of(WAIT, "run_id", &id)
                    .find(|wait| wait.opt("token_sha256") == Some(token)),
                None => {
                    let wait = derived_uuid(story.id, &format!("wait,{},{}", row.seq, n + 1));
                    self.rows.one(WAIT, "wait_id", &wait.to_string())
                }
            };
            let Some(wait) = wait else {
                self.wrong_move(
                    row,
                    "wait_is_as_it_was_logged",
                    "what was waited for is not there",
                );
                continue;
            };
            self.claim(wait);
            self.expect_all(
                wait,
                "wait_is_as_it_was_logged",
                &[
                    ("run_kind", Some(story.kind)),
                    ("run_id", Some(&id)),
                    ("facet", named["facet"].as_str()),
                    ("cycle_no", Some(&story.cycle.to_string())),
                    ("attempt", Some(&story.attempt.to_string())),
                    ("opened", Some("true")),
                ],
            );
            story.waits.push((story.cycle, story.attempt, wait));
            story.open.push(wait);
        }
    }

    /// Work went on because everything had come.
    fn went_on(&mut self, row: &LogRow, story: &mut Story<'a>) {
        self.nothing_written(row);
        let mut waits: Vec<Uuid> = story
            .waits
            .iter()
            .filter(|(cycle, attempt, _)| (*cycle, *attempt) == (story.cycle, story.attempt))
            .map(|(_, _, wait)| wait.id("wait_id"))
            .collect();
        waits.sort_unstable();
        self.expect_evidence(row, &json!({ "waits": waits }));
        for wait in std::mem::take(&mut story.open) {
            if wait.number("resolved_at").is_none_or(|at| at > row.at_micros) {
                let what = "work went on before it had come";
                self.wrong(wait, "wait_was_over", what);
            }
        }
    }

    /// The row has what the moves left.
    fn stands_as_left(&mut self, work: Row<'a>, story: &Story<'a>, skipped: bool) {
        self.expect_all(
            work,
            LEFT,
            &[
                ("skipped", Some(if skipped { "true" } else { "false" })),
                ("cycle_no", Some(&story.cycle.to_string())),
                ("retry_count", Some(&story.attempt.to_string())),
                ("output_snapshot_id", story.output),
            ],
        );
        let stored = work.number("deadline");
        let fits = match (stored, story.deadline) {
            (Some(stored), Some(due)) => stored.abs_diff(due) <= story.slack.unsigned_abs(),
            (stored, due) => stored == due,
        };
        if !fits {
            self.wrong(work, LEFT, "the deadline is neither the definition's nor a decision's");
        }
    }

    /// How it ended the first time, and how late, is what the log says.
    fn first_ending(&mut self, work: Row<'a>, story: &Story<'a>) {
        let (at, actor, late) = match story.ended {
            Some((at, actor, late)) => (Some(at), Some(actor), late),
            None => (None, None, None),
        };
        self.expect(work, ENDING, "completed_at", at.map(|at| at.to_string()).as_deref());
        self.expect(work, ENDING, "completion_actor_id", actor);
        let stored = work.opt("sla_breach_duration").and_then(Span::of_columns).map(Span::micros);
        let fits = match (stored, late) {
            (Some(stored), Some(late)) => stored.abs_diff(late) <= story.slack.unsigned_abs(),
            (stored, late) => story.slack > 0 || stored == late,
        };
        let marked = stored.is_some().to_string();
        self.expect(work, ENDING, "completed_after_deadline", Some(&marked));
        if !fits {
            let what = format!("it ended {stored:?} µs late, not {late:?}");
            self.wrong(work, ENDING, what);
        }
        let first = work.number("overdue_first_at");
        if let Some(overdue) = story.overdue {
            self.expect(work, ENDING, "overdue_first_at", Some(&overdue.to_string()));
        } else if late.is_some() && (first.is_none() || first > at) {
            self.wrong(work, ENDING, "it ended late and was never overdue");
        }
        // A deadline that passes while nobody works on it moves nothing.
        let earliest = story.earliest.map(|earliest| earliest - story.slack);
        if first.is_some_and(|first| earliest.is_none_or(|earliest| first < earliest)) {
            self.wrong(work, ENDING, "it was overdue before any deadline that it had");
        }
    }

    /// Nothing lies beside what the moves wrote, and what was waited for came with a proof.
    fn what_belongs_to(&mut self, work: Row<'a>, story: &Story<'a>) {
        let id = story.id.to_string();
        for table in [SNAPSHOT, CYCLE] {
            for row in self.rows.of(table, "run_id", &id) {
                self.require_claim(row, "move of its run");
            }
        }
        for cycle in self.rows.of(CYCLE, "run_id", &id) {
            let number = cycle.number("cycle_no").unwrap_or_default();
            let ending = story.corrected.iter().find(|(cycle, ..)| *cycle == number);
            let at = ending.map(|(_, at, ..)| at.to_string());
            self.expect_all(
                cycle,
                "correction_is_as_it_was_logged",
                &[
                    ("completed_at", at.as_deref()),
                    ("completion_actor_id", ending.map(|(_, _, actor, _)| *actor)),
                    ("output_snapshot_id", ending.map(|(_, _, _, output)| *output)),
                ],
            );
        }
        for wait in self.rows.of(WAIT, "run_id", &id) {
            self.wait(wait, story);
        }
        if work.text("state_code") != "waiting" {
            for wait in story.open.iter().filter(|wait| wait.opt("resolved_at").is_none()) {
                self.wrong(*wait, "wait_was_over", "nobody waits for it any more, and it is open");
            }
        }
    }

    fn wait(&mut self, wait: Row<'a>, story: &Story<'a>) {
        const RULE: &str = "wait_ended_with_proof";
        if !self.is_claimed(wait) {
            // A call-back that was announced, and that nobody came to wait for.
            let token = wait.text("token_sha256");
            let id = derived_uuid(story.id, &format!("callback,{token}")).to_string();
            if wait.opt("wait_id") != Some(&id) || wait.text("opened") != "false" {
                self.wrong(wait, "row_has_an_origin", "no move of its run speaks for the row");
            }
        }
        let marks =
            ["resolved_at", "resolved_by", "proof"].map(|column| wait.opt(column).is_some());
        if marks[0] != marks[1] || marks[0] != marks[2] {
            self.wrong(wait, RULE, "it says that it is over without saying how, or the other way");
        }
        if !marks[0] {
            return;
        }
        self.canonical(wait, "proof");
        let proof = wait.json("proof");
        let gave_up = !proof["ended"].is_null();
        if proof == Value::Null || proof == json!({}) {
            self.wrong(wait, RULE, "there is no proof");
        }
        if !gave_up && wait.number("until") > wait.number("resolved_at") {
            self.wrong(wait, RULE, "it was over before its time had come");
        }
        if wait.number("resolved_at") < wait.number("issued_at") {
            self.wrong(wait, RULE, "it was over before it was waited for");
        }
    }

    /// A task is of the step that it says.
    pub(super) fn task_of(&mut self, step: Row<'a>, task: Row<'a>, part: &Part) {
        const RULE: &str = "task_is_of_its_definition";
        let id = derived_uuid(step.id("step_run_id"), &part.key).to_string();
        self.expect_all(
            task,
            RULE,
            &[
                ("task_run_id", Some(&id)),
                ("task_key", Some(&part.key)),
                ("task_def_id", Some(&part.def_id.to_string())),
                ("workflow_run_id", step.opt("workflow_run_id")),
                ("executor_class_ref", Some(&part.executor)),
                ("started_by", step.opt("started_by")),
                ("trace_id", step.opt("trace_id")),
                ("correlation_id", step.opt("correlation_id")),
            ],
        );
        debug_assert_eq!(task.table, TASK);
    }
}
