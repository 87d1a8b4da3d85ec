//! Dead letters, what people did to jobs, and replays: each letter is what its job's death wrote, each replay was proposed by one
//! person, approved by another, and ended as its row says.

use std::collections::{BTreeSet, HashSet};
use std::sync::OnceLock;

use chancery_model::canonical;
use chancery_model::chain::{LogRow, job_id};
use chancery_model::cutter::derived_uuid;
use chancery_model::evidence::artefact_digest;
use chancery_model::machine::{Definition, File, Transition};
use chancery_store::RawRow;
use serde_json::{Value, json};
use uuid::Uuid;

use super::check::Checker;
use super::entry::{evidence_of, text_of};
use super::report::Report;
use super::rows::{Row, Rows, Source};
use super::signers::Signers;
use super::table::{self, DEAD_LETTER, JOB, LOGGED_JOB, REPLAY, REQUEST, USE};
use crate::Error;

/// Jobs or requests that are looked at together.
const PAGE: i64 = 500;

/// The transitions of a machine, from the file that this binary was built with.
pub(super) fn transitions_of(file: &str) -> Vec<Transition> {
    let file = File::parse(file).expect("the machine ships with the binary and its tests read it");
    Definition::from(&file).transitions
}

fn of_jobs() -> &'static [Transition] {
    static TRANSITIONS: OnceLock<Vec<Transition>> = OnceLock::new();
    TRANSITIONS.get_or_init(|| transitions_of(include_str!("../../../../machines/job.yaml")))
}

fn of_replays() -> &'static [Transition] {
    static TRANSITIONS: OnceLock<Vec<Transition>> = OnceLock::new();
    TRANSITIONS.get_or_init(|| transitions_of(include_str!("../../../../machines/dlq_replay.yaml")))
}

/// Looks at every job that the log knows and at every replay. Gives the approvals that replays say they used.
pub(super) async fn verify(
    source: &mut Source<'_>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<HashSet<Uuid>, Error> {
    jobs(source, signers, report, progress).await?;
    replays(source, signers, report, progress).await
}

