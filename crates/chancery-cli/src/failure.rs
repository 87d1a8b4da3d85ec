//! How a command ends: exit codes, and what is printed when it did not do what was asked.

use std::path::PathBuf;

use chancery_engine::admission::NotBorn;
use chancery_engine::orchestrator::Stop;
use chancery_model::machine::{Finding, ParseError};
use chancery_model::refusal::{Code, Problem, Refusal};
use serde_json::{Value, json};

use crate::output::Out;

/// The end of a command that had its say on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// It failed, or found something wrong.
    Failed,
    WrongUsage,
    /// A rule says no.
    Refused,
    /// A run waits at a gate.
    Paused,
}

impl Outcome {
    /// The process's exit code.
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::WrongUsage => 2,
            Self::Refused => 3,
            Self::Paused => 4,
        }
    }
}

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A rule of the database says no.
    Refused(Box<Refusal>),
    /// The checker says no.
    Unsound { file: PathBuf, machine: String, findings: Vec<Finding> },
    /// The machine file is none.
    Malformed { file: PathBuf, error: ParseError },
    /// The request makes no sense as it stands.
    Usage(String),
    /// It could not be done.
    Failed(String),
    /// A run does not go on.
    Stopped(Box<Stop>),
    /// A table did not take a row.
    NotBorn(Box<NotBorn>),
    /// Nobody reads our output any more.
    PipeClosed,
}

impl Failure {
    /// The refusal's code, when it is one.
    pub(crate) fn code(&self) -> Option<Code> {
        match self {
            Self::Refused(refusal) => Some(refusal.code),
            Self::Unsound { .. } => Some(Code::RS020),
            Self::Stopped(stop) => {
                stop.source.as_ref().and_then(|error| error.refusal()).map(|refusal| refusal.code)
            }
            Self::Malformed { .. }
            | Self::Usage(_)
            | Self::Failed(_)
            | Self::NotBorn(_)
            | Self::PipeClosed => None,
        }
    }

    /// Whether the principal may not do such things at all, whatever they are about.
    pub(crate) fn is_about_the_actor(&self) -> bool {
        use Code::{RI001, RI002, RI003, RI004, RI005, RI006, RI007, RI008};
        let about = [RI001, RI002, RI003, RI004, RI005, RI006, RI007, RI008];
        self.problems().iter().any(|problem| about.contains(&problem.code))
    }

    /// Whether nothing but this guard stands against it.
    pub(crate) fn is_only_of_guard(&self, guard: &str) -> bool {
        let problems = self.problems();
        !problems.is_empty()
            && problems.iter().all(|problem| problem.facts.get("guard").is_some_and(|g| g == guard))
    }

    /// The entries that a cut waits for, as the problems name them.
    pub(crate) fn blockers(&self) -> Vec<String> {
        let named =
            self.problems().iter().filter_map(|problem| problem.facts.get("blockers")?.as_array());
        let text = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
        named
            .flatten()
            .map(|one| {
                format!(
                    "{} ({}, {})",
                    text(one, "entry_id"),
                    text(one, "document_id"),
                    text(one, "status")
                )
            })
            .collect()
    }

    fn problems(&self) -> &[Problem] {
        match self {
            Self::Refused(refusal) => &refusal.problems,
            Self::Unsound { .. }
            | Self::Malformed { .. }
            | Self::Usage(_)
            | Self::Failed(_)
            | Self::Stopped(_)
            | Self::NotBorn(_)
            | Self::PipeClosed => &[],
        }
    }

