//! AUD-1: the audit replays runs of the orchestrator, and whatever is changed behind the triggers' back is found and named.

use std::collections::BTreeSet;

use chancery_engine::audit::{self, Mismatch, Pins};
use chancery_model::evidence::{self, Table};
use chancery_store::Role;
use serde_json::{Value, json};

use crate::governance_world::problem;
use crate::orchestrator_world::{Run, World};
use crate::tamper::scene::every_way;
use crate::tamper::{other, sealed};

/// AUD-1, ORC-4: whatever way a run went, it replays, and so does the file about its request, without a database.
#[tokio::test]
async fn every_way_of_a_run_replays() {
    let world = World::new().await;
    let runs = world.every_run().await;
    let report = world.cutter.audit().await;
    assert_eq!(report.mismatches, []);
    // Ten runs, and the permits of the units that they wrote.
    let runs_and_permits = 10 + world.cutter.db.count("birth.birth_admission_permit").await;
    assert_eq!(
        (i64::try_from(report.runs), i64::try_from(report.entries)),
        (
            Ok(runs_and_permits),
            Ok(world.cutter.db.count("cutter_governance.decision_backlog_entry").await)
        )
    );
    for (table, rows) in &report.evidence {
        assert_eq!(i64::try_from(*rows), Ok(world.cutter.db.count(table).await), "{table}");
    }
    let log = audit::verify_log(&world.cutter.auditor, |_| ()).await.expect("an audit");
    assert_eq!((log.mismatches, i64::try_from(log.runs)), (vec![], Ok(runs_and_permits)));

    let mut bundles = Vec::new();
    for (name, run) in &runs {
        let file = audit::export(&world.cutter.auditor, run.entry).await.expect("an answer");
        assert_eq!(file.is_none(), *name == "voided0", "{name}: it was never marked");
        bundles.extend(file.map(|file| (*name, file)));
    }
    drop(world);
    for (name, file) in bundles {
        let report = audit::verify_bundle(&file, Pins::default()).await.expect("a report");
        assert_eq!(report.mismatches, [], "{name}");
        assert_eq!(report.runs, 1, "{name}: the run is in the bundle");
        let tables: BTreeSet<&str> = report.evidence.keys().copied().collect();
        assert!(
            tables.contains("kb.revision") && tables.contains("orchestrator.run"),
            "{name}: {tables:?}"
        );
        assert_eq!(
            tables.contains("approval.approval_use"),
            name != "voided1",
            "{name}: {tables:?}"
        );
    }
}

