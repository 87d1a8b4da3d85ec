//! The ledger of DOT commands: no step without the one before it, and none without the fact that it says.

use std::collections::{BTreeMap, BTreeSet};

use chancery_store::RawRow;
use uuid::Uuid;

use super::birth::{PAGE, Shapes};
use super::check::Checker;
use super::report::Report;
use super::rows::{Row, Rows, Source, ids};
use super::signers::Signers;
use super::table::{BIRTH, CANDIDATE, COMMAND, PERMIT};
use crate::Error;

/// Which step stands before which, in the same attempt.
const BEFORE: &[(&str, &str)] = &[
    ("VALIDATED", "REQUESTED"),
    ("RESERVED", "VALIDATED"),
    ("CONSUMED", "RESERVED"),
    ("FINALIZED", "CONSUMED"),
    ("HANDOFF_ENQ", "FINALIZED"),
    ("DONE", "HANDOFF_ENQ"),
    ("FAILED", "REQUESTED"),
    ("EXPIRED", "RESERVED"),
    ("REVOKED", "RESERVED"),
];

/// Steps behind which a request is made anew.
const ENDS: [&str; 3] = ["FAILED", "EXPIRED", "REVOKED"];

/// Looks at every step, request by request.
pub(super) async fn verify(
    source: &mut Source<'_>,
    shapes: &Shapes,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let order = [("request_hash", "bytea"), ("attempt", "integer"), ("command_run_id", "uuid")];
    let mut after: Option<Vec<String>> = None;
    // Steps whose request may have more of them on the next page.
    let mut open: Vec<RawRow> = Vec::new();
    loop {
        let (snapshot, stamped) = source.reader();
        let page =
            snapshot.evidence_page(&stamped[COMMAND], &order, after.as_deref(), PAGE).await?;
        let at_the_end = page.is_empty();
        if let Some(raw) = page.last() {
            let last = Row { table: COMMAND, raw };
            // As PostgreSQL reads bytes.
            let hash = format!("\\x{}", last.text("request_hash"));
            after = Some(vec![hash, last.text("attempt").to_owned(), last.key()]);
        }
        open.extend(page);
        let last = open.last().and_then(|raw| raw.get("request_hash")).map(str::to_owned);
        let whole = match last.filter(|_| !at_the_end) {
            None => open.len(),
            Some(last) => open.partition_point(|raw| raw.get("request_hash") < Some(&last)),
        };
        let rest = open.split_off(whole);
        requests(source, shapes, open, signers, report).await?;
        open = rest;
        progress(report);
        if at_the_end {
            return Ok(());
        }
    }
}

async fn requests(
    source: &mut Source<'_>,
    shapes: &Shapes,
    steps: Vec<RawRow>,
    signers: &mut Signers,
    report: &mut Report,
) -> Result<(), Error> {
    let (snapshot, stamped) = source.reader();
    let mut rows = Rows::default();
    rows.add(COMMAND, steps);
    let hashes: BTreeSet<Vec<u8>> =
        rows.all(COMMAND).filter_map(|step| step.bytes("request_hash")).collect();
    let list: Vec<Vec<u8>> = hashes.iter().cloned().collect();
    rows.add(PERMIT, snapshot.evidence_hashed(&shapes.permit, "request_hash", &list).await?);
    let permits: Vec<Uuid> = ids(rows.all(PERMIT), "permit_id").into_iter().collect();
    let births = snapshot.evidence_of(&stamped[BIRTH], "permit_id", &permits, &["birth_id"]);
    rows.add(BIRTH, births.await?);
    let births: Vec<Uuid> = ids(rows.all(BIRTH), "birth_id").into_iter().collect();
    let order = ["candidate_id"];
    let candidates = snapshot.evidence_of(&stamped[CANDIDATE], "birth_id", &births, &order);
    rows.add(CANDIDATE, candidates.await?);
    let mut checker = Checker::new(&rows, signers, report);
    checker.digests(|row| row.table == COMMAND);
    for hash in hashes {
        checker.steps(&hex::encode(hash));
    }
    Ok(())
}

impl<'a> Checker<'a> {
    /// The steps of one request.
    fn steps(&mut self, request: &str) {
        let mut attempts: BTreeMap<i64, Vec<Row<'a>>> = BTreeMap::new();
        for step in self.rows.of(COMMAND, "request_hash", request) {
            attempts.entry(step.number("attempt").unwrap_or_default()).or_default().push(step);
        }
        let mut before: Option<(i64, bool)> = None;
        for (attempt, steps) in attempts {
            let phases: BTreeSet<&str> = steps.iter().map(|step| step.text("phase")).collect();
            let (number, over) = before.unwrap_or((0, true));
            if attempt != number + 1 || !over {
                let what = format!("attempt {attempt} follows {number}, which had not ended");
                self.wrong(steps[0], "attempts_follow_an_end", what);
            }
            before = Some((attempt, ENDS.iter().any(|end| phases.contains(end))));
            for step in steps {
                self.step(step, &phases, request);
            }
        }
    }

    fn step(&mut self, step: Row<'a>, phases: &BTreeSet<&str>, request: &str) {
        let phase = step.text("phase");
        self.canonical(step, "before_state");
        self.canonical(step, "after_state");
        if !self.signers.principals.contains_key(step.text("actor")) {
            let what = format!("{} is nobody", step.text("actor"));
            self.wrong(step, "step_is_a_fact", what);
        }
        match BEFORE.iter().find(|(name, _)| *name == phase) {
            Some((_, before)) if !phases.contains(before) => {
                let what = format!("{phase} stands there without {before}");
                self.wrong(step, "steps_follow_each_other", what);
            }
            None if phase != "REQUESTED" => {
                self.wrong(step, "steps_follow_each_other", format!("nothing is called {phase}"));
            }
            _ => {}
        }
        let permits: Vec<Row<'a>> = self.rows.of(PERMIT, "request_hash", request).collect();
        let is_one = |status: &str| permits.iter().any(|permit| permit.text("status") == status);
        let births = || {
            let finalized = permits.iter().filter(|permit| permit.text("status") == "FINALIZED");
            finalized.flat_map(|permit| self.rows.of(BIRTH, "permit_id", permit.text("permit_id")))
        };
        let missing = match phase {
            "RESERVED" if permits.is_empty() => "a permit",
            "CONSUMED" | "FINALIZED" if births().next().is_none() => "a birth",
            "EXPIRED" | "REVOKED" if !is_one(phase) => "a permit that ended so",
            "HANDOFF_ENQ" | "DONE"
                if !births().any(|birth| {
                    self.rows.one(CANDIDATE, "birth_id", birth.text("birth_id")).is_some()
                }) =>
            {
                "the handoff"
            }
            _ => return,
        };
        self.wrong(step, "step_is_a_fact", format!("{phase} stands there without {missing}"));
    }
}
