//! AUD-1, CUT-10: every column of every table of evidence, changed behind the triggers' back.
//!
//! As a superuser with every trigger off and the constraints gone, so that nothing but the audit stands in the way. A column is
//! changed in a fifth of the rows of each kind and to a fifth of the other values, but at least once, drawn from the seed; with
//! `CHANCERY_TEST_CELLS=all`, to each value in every row there is.

use std::collections::BTreeSet;

use chancery_engine::audit::Mismatch;
use chancery_model::evidence::{self, Table};
use chancery_testkit::slice;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};

use super::scene::{Cutter, every_way};

/// CUT-10, A-6: what every way of an entry leaves behind replays.
#[tokio::test]
async fn every_way_of_an_entry_replays() {
    let cutter = Cutter::new().await;
    every_way(&cutter).await;
    let report = cutter.audit().await;
    assert_eq!(report.mismatches, []);
    let tables: BTreeSet<&str> = report.evidence.keys().copied().collect();
    let known: BTreeSet<&str> = evidence::release().tables().iter().map(Table::name).collect();
    // Runs, findings, jobs, what is born elsewhere than in a cut, workflows and proposals have scenes of their own: in
    // orchestrator_audit.rs, governance.rs, queue_audit.rs and birth_audit.rs, and in workflow_audit.rs of the engine.
    let elsewhere = BTreeSet::from([
        "orchestrator.run",
        "orchestrator.backup_key",
        "governance.system_issues",
        "queue.job_dead_letter",
        "queue.dlq_replay_request",
        "birth.family_log",
        "birth.break_glass",
        "governance.governance_candidate_state",
        "iu.dot_iu_command_run",
        "workflow.workflow_version",
        "workflow.workflow_change_requests",
        "workflow.change_revision",
        "workflow.workflow_run",
        "workflow.step_run_snapshot",
        "workflow.step_run_correction_cycle",
        "workflow.step_decision",
        "workflow.wait",
        "governance.proposal",
        "governance.iu_usage_evidence",
        "governance.status_summary",
    ]);
    assert_eq!(tables, &known - &elsewhere, "every other table of evidence has rows here");
    for (table, rows) in &report.evidence {
        assert_eq!(i64::try_from(*rows), Ok(cutter.db.count(table).await), "{table}");
    }
    assert!(report.signatures > 20, "{} signatures", report.signatures);
}

/// What tells the rows of a table apart: of each kind one is changed.
fn kind_of_row(table: &str) -> &'static str {
    match table {
        "fsm.transition_log" => "trigger_ref, to_state",
        "cutter_governance.decision_backlog_entry" => "status, kind",
        "cutter_governance.decision_backlog_sweep_log" => "least(promoted_count, 1)",
        "cutter_governance.manifest_envelope" => "status",
        "cutter_governance.review_decision" => "governance_event_kind, verdict",
        "cutter_governance.dot_pair_signature" => "signature_kind, lane_seq = 1",
        "cutter_governance.cut_change_set" => "change_kind, rollback_reason",
        "cutter_governance.cut_change_set_affected_row" => "operation_kind",
        "cutter_governance.verify_result" => "verdict, prior_verify_result_id is null",
        "iu.information_unit" => "lifecycle_status, doc_code = 'NOTES'",
        "iu.unit_version" => "lifecycle_status, version_seq",
        "iu.iu_lifecycle_log" => "change_kind, change_set_id is null",
        "approval.approval_request" => "kind, subject_digest is null",
        "approval.approval_vote" => "decision, counted_as, rationale is null",
        "kb.revision" => "path, revision",
        "kb.revision_signature" => "meaning",
        _ => "()",
    }
}

/// A superuser in a database whose triggers and constraints are gone.
struct Forger {
    cutter: Cutter,
    admin: PgConnection,
    random: StdRng,
    tried: usize,
    unnoticed: Vec<String>,
}

