//! Rows of evidence in memory, and where they come from.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chancery_model::chain::LogRow;
use chancery_model::cutter::derived_uuid;
use chancery_model::evidence::{self, Fault, Table};
use chancery_store::{RawRow, Shape, Snapshot};
use serde_json::Value;
use uuid::Uuid;

use super::orchestrator::{paths, used_approval};
use super::table;
use crate::Error;

/// A row of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) table: &'static str,
    pub(super) raw: &'a RawRow,
}

impl<'a> Row<'a> {
    pub(super) fn opt(self, column: &str) -> Option<&'a str> {
        self.raw.get(column)
    }

    /// The value, or nothing at all for null.
    pub(super) fn text(self, column: &str) -> &'a str {
        self.raw.get(column).unwrap_or_default()
    }

    pub(super) fn uuid(self, column: &str) -> Option<Uuid> {
        self.raw.get(column)?.parse().ok()
    }

    /// The id, or nil where there is none: then nothing that should have it will fit.
    pub(super) fn id(self, column: &str) -> Uuid {
        self.uuid(column).unwrap_or_default()
    }

    pub(super) fn number(self, column: &str) -> Option<i64> {
        self.raw.get(column)?.parse().ok()
    }

    pub(super) fn bytes(self, column: &str) -> Option<Vec<u8>> {
        hex::decode(self.raw.get(column)?).ok()
    }

    pub(super) fn sha256(self, column: &str) -> Option<[u8; 32]> {
        self.bytes(column)?.try_into().ok()
    }

    /// A column of JSON; null where it is none.
    pub(super) fn json(self, column: &str) -> Value {
        serde_json::from_str(self.text(column)).unwrap_or_default()
    }

    /// The digest that the row carries.
    pub(super) fn digest(self) -> Option<[u8; 32]> {
        self.sha256(evidence::DIGEST_COLUMN)
    }

    /// Whether rows of the table carry digests.
    pub(super) fn is_evidence(self) -> bool {
        self.raw.layout().is_evidence()
    }

    /// The digest that the row must carry; nothing when it is of no version that is known here.
    pub(super) fn expected_digest(self) -> Option<[u8; 32]> {
        self.raw.layout().digest(|place| self.raw.value(place))
    }

    /// The digests that the row can have carried with other values in some columns: of its version, and of those before it.
    pub(super) fn digests_with(self, changed: &[(&str, Option<&str>)]) -> Vec<[u8; 32]> {
        let layout = self.raw.layout();
        let changed: Vec<(Option<usize>, Option<&str>)> =
            changed.iter().map(|(column, value)| (layout.place(column), *value)).collect();
        layout.digests_so_far(|place| {
            let other = changed.iter().find(|(changed, _)| *changed == Some(place));
            other.map_or_else(|| self.raw.value(place), |(_, value)| *value)
        })
    }

    /// What does not fit about the row by itself: rules and what is wrong.
    pub(super) fn faults(self) -> Vec<(&'static str, String)> {
        let faults = self.raw.layout().faults(|place| self.raw.value(place));
        faults.into_iter().map(said).collect()
    }

    pub(super) fn key(self) -> String {
        let key = table::key_of(self.table).iter().map(|(column, _)| self.text(column));
        key.collect::<Vec<_>>().join("/")
    }
}

/// The rule that a fault breaks, and what it says.
fn said(fault: Fault) -> (&'static str, String) {
    match fault {
        Fault::UnknownVersion(version) => (
            "digest_version_is_known",
            format!("its digest is of version {version}, which this release does not know"),
        ),
        Fault::BeyondVersion { column, version } => (
            "column_is_of_the_version",
            format!("{column} has a value, and digests of version {version} are not over it"),
        ),
        Fault::MissingColumn => (
            "digest_is_of_the_row",
            "a column that the row's digest is over is not there".to_owned(),
        ),
        Fault::Digest => (
            "digest_is_of_the_row",
            "a column of the row was changed after it was written".to_owned(),
        ),
    }
}

