//! What the checks of the cutter's evidence have in common.

use std::collections::HashSet;

use chancery_model::canonical;
use chancery_model::chain::LogRow;
use serde_json::Value;
use uuid::Uuid;

use super::log::of_log_row;
use super::report::{Mismatch, Report};
use super::rows::{Row, Rows};
use super::signers::Signers;

/// Looks at the rows of some entries and says what does not fit.
pub(super) struct Checker<'a> {
    pub(super) rows: &'a Rows,
    pub(super) signers: &'a mut Signers,
    pub(super) report: &'a mut Report,
    /// The entry that is being looked at.
    pub(super) entry_id: Option<Uuid>,
    /// Rows that a log row, a signature or the row before them speaks for.
    claimed: HashSet<(&'static str, String)>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(rows: &'a Rows, signers: &'a mut Signers, report: &'a mut Report) -> Self {
        Self { rows, signers, report, entry_id: None, claimed: HashSet::new() }
    }

    /// Every row of a table of evidence carries the digest of its own columns. `counts` says which rows are not merely leant on.
    pub(super) fn digests(&mut self, counts: impl Fn(Row<'_>) -> bool) {
        for row in self.rows.every().filter(|row| row.is_evidence()) {
            *self.report.evidence.entry(row.table).or_default() += u64::from(counts(row));
            for (rule, what) in row.faults() {
                self.wrong(row, rule, what);
            }
        }
    }

    pub(super) fn wrong(&mut self, row: Row<'_>, rule: &'static str, what: impl Into<String>) {
        self.report.found(Mismatch {
            table: row.table,
            key: row.key(),
            run_id: self.entry_id,
            seq: None,
            rule,
            what: what.into(),
        });
    }

    pub(super) fn wrong_move(&mut self, row: &LogRow, rule: &'static str, what: impl Into<String>) {
        self.report.found(of_log_row(row, rule, what.into()));
    }

    /// A column has the value that other evidence gives it.
    pub(super) fn expect(
        &mut self,
        row: Row<'_>,
        rule: &'static str,
        column: &str,
        expected: Option<&str>,
    ) {
        let found = row.opt(column);
        if found != expected {
            let shown = |value: Option<&str>| value.map_or_else(|| "null".to_owned(), shortened);
            self.wrong(row, rule, format!("{column} is {}, not {}", shown(found), shown(expected)));
        }
    }

    /// As [`Checker::expect`], for several columns.
    pub(super) fn expect_all(
        &mut self,
        row: Row<'_>,
        rule: &'static str,
        expected: &[(&str, Option<&str>)],
    ) {
        for (column, value) in expected {
            self.expect(row, rule, column, *value);
        }
    }

    /// A move says what the rows say.
    pub(super) fn expect_move(
        &mut self,
        row: &LogRow,
        what: &str,
        found: Option<&str>,
        expected: Option<&str>,
    ) {
        if found != expected {
            let shown = |value: Option<&str>| value.map_or_else(|| "nothing".to_owned(), shortened);
            let what =
                format!("{what}: the log has {}, the rows {}", shown(found), shown(expected));
            self.wrong_move(row, "log_agrees_with_its_rows", what);
        }
    }

    /// The evidence of a move is exactly this document.
    pub(super) fn expect_evidence(&mut self, row: &LogRow, expected: &Value) {
        let expected = canonical::to_string(expected);
        self.expect_move(row, "evidence", Some(&row.evidence), Some(&expected));
    }

    /// Somebody speaks for the row; two who do so contradict each other. Says whether this is the first.
    pub(super) fn claim(&mut self, row: Row<'_>) -> bool {
        let first = self.claimed.insert((row.table, row.key()));
        if !first {
            self.wrong(row, "row_has_one_origin", "two moves claim to have written the row");
        }
        first
    }

    /// Whether somebody spoke for the row.
    pub(super) fn is_claimed(&self, row: Row<'_>) -> bool {
        self.claimed.contains(&(row.table, row.key()))
    }

    /// Nobody spoke for the row.
    pub(super) fn require_claim(&mut self, row: Row<'_>, by: &str) {
        if !self.is_claimed(row) {
            self.wrong(row, "row_has_an_origin", format!("no {by} speaks for the row"));
        }
    }
}

/// Enough of a value to recognise it.
fn shortened(value: &str) -> String {
    const SHOWN: usize = 160;
    match value.char_indices().nth(SHOWN) {
        None => format!("{value:?}"),
        Some((end, _)) => format!("{:?}…", &value[..end]),
    }
}
