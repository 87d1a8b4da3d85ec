//! A whole database: every entry, and what only shows when everything is looked at.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use chancery_model::evidence::Table;
use chancery_store::{RawRow, Shape, Snapshot, Weight};
use serde_json::Value;
use uuid::Uuid;

use super::check::Checker;
use super::report::{Mismatch, Report};
use super::rows::{Row, Rows, Source, run_units, swept_by};
use super::signers::Signers;
use super::table;
use super::{approval, birth, kb, orchestrator, queue, workflow};
use crate::Error;

/// What is held in memory at once: so many entries, units and bytes of sources, or one entry that has more.
const ENTRIES: usize = 200;
const UNITS: i64 = 4_000;
const BYTES: i64 = 16 << 20;
/// Rows of a page.
const PAGE: i64 = 1_000;
/// Rows that nothing leads to are named up to this number a table.
const ORPHANS: i64 = 100;

/// Which column of a table leads to the row that it belongs to.
const PARENTS: &[(&str, &str, &str, &str)] = &[
    (table::DEPENDENCY, "from_entry_id", table::ENTRY, "entry_id"),
    (table::ENVELOPE, "entry_id", table::ENTRY, "entry_id"),
    (table::BLOCK, "envelope_id", table::ENVELOPE, "envelope_id"),
    (table::DECISION, "entry_id", table::ENTRY, "entry_id"),
    (table::CHANGE_SET, "decision_backlog_entry_id", table::ENTRY, "entry_id"),
    (table::AFFECTED, "change_set_id", table::CHANGE_SET, "change_set_id"),
    (table::RESULT, "change_set_id", table::CHANGE_SET, "change_set_id"),
    (table::SOURCE, "document_id", table::DOCUMENT, "document_id"),
    (table::VERSION, "unit_id", table::UNIT, "id"),
    (table::LIFECYCLE, "unit_id", table::UNIT, "id"),
    (table::DRAFT, "unit_id", table::UNIT, "id"),
    (table::DRAFT, "base_version_id", table::VERSION, "id"),
    (table::VOTE, "approval_id", table::REQUEST, "approval_id"),
    (table::USE, "approval_id", table::REQUEST, "approval_id"),
    (table::ORCHESTRATED, "source_version_id", table::SOURCE, "source_version_id"),
    (table::REPLAY, "job_id", table::DEAD_LETTER, "job_id"),
    (table::CANDIDATE, "birth_id", table::BIRTH, "birth_id"),
    (table::WORKFLOW, "change_request_id", table::CHANGE, "change_request_id"),
    (table::CHANGE_REVISION, "change_request_id", table::CHANGE, "change_request_id"),
    (table::USAGE, "proposal_id", table::PROPOSAL, "proposal_id"),
];

/// What the entries say about things that several of them share.
#[derive(Debug, Default)]
struct Tally {
    /// How many moves name a sweep.
    promoted: HashMap<Uuid, usize>,
    waits_for: BTreeMap<Uuid, Vec<Uuid>>,
    signatures: HashSet<Uuid>,
    /// Units that runs of the orchestrator wrote, also where no ledger names them yet.
    of_runs: HashSet<Uuid>,
}