/// Columns by which rows are looked for.
const INDEXED: &[(&str, &[&str])] = &[
    (table::DOCUMENT, &["document_id"]),
    (table::SOURCE, &["source_version_id"]),
    (table::UNIT, &["id"]),
    (table::VERSION, &["unit_id"]),
    (table::DRAFT, &["draft_id"]),
    (table::LIFECYCLE, &["unit_id"]),
    (table::ENTRY, &["entry_id"]),
    (table::DEPENDENCY, &["from_entry_id"]),
    (table::SWEEP, &["sweep_id"]),
    (table::ENVELOPE, &["envelope_id", "entry_id"]),
    (table::BLOCK, &["envelope_id"]),
    (table::DECISION, &["review_decision_id", "entry_id"]),
    (table::SIGNATURE, &["signature_id"]),
    (table::CHANGE_SET, &["change_set_id", "decision_backlog_entry_id"]),
    (table::AFFECTED, &["change_set_id"]),
    (table::RESULT, &["change_set_id"]),
    (table::REQUEST, &["approval_id"]),
    (table::VOTE, &["approval_id"]),
    (table::USE, &["approval_id"]),
    (table::REVISION, &["path"]),
    (table::UNDER, &["path"]),
    (table::ORCHESTRATED, &["run_id", "entry_id"]),
    (table::DEAD_LETTER, &["job_id"]),
    (table::REPLAY, &["dlq_replay_request_id", "batch_id", "job_id"]),
    (table::FAMILY, &["collection_name"]),
    (table::FAMILY_LOG, &["collection_name"]),
    (table::PERMIT, &["permit_id", "request_hash"]),
    (table::BIRTH, &["birth_id", "permit_id"]),
    (table::GLASS, &["collection_name"]),
    (table::CANDIDATE, &["birth_id"]),
    (table::COMMAND, &["request_hash"]),
    (table::WORKFLOW, &["workflow_def_id", "change_request_id"]),
    (table::CHANGE, &["change_request_id"]),
    (table::CHANGE_REVISION, &["change_request_id"]),
    (table::PROPOSAL, &["proposal_id"]),
    (table::USAGE, &["proposal_id"]),
    (table::WORKFLOW_RUN, &["workflow_run_id", "parent_step_run_id"]),
    (table::SNAPSHOT, &["snapshot_id", "run_id"]),
    (table::CYCLE, &["run_id"]),
    (table::STEP_DECISION, &["decision_id", "run_id"]),
    (table::WAIT, &["wait_id", "run_id"]),
    (table::TASK, &["step_run_id"]),
];

/// Rows by table, and the log of runs.
#[derive(Debug, Default)]
pub(super) struct Rows {
    tables: BTreeMap<&'static str, Vec<RawRow>>,
    log: BTreeMap<Uuid, Vec<LogRow>>,
    index: HashMap<(&'static str, &'static str), HashMap<String, Vec<usize>>>,
}

impl Rows {
    /// Adds rows of a table, in their order.
    pub(super) fn add(&mut self, table: &'static str, rows: Vec<RawRow>) {
        let columns = INDEXED.iter().find(|(name, _)| *name == table).map_or(&[][..], |(_, c)| c);
        let stored = self.tables.entry(table).or_default();
        for row in rows {
            for &column in columns {
                if let Some(value) = row.get(column) {
                    let places = self.index.entry((table, column)).or_default();
                    places.entry(value.to_owned()).or_default().push(stored.len());
                }
            }
            stored.push(row);
        }
    }

    pub(super) fn add_log(&mut self, rows: Vec<LogRow>) {
        for row in rows {
            self.log.entry(row.run_id).or_default().push(row);
        }
    }

    /// Adds what is not there yet.
    pub(super) fn merge(&mut self, more: Self) {
        let known: BTreeSet<(&str, String)> =
            self.every().map(|row| (row.table, row.key())).collect();
        for (table, rows) in more.tables {
            let is_new = |raw: &RawRow| !known.contains(&(table, Row { table, raw }.key()));
            self.add(table, rows.into_iter().filter(is_new).collect());
        }
        for (run, rows) in more.log {
            self.log.entry(run).or_insert(rows);
        }
    }

    /// Every row of a table.
    pub(super) fn all(&self, table: &'static str) -> impl Iterator<Item = Row<'_>> {
        self.tables.get(table).into_iter().flatten().map(move |raw| Row { table, raw })
    }

    /// Every row of every table.
    pub(super) fn every(&self) -> impl Iterator<Item = Row<'_>> {
        self.tables.iter().flat_map(|(&table, rows)| rows.iter().map(move |raw| Row { table, raw }))
    }

