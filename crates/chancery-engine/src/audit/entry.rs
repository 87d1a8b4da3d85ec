//! One entry of the cutter, from its log: what each move wrote, and that the rows say what was signed.

use std::collections::HashMap;
use std::sync::OnceLock;

use chancery_model::canonical;
use chancery_model::chain::LogRow;
use chancery_model::cutter::{
    Effect, Manifest, escalation_id, executor_attested, mark_evidence, review_evidence,
    verification_given_up_id,
};
use chancery_model::evidence::artefact_digest;
use chancery_model::machine::{Definition, File, Transition};
use serde_json::{Value, json};
use uuid::Uuid;

use super::check::Checker;
use super::rows::{Row, swept_by};
use super::table;

/// What the moves of an entry have made so far.
#[derive(Default)]
pub(super) struct Story<'a> {
    /// The newest decision on a manifest.
    pub(super) decision: Option<Row<'a>>,
    manifests: HashMap<&'a str, Manifest>,
    /// The change set of the cut, and what it makes of its manifest.
    pub(super) set: Option<Row<'a>>,
    pub(super) effect: Option<Effect>,
    /// The change set that took the cut back.
    pub(super) rollback: Option<Row<'a>>,
    /// Units that had no ledger yet and were taken back with their run: under which id, and by whom.
    pub(super) voided: Option<(Uuid, String)>,
    pub(super) result: Option<Row<'a>>,
}

impl<'a> Story<'a> {
    /// The manifest that a decision is about, when it holds together.
    pub(super) fn manifest(&self, decision: Row<'a>) -> Option<&Manifest> {
        self.manifests.get(decision.text("manifest_id"))
    }
}

/// The transitions of the machine, from the file that this binary was built with: what the audited database says about them is
/// not asked.
fn transitions() -> &'static [Transition] {
    static TRANSITIONS: OnceLock<Vec<Transition>> = OnceLock::new();
    TRANSITIONS.get_or_init(|| {
        let file = File::parse(include_str!("../../../../machines/cut_request.yaml"))
            .expect("the machine ships with the binary and its tests read it");
        Definition::from(&file).transitions
    })
}

impl<'a> Checker<'a> {
    /// Proves one entry.
    pub(super) fn entry(&mut self, entry: Row<'a>) {
        let entry_id = entry.id("entry_id");
        self.entry_id = Some(entry_id);
        let log = self.rows.log_of(entry_id);
        self.marked_as(entry, log.first());
        let mut story = Story::default();
        for row in log {
            self.legal(entry, row);
            match row.trigger_ref.as_str() {
                "mark" | "escalate" => self.mark(entry, row),
                "sweep" => self.sweep(entry, row),
                "review" => self.review(entry, row, &mut story),
                "cut" => self.cut(entry, row, &mut story),
                "verify" => self.verify(entry, row, &mut story),
                "abandon" => self.abandon(entry, row, &mut story),
                other => {
                    self.wrong_move(row, "move_is_legal", format!("nothing is called {other}"))
                }
            }
        }
        self.decisions(entry, &story);
        self.verified_again(entry, &story);
        self.before_the_ledger(entry, &mut story);
        self.units(entry, &story);
        for (table, column, by) in [
            (table::DEPENDENCY, "from_entry_id", "mark"),
            (table::ENVELOPE, "entry_id", "review"),
            (table::CHANGE_SET, "decision_backlog_entry_id", "cut, verification or abandonment"),
        ] {
            for row in self.rows.of(table, column, entry.text("entry_id")) {
                self.require_claim(row, by);
            }
        }
        self.entry_id = None;
    }