/// Looks at everything that is evidence besides the log.
pub(super) async fn verify(
    snapshot: &mut Snapshot,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let mut tally = Tally::default();
    let mut source = Source::database(snapshot).await?;
    let registry = Arc::clone(source.reader().0.registry());
    for table in registry.tables() {
        let shape = &source.reader().1[table.name()];
        if !table.columns().iter().eq(shape.columns()) {
            let what = "the table has other columns than this release knows";
            report.found(found(table.name(), String::new(), None, "columns_are_known", what));
        }
    }
    let mut after = None;
    loop {
        let page = source.reader().0.entry_weights(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        for group in groups(&page) {
            let rows = source.collect(&group).await?;
            entries(&rows, &group, signers, report, &mut tally);
            progress(report);
        }
    }
    by_hand(&mut source, &tally, signers, report).await?;
    sources(&mut source, signers, report, progress).await?;
    let (mut used, index) = orchestrator::verify(&mut source, signers, report, progress).await?;
    used.extend(queue::verify(&mut source, signers, report, progress).await?);
    used.extend(birth::verify(&mut source, signers, report, progress).await?);
    used.extend(workflow::verify(&mut source, signers, report, progress).await?);
    approval::verify(&mut source, &used, signers, report, progress).await?;
    kb::verify(&mut source, Some(&index), signers, report, progress).await?;
    let (snapshot, shapes) = source.reader();
    let mut reader = Reader { snapshot, shapes };
    reader.plain(table::DOCUMENT, report).await?;
    reader.plain(table::DRAFT, report).await?;
    reader.backup_keys(report).await?;
    reader.plain(table::FINDING, report).await?;
    reader.plain(table::SUMMARY, report).await?;
    reader.sweeps(&tally, report).await?;
    reader.signatures(&tally, report).await?;
    reader.orphans(report).await?;
    reader.counts(report).await?;
    if let Some(cycle) = cycle(&tally.waits_for) {
        let names: Vec<String> = cycle.iter().map(Uuid::to_string).collect();
        let what = format!("the entry waits for itself: {}", names.join(" → "));
        let from = cycle.first().copied();
        report.found(found(
            table::DEPENDENCY,
            names[0].clone(),
            from,
            "nothing_waits_for_itself",
            what,
        ));
    }
    Ok(())
}

/// Entries that fit into memory together.
fn groups(page: &[Weight]) -> Vec<BTreeSet<Uuid>> {
    let mut groups = Vec::new();
    let mut group = BTreeSet::new();
    let (mut units, mut bytes) = (0, 0);
    for weight in page {
        if !group.is_empty()
            && (group.len() == ENTRIES
                || units + weight.units > UNITS
                || bytes + weight.bytes > BYTES)
        {
            groups.push(std::mem::take(&mut group));
            (units, bytes) = (0, 0);
        }
        group.insert(weight.id);
        units += weight.units;
        bytes += weight.bytes;
    }
    groups.push(group);
    groups
}

fn entries(
    rows: &Rows,
    group: &BTreeSet<Uuid>,
    signers: &mut Signers,
    report: &mut Report,
    tally: &mut Tally,
) {
    let mut checker = Checker::new(rows, signers, report);
    // Sources, sweeps and the like are counted when all of them are looked at.
    checker.digests(|row| match row.table {
        table::ENTRY => group.contains(&row.id("entry_id")),
        table::SOURCE | table::DOCUMENT | table::SWEEP | table::DRAFT | table::SIGNATURE => false,
        table::ORCHESTRATED => false,
        _ => true,
    });
    for entry in rows.all(table::ENTRY).filter(|entry| group.contains(&entry.id("entry_id"))) {
        checker.entry(entry);
        let entry_id = entry.id("entry_id");
        for sweep in rows.log_of(entry_id).iter().filter_map(swept_by) {
            *tally.promoted.entry(sweep).or_default() += 1;
        }
    }
    tally.of_runs.extend(rows.all(table::ORCHESTRATED).flat_map(|run| run_units(rows, run)));
    for signature in rows.all(table::SIGNATURE) {
        if checker.is_claimed(signature) {
            checker.lane(signature);
            tally.signatures.insert(signature.id("signature_id"));
        }
    }
    for dependency in rows.all(table::DEPENDENCY) {
        let to = dependency.id("to_entry_id");
        tally.waits_for.entry(dependency.id("from_entry_id")).or_default().push(to);
    }
}

/// Units that no change set made.
async fn by_hand(
    source: &mut Source<'_>,
    tally: &Tally,
    signers: &mut Signers,
    report: &mut Report,
) -> Result<(), Error> {
    let (snapshot, shapes) = source.reader();
    let units = snapshot
        .evidence_orphans(
            &shapes[table::UNIT],
            table::key_of(table::UNIT),
            "id",
            &shapes[table::AFFECTED],
            "target_row_id",
            i64::MAX,
        )
        .await?;
    let units: BTreeSet<Uuid> = units.iter().filter_map(|id| id.parse().ok()).collect();
    let units: Vec<Uuid> = units.into_iter().filter(|id| !tally.of_runs.contains(id)).collect();
    for chunk in units.chunks(500) {
        let mut rows = Rows::default();
        source.collect_units(&mut rows, &chunk.iter().copied().collect()).await?;
        let mut checker = Checker::new(&rows, signers, report);
        checker.digests(|row| row.table != table::DRAFT);
        for unit in rows.all(table::UNIT) {
            checker.unit_by_hand(unit);
        }
    }
    Ok(())
}

/// Every source, also those that no entry names.
async fn sources(
    source: &mut Source<'_>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let mut numbers: BTreeMap<String, BTreeSet<i64>> = BTreeMap::new();
    let mut after = None;
    loop {
        let page = source.reader().0.source_weights(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        for group in groups(&page) {
            let rows = source.collect_sources(&group).await?;
            let mut checker = Checker::new(&rows, signers, report);
            checker.digests(|row| row.table == table::SOURCE);
            for row in rows.all(table::SOURCE) {
                checker.source(row);
                let number = row.number("version_seq").unwrap_or_default();
                numbers.entry(row.text("document_id").to_owned()).or_default().insert(number);
            }
            progress(report);
        }
    }
    for (document, numbers) in numbers {
        if !numbers.iter().copied().eq(1..=i64::try_from(numbers.len()).unwrap_or(i64::MAX)) {
            let what = format!("its versions have the numbers {numbers:?}");
            report.found(found(table::DOCUMENT, document, None, "versions_are_numbered", what));
        }
    }
    Ok(())
}

struct Reader<'a> {
    snapshot: &'a mut Snapshot,
    shapes: &'a HashMap<&'static str, Shape>,
}

impl Reader<'_> {
    /// Calls `look` for every row of a table, in the order of some columns, after its digest was computed again.
    async fn each(
        &mut self,
        table: &'static str,
        order: &[(&str, &str)],
        report: &mut Report,
        mut look: impl FnMut(Row<'_>, &mut Report),
    ) -> Result<(), Error> {
        let mut after: Option<Vec<String>> = None;
        loop {
            let shape = &self.shapes[table];
            let page: Vec<RawRow> =
                self.snapshot.evidence_page(shape, order, after.as_deref(), PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            let last = Row { table, raw: last };
            after = Some(order.iter().map(|(column, _)| last.text(column).to_owned()).collect());
            for raw in &page {
                let row = Row { table, raw };
                *report.evidence.entry(table).or_default() += 1;
                for (rule, what) in row.faults() {
                    report.found(found(table, row.key(), None, rule, what));
                }
                look(row, report);
            }
        }
    }

    /// Tables whose rows nothing but their digest is asked for here.
    async fn plain(&mut self, table: &'static str, report: &mut Report) -> Result<(), Error> {
        self.each(table, table::key_of(table), report, |_, _| ()).await
    }

    /// Keys are pinned one after another.
    async fn backup_keys(&mut self, report: &mut Report) -> Result<(), Error> {
        let mut before = 0;
        self.each(table::BACKUP_KEY, table::key_of(table::BACKUP_KEY), report, |row, report| {
            let number = row.number("pin_seq").unwrap_or_default();
            if number != before + 1 {
                let what = format!("number {number} follows {before}");
                report.found(found(table::BACKUP_KEY, row.key(), None, "pins_are_numbered", what));
            }
            before = number;
        })
        .await
    }

    /// The passes form one chain, and each promoted what it says.
    async fn sweeps(&mut self, tally: &Tally, report: &mut Report) -> Result<(), Error> {
        let mut before: (i64, Option<String>) = (0, None);
        self.each(table::SWEEP, &[("sweep_seq", "bigint")], report, |row, report| {
            let mut wrong = |rule, what: String| {
                report.found(found(table::SWEEP, row.key(), None, rule, what));
            };
            let seq = row.number("sweep_seq").unwrap_or_default();
            if seq != before.0 + 1 {
                wrong("sweeps_form_one_chain", format!("number {seq} follows {}", before.0));
            }
            if row.opt("prev_digest") != before.1.as_deref() {
                let what = "the row does not carry the digest of the one before it";
                wrong("sweeps_form_one_chain", what.to_owned());
            }
            let summary: Value = row.json("report_summary");
            let promoted = summary["promoted"].as_array().map_or(0, Vec::len);
            let moved = tally.promoted.get(&row.id("sweep_id")).copied().unwrap_or_default();
            let count = promoted.to_string();
            let fits = ["promoted_count", "scanned_count"].iter().all(|c| row.text(c) == count)
                && row.text("created_count") == "0"
                && row.number("batch_limit").is_some_and(|limit| limit >= 1)
                && chancery_model::canonical::to_string(&summary) == row.text("report_summary");
            if moved != promoted || !fits {
                let what = format!("it says that it promoted {promoted}, the log has {moved}");
                wrong("sweep_is_as_it_was_logged", what);
            }
            before = (seq, row.opt("row_digest").map(str::to_owned));
        })
        .await
    }

    /// Each signer's attestations in a lane form one chain without forks, and something speaks for each of them.
    async fn signatures(&mut self, tally: &Tally, report: &mut Report) -> Result<(), Error> {
        let order =
            [("signer_dot_id", "text"), ("signer_principal", "text"), ("lane_seq", "bigint")];
        let mut before: Option<(String, String, i64, Option<String>)> = None;
        self.each(table::SIGNATURE, &order, report, |row, report| {
            let (lane, signer) = (row.text("signer_dot_id"), row.text("signer_principal"));
            let (seq, prior) = match &before {
                Some((l, s, seq, id)) if l == lane && s == signer => (seq + 1, id.as_deref()),
                _ => (1, None),
            };
            if row.number("lane_seq") != Some(seq) || row.opt("prior_signature_id") != prior {
                let what = format!("number {} is not {seq} of its chain", row.text("lane_seq"));
                let rule = "signatures_form_one_chain";
                report.found(found(table::SIGNATURE, row.key(), None, rule, what));
            }
            if !tally.signatures.contains(&row.id("signature_id")) {
                let what = "no cut and no verification speaks for the row";
                report.found(found(table::SIGNATURE, row.key(), None, "row_has_an_origin", what));
            }
            let id = row.opt("signature_id").map(str::to_owned);
            before = Some((lane.to_owned(), signer.to_owned(), seq, id));
        })
        .await
    }

    /// Rows that no other row leads to, so that nothing above has seen them.
    async fn orphans(&mut self, report: &mut Report) -> Result<(), Error> {
        for (table, column, parent, parent_column) in PARENTS {
            let (shape, parent_shape) = (&self.shapes[table], &self.shapes[parent]);
            let key = table::key_of(table);
            let orphans = self
                .snapshot
                .evidence_orphans(shape, key, column, parent_shape, parent_column, ORPHANS)
                .await?;
            for key in orphans {
                let what = format!("{column} names no row of {parent}");
                report.found(found(table, key, None, "row_has_an_origin", what));
            }
        }
        Ok(())
    }

    /// No row was passed by.
    async fn counts(&mut self, report: &mut Report) -> Result<(), Error> {
        let registry = Arc::clone(self.snapshot.registry());
        for table in registry.tables().iter().map(Table::name) {
            let stored = self.snapshot.evidence_count(&self.shapes[table]).await?;
            let seen = report.evidence.get(table).copied().unwrap_or_default();
            if u64::try_from(stored) != Ok(seen) {
                let what = format!("the table has {stored} rows, of which {seen} have a place");
                report.found(found(table, String::new(), None, "every_row_has_a_place", what));
            }
        }
        Ok(())
    }
}

pub(super) fn found(
    table: &'static str,
    key: String,
    run_id: Option<Uuid>,
    rule: &'static str,
    what: impl Into<String>,
) -> Mismatch {
    Mismatch { table, key, run_id, seq: None, rule, what: what.into() }
}

/// A way that leads back to where it started.
fn cycle(waits_for: &BTreeMap<Uuid, Vec<Uuid>>) -> Option<Vec<Uuid>> {
    let mut done = HashSet::new();
    for start in waits_for.keys() {
        if done.contains(start) {
            continue;
        }
        // The way so far, each with what is still to be tried behind it.
        let mut way: Vec<(Uuid, &[Uuid])> = vec![(*start, behind(waits_for, *start))];
        while let Some((here, rest)) = way.last_mut() {
            let Some((next, others)) = rest.split_first() else {
                done.insert(*here);
                way.pop();
                continue;
            };
            *rest = others;
            if let Some(place) = way.iter().position(|(id, _)| id == next) {
                return Some(way[place..].iter().map(|(id, _)| *id).chain([*next]).collect());
            }
            if !done.contains(next) {
                way.push((*next, behind(waits_for, *next)));
            }
        }
    }
    None
}

fn behind(waits_for: &BTreeMap<Uuid, Vec<Uuid>>, id: Uuid) -> &[Uuid] {
    waits_for.get(&id).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(u128, u128)]) -> BTreeMap<Uuid, Vec<Uuid>> {
        let mut graph: BTreeMap<Uuid, Vec<Uuid>> = BTreeMap::new();
        for (from, to) in edges {
            graph.entry(Uuid::from_u128(*from)).or_default().push(Uuid::from_u128(*to));
        }
        graph
    }

    #[test]
    fn a_cycle_is_found_and_a_diamond_is_none() {
        assert_eq!(cycle(&graph(&[(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)])), None);
        let found = cycle(&graph(&[(1, 2), (2, 3), (3, 4), (4, 2)])).expect("a cycle");
        assert_eq!(found, [2, 3, 4, 2].map(Uuid::from_u128));
        assert_eq!(cycle(&graph(&[(7, 7)])), Some(vec![Uuid::from_u128(7); 2]));
    }

    #[test]
    fn requests_are_taken_together_as_far_as_they_fit() {
        let weight = |id: u128, units, bytes| Weight { id: Uuid::from_u128(id), units, bytes };
        let page = [
            weight(1, 10, 10),
            weight(2, UNITS, 10),
            weight(3, 1, BYTES),
            weight(4, 1, 1),
            weight(5, 1, 1),
        ];
        let sizes: Vec<usize> = groups(&page).iter().map(BTreeSet::len).collect();
        assert_eq!(sizes, [1, 1, 1, 2]);
        let many: Vec<Weight> = (0..450).map(|n| weight(n, 1, 1)).collect();
        let sizes: Vec<usize> = groups(&many).iter().map(BTreeSet::len).collect();
        assert_eq!(sizes, [200, 200, 50]);
    }
}
