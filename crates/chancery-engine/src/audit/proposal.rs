//! Proposals: each was written by one person, decided by others on exactly that text, and what came of it is what was approved.

use std::collections::HashSet;
use std::sync::OnceLock;

use chancery_model::chain::LogRow;
use chancery_model::machine::Transition;
use serde_json::json;
use uuid::Uuid;

use super::check::Checker;
use super::entry::{evidence_of, text_of};
use super::queue::transitions_of;
use super::report::Report;
use super::rows::{Row, Source, ids};
use super::signers::Signers;
use super::table::{self, CHANGE, CHANGE_REVISION, PROPOSAL, REQUEST, USAGE, WORKFLOW};
use super::workflow::with_log;
use crate::Error;

/// Changes that are looked at together, each with every definition that was ever written for it.
const CHANGES: i64 = 20;
const PROPOSALS: i64 = 200;

const RULE: &str = "proposal_was_approved";

fn of_proposals() -> &'static [Transition] {
    static TRANSITIONS: OnceLock<Vec<Transition>> = OnceLock::new();
    TRANSITIONS.get_or_init(|| transitions_of(include_str!("../../../../machines/proposal.yaml")))
}

/// What a proposal is about, at a time: who wrote it, and the digest of its text then.
struct Subject<'a> {
    kind: &'static str,
    row: Row<'a>,
    /// When each text was written, and its digest.
    texts: Vec<(i64, &'a str)>,
}

impl<'a> Subject<'a> {
    fn digest_at(&self, at: i64) -> Option<&'a str> {
        self.texts.iter().rev().find(|(since, _)| *since <= at).map(|(_, digest)| *digest)
    }
}

/// Looks at every change of a workflow. Adds the approvals that were used.
pub(super) async fn changes(
    source: &mut Source<'_>,
    used: &mut HashSet<Uuid>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let (snapshot, stamped) = source.reader();
    let mut after: Option<Vec<String>> = None;
    loop {
        let key = table::key_of(CHANGE);
        let page = snapshot.evidence_page(&stamped[CHANGE], key, after.as_deref(), CHANGES).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(vec![Row { table: CHANGE, raw: last }.key()]);
        let mut rows = with_log(snapshot, stamped, CHANGE, page).await?;
        let changes: Vec<Uuid> = ids(rows.all(CHANGE), "change_request_id").into_iter().collect();
        let order = ["change_request_id", "revision_no"];
        for (table, order) in [(CHANGE_REVISION, &order[..]), (WORKFLOW, &order[..1])] {
            let shape = &stamped[table];
            rows.add(table, snapshot.evidence_of(shape, order[0], &changes, order).await?);
        }
        let mut checker = Checker::new(&rows, signers, report);
        // Versions are counted where all of them are looked at.
        checker.digests(|row| [CHANGE, CHANGE_REVISION].contains(&row.table));
        for change in rows.all(CHANGE) {
            checker.workflow_change(change, used);
        }
        progress(report);
    }
}

/// Looks at every other proposal. Adds the approvals that were used.
pub(super) async fn proposals(
    source: &mut Source<'_>,
    used: &mut HashSet<Uuid>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let (snapshot, stamped) = source.reader();
    let mut after: Option<Vec<String>> = None;
    loop {
        let key = table::key_of(PROPOSAL);
        let page =
            snapshot.evidence_page(&stamped[PROPOSAL], key, after.as_deref(), PROPOSALS).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(vec![Row { table: PROPOSAL, raw: last }.key()]);
        let mut rows = with_log(snapshot, stamped, PROPOSAL, page).await?;
        let proposals: Vec<Uuid> = ids(rows.all(PROPOSAL), "proposal_id").into_iter().collect();
        let order = ["proposal_id", "evidence_id"];
        let shape = &stamped[USAGE];
        rows.add(USAGE, snapshot.evidence_of(shape, order[0], &proposals, &order).await?);
        let mut checker = Checker::new(&rows, signers, report);
        checker.digests(|row| row.table != REQUEST && row.table != table::USE);
        for proposal in rows.all(PROPOSAL) {
            checker.proposal(proposal, used);
        }
        progress(report);
    }
}