    /// The entry's columns are what its payload and its birth say.
    fn marked_as(&mut self, entry: Row<'_>, birth: Option<&LogRow>) {
        const RULE: &str = "entry_is_as_it_was_marked";
        let payload = entry.json("payload");
        self.canonical(entry, "payload");
        let spec = &payload["proposed_cut_spec"];
        // An id may be spelled in capitals by who asks; the column has it as PostgreSQL writes it.
        let id = |value: &Value| -> Option<String> {
            value.as_str()?.parse::<Uuid>().ok().map(|id| id.to_string())
        };
        let escalation_of = id(&payload["escalation_of"]);
        let source_version = id(&spec["source_version_id"]);
        let kind = if escalation_of.is_some() { "escalation" } else { "cut_request" };
        self.expect_all(
            entry,
            RULE,
            &[
                ("idempotency_key", payload["idempotency_key"].as_str()),
                ("document_id", spec["document_id"].as_str()),
                ("source_version_id", source_version.as_deref()),
                ("escalation_of", escalation_of.as_deref()),
                ("kind", Some(kind)),
                ("correlation_id", entry.opt("entry_id")),
            ],
        );
        if let Some(birth) = birth {
            self.expect_all(
                entry,
                RULE,
                &[
                    ("started_by", Some(&birth.principal)),
                    ("state_machine_id", Some(&birth.state_machine_id)),
                    ("idempotency_key", Some(&birth.idempotency_key)),
                ],
            );
        }
        if birth.is_some_and(|birth| birth.trigger_ref == "escalate") {
            let result: Option<Uuid> =
                payload["verify_result_id"].as_str().and_then(|id| id.parse().ok());
            // Without a verdict, the verification itself was given up.
            let given_up = || entry.uuid("escalation_of").map(verification_given_up_id);
            let id = result.map(escalation_id).or_else(given_up).map(|id| id.to_string());
            self.expect(entry, RULE, "entry_id", id.as_deref());
        }
        let source = entry.text("source_version_id");
        match self.rows.one(table::SOURCE, "source_version_id", source) {
            None => self.wrong(entry, RULE, format!("its source {source} is not there")),
            Some(source) => self.expect_all(
                source,
                "source_is_what_was_marked",
                &[
                    ("document_id", entry.opt("document_id")),
                    ("content_sha256", spec["content_sha256"].as_str()),
                ],
            ),
        }
    }

    /// The move is one of the machine's, made by a class that may make it, and by nobody who must not.
    pub(super) fn legal(&mut self, entry: Row<'_>, row: &LogRow) {
        self.legal_in(transitions(), "cut_request", entry, row);
        // Who reviews or gives up says why; a service's move has nothing to say.
        if row.reason.is_some() && ["sweep", "cut", "verify"].contains(&row.trigger_ref.as_str()) {
            let what = "the move gives a reason, and nobody was asked for one";
            self.wrong_move(row, "move_is_legal", what);
        }
    }

    /// The move of a run is one of its machine's.
    pub(super) fn legal_in(
        &mut self,
        transitions: &[Transition],
        kind: &str,
        run: Row<'_>,
        row: &LogRow,
    ) {
        const RULE: &str = "move_is_legal";
        let found = transitions.iter().find(|transition| {
            transition.from == row.from_state
                && transition.to == row.to_state
                && transition.actor.code() == row.actor_class
                && transition.trigger_kind.code() == row.trigger_kind
                && transition.trigger_ref == row.trigger_ref
        });
        let Some(transition) = found else {
            let from = row.from_state.as_deref().unwrap_or("∅");
            let what = format!(
                "no transition leads {} from {from} to {} on {}:{}",
                row.actor_class, row.to_state, row.trigger_kind, row.trigger_ref
            );
            return self.wrong_move(row, RULE, what);
        };
        let expected = transition.transition_id.split_once('#').map(|(_, rest)| rest);
        let (machine, rest) = row.transition_id.split_once('#').unwrap_or_default();
        if machine != row.state_machine_id || Some(rest) != expected {
            self.wrong_move(row, RULE, "the transition's id is not that of its states");
        }
        if row.event_type != transition.event {
            self.wrong_move(row, RULE, "the move tells another event than its transition");
        }
        // Of the machines that are known here only a step or task that waits says what for.
        let waits = ["step", "task"].contains(&kind) && row.to_state == "waiting";
        if row.run_kind != kind || row.facet.is_some() != waits {
            self.wrong_move(row, RULE, "the move is of another kind of run");
        }
        if row.state_machine_id != run.text("state_machine_id") {
            self.wrong_move(row, RULE, "the run is of another machine");
        }
    }

