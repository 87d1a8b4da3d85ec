//! AUD-1, SEC-1: a forger who has our code, makes every digest and every link fit again, and has no private key.
//!
//! What such a forger can change unnoticed is listed here, column by column: it is what nobody signs and nothing else says. Against
//! that helps only what the forger cannot reach: an older bundle, or a backup.

use std::collections::{BTreeMap, BTreeSet};

use chancery_model::chain::LogRow;
use chancery_model::evidence::{artefact_digest, release, row_digest};
use serde_json::{Map, Value, json};

use super::bundle::{exported, other, sealed, verified};
use super::scene::Cutter;

type Row = BTreeMap<String, Option<String>>;

/// The rows of a bundle, to be changed.
#[derive(Clone)]
struct Forgery {
    document: Value,
    tables: BTreeMap<String, Vec<Row>>,
    log: Vec<Row>,
}

impl Forgery {
    fn of(file: &[u8]) -> Self {
        let line = file.split(|byte| *byte == b'\n').next().expect("a line");
        let document: Value = serde_json::from_slice(line).expect("JSON");
        let tables = document["tables"].as_object().expect("tables");
        let tables = tables.iter().map(|(name, held)| (name.clone(), rows(held))).collect();
        Self { tables, log: rows(&document["log"]), document }
    }

    fn one(&self, table: &str, column: &str, value: &str) -> Row {
        self.of_value(table, column, value).into_iter().next().unwrap_or_default()
    }

    fn of_value(&self, table: &str, column: &str, value: &str) -> Vec<Row> {
        let all = self.tables.get(table).map_or(&[][..], Vec::as_slice);
        all.iter().filter(|row| text(row, column) == value).cloned().collect()
    }

    /// Makes everything fit again that can be made to fit without a key.
    fn made_to_fit(mut self) -> Self {
        for table in ["iu.information_unit", "iu.unit_version"] {
            self.stamp(table);
        }
        let history = self.tables.get("iu.iu_lifecycle_log").cloned().unwrap_or_default();
        for (n, change) in history.iter().enumerate() {
            let unit = self.one("iu.information_unit", "id", text(change, "unit_id"));
            let version = self.one("iu.unit_version", "id", text(change, "unit_version_id"));
            let row = &mut self.tables.get_mut("iu.iu_lifecycle_log").expect("a history")[n];
            row.insert("unit_digest".to_owned(), digest_of(&unit));
            row.insert("version_digest".to_owned(), digest_of(&version));
        }
        self.stamp("iu.iu_lifecycle_log");
        let ledger = "cutter_governance.cut_change_set_affected_row";
        for (n, touched) in self.tables[ledger].clone().iter().enumerate() {
            let change = self.one("iu.iu_lifecycle_log", "unit_id", text(touched, "target_row_id"));
            let row = &mut self.tables.get_mut(ledger).expect("a ledger")[n];
            row.insert("lifecycle_digest".to_owned(), digest_of(&change));
        }
        let tables: Vec<String> = self.tables.keys().cloned().collect();
        for table in tables.iter().filter(|table| *table != "iu.iu_lifecycle_log") {
            self.stamp(table);
        }
        let mut before: Option<String> = None;
        for n in 0..self.log.len() {
            let digest = artefact_digest(&self.written_by(&self.log[n]));
            let row = &mut self.log[n];
            row.insert("artefact_digest".to_owned(), Some(encoded(&digest)));
            row.insert("prev_hash".to_owned(), before.clone());
            let log = release().log();
            before = log_row(row).and_then(|row| row.hash_in(log)).map(|hash| encoded(&hash));
            row.insert("hash".to_owned(), before.clone());
        }
        for entry in self.tables.get_mut("cutter_governance.decision_backlog_entry").expect("it") {
            entry.insert("head_hash".to_owned(), before.clone());
        }
        self
    }

    fn stamp(&mut self, table: &str) {
        for row in self.tables.get_mut(table).into_iter().flatten() {
            let digest = row_digest(table, row);
            row.insert("row_digest".to_owned(), digest.map(|digest| encoded(&digest)));
        }
    }

