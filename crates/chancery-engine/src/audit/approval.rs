//! Requests for approval, the votes on them, and what they were used for.

use std::collections::{HashMap, HashSet};

use chancery_model::approval::{Request, Vote, counted_as, request_payload_of, vote_payload_of};
use chancery_model::envelope::{Domain, Statement};
use serde_json::Value;
use uuid::Uuid;

use super::check::Checker;
use super::report::Report;
use super::rows::{Row, Rows, Source, ids};
use super::signers::{Signed, Signers};
use super::table::{self, REQUEST, USE, VOTE};
use crate::Error;

/// Requests that are looked at together.
const PAGE: i64 = 200;

/// What an approval can be used for, of which kind it must be, and what its subject is followed by in the use.
const USES: &[(&str, &str, &str)] = &[
    ("transition", "transition_activation", ""),
    ("orchestrator_run", "cut_authorization", "/SG_cut_authz"),
    ("orchestrator_run", "lifecycle_authorization", "/SG_lifecycle_authz"),
    ("orchestrator_run", "resume_stopped", "/SG_resume_stopped"),
    ("orchestrator_run", "drift_ack", "/SG_drift_ack"),
    ("dlq_replay", "dlq_replay", ""),
    (ADMISSION, "birth_admission", ""),
    ("birth_family", "birth_break_glass", ""),
    ("workflow_change", "workflow_change", CALL),
    ("proposal", "proposal", CALL),
    ("workflow_run", "workflow_cancel", CALL),
    ("step", "step_cancel", CALL),
    ("step", "step_reopen", CALL),
    ("step", "block_escalation", CALL),
    ("task", "step_cancel", CALL),
    ("task", "step_reopen", CALL),
    ("task", "block_escalation", CALL),
];

/// Used by one call about the subject: its idempotency key follows, which the log or the decision says.
const CALL: &str = "/…";

/// Used for a request by its digest, which is what was approved.
const ADMISSION: &str = "birth_request";
/// What speaks for its uses by moves or rows of its own.
const SPOKEN_FOR: [&str; 9] = [
    "orchestrator_run",
    "dlq_replay",
    ADMISSION,
    "birth_family",
    "workflow_change",
    "proposal",
    "workflow_run",
    "step",
    "task",
];

/// What a quorum asks for: sovereigns, reviewers, approving votes, and how many may be against it.
type Quorums = HashMap<String, [i32; 4]>;

