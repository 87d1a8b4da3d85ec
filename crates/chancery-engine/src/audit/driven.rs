//! Entries that were given up, and those that a run of the orchestrator drove: their units stand before their ledger, and are taken
//! back with the run.

use chancery_model::chain::LogRow;
use chancery_model::cutter::{Effect, abandon_evidence, abandonment_id, derived_uuid};
use uuid::Uuid;

use super::check::Checker;
use super::entry::{Story, evidence_of, text_of};
use super::rows::{Row, run_units};
use super::table;

impl<'a> Checker<'a> {
    /// What a run wrote in its leg A and did not record yet is what was approved all the same.
    pub(super) fn before_the_ledger(&mut self, entry: Row<'a>, story: &mut Story<'a>) {
        let run = self.rows.one(table::ORCHESTRATED, "entry_id", entry.text("entry_id"));
        let (None, Some(run)) = (story.set, run) else { return };
        let decision = story.decision.filter(|decision| decision.text("verdict") == "approve");
        let Some(manifest) = decision.and_then(|decision| story.manifest(decision)) else { return };
        let set = derived_uuid(run.id("run_id"), "change_set");
        let effect = Effect::of(manifest, set, entry.text("started_by"));
        let is_there = |id: Uuid| self.rows.one(table::UNIT, "id", &id.to_string()).is_some();
        if effect.units.iter().any(|unit| is_there(unit.unit_id)) {
            story.effect = Some(effect);
        }
    }

    /// The entry was given up; what was cut and not verified is taken back.
    pub(super) fn abandon(&mut self, entry: Row<'a>, row: &LogRow, story: &mut Story<'a>) {
        let evidence = evidence_of(row);
        let reason = row.reason.as_deref().unwrap_or_default();
        let audit_ref = text_of(&evidence, "audit_ref");
        self.expect_evidence(row, &abandon_evidence(reason, audit_ref));
        if let Some(run) = row.idempotency_key.strip_prefix("void:") {
            return self.voided(entry, row, run, story);
        }
        if row.from_state.as_deref() != Some("cut_applied") {
            if row.artefact_digest.is_some() {
                self.wrong_move(row, "artefacts_are_in_the_log", "there was nothing to take back");
            }
            return;
        }
        let Some(set) = story.set else { return };
        let id = abandonment_id(set.id("change_set_id")).to_string();
        let Some(rollback) = self.rows.one(table::CHANGE_SET, "change_set_id", &id) else {
            return self.missing(row, table::CHANGE_SET, &id);
        };
        let mut rows: Vec<Row<'_>> = self.rows.of(table::AFFECTED, "change_set_id", &id).collect();
        rows.push(rollback);
        self.artefacts(row, &rows);
        self.taken_back(row, set, rollback, "abandoned", "none");
        story.rollback = Some(rollback);
    }

    /// The run that drove the entry was voided: what it wrote and nobody enacted is taken back.
    fn voided(&mut self, entry: Row<'a>, row: &LogRow, name: &str, story: &mut Story<'a>) {
        const RULE: &str = "artefacts_are_in_the_log";
        let run = self.rows.one(table::ORCHESTRATED, "entry_id", entry.text("entry_id"));
        let Some(run) = run.filter(|run| run.opt("run_name") == Some(name)) else {
            return self.missing(row, table::ORCHESTRATED, name);
        };
        let rollback_id = derived_uuid(run.id("run_id"), "void");
        let id = rollback_id.to_string();
        let mut rows: Vec<Row<'a>> = Vec::new();
        let mut due = false;
        if let Some(set) = story.set {
            let enacted = self.units_of_set(set).any(|change| {
                change.text("change_kind") == "enacted"
                    && change.opt("change_set_id") == set.opt("change_set_id")
            });
            due = story.rollback.is_none() && !enacted;
            if let Some(rollback) = self.rows.one(table::CHANGE_SET, "change_set_id", &id) {
                rows.extend(self.rows.of(table::AFFECTED, "change_set_id", &id));
                rows.push(rollback);
                self.taken_back(row, set, rollback, "run voided", "none");
                story.rollback = Some(rollback);
            }
        } else {
            for unit in run_units(self.rows, run) {
                let history = self.rows.of(table::LIFECYCLE, "unit_id", &unit.to_string());
                let history: Vec<Row<'a>> = history.collect();
                due |= !history.is_empty();
                rows.extend(history.into_iter().filter(|change| {
                    change.text("change_kind") == "compensated"
                        && change.opt("change_set_id") == Some(&id)
                }));
            }
            story.voided = Some((rollback_id, row.principal.clone()));
        }
        if !rows.is_empty() {
            self.artefacts(row, &rows);
        } else if row.artefact_digest.is_some() {
            self.wrong_move(row, RULE, "there was nothing to take back");
        } else if due {
            self.wrong_move(row, RULE, "what the run wrote was not taken back");
        }
    }

    /// The histories of the units in a change set's ledger.
    fn units_of_set(&self, set: Row<'a>) -> impl Iterator<Item = Row<'a>> {
        let rows = self.rows;
        rows.of(table::AFFECTED, "change_set_id", set.text("change_set_id"))
            .flat_map(|row| rows.of(table::LIFECYCLE, "unit_id", row.text("target_row_id")))
    }
}