    /// The digests of what a move wrote.
    fn written_by(&self, row: &Row) -> Vec<[u8; 32]> {
        let evidence: Value = serde_json::from_str(text(row, "evidence")).unwrap_or_default();
        let named = |member: &str| evidence[member].as_str().unwrap_or_default().to_owned();
        let of = |table: &str, column: &str, value: &str| {
            self.of_value(&format!("cutter_governance.{table}"), column, value)
        };
        let rows = match text(row, "trigger_ref") {
            "mark" => of("decision_backlog_entry", "entry_id", text(row, "run_id")),
            "sweep" => of("decision_backlog_sweep_log", "sweep_id", &named("sweep_id")),
            "review" => [
                of("manifest_envelope", "envelope_id", &named("manifest_id")),
                of("manifest_unit_block", "envelope_id", &named("manifest_id")),
                of("review_decision", "review_decision_id", &named("review_decision_id")),
            ]
            .concat(),
            "cut" => [
                of("cut_change_set", "change_set_id", &named("change_set_id")),
                of("cut_change_set_affected_row", "change_set_id", &named("change_set_id")),
                of("dot_pair_signature", "signature_id", &named("executor_signature_id")),
            ]
            .concat(),
            _ => [
                of("verify_result", "verify_result_id", &named("verify_result_id")),
                of("dot_pair_signature", "signature_id", &named("verifier_signature_id")),
            ]
            .concat(),
        };
        rows.iter().filter_map(|row| decoded(text(row, "row_digest"))?.try_into().ok()).collect()
    }

    fn sealed(&self) -> Vec<u8> {
        let mut document = self.document.clone();
        let tables: Map<String, Value> =
            self.tables.iter().map(|(name, rows)| (name.clone(), written(rows))).collect();
        document["tables"] = Value::Object(tables);
        document["log"] = written(&self.log);
        sealed(&document)
    }
}

fn rows(held: &Value) -> Vec<Row> {
    let columns: Vec<String> = serde_json::from_value(held["columns"].clone()).expect("columns");
    let rows: Vec<Vec<Option<String>>> =
        serde_json::from_value(held["rows"].clone()).expect("rows");
    rows.into_iter().map(|row| columns.iter().cloned().zip(row).collect()).collect()
}

fn written(rows: &[Row]) -> Value {
    let columns: Vec<&String> = rows.first().expect("a row").keys().collect();
    let values: Vec<Vec<&Option<String>>> = rows.iter().map(|row| row.values().collect()).collect();
    json!({ "columns": columns, "rows": values })
}

fn text<'a>(row: &'a Row, column: &str) -> &'a str {
    row.get(column).and_then(Option::as_deref).unwrap_or_default()
}

fn digest_of(row: &Row) -> Option<String> {
    row.get("row_digest").cloned().flatten()
}

fn encoded(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    (0..text.len() / 2).map(|n| u8::from_str_radix(&text[2 * n..2 * n + 2], 16).ok()).collect()
}

fn log_row(row: &Row) -> Option<LogRow> {
    let optional = |column: &str| row.get(column).cloned().flatten();
    let bytes = |column: &str| optional(column).and_then(|text| decoded(&text));
    Some(LogRow {
        run_id: text(row, "run_id").parse().ok()?,
        seq: text(row, "seq").parse().ok()?,
        log_id: text(row, "log_id").parse().ok()?,
        run_kind: text(row, "run_kind").to_owned(),
        state_machine_id: text(row, "state_machine_id").to_owned(),
        transition_id: text(row, "transition_id").to_owned(),
        from_state: optional("from_state"),
        to_state: text(row, "to_state").to_owned(),
        facet: optional("facet"),
        principal: text(row, "principal").to_owned(),
        actor_class: text(row, "actor_class").to_owned(),
        trigger_kind: text(row, "trigger_kind").to_owned(),
        trigger_ref: text(row, "trigger_ref").to_owned(),
        reason: optional("reason"),
        evidence: text(row, "evidence").to_owned(),
        event_type: optional("event_type"),
        artefact_digest: bytes("artefact_digest"),
        idempotency_key: text(row, "idempotency_key").to_owned(),
        key_id: optional("key_id").and_then(|id| id.parse().ok()),
        signature: bytes("signature"),
        at_micros: text(row, "at_micros").parse().ok()?,
        prev_hash: bytes("prev_hash"),
        hash: Vec::new(),
        hash_version: text(row, "hash_version").parse().ok()?,
        more: BTreeMap::new(),
    })
}