    /// The rows whose column has this value, in their order.
    pub(super) fn of<'s>(
        &'s self,
        table: &'static str,
        column: &'static str,
        value: &str,
    ) -> impl Iterator<Item = Row<'s>> + use<'s> {
        debug_assert!(
            INDEXED.iter().any(|(name, columns)| *name == table && columns.contains(&column)),
            "{table}.{column} is indexed"
        );
        let places = self.index.get(&(table, column)).and_then(|places| places.get(value));
        let rows = self.tables.get(table).map_or(&[][..], Vec::as_slice);
        places.into_iter().flatten().map(move |&place| Row { table, raw: &rows[place] })
    }

    /// The row whose column has this value.
    pub(super) fn one<'s>(
        &'s self,
        table: &'static str,
        column: &'static str,
        value: &str,
    ) -> Option<Row<'s>> {
        self.of(table, column, value).next()
    }

    pub(super) fn log_of(&self, run: Uuid) -> &[LogRow] {
        self.log.get(&run).map_or(&[], Vec::as_slice)
    }

    pub(super) fn logs(&self) -> impl Iterator<Item = (&Uuid, &Vec<LogRow>)> {
        self.log.iter()
    }
}

/// Where rows are read from: a database, or what a bundle holds.
#[derive(Debug)]
pub(super) enum Source<'a> {
    Database { snapshot: &'a mut Snapshot, shapes: HashMap<&'static str, Shape> },
    Bundle(&'a Rows),
}

impl<'a> Source<'a> {
    pub(super) async fn database(snapshot: &'a mut Snapshot) -> Result<Self, Error> {
        let names: Vec<&'static str> =
            snapshot.registry().tables().iter().map(Table::name).collect();
        let shapes = snapshot.shapes(&names).await?;
        let shapes = names.iter().copied().zip(shapes).collect();
        Ok(Self::Database { snapshot, shapes })
    }

    /// The database behind it.
    ///
    /// # Panics
    /// For a bundle: what asks for this is about databases only.
    pub(super) fn reader(&mut self) -> (&mut Snapshot, &HashMap<&'static str, Shape>) {
        match self {
            Self::Database { snapshot, shapes } => (snapshot, shapes),
            Self::Bundle(_) => unreachable!("a bundle has no database"),
        }
    }

    async fn rows(
        &mut self,
        table: &'static str,
        column: &'static str,
        ids: &BTreeSet<Uuid>,
        order: &[&str],
    ) -> Result<Vec<RawRow>, Error> {
        match self {
            Self::Database { snapshot, shapes } => {
                let ids: Vec<Uuid> = ids.iter().copied().collect();
                Ok(snapshot.evidence_of(&shapes[table], column, &ids, order).await?)
            }
            Self::Bundle(rows) => {
                let found = ids.iter().flat_map(|id| rows.of(table, column, &id.to_string()));
                Ok(found.map(|row| row.raw.clone()).collect())
            }
        }
    }

    async fn documents(&mut self, names: &BTreeSet<String>) -> Result<Vec<RawRow>, Error> {
        self.named(table::DOCUMENT, "document_id", names).await
    }

    async fn named(
        &mut self,
        table: &'static str,
        column: &'static str,
        names: &BTreeSet<String>,
    ) -> Result<Vec<RawRow>, Error> {
        match self {
            Self::Database { snapshot, shapes } => {
                let names: Vec<String> = names.iter().cloned().collect();
                Ok(snapshot.evidence_named(&shapes[table], column, &names).await?)
            }
            Self::Bundle(rows) => {
                let found = names.iter().flat_map(|name| rows.of(table, column, name));
                Ok(found.map(|row| row.raw.clone()).collect())
            }
        }
    }

    async fn log(&mut self, runs: &BTreeSet<Uuid>) -> Result<Vec<LogRow>, Error> {
        match self {
            Self::Database { snapshot, .. } => {
                let runs: Vec<Uuid> = runs.iter().copied().collect();
                Ok(snapshot.log_of(&runs).await?)
            }
            Self::Bundle(rows) => {
                Ok(runs.iter().flat_map(|run| rows.log_of(*run)).cloned().collect())
            }
        }
    }