/// AUD-1: beside everything else that is evidence, runs, backup keys and findings are counted and replayed.
#[tokio::test]
async fn every_table_of_evidence_is_looked_at() {
    let world = World::new().await;
    every_way(&world.cutter).await;
    let run = world.started("alpha").await;
    world.drive(&run, "IG_closeout").await;
    let machine = chancery_testkit::shipped().into_iter().find(|m| m.machine == "finding");
    world.cutter.db.definition(&machine.expect("the machine of findings")).await;
    let found = world.cutter.db.store(Role::App).fn_log_issue(&problem("a")).await;
    found.expect("a finding");
    let report = world.cutter.audit().await;
    assert_eq!(report.mismatches, []);
    let tables: BTreeSet<&str> = report.evidence.keys().copied().collect();
    let known: BTreeSet<&str> = evidence::release().tables().iter().map(Table::name).collect();
    // Jobs, what is born elsewhere than in a cut, workflows and proposals have scenes of their own, in queue_audit.rs and
    // birth_audit.rs, and in workflow_audit.rs of the engine.
    let elsewhere = BTreeSet::from([
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
    assert_eq!(tables, &known - &elsewhere);
}

struct Forger {
    world: World,
    run: Run,
}

impl Forger {
    async fn new() -> Self {
        let world = World::new().await;
        let run = world.started("alpha").await;
        world.drive(&run, "IG_mark").await;
        world.stop(&run).await.expect("stopped");
        let word = world.ask(&run, "SG_resume_stopped").await;
        world.authorize(&run, "SG_resume_stopped", &word).await;
        world.resume(&run, &word.evidence()).await.expect("resumed");
        for gate in crate::orchestrator_world::GATES.iter().skip(2) {
            world.pass(&run, gate).await;
        }
        assert_eq!(world.cutter.mismatches().await, [], "an honest run has none");
        Self { world, run }
    }

    /// Changes a row as somebody who has our code would: its own digest fits again.
    async fn restamped(&self, table: &str, condition: &str, set: &str) {
        let stamp = self
            .world
            .text(&format!(
                "select quote_ident(tgname) from pg_trigger where tgrelid = '{table}'::regclass and tgfoid = 'audit.stamp_{}'::regproc",
                table.replace('.', "_")
            ))
            .await;
        let touched = self
            .world
            .cutter
            .db
            .forge(&[
                &format!("alter table {table} enable always trigger {stamp}"),
                &format!("create temp table forged on commit drop as select * from {table} where {condition}"),
                &format!("update forged set {set}"),
                &format!("delete from {table} where {condition}"),
                &format!("insert into {table} select * from forged"),
            ])
            .await;
        assert!(touched > 0, "{table} where {condition}");
    }

    async fn forged(&self, statement: &str) {
        assert!(self.world.cutter.db.forge(&[statement]).await > 0, "{statement}");
    }

    async fn found(&self) -> Vec<Mismatch> {
        self.world.cutter.mismatches().await
    }

    /// The audit names this table and this rule.
    async fn names(&self, what: &str, table: &str, rule: &str) {
        let found = self.found().await;
        assert!(
            found.iter().any(|mismatch| mismatch.table == table && mismatch.rule == rule),
            "{what}: {table} {rule}, not {found:#?}"
        );
    }
}

/// AUD-1, ORC-4: a receipt, a run, an approval or a vote that was changed with its digest, or taken away, is named.
#[tokio::test]
async fn what_was_changed_in_a_run_is_named() {
    let forger = Forger::new().await;
    let db = &forger.world.cutter.db;
    let tables = [
        "kb.revision",
        "kb.revision_signature",
        "orchestrator.run",
        "orchestrator.backup_key",
        "approval.approval_request",
        "approval.approval_use",
        "approval.approval_vote",
        "fsm.transition_log",
        "cutter_governance.review_decision",
        "iu.iu_lifecycle_log",
    ];
    let keep: Vec<String> = tables
        .iter()
        .map(|table| format!("create table public.{} as table {table}", table.replace('.', "_")))
        .collect();
    db.forge(&keep.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let path = |name: &str| format!("path = '{}'", forger.run.path(name));
    let (id, name) = (forger.run.id, &forger.run.name);
    let log = "fsm.transition_log";
    let artefacts = "artefacts_are_in_the_log";
    let authority = "authority_belongs_together";
    let text = "body = body || 'x', sha256 = sha256(convert_to(body || 'x', 'UTF8'))";
    let first = "(select min(pin_seq) from orchestrator.backup_key)";
    let cut = format!("subject_ref = '{name}' and kind = 'cut_authorization'");
    let of_cut =
        format!("approval_id = (select approval_id from approval.approval_request where {cut})");
    // Every document of the run, with its digest and its hash made to fit.
    for receipt in [
        "01-source-pin",
        "02-mark",
        "03-cutplan",
        "04-pre-write-backup",
        "05-grant-probe",
        "06-cut-leg-a",
        "07-structural-verify",
        "08-leg-b-record",
        "09-write-verify",
        "10-lifecycle-enact",
        "11-final-orchestrator-report",
        "sg1-cut-authz-request",
        "sg2-lifecycle-authz-request",
        "stop-route-report-4",
        "resumed-5",
    ] {
        forger.restamped("kb.revision", &path(receipt), text).await;
        forger.names(receipt, log, artefacts).await;
        put_back(&forger, "kb.revision").await;
        forger.forged(&format!("delete from kb.revision where {}", path(receipt))).await;
        forger.names(&format!("{receipt} is gone"), log, artefacts).await;
        put_back(&forger, "kb.revision").await;
    }
    let cases: Vec<(&str, String, String, &str, &str)> = vec![
        ("orchestrator.run", "true".into(), "document_id = document_id || 'x'".into(), log, "birth_facts_are_unchanged"),
        ("orchestrator.run", "true".into(), "started_by = 'vera'".into(), "orchestrator.run", "run_is_as_it_was_started"),
        ("orchestrator.run", "true".into(), "entry_id = gen_random_uuid()".into(), log, artefacts),
        ("orchestrator.backup_key", "true".into(), format!("pin_seq = {first} + 1"), "orchestrator.backup_key", "pins_are_numbered"),
        ("approval.approval_use", of_cut.clone(), "used_by = 'vera'".into(), log, artefacts),
        ("approval.approval_use", of_cut.clone(), "used_for_ref = 'another'".into(), "approval.approval_use", authority),
        ("approval.approval_request", cut.clone(), "facts = (facts::jsonb || '{\"nonce\": \"x\"}')::text".into(), "approval.approval_request", authority),
        ("approval.approval_vote", of_cut.clone(), "voter = 'sol'".into(), "kb.revision_signature", authority),
        ("kb.revision", path("sg_cut_authz-approval"), text.into(), "kb.revision_signature", "signed_is_what_is_stored"),
        ("kb.revision", path("sg_cut_authz-approval"), "body = replace(body, 'SG_cut_authz', 'SG_other'), sha256 = sha256(convert_to(replace(body, 'SG_cut_authz', 'SG_other'), 'UTF8'))".into(), "kb.revision_signature", authority),
        ("kb.revision_signature", path("sg_cut_authz-approval"), "signer = 'sol'".into(), "cutter_governance.review_decision", authority),
        ("cutter_governance.review_decision", "governance_event_kind = 'lifecycle_enactment'".into(), "reviewer_identity = 'sol'".into(), log, artefacts),
        ("iu.iu_lifecycle_log", "change_kind = 'enacted'".into(), "reason = 'other'".into(), log, artefacts),
        ("iu.iu_lifecycle_log", "change_kind = 'created'".into(), "tool_revision = 'other'".into(), log, artefacts),
    ];
    for (table, condition, set, named, rule) in cases {
        forger.restamped(table, &condition, &set).await;
        forger.names(&format!("{table}: {set}"), named, rule).await;
        put_back(&forger, table).await;
    }
    let gone: Vec<(&str, String, &str, &str)> = vec![
        ("approval.approval_use", of_cut.clone(), log, artefacts),
        ("approval.approval_vote", of_cut, "kb.revision_signature", authority),
        ("approval.approval_request", cut, log, artefacts),
        ("kb.revision_signature", path("sg_cut_authz-approval"), log, authority),
        ("kb.revision_signature", path("sg_resume_stopped-approval"), log, authority),
        ("orchestrator.run", "true".into(), log, "state_equals_log"),
        (
            "cutter_governance.review_decision",
            "governance_event_kind = 'lifecycle_enactment'".into(),
            log,
            artefacts,
        ),
        (log, format!("run_id = '{id}' and seq = 7"), log, "seq_is_dense"),
        (log, format!("run_id = '{id}'"), "orchestrator.run", "every_run_has_a_log"),
    ];
    for (table, condition, named, rule) in gone {
        forger.forged(&format!("delete from {table} where {condition}")).await;
        forger.names(&format!("{table} where {condition} is gone"), named, rule).await;
        put_back(&forger, table).await;
    }
    // A use that no run made.
    let stray = "insert into approval.approval_use select approval_id, 'orchestrator_run', subject_ref || '/SG_drift_ack', 'edith', now(), '' from approval.approval_request where kind = 'drift_ack'";
    let word = forger.world.ask(&forger.run, "SG_drift_ack").await;
    forger.forged(stray).await;
    forger.names("a stray use", "approval.approval_use", "row_has_an_origin").await;
    forger
        .forged(&format!(
            "delete from approval.approval_use where approval_id = '{}'",
            word.approval_id
        ))
        .await;
    assert_eq!(forger.found().await, [], "everything was put back");
}

async fn put_back(forger: &Forger, table: &str) {
    let copy = format!("public.{}", table.replace('.', "_"));
    forger
        .world
        .cutter
        .db
        .forge(&[&format!("delete from {table}"), &format!("insert into {table} table {copy}")])
        .await;
}

/// AUD-1: each column of a run and of a backup key, and each column of the moves of a run, cannot be changed unnoticed.
#[tokio::test]
async fn no_column_of_a_run_can_be_changed_unnoticed() {
    let forger = Forger::new().await;
    let mut tried = 0;
    for table in ["orchestrator.run", "orchestrator.backup_key"] {
        let columns = forger
            .world
            .cutter
            .db
            .texts(&format!(
                "select attname || ' ' || atttypid::regtype::text from pg_attribute where attrelid = '{table}'::regclass and attnum > 0"
            ))
            .await;
        forger.world.cutter.db.forge(&[
            &format!("create table public.{} as table {table}", table.replace('.', "_")),
            "alter table orchestrator.run drop constraint if exists orchestrator_run_name_is_time_and_id",
            "alter table orchestrator.run drop constraint if exists orchestrator_run_trace_id_is_w3c",
            "alter table orchestrator.backup_key drop constraint if exists backup_key_fingerprint_is_v4",
        ]).await;
        for column in columns.into_iter().flatten() {
            let (column, kind) = column.split_once(' ').expect("a column and its type");
            let value = match kind {
                "text" => format!("coalesce({column}, '') || 'x'"),
                "uuid" => "gen_random_uuid()".to_owned(),
                "smallint" | "integer" | "bigint" => format!("{column} + 100"),
                "bytea" => "sha256('x')".to_owned(),
                "timestamp with time zone" => format!("{column} + interval '1 microsecond'"),
                other => panic!("say how to change {column}, which is {other}"),
            };
            forger.forged(&format!("update {table} set {column} = {value}")).await;
            let found = forger.found().await;
            assert!(
                found.iter().any(|mismatch| mismatch.table == table),
                "{table}.{column}: {found:?}"
            );
            put_back(&forger, table).await;
            tried += 1;
        }
    }
    assert_eq!(tried, 24);
    assert_eq!(forger.found().await, [], "everything was put back");
}

/// AUD-1: a bundle about a run's request in which something about the run is changed or missing says so.
#[tokio::test]
async fn a_bundle_with_any_part_of_its_run_changed_says_so() {
    let forger = Forger::new().await;
    let file = audit::export(&forger.world.cutter.auditor, forger.run.entry).await;
    let file = file.expect("an answer").expect("a bundle");
    drop(forger);
    let line = file.split(|byte| *byte == b'\n').next().expect("a line");
    let document: Value = serde_json::from_slice(line).expect("JSON");
    let holds = async |document: &Value| {
        audit::verify_bundle(&sealed(document), Pins::default()).await.expect("a report").ok()
    };
    assert!(holds(&document).await);
    let mut tried = 0;
    for table in [
        "kb.revision",
        "kb.revision_signature",
        "approval.approval_use",
        "approval.approval_vote",
        "approval.approval_request",
        "orchestrator.run",
    ] {
        let mut less = document.clone();
        less["tables"].as_object_mut().expect("tables").remove(table).expect("it was there");
        assert!(!holds(&less).await, "without {table}");
        let rows = document["tables"][table]["rows"].as_array().expect("rows").len();
        for row in 0..rows {
            let mut less = document.clone();
            less["tables"][table]["rows"].as_array_mut().expect("rows").remove(row);
            assert!(!holds(&less).await, "without row {row} of {table}");
            let columns = document["tables"][table]["columns"].as_array().expect("columns");
            for (n, column) in columns.iter().enumerate() {
                let mut changed = document.clone();
                let value = &mut changed["tables"][table]["rows"][row][n];
                *value = json!(other(value.as_str().unwrap_or_default()));
                assert!(!holds(&changed).await, "{table} row {row} {column}");
                tried += 1;
            }
        }
    }
    assert!(tried > 200, "{tried} values were changed");
}
