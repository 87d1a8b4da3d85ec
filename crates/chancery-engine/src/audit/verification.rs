//! Verifications of a cut, and what takes a cut back.

use std::collections::HashMap;

use chancery_model::canonical;
use chancery_model::chain::LogRow;
use chancery_model::cutter::{
    ChangeSet, Verification, change_set_digest, derived_uuid, effect_digest, escalation_id,
    retired_snapshot, rollback_id, verifier_attested, verify_digest,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::check::Checker;
use super::entry::{Story, evidence_of, text_of};
use super::rows::Row;
use super::table;

impl<'a> Checker<'a> {
    pub(super) fn verify(&mut self, entry: Row<'a>, row: &LogRow, story: &mut Story<'a>) {
        let evidence = evidence_of(row);
        let id = text_of(&evidence, "verify_result_id");
        let set_id = text_of(&evidence, "change_set_id");
        let mut results = self.rows.of(table::RESULT, "change_set_id", set_id);
        let Some(result) = results.find(|row| row.text("verify_result_id") == id) else {
            return self.missing(row, table::RESULT, id);
        };
        let id = result.text("verifier_signature_id");
        let Some(signature) = self.rows.one(table::SIGNATURE, "signature_id", id) else {
            return self.missing(row, table::SIGNATURE, id);
        };
        let mut rows = vec![result, signature];
        let rollback = result.opt("rollback_change_set_id_triggered").and_then(|id| {
            rows.extend(self.rows.of(table::AFFECTED, "change_set_id", id));
            self.rows.one(table::CHANGE_SET, "change_set_id", id)
        });
        rows.extend(rollback);
        self.artefacts(row, &rows);
        let mut made = json!({
            "verify_result_id": result.opt("verify_result_id"), "verifier_signature_id": signature.opt("signature_id"),
            "rollback_change_set_id_triggered": result.opt("rollback_change_set_id_triggered"),
            "escalation_ref": result.opt("escalation_ref"),
        });
        if let Value::Object(members) = &mut made {
            members.retain(|_, value| !value.is_null());
        }
        let mut expected = json!({
            "change_set_id": result.opt("change_set_id"), "verdict": result.opt("verdict"),
            "verify_digest": result.opt("verify_digest"), "key_id": signature.opt("key_id"), "event": made,
        });
        if let (Value::Object(members), Value::Object(made)) = (&mut expected, made) {
            members.extend(made);
        }
        self.expect_evidence(row, &expected);
        let key = format!("verify:{}", result.text("verify_result_id"));
        self.expect_move(row, "idempotency key", Some(&row.idempotency_key), Some(&key));
        let failed = result.text("verdict") == "fail";
        let to = if failed { "verify_failed_escalated" } else { "verified_complete" };
        self.expect_move(row, "state", Some(&row.to_state), Some(to));
        self.expect(result, "result_is_as_it_was_logged", "verified_by", Some(&row.principal));
        self.expect(result, "result_is_as_it_was_logged", "prior_verify_result_id", None);
        let Some(set) = story.set else {
            return self.wrong(result, "result_is_of_the_cut", "no cut stands before it");
        };
        let taken_back = failed.then(|| rollback_id(result.id("verify_result_id")));
        self.result(entry, set, result, signature, taken_back);
        if let Some(rollback) = rollback {
            let revision = result.text("verifier_tool_revision");
            self.taken_back(row, set, rollback, "verification failed", revision);
            story.rollback = Some(rollback);
        }
        story.result = Some(result);
    }

    /// A verification is about the cut, independent of it, and signed for exactly what its row says.
    fn result(
        &mut self,
        entry: Row<'_>,
        set: Row<'_>,
        result: Row<'_>,
        signature: Row<'_>,
        taken_back: Option<Uuid>,
    ) {
        const RULE: &str = "result_is_of_the_cut";
        let verdict = result.text("verdict");
        let findings = result.json("findings");
        self.canonical(result, "findings");
        let result_id = result.id("verify_result_id");
        // A failure opens an escalation, or joins the one that another verification of this cut opened.
        let named = result.uuid("escalation_ref");
        let opener = self
            .rows
            .of(table::RESULT, "change_set_id", set.text("change_set_id"))
            .find(|one| {
                one.text("verdict") == "fail"
                    && named == Some(escalation_id(one.id("verify_result_id")))
            })
            .unwrap_or(result);
        let escalated = (verdict == "fail").then(|| escalation_id(opener.id("verify_result_id")));
        let verification = Verification {
            verify_result_id: result_id,
            change_set_id: result.id("change_set_id"),
            change_set_digest: &set.bytes("change_set_digest").unwrap_or_default(),
            executor_signature_id: set.id("executor_signature_id"),
            verdict,
            findings: &findings,
            prior_verify_result_id: result.uuid("prior_verify_result_id"),
            rollback_change_set_id: taken_back,
            escalation_ref: escalated,
        };
        let digest = hex::encode(verify_digest(&verification));
        let same = set.opt("executor_tool_revision") == signature.opt("signer_tool_revision");
        self.expect_all(
            result,
            RULE,
            &[
                ("change_set_id", set.opt("change_set_id")),
                ("manifest_id", set.opt("manifest_id")),
                ("manifest_version", set.opt("manifest_version")),
                ("review_decision_id", set.opt("review_decision_id")),
                ("executor_signature_id", set.opt("executor_signature_id")),
                ("executor_tool_revision", set.opt("executor_tool_revision")),
                ("verifier_tool_revision", signature.opt("signer_tool_revision")),
                ("tool_revision_match", Some(if same { "true" } else { "false" })),
                ("verify_kind", Some("axis_1_round_trip")),
                ("axis_1_status", Some(verdict)),
                ("axis_2_status", Some("not_assessed")),
                ("state", Some("complete")),
                ("canonicalization_rule_used", Some("rfc8785")),
                (
                    "rollback_change_set_id_triggered",
                    taken_back.map(|id| id.to_string()).as_deref(),
                ),
                ("escalation_ref", escalated.map(|id| id.to_string()).as_deref()),
                ("verify_digest", Some(&digest)),
                ("verified_by", signature.opt("signer_principal")),
            ],
        );
        let found = findings["findings"].as_array().map_or(0, Vec::len);
        if (found > 0) != (verdict == "fail") || !["pass", "fail"].contains(&verdict) {
            let what = format!("the verdict is {verdict} with {found} findings");
            self.wrong(result, RULE, what);
        }
        let executor =
            self.rows.one(table::SIGNATURE, "signature_id", set.text("executor_signature_id"));
        for column in ["signer_principal", "key_id"] {
            if executor.is_none_or(|executor| executor.opt(column) == signature.opt(column)) {
                let what = format!("executor and verifier have one {column}");
                self.wrong(signature, "verifier_is_not_executor", what);
            }
        }
        self.expect(
            signature,
            "signature_is_of_the_result",
            "cross_reference_verify_result_id",
            result.opt("verify_result_id"),
        );
        let attested =
            verifier_attested(entry.id("entry_id"), &verification, set.text("manifest_version"));
        self.attests(signature, &attested);
        if let Some(id) = escalated {
            self.escalation(entry, opener, id);
        }
    }

    /// A failure opened an entry of its own.
    fn escalation(&mut self, entry: Row<'_>, result: Row<'_>, id: Uuid) {
        const RULE: &str = "failure_is_escalated";
        let Some(escalation) = self.rows.one(table::ENTRY, "entry_id", &id.to_string()) else {
            return self.wrong(result, RULE, format!("the escalation {id} is not there"));
        };
        self.expect_all(
            escalation,
            RULE,
            &[("kind", Some("escalation")), ("escalation_of", entry.opt("entry_id"))],
        );
        let payload = escalation.json("payload");
        if payload["verify_result_id"].as_str() != result.opt("verify_result_id") {
            self.wrong(escalation, RULE, "the escalation names another verification");
        }
    }

    /// A compensation takes back what the cut made, and says so.
    pub(super) fn taken_back(
        &mut self,
        row: &LogRow,
        set: Row<'a>,
        rollback: Row<'a>,
        reason: &str,
        revision: &str,
    ) {
        const RULE: &str = "compensation_is_of_the_cut";
        let rollback_id = rollback.id("change_set_id");
        let affected: Vec<Row<'a>> = self
            .rows
            .of(table::AFFECTED, "change_set_id", rollback.text("change_set_id"))
            .collect();
        let made: HashMap<&str, Row<'a>> = self
            .rows
            .of(table::AFFECTED, "change_set_id", set.text("change_set_id"))
            .map(|row| (row.text("target_row_id"), row))
            .collect();
        for touched in &affected {
            let target = touched.text("target_row_id");
            let Some(made) = made.get(target) else {
                self.wrong(*touched, RULE, "the cut made no such unit");
                continue;
            };
            let id = derived_uuid(rollback_id, &format!("row,{target}")).to_string();
            let retired = retired_snapshot(touched.id("target_row_id"));
            self.expect_all(
                *touched,
                RULE,
                &[
                    ("affected_row_id", Some(&id)),
                    ("render_order", made.opt("render_order")),
                    ("target_table", Some(table::UNIT)),
                    ("operation_kind", Some("retire")),
                    ("before_state_snapshot", made.opt("after_state_snapshot")),
                    ("after_state_snapshot", Some(&retired)),
                ],
            );
        }
        let snapshots: Vec<&str> =
            affected.iter().map(|row| row.text("after_state_snapshot")).collect();
        let effect = effect_digest(&snapshots);
        let count = i32::try_from(affected.len()).unwrap_or(i32::MAX);
        let manifest = self.rows.one(table::ENVELOPE, "envelope_id", set.text("manifest_id"));
        let digest = change_set_digest(&ChangeSet {
            change_set_id: rollback_id,
            entry_id: set.id("decision_backlog_entry_id"),
            review_decision_id: set.id("review_decision_id"),
            manifest_digest: manifest
                .and_then(|manifest| manifest.sha256("manifest_digest"))
                .unwrap_or_default(),
            writer_digest: set.sha256("writer_digest").unwrap_or_default(),
            effect_digest: effect,
            unit_count: count,
        });
        let (effect, digest) = (hex::encode(effect), hex::encode(digest));
        let count = count.to_string();
        let key = format!("rbk:compensate:{}", set.text("change_set_id"));
        let summary = canonical::to_string(&json!({ "rollback_of": set.opt("change_set_id") }));
        self.expect_all(
            rollback,
            RULE,
            &[
                ("change_kind", Some("compensate")),
                ("decision_backlog_entry_id", set.opt("decision_backlog_entry_id")),
                ("manifest_id", set.opt("manifest_id")),
                ("manifest_version", set.opt("manifest_version")),
                ("review_decision_id", set.opt("review_decision_id")),
                ("executor_signature_id", None),
                ("verifier_signature_id", None),
                ("rollback_key", Some(&key)),
                ("rollback_of_change_set_id", set.opt("change_set_id")),
                ("rollback_reason", Some(reason)),
                ("state", Some("committed")),
                ("affected_unit_count", Some(&count)),
                ("writer_digest", set.opt("writer_digest")),
                ("effect_digest", Some(&effect)),
                ("change_set_digest", Some(&digest)),
                ("payload_summary", Some(&summary)),
                ("executor_tool_revision", set.opt("executor_tool_revision")),
                ("verifier_tool_revision", Some(revision)),
                ("emitted_by", Some(&row.principal)),
            ],
        );
    }

    /// Verifications after the one that moved the entry chain to it, and move nothing.
    pub(super) fn verified_again(&mut self, entry: Row<'a>, story: &Story<'a>) {
        let Some(set) = story.set else { return };
        let results: Vec<Row<'a>> =
            self.rows.of(table::RESULT, "change_set_id", set.text("change_set_id")).collect();
        let mut newest = story.result;
        while let Some(prior) = newest {
            let mut next = results.iter().copied().filter(|result| {
                result.opt("prior_verify_result_id") == prior.opt("verify_result_id")
            });
            newest = next.next();
            let Some(result) = newest else { break };
            if !self.claim(result) {
                break;
            }
            let id = result.text("verifier_signature_id");
            let Some(signature) = self.rows.one(table::SIGNATURE, "signature_id", id) else {
                self.wrong(result, "result_is_of_the_cut", "its signature is not there");
                continue;
            };
            self.claim(signature);
            self.result(entry, set, result, signature, None);
            if next.next().is_some() {
                self.wrong(prior, "results_form_one_chain", "two verifications follow it");
                break;
            }
        }
        for result in results {
            self.require_claim(result, "verification");
        }
    }
}