/// Looks at every request with its votes and its use. `by_runs` are those that a run of the orchestrator, a replay, a permit, a
/// broken glass, a proposal or a move or decision in a workflow says it used.
pub(super) async fn verify(
    source: &mut Source<'_>,
    by_runs: &HashSet<Uuid>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let (snapshot, shapes) = source.reader();
    // Like the kinds that sign: as the settings have it now.
    let quorums: Quorums = snapshot.quorum_rules().await?.into_iter().collect();
    let mut after: Option<Vec<String>> = None;
    loop {
        let key = table::key_of(REQUEST);
        let page = snapshot.evidence_page(&shapes[REQUEST], key, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(vec![Row { table: REQUEST, raw: last }.text("approval_id").to_owned()]);
        let mut rows = Rows::default();
        rows.add(REQUEST, page);
        let requests: Vec<_> = ids(rows.all(REQUEST), "approval_id").into_iter().collect();
        let order = ["approval_id", "voter", "vote_seq"];
        let votes = snapshot.evidence_of(&shapes[VOTE], "approval_id", &requests, &order);
        rows.add(VOTE, votes.await?);
        let uses = snapshot.evidence_of(&shapes[USE], "approval_id", &requests, &order[..1]);
        rows.add(USE, uses.await?);
        let mut checker = Checker::new(&rows, signers, report);
        checker.digests(|_| true);
        for request in rows.all(REQUEST) {
            checker.approval(request, &quorums);
        }
        for used in rows.all(USE) {
            if SPOKEN_FOR.contains(&used.text("used_for_kind"))
                && !by_runs.contains(&used.id("approval_id"))
            {
                checker.wrong(used, "row_has_an_origin", "no move of a run speaks for the row");
            }
        }
        progress(report);
    }
}

impl<'a> Checker<'a> {
    fn approval(&mut self, request: Row<'a>, quorums: &Quorums) {
        let votes = self.asked_and_voted(request);
        if let Some(used) = self.rows.one(USE, "approval_id", request.text("approval_id")) {
            self.used(request, used, &votes, quorums);
        }
    }

    /// A request and its votes hold; gives the votes.
    pub(super) fn asked_and_voted(&mut self, request: Row<'a>) -> Vec<Row<'a>> {
        self.request(request);
        let votes: Vec<Row<'a>> =
            self.rows.of(VOTE, "approval_id", request.text("approval_id")).collect();
        let mut before: Option<Row<'a>> = None;
        for vote in votes.iter().copied() {
            self.vote(request, vote, before);
            before = Some(vote);
        }
        votes
    }

    /// A request is signed by its proposer, and what was signed is what its row says.
    fn request(&mut self, request: Row<'_>) {
        let signed_at = request.number("signed_at").unwrap_or_default();
        let digest = request.bytes("subject_digest");
        let Some(version) = self.statement_version(request, Domain::Approval, "request_payload")
        else {
            return;
        };
        let payload = request_payload_of(
            version,
            &Request {
                approval_id: request.id("approval_id"),
                kind: request.text("kind"),
                subject_kind: request.text("subject_kind"),
                subject_ref: request.text("subject_ref"),
                subject_digest: digest.as_deref(),
                risk: request.text("risk"),
                title: request.text("title"),
                facts: &request.json("facts"),
                expires_at: request.number("expires_at").unwrap_or_default(),
                principal: request.text("proposer"),
                key_id: request.id("key_id"),
                signed_at,
            },
        );
        self.expect(request, "signed_is_what_is_stored", "request_payload", payload.as_deref());
        self.canonical(request, "facts");
        self.approval_signature(request, "proposer", "request_payload", "requested_at", "request");
        if request.number("expires_at") <= request.number("requested_at") {
            self.wrong(request, "request_can_be_met", "it had expired when it was made");
        }
    }

    /// A vote is signed by its voter, on exactly this request, and counts for what it was signed as.
    fn vote(&mut self, request: Row<'_>, vote: Row<'_>, before: Option<Row<'_>>) {
        const RULE: &str = "vote_counts_for_what_it_is";
        let payload = vote.json("vote_payload");
        let class = payload.get("actor_class").and_then(Value::as_str).unwrap_or_default();
        let Some(version) = self.statement_version(vote, Domain::Approval, "vote_payload") else {
            return;
        };
        let expected = vote_payload_of(
            version,
            &Vote {
                vote_id: vote.id("vote_id"),
                approval_id: vote.id("approval_id"),
                request_digest: &request.digest().unwrap_or_default(),
                decision: vote.text("decision"),
                rationale: vote.opt("rationale"),
                principal: vote.text("voter"),
                actor_class: class,
                key_id: vote.id("key_id"),
                signed_at: vote.number("signed_at").unwrap_or_default(),
            },
        );
        self.expect(vote, "signed_is_what_is_stored", "vote_payload", expected.as_deref());
        self.approval_signature(vote, "voter", "vote_payload", "voted_at", "vote");
        let kind = self.signers.principals.get(vote.text("voter")).cloned().unwrap_or_default();
        self.expect(vote, RULE, "counted_as", Some(counted_as(class, &kind)));
        if vote.text("voter") == request.text("proposer") {
            self.wrong(vote, RULE, "nobody votes on a request of their own");
        }
        let at = vote.number("voted_at");
        if at < request.number("requested_at") || at >= request.number("expires_at") {
            self.wrong(vote, RULE, "it was cast when the request took no votes");
        }
        let before = before.filter(|before| before.text("voter") == vote.text("voter"));
        let seq = before.and_then(|before| before.number("vote_seq")).unwrap_or_default() + 1;
        self.expect(vote, "votes_are_numbered", "vote_seq", Some(&seq.to_string()));
        if before.is_some_and(|before| before.number("voted_at") > at) {
            self.wrong(vote, "votes_are_numbered", "an older vote has a higher number");
        }
    }

    /// What an approval was used for is what it was given for, and it had been given.
    fn used(&mut self, request: Row<'_>, used: Row<'_>, votes: &[Row<'_>], quorums: &Quorums) {
        const RULE: &str = "use_is_what_was_approved";
        let (what, approved) = (used.text("used_for_kind"), request.text("kind"));
        let fitting = USES.iter().find(|(of, kind, _)| *of == what && *kind == approved);
        if fitting.is_none() {
            self.wrong(used, RULE, format!("an approval of {approved} was used for a {what}"));
        }
        let gate = fitting.map_or("", |(_, _, gate)| gate);
        let subject = match what {
            ADMISSION => request.text("subject_digest").to_owned(),
            _ => format!("{}{gate}", request.text("subject_ref")),
        };
        let call = used.text("used_for_ref").strip_prefix(request.text("subject_ref"));
        if gate != CALL || !call.is_some_and(|key| key.len() > 1 && key.starts_with('/')) {
            self.expect(used, RULE, "used_for_ref", Some(&subject));
        }
        if !self.signers.principals.contains_key(used.text("used_by")) {
            self.wrong(used, RULE, format!("{} is nobody", used.text("used_by")));
        }
        let at = used.number("used_at");
        if at < request.number("requested_at") || at >= request.number("expires_at") {
            self.wrong(used, RULE, "it was used when it did not stand");
        }
        if votes.iter().any(|vote| vote.number("voted_at") > at) {
            self.wrong(used, RULE, "somebody voted after it was used");
        }
        // Ordered by voter and number, so the last one of each is the one that counts.
        let newest: HashMap<&str, Row<'_>> =
            votes.iter().map(|vote| (vote.text("voter"), *vote)).collect();
        let count = |decision: &str, part: Option<&str>| {
            let of = newest.values().filter(|vote| {
                vote.text("decision") == decision
                    && part.is_none_or(|part| vote.text("counted_as") == part)
            });
            i32::try_from(of.count()).unwrap_or(i32::MAX)
        };
        let met = quorums.get(request.text("risk")).is_some_and(|[s, r, approvals, rejects]| {
            count("approve", Some("sovereign")) >= *s
                && count("approve", Some("reviewer")) >= *r
                && count("approve", None) >= *approvals
                && count("reject", None) <= *rejects
        });
        if !met {
            self.wrong(used, RULE, "its votes do not make the quorum");
        }
    }

    fn approval_signature(
        &mut self,
        row: Row<'_>,
        signer: &str,
        payload: &str,
        recorded: &str,
        what: &str,
    ) {
        let bytes = row.bytes("signature").unwrap_or_default();
        let recorded_at = row.number(recorded).unwrap_or_default();
        let signed = Signed {
            principal: row.text(signer),
            key_id: row.id("key_id"),
            signature: &bytes,
            // A clock that is a little ahead does not bring a signature behind the end of its key.
            at: row.number("signed_at").unwrap_or_default().min(recorded_at),
            recorded_at,
        };
        let Ok(statement) = Statement::stored(Domain::Approval, row.text(payload)) else { return };
        match self.signers.check(&statement, &signed, what) {
            Ok(()) => self.report.signatures += 1,
            Err(problem) => self.wrong(row, "signature_is_good", problem),
        }
    }
}