impl Forger {
    async fn new() -> Self {
        let cutter = Cutter::new().await;
        every_way(&cutter).await;
        let mut admin = cutter.db.superuser().await;
        let statements: Vec<String> = sqlx::query_scalar(
            "select format('alter table %s disable trigger user', c.oid::regclass)
               from pg_class c join pg_namespace n on n.oid = c.relnamespace
              where n.nspname in ('iu', 'cutter_governance', 'fsm', 'approval', 'kb') and c.relkind = 'r'
             union all
             select format('alter table %s drop constraint %I cascade', k.conrelid::regclass, k.conname)
               from pg_constraint k join pg_namespace n on n.oid = k.connamespace
              where n.nspname in ('iu', 'cutter_governance', 'fsm', 'approval', 'kb') and k.contype in ('c', 'u', 'f') and k.conrelid <> 0
                and k.conparentid = 0
             union all
             select format('drop index %s', i.indexrelid::regclass)
               from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
              where n.nspname in ('iu', 'cutter_governance', 'fsm', 'approval', 'kb') and i.indisunique and i.indpred is not null",
        )
        .fetch_all(&mut admin)
        .await
        .expect("what stands in the way");
        for statement in statements {
            // A constraint may have gone with another one.
            let _ = admin.execute(AssertSqlSafe(statement)).await;
        }
        let random = StdRng::seed_from_u64(slice::seed(20_261_118));
        Self { cutter, admin, random, tried: 0, unnoticed: Vec::new() }
    }

    /// Changes each column of each kind of row of a table, one at a time.
    async fn every_column_of(&mut self, table: &str) {
        let copy = format!("public.{}", table.replace('.', "_"));
        self.run(&format!("create table {copy} as table {table}")).await;
        let columns: Vec<(String, String, bool)> = sqlx::query_as(
            "select attname::text, atttypid::regtype::text, attnotnull from pg_attribute
              where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum",
        )
        .bind(table)
        .fetch_all(&mut self.admin)
        .await
        .expect("columns");
        let kind = if all_cells() { "ctid" } else { kind_of_row(table) };
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!(
            "select min(ctid)::text from {copy} group by {kind} order by 1"
        )))
        .fetch_all(&mut self.admin)
        .await
        .expect("rows");
        for (column, column_kind, not_null) in &columns {
            let values = other_values(column, column_kind, *not_null);
            let mut cells: Vec<(&String, &String)> =
                rows.iter().flat_map(|row| values.iter().map(move |value| (row, value))).collect();
            let mut wanted = cells.len();
            if !all_cells() {
                cells.shuffle(&mut self.random);
                wanted = wanted.div_ceil(5);
            }
            let mut tried = 0;
            for (row, value) in cells {
                // Not every value is another one in every row.
                tried += usize::from(self.change(table, &copy, row, column, value).await);
                if tried == wanted {
                    break;
                }
            }
            assert!(tried > 0, "{table}.{column} was never changed");
            self.tried += tried;
        }
    }

    /// Whether the value was another one.
    async fn change(
        &mut self,
        table: &str,
        copy: &str,
        row: &str,
        column: &str,
        value: &str,
    ) -> bool {
        // Found by its digest: no two rows have the same.
        let digest = if table == "fsm.transition_log" { "hash" } else { "row_digest" };
        let changed = self
            .run(&format!(
                "update {table} t set {column} = {value} from {copy} c
                  where c.ctid = '{row}' and t.{digest} = c.{digest} and t.{column} is distinct from {value}"
            ))
            .await;
        if changed == 1 {
            let found = self.cutter.mismatches().await;
            if !found.iter().any(|mismatch| mismatch.table == table) {
                self.unnoticed.push(format!("{table}.{column} = {value} in {row}: {found:?}"));
            }
        }
        self.run(&format!("delete from {table}")).await;
        self.run(&format!("insert into {table} table {copy}")).await;
        changed == 1
    }

    async fn run(&mut self, statement: &str) -> u64 {
        let done = self.admin.execute(AssertSqlSafe(statement.to_owned())).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}")).rows_affected()
    }

    async fn ends(self) {
        assert_eq!(self.unnoticed, Vec::<String>::new(), "changes that the audit does not name");
        assert!(self.tried > 0, "something was tried");
        let none: Vec<Mismatch> = Vec::new();
        assert_eq!(self.cutter.mismatches().await, none, "everything was put back");
    }
}

fn all_cells() -> bool {
    slice::asked("CHANCERY_TEST_CELLS").is_some_and(|cells| cells == "all")
}

/// Other values of a column's type, as expressions over the row `t`.
fn other_values(column: &str, kind: &str, not_null: bool) -> Vec<String> {
    let value = match kind {
        "text" => format!("coalesce(t.{column}, '') || 'x'"),
        "internal.canonical_object" => {
            format!("(coalesce(t.{column}, '{{}}')::jsonb || '{{\"forged\": true}}')::text")
        }
        "uuid" => "gen_random_uuid()".to_owned(),
        "smallint" | "integer" | "bigint" => format!("coalesce(t.{column}, 0) + 100"),
        "boolean" => format!("not t.{column}"),
        "timestamp with time zone" => {
            format!("coalesce(t.{column}, now()) + interval '1 microsecond'")
        }
        "bytea" => {
            format!("coalesce(set_byte(t.{column}, 0, get_byte(t.{column}, 0) # 1), sha256('x'))")
        }
        other => panic!("say how to change {column}, which is {other}"),
    };
    let mut values = vec![value];
    if !not_null {
        values.push("null".to_owned());
    }
    values
}