    /// Prints it where it belongs: people read stderr, programs get JSON on stdout.
    pub(crate) fn report(&self, out: &mut Out) -> Outcome {
        let outcome = self.outcome();
        if matches!(self, Self::PipeClosed) {
            return outcome;
        }
        if out.is_json() {
            // A reader who is gone misses nothing that the exit code does not say.
            let _ = out.json(&self.as_json());
        }
        if !out.is_json() || outcome != Outcome::Refused {
            out.note(&self.as_text());
        }
        outcome
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Refused(_) | Self::Unsound { .. } | Self::Malformed { .. } | Self::NotBorn(_) => {
                Outcome::Refused
            }
            Self::Usage(_) => Outcome::WrongUsage,
            Self::Stopped(stop) if is_rule(stop) => Outcome::Refused,
            Self::Stopped(_) => Outcome::Failed,
            Self::Failed(_) => Outcome::Failed,
            Self::PipeClosed => Outcome::Done,
        }
    }

    /// What people read about it.
    pub(crate) fn as_text(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal_text(refusal),
            Self::Unsound { file, findings, .. } => {
                let code = Code::RS020;
                let mut lines =
                    vec![format!("refused {code} {}: {}", code.problem(), self.title())];
                lines.extend(findings.iter().map(|finding| format!("  {finding}")));
                lines.push(format!(
                    "hint: mend {} where the findings point, then check it again",
                    file.display()
                ));
                lines.push(format!("more: {}", page(code)));
                lines.join("\n")
            }
            Self::Malformed { .. } => {
                format!("refused machine_malformed: {}\nhint: {MALFORMED_HINT}", self.title())
            }
            Self::Usage(message) | Self::Failed(message) => format!("error: {message}"),
            Self::Stopped(stop) => stop_text(stop),
            Self::NotBorn(not_born) => {
                format!("refused insert_rejected: {}\nhint: {}", self.title(), way_out(not_born))
            }
            Self::PipeClosed => String::new(),
        }
    }

    /// What programs read about it.
    pub(crate) fn as_json(&self) -> Value {
        match self {
            Self::Refused(refusal) => json!({ "refused": refusal_json(refusal) }),
            Self::Unsound { file, machine, findings } => json!({ "refused": {
                "code": Code::RS020, "problem": Code::RS020.problem(), "title": self.title(), "more": page(Code::RS020),
                "file": file, "machine": machine, "problems": findings,
            } }),
            Self::Malformed { file, error } => json!({ "refused": {
                "code": null, "problem": "machine_malformed", "title": self.title(), "hint": MALFORMED_HINT,
                "file": file, "line": error.line, "column": error.column, "message": error.message,
            } }),
            Self::Usage(message) | Self::Failed(message) => {
                json!({ "failed": { "message": message } })
            }
            Self::Stopped(stop) => json!({ "stopped": {
                "code": stop.code, "reason": stop.reason, "way": stop.way,
                "refused": stop.source.as_ref().and_then(|error| error.refusal()).map(refusal_json),
            } }),
            Self::NotBorn(not_born) => json!({ "refused": {
                "code": null, "problem": "insert_rejected", "title": self.title(), "hint": way_out(not_born),
                "problems": [not_born],
            } }),
            Self::PipeClosed => Value::Null,
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.title.clone(),
            Self::Unsound { machine, findings, .. } => {
                let s = if findings.len() == 1 { "" } else { "s" };
                format!("{machine} does not hold together: {} finding{s}", findings.len())
            }
            Self::Malformed { file, error } => {
                let place = match (error.line, error.column) {
                    (Some(line), Some(column)) => format!(":{line}:{column}"),
                    (Some(line), None) => format!(":{line}"),
                    (None, _) => String::new(),
                };
                format!("{}{place}: {}", file.display(), error.message)
            }
            Self::Usage(message) | Self::Failed(message) => message.clone(),
            Self::Stopped(stop) => stop.reason.clone(),
            Self::NotBorn(not_born) => {
                let words = match &not_born.rejected {
                    Some(rejected) => rejected.to_string(),
                    None => not_born.reason.clone(),
                };
                format!("{} did not take {}: {words}", not_born.collection, not_born.code)
            }
            Self::PipeClosed => String::new(),
        }
    }
}

/// What to do about a row that a table did not take.
fn way_out(not_born: &NotBorn) -> &'static str {
    match not_born.rejected.as_ref().map(|rejected| rejected.sqlstate.as_str()) {
        Some("42501") => {
            "let birth_writer do what the row's triggers need, or insert under a login of your own: --writer URL. The permit is \
             over; the same command gets a fresh one"
        }
        _ => "the permit is over; mend what the table says, and the command gets a fresh one",
    }
}