async fn jobs(
    source: &mut Source<'_>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let (snapshot, shapes) = source.reader();
    let view = snapshot.shapes(&[LOGGED_JOB]).await?.remove(0);
    let mut after: Option<Vec<String>> = None;
    loop {
        let page =
            snapshot.evidence_page(&view, &[("job_id", "uuid")], after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(vec![Row { table: JOB, raw: last }.text("job_id").to_owned()]);
        let jobs: Vec<Uuid> = page.iter().map(|raw| Row { table: JOB, raw }.id("job_id")).collect();
        let mut rows = Rows::default();
        let letters = snapshot.evidence_of(&shapes[DEAD_LETTER], "job_id", &jobs, &["job_id"]);
        rows.add(DEAD_LETTER, letters.await?);
        let order = ["dlq_replay_request_id"];
        rows.add(REPLAY, snapshot.evidence_of(&shapes[REPLAY], "job_id", &jobs, &order).await?);
        rows.add_log(snapshot.log_of(&jobs).await?);
        let mut checker = Checker::new(&rows, signers, report);
        // Requests are counted where all of them are looked at.
        checker.digests(|row| row.table == DEAD_LETTER);
        for raw in &page {
            checker.job(Row { table: JOB, raw });
        }
        progress(report);
    }
}

async fn replays(
    source: &mut Source<'_>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<HashSet<Uuid>, Error> {
    let mut used = HashSet::new();
    let (snapshot, shapes) = source.reader();
    let mut after: Option<Vec<String>> = None;
    loop {
        let key = table::key_of(REPLAY);
        let page: Vec<RawRow> =
            snapshot.evidence_page(&shapes[REPLAY], key, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(used) };
        after = Some(vec![Row { table: REPLAY, raw: last }.key()]);
        let of_page = |column: &str| -> BTreeSet<Uuid> {
            page.iter().filter_map(|raw| Row { table: REPLAY, raw }.uuid(column)).collect()
        };
        let list = |ids: BTreeSet<Uuid>| ids.into_iter().collect::<Vec<Uuid>>();
        let mut rows = Rows::default();
        // An approval binds the whole batch, of which the page may have a part.
        let batches = list(of_page("batch_id"));
        let order = ["batch_id", "batch_no"];
        rows.add(
            REPLAY,
            snapshot.evidence_of(&shapes[REPLAY], "batch_id", &batches, &order).await?,
        );
        let letters = list(of_page("job_id"));
        rows.add(
            DEAD_LETTER,
            snapshot.evidence_of(&shapes[DEAD_LETTER], "job_id", &letters, &["job_id"]).await?,
        );
        let requests = of_page("dlq_replay_request_id");
        rows.add_log(snapshot.log_of(&list(requests.clone())).await?);
        let logged = requests.iter().flat_map(|id| rows.log_of(*id));
        let approvals: BTreeSet<Uuid> = logged.filter_map(approval_of).collect();
        let approvals = list(approvals);
        used.extend(&approvals);
        for table in [REQUEST, USE] {
            let key = "approval_id";
            let found = snapshot.evidence_of(&shapes[table], key, &approvals, &[key]).await?;
            rows.add(table, found);
        }
        let mut checker = Checker::new(&rows, signers, report);
        checker.digests(|row| {
            row.table == REPLAY && requests.contains(&row.id("dlq_replay_request_id"))
        });
        let in_page = |row: &Row<'_>| requests.contains(&row.id("dlq_replay_request_id"));
        for request in rows.all(REPLAY).filter(in_page) {
            checker.replay(request);
        }
        progress(report);
    }
}

/// The approval that a move says it used.
fn approval_of(row: &LogRow) -> Option<Uuid> {
    (row.trigger_ref == "dlq_replay")
        .then(|| text_of(&evidence_of(row), "approval_id").parse().ok())?
}

/// A move of the product's own loops: nobody signs it, and it says who.
fn by_the_product(row: &LogRow) -> bool {
    row.principal == "chancery" && row.actor_class == "system" && row.key_id.is_none()
}

impl<'a> Checker<'a> {
    /// What the log has of a job is what its letter and its replays say.
    fn job(&mut self, job: Row<'_>) {
        let id = job.id("job_id");
        self.entry_id = Some(id);
        let letter = self.rows.one(DEAD_LETTER, "job_id", job.text("job_id"));
        for row in self.rows.log_of(id) {
            self.legal_in(of_jobs(), "job", job, row);
            let evidence = evidence_of(row);
            match row.trigger_ref.as_str() {
                "job_failed" => self.death(row, letter),
                "replay_succeeded" => self.settled(row, &evidence),
                _ => {
                    self.expect_evidence(row, &json!({ "reason": row.reason }));
                    self.nothing_written(row);
                }
            }
        }
        if let Some(letter) = letter {
            self.require_claim(letter, "move");
        }
        self.entry_id = None;
    }

    fn death(&mut self, row: &LogRow, letter: Option<Row<'a>>) {
        let Some(letter) = letter else {
            return self.missing(row, DEAD_LETTER, &row.run_id.to_string());
        };
        self.artefacts(row, &[letter]);
        let of = letter.opt("classification");
        self.expect_evidence(
            row,
            &json!({
                "reason": letter.opt("reason"), "classification": of,
                "event": {
                    "executor_class": letter.opt("executor_class"),
                    "job_kind": letter.opt("job_kind"), "classification": of,
                },
            }),
        );
        self.product_move(row, "death");
        self.canonical(letter, "payload");
        self.canonical(letter, "story");
        let expected = job_id(letter.text("executor_class"), letter.text("idempotency_key"));
        self.expect(letter, "letter_is_of_its_job", "job_id", Some(&expected.to_string()));
    }

    /// A letter is settled by the replay that was done, and by nothing else.
    fn settled(&mut self, row: &LogRow, evidence: &Value) {
        let id = text_of(evidence, "dlq_replay_request_id");
        self.product_move(row, &format!("replay:{id}"));
        self.nothing_written(row);
        let request = self.rows.one(REPLAY, "dlq_replay_request_id", id);
        let Some(request) = request.filter(|request| request.id("job_id") == row.run_id) else {
            return self.missing(row, REPLAY, id);
        };
        let of =
            json!({ "dlq_replay_request_id": id, "replay_job_id": request.opt("replay_job_id") });
        self.expect_evidence(row, &of);
        if request.json("outcome_jsonb")["outcome"] != "succeeded" {
            self.wrong_move(
                row,
                "log_agrees_with_its_rows",
                "the replay that settled it was not done",
            );
        }
    }

    pub(super) fn nothing_written(&mut self, row: &LogRow) {
        if row.artefact_digest.is_some() {
            self.wrong_move(row, "artefacts_are_in_the_log", "the move writes no rows");
        }
    }

    fn product_move(&mut self, row: &LogRow, key: &str) {
        self.expect_move(row, "idempotency key", Some(&row.idempotency_key), Some(key));
        if !by_the_product(row) {
            self.wrong_move(row, "log_agrees_with_its_rows", "the move is not the product's own");
        }
    }

    /// One request: proposed, approved by somebody else, run, and ended as its row says.
    fn replay(&mut self, request: Row<'a>) {
        const RULE: &str = "replay_is_as_it_was_logged";
        let id = request.id("dlq_replay_request_id");
        self.entry_id = Some(id);
        let (mut approval, mut job, mut outcome) = (None, None, None);
        for row in self.rows.log_of(id) {
            self.legal_in(of_replays(), "dlq_replay", request, row);
            let evidence = evidence_of(row);
            match row.trigger_ref.as_str() {
                "dlq_replay_propose" => self.proposed(request, row),
                "dlq_replay" => {
                    self.scheduled(request, row, &evidence);
                    approval = evidence["approval_id"].as_str().map(str::to_owned);
                    job = evidence["replay_job_id"].as_str().map(str::to_owned);
                }
                "job_ended" => {
                    self.ended(request, row, &evidence);
                    outcome = evidence["outcome"].as_str().map(str::to_owned);
                }
                _ => {
                    self.expect_evidence(row, &json!({ "reason": row.reason }));
                    self.nothing_written(row);
                }
            }
        }
        self.expect_all(
            request,
            RULE,
            &[("approval_id", approval.as_deref()), ("replay_job_id", job.as_deref())],
        );
        if outcome.is_none() && request.opt("outcome_jsonb").is_some() {
            self.wrong(request, RULE, "it has an outcome, and no move says that it ended");
        }
        self.entry_id = None;
    }

    fn proposed(&mut self, request: Row<'a>, row: &LogRow) {
        const RULE: &str = "replay_is_as_it_was_proposed";
        self.artefacts(row, &[request]);
        let (batch, job) = (request.opt("batch_id"), request.opt("job_id"));
        let reason = request.opt("reason");
        self.expect_evidence(row, &json!({ "job_id": job, "batch_id": batch, "reason": reason }));
        self.expect_move(row, "idempotency key", Some(&row.idempotency_key), Some("propose"));
        self.expect_move(row, "reason", row.reason.as_deref(), reason);
        let id = derived_uuid(request.id("batch_id"), request.text("job_id")).to_string();
        self.expect_all(
            request,
            RULE,
            &[("dlq_replay_request_id", Some(&id)), ("started_by", Some(&row.principal))],
        );
        if self.rows.one(DEAD_LETTER, "job_id", request.text("job_id")).is_none() {
            self.wrong(request, RULE, "the dead letter is not there");
        }
    }

    fn scheduled(&mut self, request: Row<'a>, row: &LogRow, evidence: &Value) {
        const RULE: &str = "replay_was_approved";
        self.product_move(row, "schedule");
        self.nothing_written(row);
        let approval = text_of(evidence, "approval_id");
        let letter = self.rows.one(DEAD_LETTER, "job_id", request.text("job_id"));
        let key = format!("replay:{}", request.text("dlq_replay_request_id"));
        let job = letter.map(|letter| job_id(letter.text("executor_class"), &key));
        self.expect_evidence(
            row,
            &json!({
                "approval_id": approval, "replay_job_id": job, "asked_by": evidence["asked_by"],
                "event": { "approval_id": approval, "replay_job_id": job },
            }),
        );
        let asked = self.rows.one(REQUEST, "approval_id", approval);
        let Some(asked) = asked else { return self.missing(row, REQUEST, approval) };
        let batch = request.text("batch_id");
        let of_batch: Option<Vec<[u8; 32]>> =
            self.rows.of(REPLAY, "batch_id", batch).map(Row::digest).collect();
        let digest = of_batch.map(|digests| hex::encode(artefact_digest(&digests)));
        self.expect_all(
            asked,
            RULE,
            &[
                ("kind", Some("dlq_replay")),
                ("subject_ref", Some(batch)),
                ("subject_digest", digest.as_deref()),
                ("proposer", request.opt("started_by")),
            ],
        );
        let Some(used) = self.rows.one(USE, "approval_id", approval) else {
            return self.missing(row, USE, approval);
        };
        self.expect_all(
            used,
            RULE,
            &[
                ("used_for_kind", Some("dlq_replay")),
                ("used_for_ref", Some(batch)),
                ("used_by", evidence["asked_by"].as_str()),
            ],
        );
    }

    fn ended(&mut self, request: Row<'a>, row: &LogRow, evidence: &Value) {
        self.product_move(row, "complete");
        self.nothing_written(row);
        let outcome = request.json("outcome_jsonb");
        let job = request.opt("replay_job_id");
        self.expect_evidence(
            row,
            &json!({
                "outcome": outcome["outcome"], "replay_job_id": job,
                "outcome_digest": hex::encode(canonical::sha256(&outcome)),
                "event": { "outcome": evidence["outcome"], "replay_job_id": job },
            }),
        );
    }
}