    /// The digest of a move is over the rows it wrote.
    pub(super) fn artefacts(&mut self, row: &LogRow, rows: &[Row<'_>]) {
        for artefact in rows {
            self.claim(*artefact);
        }
        let digests: Option<Vec<[u8; 32]>> = rows.iter().map(|row| row.digest()).collect();
        let expected = digests.map(|digests| artefact_digest(&digests));
        if row.artefact_digest.as_deref() != expected.as_ref().map(<[u8; 32]>::as_slice) {
            let mut tables: Vec<&str> = rows.iter().map(|row| row.table).collect();
            tables.dedup();
            self.wrong_move(
                row,
                "artefacts_are_in_the_log",
                format!("the move wrote other rows than those of {}", tables.join(", ")),
            );
        }
    }

    pub(super) fn missing(&mut self, row: &LogRow, table: &str, id: &str) {
        let what = format!("{table} {id} is not there");
        self.wrong_move(row, "artefacts_are_in_the_log", what);
    }

    fn mark(&mut self, entry: Row<'a>, row: &LogRow) {
        const RULE: &str = "dependency_is_as_it_was_marked";
        let dependencies: Vec<Row<'a>> =
            self.rows.of(table::DEPENDENCY, "from_entry_id", entry.text("entry_id")).collect();
        let mut rows = vec![entry];
        rows.extend(&dependencies);
        self.artefacts(row, &rows);
        let blockers: Vec<Uuid> = dependencies.iter().map(|row| row.id("to_entry_id")).collect();
        self.expect_evidence(row, &mark_evidence(&blockers, &entry.json("payload")));
        for dependency in dependencies {
            self.expect_all(
                dependency,
                RULE,
                &[("dependency_kind", Some("blocks")), ("created_by", Some(&row.principal))],
            );
            let blocker = dependency.text("to_entry_id");
            if self.rows.one(table::ENTRY, "entry_id", blocker).is_none() {
                self.wrong(dependency, RULE, "the entry that it waits for is not there");
            }
        }
    }

    fn sweep(&mut self, entry: Row<'_>, row: &LogRow) {
        const RULE: &str = "sweep_is_as_it_was_logged";
        let sweep_id = swept_by(row).unwrap_or_default();
        self.expect_evidence(row, &json!({ "sweep_id": sweep_id }));
        let key = format!("sweep:{sweep_id}");
        self.expect_move(row, "idempotency key", Some(&row.idempotency_key), Some(&key));
        let Some(sweep) = self.rows.one(table::SWEEP, "sweep_id", &sweep_id.to_string()) else {
            return self.missing(row, table::SWEEP, &sweep_id.to_string());
        };
        // Not claimed: one sweep speaks for all entries that it promoted.
        let expected = sweep.digest().map(|digest| artefact_digest(&[digest]));
        if row.artefact_digest.as_deref() != expected.as_ref().map(<[u8; 32]>::as_slice) {
            self.wrong_move(row, "artefacts_are_in_the_log", "the move is of another sweep");
        }
        self.canonical(sweep, "report_summary");
        let summary = sweep.json("report_summary");
        let promoted = summary["promoted"].as_array().map_or(&[][..], Vec::as_slice);
        let count = promoted.len().to_string();
        self.expect_all(
            sweep,
            RULE,
            &[
                ("swept_by", Some(&row.principal)),
                ("scanned_count", Some(&count)),
                ("created_count", Some("0")),
                ("promoted_count", Some(&count)),
            ],
        );
        if !promoted.iter().any(|id| id.as_str() == entry.opt("entry_id")) {
            self.wrong(sweep, RULE, "the entry that it promoted is not in its report");
        }
    }

    fn review(&mut self, entry: Row<'a>, row: &LogRow, story: &mut Story<'a>) {
        const RULE: &str = "review_is_as_it_was_logged";
        let evidence = evidence_of(row);
        let id = text_of(&evidence, "review_decision_id");
        let Some(decision) = self.rows.one(table::DECISION, "review_decision_id", id) else {
            return self.missing(row, table::DECISION, id);
        };
        let id = decision.text("manifest_id");
        let Some(envelope) = self.rows.one(table::ENVELOPE, "envelope_id", id) else {
            return self.missing(row, table::ENVELOPE, id);
        };
        let mut rows = vec![envelope, decision];
        rows.extend(self.rows.of(table::BLOCK, "envelope_id", id));
        self.artefacts(row, &rows);
        let verdict = decision.text("verdict");
        self.expect_evidence(
            row,
            &review_evidence(
                decision.id("review_decision_id"),
                envelope.id("envelope_id"),
                &envelope.bytes("manifest_digest").unwrap_or_default(),
                verdict,
            ),
        );
        let (to_state, status) = match verdict {
            "approve" => ("reviewed_approved", "accepted"),
            "reject" => ("reviewed_rejected", "rejected"),
            _ => ("reviewed_deferred", "under_review"),
        };
        self.expect_move(row, "state", Some(&row.to_state), Some(to_state));
        let rationale = row.reason.as_deref();
        let reviewer = Some(row.principal.as_str());
        let prior = story.decision.and_then(|decision| decision.opt("review_decision_id"));
        self.expect_all(
            decision,
            RULE,
            &[
                ("governance_event_kind", Some("cut_review")),
                ("entry_id", entry.opt("entry_id")),
                ("reviewer_identity", reviewer),
                ("verdict_rationale", rationale),
                ("prior_review_decision_id", prior),
            ],
        );
        self.expect_all(
            envelope,
            RULE,
            &[
                ("entry_id", entry.opt("entry_id")),
                ("source_doc_ref", entry.opt("entry_id")),
                ("source_version_id", entry.opt("source_version_id")),
                ("status", Some(status)),
                ("created_by", reviewer),
                ("reviewer", reviewer),
                ("rationale", rationale),
            ],
        );
        if reviewer == entry.opt("started_by") {
            self.wrong(decision, "nobody_reviews_their_own", "the reviewer marked the entry");
        }
        if let Some(manifest) = self.manifest(envelope) {
            story.manifests.insert(envelope.text("envelope_id"), manifest);
        }
        story.decision = Some(decision);
    }

    fn cut(&mut self, entry: Row<'a>, row: &LogRow, story: &mut Story<'a>) {
        const RULE: &str = "cut_is_what_was_approved";
        let evidence = evidence_of(row);
        let id = text_of(&evidence, "change_set_id");
        let Some(set) = self.rows.one(table::CHANGE_SET, "change_set_id", id) else {
            return self.missing(row, table::CHANGE_SET, id);
        };
        let id = set.text("executor_signature_id");
        let Some(signature) = self.rows.one(table::SIGNATURE, "signature_id", id) else {
            return self.missing(row, table::SIGNATURE, id);
        };
        let affected: Vec<Row<'a>> =
            self.rows.of(table::AFFECTED, "change_set_id", set.text("change_set_id")).collect();
        let mut rows = affected.clone();
        rows.extend([set, signature]);
        self.artefacts(row, &rows);
        story.set = Some(set);

        let decision = story.decision.filter(|decision| decision.text("verdict") == "approve");
        let Some(decision) = decision else {
            return self.wrong(set, RULE, "no approval stands before the cut");
        };
        if decision.opt("reviewer_identity") == Some(&row.principal) {
            self.wrong(set, "nobody_reviews_their_own", "the reviewer cut the entry");
        }
        self.blockers(entry, row);
        let (set_id, signature_id) = (set.opt("change_set_id"), signature.opt("signature_id"));
        self.expect_evidence(
            row,
            &json!({
                "review_decision_id": decision.opt("review_decision_id"), "change_set_id": set_id,
                "change_set_digest": set.opt("change_set_digest"), "executor_signature_id": signature_id,
                "event": { "change_set_id": set_id, "executor_signature_id": signature_id },
            }),
        );
        let key = format!("cut:{}", decision.text("review_decision_id"));
        self.expect_move(row, "idempotency key", Some(&row.idempotency_key), Some(&key));
        let Some(manifest) = story.manifests.get(decision.text("manifest_id")) else {
            return self.wrong(set, RULE, "its manifest does not hold together");
        };
        let owner = entry.text("started_by");
        let effect = Effect::of(manifest, set.id("change_set_id"), owner);
        self.applied(entry, row, set, decision, manifest, &effect);
        self.expect_all(
            signature,
            "signature_is_of_the_cut",
            &[
                ("signer_principal", Some(&row.principal)),
                ("cross_reference_change_set_id", set_id),
                ("signer_tool_revision", set.opt("executor_tool_revision")),
            ],
        );
        let digest = set.bytes("change_set_digest").unwrap_or_default();
        let attested = executor_attested(
            entry.id("entry_id"),
            set.id("change_set_id"),
            &digest,
            &manifest.digest(),
        );
        self.attests(signature, &attested);
        self.ledger(&affected, &effect);
        story.effect = Some(effect);
    }

    /// The header of a cut is what its manifest makes of it.
    fn applied(
        &mut self,
        entry: Row<'_>,
        row: &LogRow,
        set: Row<'_>,
        decision: Row<'_>,
        manifest: &Manifest,
        effect: &Effect,
    ) {
        const RULE: &str = "cut_is_what_was_approved";
        let writer_digest = hex::encode(effect.writer_digest());
        let effect_digest = hex::encode(effect.effect_digest());
        let digest = effect.change_set_digest(
            manifest,
            entry.id("entry_id"),
            decision.id("review_decision_id"),
        );
        let digest = hex::encode(digest);
        let version = hex::encode(manifest.digest());
        let count = manifest.units.len().to_string();
        let rollback_key = format!(
            "rbk:{}:{}:{}",
            entry.text("document_id"),
            &writer_digest[..16],
            set.text("change_set_id")
        );
        let summary = canonical::to_string(&json!({
            "content_sha256": hex::encode(manifest.content_sha256),
            "document_id": manifest.document_id,
            "source_version_id": manifest.source_version_id,
        }));
        self.expect_all(
            set,
            RULE,
            &[
                ("change_kind", Some("apply")),
                ("decision_backlog_entry_id", entry.opt("entry_id")),
                ("manifest_id", decision.opt("manifest_id")),
                ("manifest_version", Some(&version)),
                ("review_decision_id", decision.opt("review_decision_id")),
                ("verifier_signature_id", None),
                ("rollback_key", Some(&rollback_key)),
                ("rollback_of_change_set_id", None),
                ("rollback_reason", None),
                ("state", Some("committed")),
                ("affected_unit_count", Some(&count)),
                ("writer_digest", Some(&writer_digest)),
                ("effect_digest", Some(&effect_digest)),
                ("change_set_digest", Some(&digest)),
                ("payload_summary", Some(&summary)),
                ("verifier_tool_revision", Some("pending")),
                ("emitted_by", Some(&row.principal)),
            ],
        );
    }

    /// The ledger of a cut has a row for each unit of its manifest, in their order.
    fn ledger(&mut self, affected: &[Row<'_>], effect: &Effect) {
        const RULE: &str = "ledger_is_what_was_approved";
        for (touched, (unit, snapshot)) in
            affected.iter().zip(effect.units.iter().zip(&effect.snapshots))
        {
            let (row_id, unit_id) = (unit.affected_row_id.to_string(), unit.unit_id.to_string());
            let order = unit.sort_order.to_string();
            self.expect_all(
                *touched,
                RULE,
                &[
                    ("affected_row_id", Some(&row_id)),
                    ("render_order", Some(&order)),
                    ("target_table", Some(table::UNIT)),
                    ("target_row_id", Some(&unit_id)),
                    ("operation_kind", Some("insert")),
                    ("before_state_snapshot", None),
                    ("after_state_snapshot", Some(snapshot)),
                ],
            );
        }
    }

    /// What a cut waited for was verified before it.
    fn blockers(&mut self, entry: Row<'_>, cut: &LogRow) {
        for dependency in self.rows.of(table::DEPENDENCY, "from_entry_id", entry.text("entry_id")) {
            let log = self.rows.log_of(dependency.id("to_entry_id"));
            let before = log.iter().take_while(|row| row.at_micros <= cut.at_micros);
            let state = before.last().map_or("∅", |row| row.to_state.as_str());
            if state != "verified_complete" {
                let what = format!("the entry was cut while it waited for one in {state}");
                self.wrong(dependency, "cut_waited_for_its_blockers", what);
            }
        }
    }

    /// Every decision on the entry is signed and has its place: in the log, or as a decision on enacting what was verified.
    fn decisions(&mut self, entry: Row<'a>, story: &Story<'a>) {
        let decisions: Vec<Row<'a>> =
            self.rows.of(table::DECISION, "entry_id", entry.text("entry_id")).collect();
        for decision in &decisions {
            self.decision(*decision);
            let kind = decision.opt("governance_event_kind");
            let mut next = decisions.iter().filter(|next| {
                next.opt("governance_event_kind") == kind
                    && next.opt("prior_review_decision_id") == decision.opt("review_decision_id")
            });
            self.expect(
                *decision,
                "decision_is_superseded_by_the_next",
                "superseded_by_review_decision_id",
                next.next().and_then(|next| next.opt("review_decision_id")),
            );
            if next.next().is_some() {
                self.wrong(*decision, "decisions_form_one_chain", "two decisions follow it");
            }
            if kind == Some("cut_review") {
                self.require_claim(*decision, "review");
            } else {
                self.enactment(entry, *decision, &decisions, story);
            }
        }
    }

    /// A decision on enacting is about a verified cut and follows the decision on the cut, or the one on enacting before it.
    fn enactment(
        &mut self,
        entry: Row<'a>,
        decision: Row<'a>,
        decisions: &[Row<'a>],
        story: &Story<'a>,
    ) {
        const RULE: &str = "enactment_is_of_a_verified_cut";
        let kind = "lifecycle_enactment";
        self.expect_all(
            decision,
            RULE,
            &[
                ("governance_event_kind", Some(kind)),
                ("manifest_id", story.set.and_then(|set| set.opt("manifest_id"))),
            ],
        );
        let prior = decision.opt("prior_review_decision_id");
        let of_the_cut = story.set.is_some_and(|set| set.opt("review_decision_id") == prior);
        let before = decisions.iter().find(|before| {
            before.text("governance_event_kind") == kind
                && before.opt("review_decision_id") == prior
        });
        if !of_the_cut && before.is_none() {
            self.wrong(decision, RULE, "it follows no decision on this cut");
        }
        if of_the_cut {
            let mut first = decisions.iter().filter(|other| {
                other.text("governance_event_kind") == kind
                    && other.opt("prior_review_decision_id") == prior
            });
            if first.nth(1).is_some() {
                self.wrong(
                    decision,
                    "decisions_form_one_chain",
                    "another one is the first as well",
                );
            }
        }
        if story.result.is_none_or(|result| result.text("verdict") != "pass") {
            self.wrong(decision, RULE, "the cut was not verified");
        }
        if decision.opt("reviewer_identity") == entry.opt("started_by") {
            self.wrong(decision, "nobody_reviews_their_own", "the reviewer marked the entry");
        }
    }
}

pub(super) fn evidence_of(row: &LogRow) -> Value {
    serde_json::from_str(&row.evidence).unwrap_or_default()
}

pub(super) fn text_of<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}
