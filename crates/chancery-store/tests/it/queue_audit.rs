//! AUD-1: the audit replays dead letters, what people did to jobs, and replays; whatever is changed behind the triggers' back is found
//! and named.

use std::time::Duration;

use chancery_engine::approval::{self, Decision};
use chancery_engine::audit::{self, Mismatch, Pins, Report};
use chancery_engine::identity::{Keystore, new_key};
use chancery_engine::queue::people::{self, Proposal};
use chancery_engine::run::Actor;
use chancery_model::chain::{job_genesis, job_id};
use chancery_store::Role;
use chancery_store::queue::JobOutcome;
use serde_json::json;
use uuid::Uuid;

use crate::queue_world::{Yard, done, job, result};

/// Jobs that went every way the log knows of, by people who sign with keys of their own.
struct Scene {
    yard: Yard,
    ada: Actor,
    ben: Actor,
}

impl Scene {
    async fn new() -> Self {
        let yard = Yard::new().await;
        let operator = yard.db.store(Role::Migrator);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keystore = Keystore::below(folder.path());
        for (name, class) in [("ada", "pic_human"), ("ben", "reviewer")] {
            let classes = [class.to_owned()];
            operator.fn_principal_add(name, "human", &classes, None).await.expect("a person");
            new_key(&operator, &keystore, name, None).await.expect("a key");
        }
        let ada = Actor::open(&yard.store, &keystore, "ada").await.expect("ada");
        let ben = Actor::open(&yard.store, &keystore, "ben").await.expect("ben");
        let scene = Self { yard, ada, ben };
        scene.every_way().await;
        let report = scene.audit().await;
        assert_eq!(report.mismatches, [], "an honest history has none");
        scene
    }

    async fn every_way(&self) {
        let (yard, store) = (&self.yard, &self.yard.store);
        // Set aside, withdrawn, done again, dead again; the last two in one batch.
        let dead = yard.dead("dead", 4).await;
        people::dismiss(store, &self.ben, "reviewer", dead[0], "void").await.expect("dismissed");
        let taken_back = self.propose(&dead[1..2]).await;
        let request = taken_back.batch.requests[0].dlq_replay_request_id;
        people::withdraw(store, &self.ada, "pic_human", request, "no").await.expect("withdrawn");
        let proposed = self.propose(&dead[2..]).await;
        let (batch, approval_id) = (proposed.batch.batch_id, proposed.approval.approval_id);
        approval::vote(store, &self.ben, "reviewer", approval_id, Decision::Approve, None)
            .await
            .expect("a vote");
        people::run(store, &self.ada, "pic_human", batch, approval_id).await.expect("run");
        let leased = yard.claim(2).await;
        assert_eq!(leased.len(), 2);
        let detail = json!({ "reason": "still not there" });
        let results = [done(&leased[0]), result(&leased[1], JobOutcome::FailedForGood, detail)];
        assert_eq!(yard.ack(&results).await.accepted, 2);
        // Taken back while it waited, and from a worker's hands.
        let jobs = [job("held"), job("waiting")];
        let jobs = people::enqueue(store, &self.ada, "pic_human", &jobs).await.expect("jobs");
        yard.claim(1).await;
        for job in jobs {
            people::cancel(store, &self.ada, "pic_human", job.job_id, "ordered twice")
                .await
                .expect("cancelled");
        }
    }

    async fn propose(&self, jobs: &[Uuid]) -> people::Proposed {
        let proposal = Proposal {
            batch_id: None,
            job_ids: jobs.to_vec(),
            reason: "the file is there now".to_owned(),
            stagger_ms: 0,
            expires_in: Duration::from_secs(60),
        };
        people::propose(&self.yard.store, &self.ada, "pic_human", &proposal)
            .await
            .expect("proposed")
    }

    async fn audit(&self) -> Report {
        let auditor = self.yard.db.store(Role::Auditor);
        audit::verify(&auditor, Pins::default(), |_| ()).await.expect("an audit")
    }

    async fn found(&self) -> Vec<Mismatch> {
        self.audit().await.mismatches
    }

    async fn forged(&self, statements: &[&str]) {
        assert!(self.yard.db.forge(statements).await > 0, "{statements:?}");
    }

    async fn keep(&self, tables: &[&str]) {
        for table in tables {
            let copy = format!("create table public.{} as table {table}", copy_of(table));
            self.yard.as_superuser(&copy).await;
        }
        let constraints = self
            .yard
            .db
            .texts(
                "select format('alter table %s drop constraint %I cascade', k.conrelid::regclass, k.conname)
                   from pg_constraint k join pg_namespace n on n.oid = k.connamespace
                  where n.nspname in ('queue', 'approval') and k.contype in ('c', 'u', 'f') and k.conrelid <> 0 and k.conislocal and k.conparentid = 0
                 union all select 'drop index queue.replay_one_open_request'",
            )
            .await;
        for constraint in constraints.into_iter().flatten() {
            self.yard.as_superuser(&constraint).await;
        }
    }