/// What the chain of hashes alone protects.
const UNSIGNED: &[&str] = &[
    // When the database wrote something; what was signed has its signer's time besides.
    "cutter_governance.cut_change_set.emitted_at",
    "cutter_governance.decision_backlog_entry.emitted_at",
    "cutter_governance.decision_backlog_sweep_log.swept_at",
    "cutter_governance.dot_pair_signature.recorded_at",
    "cutter_governance.manifest_envelope.created_at",
    "cutter_governance.manifest_envelope.reviewed_at",
    "cutter_governance.review_decision.created_at",
    "cutter_governance.verify_result.verified_at",
    "fsm.transition_log.at_micros of cut",
    "fsm.transition_log.at_micros of mark",
    "fsm.transition_log.at_micros of review",
    "fsm.transition_log.at_micros of sweep",
    // Ids that nothing refers to.
    "fsm.transition_log.log_id of cut",
    "fsm.transition_log.log_id of mark",
    "fsm.transition_log.log_id of review",
    "fsm.transition_log.log_id of sweep",
    "fsm.transition_log.log_id of verify",
    "iu.iu_lifecycle_log.lifecycle_log_id",
    // Words that decide nothing.
    "cutter_governance.decision_backlog_entry.scenario_ref",
    "cutter_governance.decision_backlog_entry.trace_id",
    "cutter_governance.manifest_envelope.tool_revision",
    // A sweep decides nothing; its place among the others shows in a database, and not in a bundle.
    "cutter_governance.decision_backlog_sweep_log.batch_limit",
    "cutter_governance.decision_backlog_sweep_log.prev_digest",
    "cutter_governance.decision_backlog_sweep_log.sweep_seq",
    "cutter_governance.decision_backlog_sweep_log.sweep_trigger_kind",
    // Who brought the bytes; which bytes they are is signed.
    "iu.source_document.created_at",
    "iu.source_document.created_by",
    "iu.source_version.created_at",
    "iu.source_version.created_by",
    "iu.source_version.media_type",
    "iu.source_version.version_seq",
];

/// AUD-1, SEC-1: what was decided, cut, found and written cannot be changed without a key.
#[tokio::test]
async fn a_forger_without_a_key_changes_nothing_that_matters() {
    let cutter = Cutter::new().await;
    let entry = cutter.complete("small", "# A\n\nb\n\n# C\n\nd\n", &[]).await;
    let file = exported(&cutter, entry).await;
    let honest = Forgery::of(&file);
    assert_eq!(honest.sealed(), file, "the test writes as the export does");
    assert_eq!(honest.clone().made_to_fit().sealed(), file, "everything fits already");

    let mut unnoticed: BTreeSet<String> = BTreeSet::new();
    for (table, held) in &honest.tables {
        for (n, row) in held.iter().enumerate() {
            for (column, value) in row {
                let mut forged = honest.clone();
                let changed = value.as_deref().map_or_else(|| "1".to_owned(), other);
                forged.tables.get_mut(table).expect("it")[n].insert(column.clone(), Some(changed));
                let forged = forged.made_to_fit().sealed();
                if forged != file && verified(&forged).await.ok() {
                    unnoticed.insert(format!("{table}.{column}"));
                }
            }
        }
    }
    for (n, row) in honest.log.iter().enumerate() {
        for (column, value) in row {
            let mut forged = honest.clone();
            let changed = value.as_deref().map_or_else(|| "1".to_owned(), other);
            forged.log[n].insert(column.clone(), Some(changed));
            let forged = forged.made_to_fit().sealed();
            if forged != file && verified(&forged).await.ok() {
                unnoticed
                    .insert(format!("fsm.transition_log.{column} of {}", text(row, "trigger_ref")));
            }
        }
    }
    let listed: BTreeSet<String> = UNSIGNED.iter().map(|&column| column.to_owned()).collect();
    assert_eq!(unnoticed, listed);
}