/// Whether a rule says no, rather than the world around.
fn is_rule(stop: &Stop) -> bool {
    // What a rule refused to another process is that process's trouble.
    stop.code != "STOP_VERIFIER" && stop.source.as_ref().is_some_and(|e| e.refusal().is_some())
        || matches!(
            stop.code,
            "STOP_APPROVAL_REFUSED"
                | "STOP_BATCH_BUSY"
                | "STOP_DRIFT"
                | "STOP_DRIFT_FUNCTIONS"
                | "STOP_DRIFT_INVARIANTS"
                | "STOP_DRIFT_REVIEW_DECISIONS"
                | "STOP_DRIFT_ROW_COUNT"
                | "STOP_DRIFT_SOURCE_VERSION"
                | "STOP_INVARIANT"
                | "STOP_KEY"
                | "STOP_OVER_CAP"
                | "STOP_NOTHING_ASKED"
                | "STOP_NOT_A_DRY_RUN"
                | "STOP_RUN_BUSY"
                | "STOP_RUN_FAILED"
                | "STOP_RUN_VOIDED"
        )
}

fn stop_text(stop: &Stop) -> String {
    let mut lines = vec![format!("{}: {}", stop.code, stop.reason)];
    if let Some(refusal) = stop.source.as_ref().and_then(|error| error.refusal()) {
        // What was said above or comes below is not said twice.
        let said = |line: &&str| {
            !stop.reason.contains(*line)
                && !line.strip_prefix("hint: ").is_some_and(|hint| stop.way.contains(hint))
        };
        lines.extend(refusal_text(refusal).lines().filter(said).map(str::to_owned));
    }
    lines.push(format!("way forward: {}", stop.way));
    lines.join("\n")
}

/// The hint with the run that the problems name, where it tells of one.
fn hint(refusal: &Refusal) -> String {
    let run = refusal.problems.iter().find_map(|problem| problem.facts.get("run_id")?.as_str());
    match run {
        Some(run) => refusal.hint.replace("--run-id RUN", &format!("--run-id {run}")),
        None => refusal.hint.clone(),
    }
}

const MALFORMED_HINT: &str =
    "the file is not a machine file as it stands; see docs/how-to/declare-a-machine.md";

/// A refusal as people read it: what, the facts of every problem, what to do, where to read on.
pub(crate) fn refusal_text(refusal: &Refusal) -> String {
    let mut lines = vec![refusal.to_string()];
    for problem in &refusal.problems {
        let facts = serde_json::to_string(problem).expect("a problem is plain data");
        lines.push(format!("  {facts}"));
    }
    lines.push(format!("hint: {}", hint(refusal)));
    lines.push(format!("more: {}", page(refusal.code)));
    lines.join("\n")
}

fn refusal_json(refusal: &Refusal) -> Value {
    json!({
        "code": refusal.code, "problem": refusal.code.problem(), "title": refusal.title, "hint": hint(refusal),
        "more": page(refusal.code), "problems": refusal.problems,
    })
}

fn page(code: Code) -> String {
    format!("docs/errors/{code}.md")
}

impl From<chancery_store::Error> for Failure {
    fn from(error: chancery_store::Error) -> Self {
        match error {
            chancery_store::Error::Refused(refusal) => Self::Refused(refusal),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<chancery_engine::Error> for Failure {
    fn from(error: chancery_engine::Error) -> Self {
        use chancery_engine::Error;
        match error {
            Error::Store(error) => error.into(),
            Error::Parse { path, source } => Self::Malformed { file: path, error: source },
            Error::Ambiguous(message) => Self::Usage(message),
            error @ (Error::File { .. }
            | Error::Unsound { .. }
            | Error::Picture(_)
            | Error::Key(_)
            | Error::Unsigned { .. }
            | Error::Untrusted { .. }
            | Error::Exhausted { .. }) => Self::Failed(error.to_string()),
        }
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stopped(Box::new(stop))
    }
}

impl From<chancery_store::managed::Error> for Failure {
    fn from(error: chancery_store::managed::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