    /// Everything that proves these entries, and what they lean on: the entries they wait for, escalate or are escalated by
    /// (their rows and logs alone), and the signatures before theirs.
    pub(super) async fn collect(&mut self, entries: &BTreeSet<Uuid>) -> Result<Rows, Error> {
        use table::{
            AFFECTED, BLOCK, CHANGE_SET, DECISION, DEPENDENCY, ENTRY, ENVELOPE, ORCHESTRATED,
            RESULT, SIGNATURE, SOURCE, SWEEP,
        };
        let mut rows = Rows::default();
        rows.add(ENTRY, self.rows(ENTRY, "entry_id", entries, &["entry_id"]).await?);
        let order = ["run_id"];
        rows.add(ORCHESTRATED, self.rows(ORCHESTRATED, "entry_id", entries, &order).await?);
        let order = ["from_entry_id", "to_entry_id"];
        rows.add(DEPENDENCY, self.rows(DEPENDENCY, "from_entry_id", entries, &order).await?);
        rows.add(ENVELOPE, self.rows(ENVELOPE, "entry_id", entries, &["envelope_id"]).await?);
        let envelopes = ids(rows.all(ENVELOPE), "envelope_id");
        let order = ["envelope_id", "render_order"];
        rows.add(BLOCK, self.rows(BLOCK, "envelope_id", &envelopes, &order).await?);
        rows.add(
            DECISION,
            self.rows(DECISION, "entry_id", entries, &["review_decision_id"]).await?,
        );
        let by_entry = "decision_backlog_entry_id";
        rows.add(CHANGE_SET, self.rows(CHANGE_SET, by_entry, entries, &["change_set_id"]).await?);
        let sets = ids(rows.all(CHANGE_SET), "change_set_id");
        let order = ["change_set_id", "render_order"];
        rows.add(AFFECTED, self.rows(AFFECTED, "change_set_id", &sets, &order).await?);
        rows.add(RESULT, self.rows(RESULT, "change_set_id", &sets, &["verify_result_id"]).await?);

        let mut signatures = ids(rows.all(CHANGE_SET), "executor_signature_id");
        signatures.extend(ids(rows.all(RESULT), "verifier_signature_id"));
        let order = ["signature_id"];
        rows.add(SIGNATURE, self.rows(SIGNATURE, "signature_id", &signatures, &order).await?);
        let mut priors = ids(rows.all(SIGNATURE), "prior_signature_id");
        priors.retain(|id| !signatures.contains(id));
        rows.add(SIGNATURE, self.rows(SIGNATURE, "signature_id", &priors, &order).await?);

        let mut context = ids(rows.all(DEPENDENCY), "to_entry_id");
        context.extend(ids(rows.all(RESULT), "escalation_ref"));
        context.extend(ids(rows.all(ENTRY), "escalation_of"));
        context.retain(|id| !entries.contains(id));
        rows.add_log(self.log(&entries.union(&context).copied().collect()).await?);
        let sweeps = entries.iter().flat_map(|entry| rows.log_of(*entry)).filter_map(swept_by);
        let sweeps: BTreeSet<Uuid> = sweeps.collect();
        rows.add(SWEEP, self.rows(SWEEP, "sweep_id", &sweeps, &["sweep_id"]).await?);
        let mut sources = ids(rows.all(ENTRY), "source_version_id");
        sources.extend(ids(rows.all(ENVELOPE), "source_version_id"));
        rows.add(ENTRY, self.rows(ENTRY, "entry_id", &context, &["entry_id"]).await?);
        rows.add(
            SOURCE,
            self.rows(SOURCE, "source_version_id", &sources, &["source_version_id"]).await?,
        );
        let documents = rows.all(SOURCE).map(|row| row.text("document_id").to_owned()).collect();
        rows.add(table::DOCUMENT, self.documents(&documents).await?);
        let mut units = ids(rows.all(AFFECTED), "target_row_id");
        // What a run wrote stands before its ledger does.
        units.extend(rows.all(ORCHESTRATED).flat_map(|run| run_units(&rows, run)));
        self.collect_units(&mut rows, &units).await?;
        Ok(rows)
    }