/// AUD-1: no column of an entry, its decisions and its log can be changed unnoticed.
#[tokio::test]
async fn no_column_of_an_entry_can_be_changed_unnoticed() {
    let mut forger = Forger::new().await;
    for table in [
        "fsm.transition_log",
        "cutter_governance.decision_backlog_entry",
        "cutter_governance.decision_backlog_dependency",
        "cutter_governance.decision_backlog_sweep_log",
    ] {
        forger.every_column_of(table).await;
    }
    forger.ends().await;
}

/// AUD-1: no column of plans, decisions, attestations, change sets and verifications can be changed unnoticed.
#[tokio::test]
async fn no_column_of_the_evidence_of_a_cut_can_be_changed_unnoticed() {
    let mut forger = Forger::new().await;
    for table in [
        "cutter_governance.manifest_envelope",
        "cutter_governance.manifest_unit_block",
        "cutter_governance.review_decision",
        "cutter_governance.dot_pair_signature",
        "cutter_governance.cut_change_set",
        "cutter_governance.cut_change_set_affected_row",
        "cutter_governance.verify_result",
    ] {
        forger.every_column_of(table).await;
    }
    forger.ends().await;
}

/// AUD-1: no column of documents, units, their texts and their history can be changed unnoticed.
#[tokio::test]
async fn no_column_of_a_document_or_unit_can_be_changed_unnoticed() {
    let mut forger = Forger::new().await;
    for table in [
        "iu.source_document",
        "iu.source_version",
        "iu.information_unit",
        "iu.unit_version",
        "iu.unit_edit_draft",
        "iu.iu_lifecycle_log",
    ] {
        forger.every_column_of(table).await;
    }
    forger.ends().await;
}

/// AUD-1: no column of requests, votes, uses, documents and the signatures under them can be changed unnoticed.
#[tokio::test]
async fn no_column_of_an_approval_or_a_document_of_the_knowledge_base_can_be_changed_unnoticed() {
    let mut forger = Forger::new().await;
    for table in [
        "approval.approval_request",
        "approval.approval_vote",
        "approval.approval_use",
        "kb.revision",
        "kb.revision_signature",
    ] {
        forger.every_column_of(table).await;
    }
    forger.ends().await;
}

/// AUD-1: the lists above have every table that the audit knows, and the database stamps no other: under the same tags and versions,
/// over the same columns in the same order, and without the same ones.
#[tokio::test]
async fn every_table_of_evidence_is_tried() {
    let source = concat!(
        include_str!("columns.rs"),
        include_str!("../orchestrator_audit.rs"),
        include_str!("../birth_audit.rs")
    );
    for table in evidence::release().tables().iter().map(Table::name) {
        assert!(source.matches(&format!("\"{table}\",")).count() > 0, "{table} is tried");
    }
    let cutter = Cutter::new().await;
    let stored = cutter.db.texts(
        "select concat_ws(' ', table_name, tag, array_to_string(mutable_columns, ',')) from audit.evidence_def
         union all select concat_ws(' ', table_name, version, array_to_string(columns, ',')) from audit.evidence_version
         union all select 'new rows of the log ' || column_default from information_schema.columns
                    where table_schema = 'fsm' and table_name = 'transition_log' and column_name = 'hash_version'",
    );
    let stored: BTreeSet<String> = stored.await.into_iter().flatten().collect();
    let registry = evidence::release();
    let mut known = BTreeSet::new();
    for table in registry.tables() {
        let (name, tag) = (table.name(), table.tag());
        known.insert(format!("{name} {tag} {}", table.mutable_columns().join(",")));
        for (version, columns) in (1..).zip(table.versions()) {
            known.insert(format!("{name} {version} {}", columns.join(",")));
        }
    }
    let log = registry.log().versions();
    for (version, list) in (1..).zip(log) {
        let columns = list.columns().map(|name| if name == "at_micros" { "at" } else { name });
        let columns: Vec<&str> = columns.collect();
        known.insert(format!("fsm.transition_log {version} {}", columns.join(",")));
    }
    known.insert(format!("new rows of the log {}", log.len()));
    assert_eq!(stored, known, "the audit and the database agree on what digests are over");
}