    async fn put_back(&self, table: &str) {
        let overriding = if table == "queue.job_queue" { "overriding system value" } else { "" };
        self.forged(&[
            &format!("delete from {table}"),
            &format!("insert into {table} {overriding} table public.{}", copy_of(table)),
        ])
        .await;
    }

    /// Changes a row as somebody who has our code would: its own digest fits again.
    async fn restamped(&self, table: &str, condition: &str, set: &str) {
        let stamp = self
            .yard
            .db
            .text(&format!(
                "select quote_ident(tgname) from pg_trigger where tgrelid = '{table}'::regclass and tgfoid = 'audit.stamp_{}'::regproc",
                table.replace('.', "_")
            ))
            .await;
        self.forged(&[
            &format!("alter table {table} enable always trigger {stamp}"),
            &format!(
                "create temp table forged on commit drop as select * from {table} where {condition}"
            ),
            &format!("update forged set {set}"),
            &format!("delete from {table} where {condition}"),
            &format!("insert into {table} select * from forged"),
        ])
        .await;
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

fn copy_of(table: &str) -> String {
    table.replace('.', "_")
}

/// AUD-1, EVT-4: whatever way a dead job went, it replays, and what people did is signed.
#[tokio::test]
async fn every_way_of_a_dead_job_replays() {
    let scene = Scene::new().await;
    let report = scene.audit().await;
    // Four that died, one that died again, two taken back; three requests.
    assert_eq!((report.runs, report.mismatches), (10, vec![]));
    for table in ["queue.job_dead_letter", "queue.dlq_replay_request", "approval.approval_use"] {
        let rows = report.evidence.get(table).copied().unwrap_or_default();
        assert_eq!(i64::try_from(rows), Ok(scene.yard.db.count(table).await), "{table}");
    }
    // Three proposals, one withdrawal, one dismissal, two cancellations; two requests and a vote.
    assert_eq!(report.signatures, 10);
    let log =
        audit::verify_log(&scene.yard.db.store(Role::Auditor), |_| ()).await.expect("an audit");
    assert_eq!((log.runs, log.mismatches), (10, vec![]));
    // Rust makes the same ids and hashes.
    let same: String = scene
        .yard
        .one("select queue.job_id('noop', 'đơn,1')::text || encode(queue.genesis('0197c0de-0000-7000-8000-000000000001'), 'hex')")
        .await;
    let id = Uuid::from_u128(0x0197_c0de_0000_7000_8000_0000_0000_0001);
    let genesis = job_genesis(id).map(|byte| format!("{byte:02x}")).concat();
    assert_eq!(same, format!("{}{genesis}", job_id("noop", "đơn,1")));
}

/// AUD-1, EVT-4: a payload, a story, an approval or an outcome that was changed with its digest, or taken away, is named.
#[tokio::test]
async fn what_was_changed_about_a_dead_job_is_named() {
    let scene = Scene::new().await;
    let (letter, replay, log) =
        ("queue.job_dead_letter", "queue.dlq_replay_request", "fsm.transition_log");
    let (request, used, jobs) =
        ("approval.approval_request", "approval.approval_use", "queue.job_queue");
    let tables = [letter, replay, log, request, used, jobs];
    scene.keep(&tables).await;
    let artefacts = "artefacts_are_in_the_log";
    let agrees = "log_agrees_with_its_rows";
    for (table, condition, set, named, rule) in [
        (letter, "true", "payload = '{\"whom\":\"doc/43\"}'", log, artefacts),
        (letter, "true", "story = '{}'", log, artefacts),
        (letter, "true", "payload = '{ }'", letter, "json_is_canonical"),
        (letter, "true", "reason = 'nobody knows'", log, agrees),
        (letter, "true", "classification = 'lease_expired'", log, agrees),
        (letter, "true", "idempotency_key = 'x'", letter, "letter_is_of_its_job"),
        (replay, "true", "reason = 'because'", log, "birth_facts_are_unchanged"),
        (replay, "true", "stagger_ms = 1", log, artefacts),
        (replay, "true", "started_by = 'ben'", replay, "replay_is_as_it_was_proposed"),
        (replay, "batch_no = 2", "job_id = gen_random_uuid()", replay, "row_has_an_origin"),
        (
            replay,
            "proposal_state = 'completed'",
            "approval_id = gen_random_uuid()",
            replay,
            "replay_is_as_it_was_logged",
        ),
        (
            replay,
            "proposal_state = 'withdrawn'",
            "approval_id = gen_random_uuid()",
            replay,
            "replay_is_as_it_was_logged",
        ),
        (
            replay,
            "proposal_state = 'completed'",
            "replay_job_id = gen_random_uuid()",
            replay,
            "replay_is_as_it_was_logged",
        ),
        (
            replay,
            "proposal_state = 'withdrawn'",
            "outcome_jsonb = '{\"outcome\": \"succeeded\"}'",
            replay,
            "replay_is_as_it_was_logged",
        ),
        (
            replay,
            "proposal_state = 'completed'",
            "outcome_jsonb = outcome_jsonb || '{\"detail\": {\"rows\": 9}}'",
            log,
            agrees,
        ),
        (
            replay,
            "proposal_state = 'completed'",
            "outcome_jsonb = '{\"outcome\": \"cancelled\", \"detail\": {}}'",
            log,
            agrees,
        ),
        (request, "kind = 'dlq_replay'", "proposer = 'ben'", request, "replay_was_approved"),
        (
            request,
            "kind = 'dlq_replay'",
            "subject_digest = sha256('x')",
            request,
            "replay_was_approved",
        ),
        (used, "true", "used_by = 'ben'", used, "replay_was_approved"),
        (used, "true", "used_for_ref = 'another'", used, "replay_was_approved"),
    ] {
        scene.restamped(table, condition, set).await;
        scene.names(&format!("{table}: {set}"), named, rule).await;
        scene.put_back(table).await;
    }
    for (statement, table, named, rule) in [
        ("delete from queue.job_dead_letter where reason = 'no such file'", letter, log, artefacts),
        (
            "delete from queue.dlq_replay_request where batch_no = 2",
            replay,
            log,
            "state_equals_log",
        ),
        ("delete from approval.approval_use", used, log, artefacts),
        (
            "delete from approval.approval_request where approval_id in (select approval_id from approval.approval_use)",
            request,
            log,
            artefacts,
        ),
        ("delete from queue.job_queue where state = 'cleaned'", jobs, log, "state_equals_log"),
        (
            "update queue.job_queue set state = 'queued' where state = 'cancelled'",
            jobs,
            jobs,
            "state_equals_log",
        ),
        (
            "update queue.job_queue set state = 'cleaned' where state = 'dead_letter'",
            jobs,
            jobs,
            "state_equals_log",
        ),
        (
            "update queue.job_queue set seq = 0, head_hash = null where state = 'dead_letter'",
            jobs,
            log,
            "state_equals_log",
        ),
        (
            "update fsm.transition_log set prev_hash = sha256('x') where run_kind = 'job' and seq = 2",
            log,
            log,
            "hashes_link",
        ),
        (
            "update fsm.transition_log set from_state = 'queued' where run_kind = 'job' and to_state = 'dead_letter'",
            log,
            log,
            "move_is_legal",
        ),
        (
            "delete from fsm.transition_log where run_kind = 'job' and to_state = 'cancelled'",
            log,
            jobs,
            "every_run_has_a_log",
        ),
        (
            "delete from fsm.transition_log where run_kind = 'dlq_replay' and to_state = 'scheduled'",
            log,
            used,
            "row_has_an_origin",
        ),
        (
            "update fsm.transition_log set signature = sha256('x') || sha256('y') where run_kind = 'dlq_replay' and seq = 1",
            log,
            log,
            "signature_is_good",
        ),
        (
            "update fsm.transition_log set signature = null, key_id = null where to_state = 'cancelled'",
            log,
            log,
            "signature_is_good",
        ),
    ] {
        scene.forged(&[statement]).await;
        scene.names(statement, named, rule).await;
        scene.put_back(table).await;
    }
    assert_eq!(scene.found().await, [], "everything was put back");
}

/// AUD-1: no column of a dead letter or of a request can be changed unnoticed, nor where a job stands that the log knows.
#[tokio::test]
async fn no_column_of_a_dead_letter_can_be_changed_unnoticed() {
    let scene = Scene::new().await;
    let tables = ["queue.job_dead_letter", "queue.dlq_replay_request", "queue.job_queue"];
    scene.keep(&tables).await;
    let mut tried = 0;
    for table in tables {
        let columns = scene
            .yard
            .db
            .texts(&format!(
                "select attname || ' ' || atttypid::regtype::text from pg_attribute
                  where attrelid = '{table}'::regclass and attnum > 0
                    and ('{table}' <> 'queue.job_queue' or attname in ('job_id', 'state', 'facet', 'seq', 'head_hash', 'last_transition_at'))"
            ))
            .await;
        for column in columns.into_iter().flatten() {
            let (column, kind) = column.split_once(' ').expect("a column and its type");
            let value = match kind {
                "text" => format!("coalesce({column}, '') || 'x'"),
                "uuid" => "gen_random_uuid()".to_owned(),
                "smallint" | "integer" | "bigint" => format!("{column} + 100"),
                "bytea" => "sha256('x')".to_owned(),
                "jsonb" => format!("coalesce({column}, '{{}}') || '{{\"x\": 1}}'"),
                "internal.canonical_object" => "'{\"x\":1}'".to_owned(),
                "timestamp with time zone" => format!("{column} + interval '1 microsecond'"),
                other => panic!("say how to change {column}, which is {other}"),
            };
            scene.forged(&[&format!("update {table} set {column} = {value}")]).await;
            let found = scene.found().await;
            let named = |mismatch: &Mismatch| {
                mismatch.table == table || mismatch.table == "fsm.transition_log"
            };
            assert!(found.iter().any(named), "{table}.{column}: {found:?}");
            scene.put_back(table).await;
            tried += 1;
        }
    }
    assert_eq!(tried, 24 + 21 + 6);
    assert_eq!(scene.found().await, [], "everything was put back");
}