    /// Everything that the moves of a run of the orchestrator wrote or rest on.
    pub(super) async fn collect_run(&mut self, run_id: Uuid) -> Result<Rows, Error> {
        use table::{
            BLOCK, CHANGE_SET, DECISION, ENTRY, ENVELOPE, LIFECYCLE, ORCHESTRATED, REQUEST, RESULT,
            REVISION, UNDER, USE, VOTE,
        };
        let mut rows = Rows::default();
        let one = |part: &str| BTreeSet::from([derived_uuid(run_id, part)]);
        let run = BTreeSet::from([run_id]);
        rows.add(ORCHESTRATED, self.rows(ORCHESTRATED, "run_id", &run, &["run_id"]).await?);
        rows.add_log(self.log(&run).await?);
        let entries = ids(rows.all(ORCHESTRATED), "entry_id");
        rows.add(ENTRY, self.rows(ENTRY, "entry_id", &entries, &["entry_id"]).await?);
        let order = ["envelope_id", "render_order"];
        rows.add(
            ENVELOPE,
            self.rows(ENVELOPE, "envelope_id", &one("manifest"), &order[..1]).await?,
        );
        rows.add(BLOCK, self.rows(BLOCK, "envelope_id", &one("manifest"), &order).await?);
        for part in ["cut_decision", "lifecycle_decision"] {
            let order = ["review_decision_id"];
            rows.add(DECISION, self.rows(DECISION, order[0], &one(part), &order).await?);
        }
        let order = ["change_set_id"];
        rows.add(CHANGE_SET, self.rows(CHANGE_SET, order[0], &one("change_set"), &order).await?);
        let order = ["verify_result_id"];
        rows.add(RESULT, self.rows(RESULT, "change_set_id", &one("change_set"), &order).await?);
        let units = rows.all(ORCHESTRATED).flat_map(|run| run_units(&rows, run)).collect();
        rows.add(LIFECYCLE, self.rows(LIFECYCLE, "unit_id", &units, &["unit_id", "seq"]).await?);
        let approvals = rows.log_of(run_id).iter().filter_map(used_approval).collect();
        for (table, order) in [
            (REQUEST, &["approval_id"][..]),
            (VOTE, &["approval_id", "voter", "vote_seq"]),
            (USE, &["approval_id"]),
        ] {
            rows.add(table, self.rows(table, "approval_id", &approvals, order).await?);
        }
        let named = rows.all(ORCHESTRATED).flat_map(|run| paths(run, rows.log_of(run_id)));
        let named: BTreeSet<String> = named.collect();
        for table in [REVISION, UNDER] {
            let mut found = self.named(table, "path", &named).await?;
            found.sort_by_key(|raw| {
                let row = Row { table, raw };
                (row.text("path").to_owned(), row.number("revision"), row.key())
            });
            rows.add(table, found);
        }
        Ok(rows)
    }

    /// Sources with their documents.
    pub(super) async fn collect_sources(
        &mut self,
        sources: &BTreeSet<Uuid>,
    ) -> Result<Rows, Error> {
        let mut rows = Rows::default();
        let order = ["source_version_id"];
        rows.add(table::SOURCE, self.rows(table::SOURCE, order[0], sources, &order).await?);
        let documents = rows.all(table::SOURCE).map(|row| row.text("document_id").to_owned());
        let documents = documents.collect();
        rows.add(table::DOCUMENT, self.documents(&documents).await?);
        Ok(rows)
    }

    /// Units with their texts, their history and the drafts that were applied to them.
    pub(super) async fn collect_units(
        &mut self,
        rows: &mut Rows,
        units: &BTreeSet<Uuid>,
    ) -> Result<(), Error> {
        use table::{DRAFT, LIFECYCLE, UNIT, VERSION};
        rows.add(UNIT, self.rows(UNIT, "id", units, &["id"]).await?);
        let order = ["unit_id", "version_seq"];
        rows.add(VERSION, self.rows(VERSION, "unit_id", units, &order).await?);
        rows.add(LIFECYCLE, self.rows(LIFECYCLE, "unit_id", units, &["unit_id", "seq"]).await?);
        let drafts = ids(rows.all(LIFECYCLE), "edit_draft_id");
        rows.add(DRAFT, self.rows(DRAFT, "draft_id", &drafts, &["draft_id"]).await?);
        Ok(())
    }
}

/// The ids in a column.
pub(super) fn ids<'a>(rows: impl Iterator<Item = Row<'a>>, column: &str) -> BTreeSet<Uuid> {
    rows.filter_map(|row| row.uuid(column)).collect()
}

/// The ids of the units that the manifest of a run makes.
pub(super) fn run_units(rows: &Rows, run: Row<'_>) -> Vec<Uuid> {
    let run_id = run.id("run_id");
    let (envelope, set) = (derived_uuid(run_id, "manifest"), derived_uuid(run_id, "change_set"));
    rows.of(table::BLOCK, "envelope_id", &envelope.to_string())
        .map(|block| derived_uuid(set, &format!("unit,{}", block.text("unit_local_id"))))
        .collect()
}

/// The sweep that a move is of.
pub(super) fn swept_by(row: &LogRow) -> Option<Uuid> {
    if row.trigger_ref != "sweep" {
        return None;
    }
    let evidence: Value = serde_json::from_str(&row.evidence).ok()?;
    evidence.get("sweep_id")?.as_str()?.parse().ok()
}