impl<'a> Checker<'a> {
    fn workflow_change(&mut self, change: Row<'a>, used: &mut HashSet<Uuid>) {
        const WRITTEN: &str = "revisions_are_the_writers";
        let id = change.id("change_request_id");
        self.entry_id = Some(id);
        let revisions: Vec<Row<'a>> =
            self.rows.of(CHANGE_REVISION, "change_request_id", &id.to_string()).collect();
        for (n, revision) in revisions.iter().copied().enumerate() {
            self.of_its_text(revision, "definition", "definition_sha256");
            self.expect(revision, WRITTEN, "revision_no", Some(&(n + 1).to_string()));
            self.expect(revision, WRITTEN, "written_by", change.opt("started_by"));
            if text_of(&revision.json("definition"), "workflow") != change.text("workflow") {
                self.wrong(revision, WRITTEN, "it is about another workflow than its request");
            }
        }
        let subject = Subject {
            kind: "workflow_change",
            row: change,
            texts: revisions
                .iter()
                .map(|row| {
                    let at = row.number("written_at").unwrap_or_default();
                    (at, row.text("definition_sha256"))
                })
                .collect(),
        };
        let (mut merged, mut approval) = (None, None);
        for row in self.rows.log_of(id) {
            self.proposal_move(&subject, row, &mut approval, used);
            match row.trigger_ref.as_str() {
                "propose" => {
                    self.artefacts(row, &[change]);
                    let evidence = evidence_of(row);
                    let first = revisions.first().and_then(|row| row.opt("definition_sha256"));
                    let named = evidence["definition_sha256"].as_str();
                    self.expect_move(row, "definition_sha256", named, first);
                }
                "merge" => merged = self.merged(&subject, row),
                _ => self.nothing_written(row),
            }
        }
        let version = merged.and_then(|version: Row<'a>| version.opt("workflow_def_id"));
        self.expect(change, RULE, "merged_def_id", version);
        self.expect(change, RULE, "approval_id", approval.as_deref());
        for version in self.rows.of(WORKFLOW, "change_request_id", &id.to_string()) {
            self.require_claim(version, "merge of its request");
        }
        self.entry_id = None;
    }

    /// The version is the newest text of its request, on the version that this was written against.
    fn merged(&mut self, subject: &Subject<'a>, row: &LogRow) -> Option<Row<'a>> {
        const RULE: &str = "version_is_what_was_approved";
        let change = subject.row;
        let id = change.text("change_request_id");
        let Some(version) = self.rows.one(WORKFLOW, "change_request_id", id) else {
            self.missing(row, WORKFLOW, change.text("merged_def_id"));
            return None;
        };
        self.artefacts(row, &[version]);
        let number = change.number("base_version").unwrap_or_default() + 1;
        self.expect_all(
            version,
            RULE,
            &[
                ("definition_sha256", subject.texts.last().map(|(_, digest)| *digest)),
                ("workflow", change.opt("workflow")),
                ("version", Some(&number.to_string())),
                ("merged_by", Some(&row.principal)),
            ],
        );
        Some(version)
    }

    fn proposal(&mut self, proposal: Row<'a>, used: &mut HashSet<Uuid>) {
        let id = proposal.id("proposal_id");
        self.entry_id = Some(id);
        self.of_its_text(proposal, "proposed_action", "action_sha256");
        let subject = Subject {
            kind: "proposal",
            row: proposal,
            texts: vec![(i64::MIN, proposal.text("action_sha256"))],
        };
        let usage: Vec<Row<'a>> = self.rows.of(USAGE, "proposal_id", &id.to_string()).collect();
        let mut approval = None;
        for row in self.rows.log_of(id) {
            self.proposal_move(&subject, row, &mut approval, used);
            if row.trigger_ref == "propose" {
                let mut written = usage.clone();
                written.push(proposal);
                self.artefacts(row, &written);
            } else {
                self.nothing_written(row);
            }
        }
        self.expect(proposal, RULE, "approval_id", approval.as_deref());
        for usage in usage {
            self.canonical(usage, "facts");
            self.require_claim(usage, "birth of its proposal");
        }
        self.entry_id = None;
    }

    /// What holds for the moves of every proposal: who wrote it hands it in, others decide on that text, and their approval is used.
    /// `approval` is the one that it was decided by last.
    fn proposal_move(
        &mut self,
        subject: &Subject<'a>,
        row: &LogRow,
        approval: &mut Option<String>,
        used: &mut HashSet<Uuid>,
    ) {
        let proposal = subject.row;
        self.legal_in(of_proposals(), subject.kind, proposal, row);
        let writer = proposal.text("started_by");
        let digest = subject.digest_at(row.at_micros);
        let evidence = evidence_of(row);
        match row.trigger_ref.as_str() {
            "propose" | "withdraw" => {
                self.expect_move(row, "principal", Some(&row.principal), Some(writer));
            }
            "submit" => {
                self.expect_move(row, "principal", Some(&row.principal), Some(writer));
                self.expect_move(row, "digest", evidence["digest"].as_str(), digest);
            }
            "merge" => {
                let approval = approval.clone().unwrap_or_default();
                self.asked(subject, row, &approval, digest);
                self.carried_out(subject, row, &approval, used);
            }
            // The database counts the votes; what they make is looked at with the request.
            _ => {
                let named = text_of(&evidence, "approval_id");
                self.expect_evidence(row, &json!({ "approval_id": named }));
                self.asked(subject, row, named, digest);
                *approval = Some(named.to_owned());
            }
        }
    }

    /// The request is about exactly this text, and its writer, who does not vote on it, asked.
    fn asked(&mut self, subject: &Subject<'a>, row: &LogRow, approval: &str, digest: Option<&str>) {
        let Some(asked) = self.rows.one(REQUEST, "approval_id", approval) else {
            return self.wrong_move(row, RULE, format!("request {approval} is not there"));
        };
        self.expect_all(
            asked,
            RULE,
            &[
                ("kind", Some(subject.kind)),
                ("subject_kind", Some(subject.kind)),
                ("subject_ref", Some(&row.run_id.to_string())),
                ("subject_digest", digest),
                ("proposer", subject.row.opt("started_by")),
            ],
        );
    }

    fn carried_out(
        &mut self,
        subject: &Subject<'a>,
        row: &LogRow,
        approval: &str,
        used: &mut HashSet<Uuid>,
    ) {
        let Some(spent) = self.rows.one(table::USE, "approval_id", approval) else {
            return self.wrong_move(row, RULE, format!("approval {approval} was not used for it"));
        };
        self.expect_all(
            spent,
            RULE,
            &[
                ("used_for_kind", Some(subject.kind)),
                ("used_for_ref", Some(&format!("{}/{}", row.run_id, row.idempotency_key))),
                ("used_by", Some(&row.principal)),
            ],
        );
        used.insert(spent.id("approval_id"));
    }
}
