//! IU-4: the same values give the same bytes in Rust and in PostgreSQL, whatever characters they have.

use std::collections::{BTreeMap, BTreeSet};

use chancery_engine::cutter::Verdict;
use chancery_model::cutter::{
    ChangeSet, Decision, EXECUTOR_LANE, Effect, FIRST_CUT, LaneSigner, Manifest, ManifestUnit,
    Verification, change_set_digest, decision_payload, derived_uuid, executor_attested,
    lane_payload, review_evidence, verifier_attested, verify_digest,
};
use chancery_model::{canonical, evidence};
use chancery_store::Role;
use chancery_store::queue::{JobOutcome, JobResult, NewJob, ReplayProposal};
use chancery_testkit::TestDb;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::scene::{SEVERAL, Scene};

/// Values, and how SQL is told of them.
pub(crate) struct Random(pub(crate) StdRng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    pub(crate) fn text(&mut self) -> String {
        const ODD: &[&str] = &[
            "\"",
            "\\",
            "\u{1}",
            "\u{8}",
            "\t",
            "\n",
            "\u{b}",
            "\u{c}",
            "\r",
            "\u{1f}",
            "\u{7f}",
            "\u{85}",
            "\u{2028}",
            "\u{2029}",
            "\u{feff}",
            "\u{fffd}",
            "\u{10ffff}",
            "𝔸",
            "đ",
            "e\u{301}",
            "ﬀ",
            "'",
            "$$",
            "/",
            "</script>",
            "%",
            "{",
            "null",
        ];
        let length = if self.0.gen_ratio(1, 20) { 5_000 } else { self.0.gen_range(1..40) };
        (0..length)
            .map(|_| {
                if self.0.gen_bool(0.4) {
                    ODD[self.0.gen_range(0..ODD.len())].to_owned()
                } else {
                    char::from(self.0.gen_range(b' '..=b'~')).to_string()
                }
            })
            .collect()
    }

    /// For columns that stand in an index.
    fn short_text(&mut self) -> String {
        self.text().chars().take(40).collect()
    }

    pub(crate) fn uuid(&mut self) -> Uuid {
        Uuid::from_u128(self.0.r#gen())
    }

    pub(crate) fn digest(&mut self) -> [u8; 32] {
        self.0.r#gen()
    }

    pub(crate) fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.0.gen_bool(0.5).then(|| value(self))
    }

    fn json(&mut self, depth: u32) -> Value {
        match self.0.gen_range(0..if depth == 0 { 4 } else { 6 }) {
            0 => Value::Null,
            1 => json!(self.0.r#gen::<bool>()),
            2 => json!(self.0.gen_range(-1_000_000_i64..1_000_000)),
            3 => json!(self.text()),
            4 => (0..self.0.gen_range(0..4)).map(|_| self.json(depth - 1)).collect(),
            _ => self.object(depth - 1),
        }
    }

    pub(crate) fn object(&mut self, depth: u32) -> Value {
        (0..self.0.gen_range(0..4))
            .map(|_| (self.text(), self.json(depth)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }

    fn manifest(&mut self) -> Manifest {
        let count = self.0.gen_range(1..12);
        let units = (0..count)
            .map(|n: usize| ManifestUnit {
                local_id: format!("u{n:04}{}", self.short_text()),
                address: format!("{}{n}", self.short_text()),
                start: self.0.gen_range(0..1_000),
                end: self.0.gen_range(1_000..2_000_000_000),
                sha256: self.digest(),
                section_type: self.text(),
                title: self.text(),
                parent: None,
            })
            .collect::<Vec<_>>();
        let mut manifest = Manifest {
            document_id: "doc".to_owned(),
            prefix: "DOC".to_owned(),
            source_version_id: self.uuid(),
            content_sha256: self.digest(),
            operation: FIRST_CUT.to_owned(),
            profile: self.text(),
            unit_kind: self.text(),
            publication_type: self.text(),
            units,
        };
        for n in 1..count {
            if self.0.gen_bool(0.5) {
                let parent = self.0.gen_range(0..n);
                manifest.units[n].parent = Some(manifest.units[parent].local_id.clone());
            }
        }
        manifest
    }
}

/// A text as an expression that no quoting can break.
pub(crate) fn sql(text: &str) -> String {
    format!("convert_from('\\x{}', 'UTF8')", hex::encode(text))
}

pub(crate) fn sql_optional(text: Option<&str>) -> String {
    text.map_or_else(|| "null".to_owned(), sql)
}

fn sql_uuid(id: Option<Uuid>) -> String {
    id.map_or_else(|| "null::uuid".to_owned(), |id| format!("'{id}'::uuid"))
}

pub(crate) fn sql_bytes(bytes: &[u8]) -> String {
    format!("'\\x{}'::bytea", hex::encode(bytes))
}

#[tokio::test]
async fn ids_of_parts_are_the_same() {
    let db = TestDb::new().await;
    let mut random = Random::new(1);
    for _ in 0..100 {
        let (whole, part) = (random.uuid(), random.text());
        let found = db
            .text(&format!("select internal.derived_uuid('{whole}', {})::text", sql(&part)))
            .await;
        assert_eq!(found, derived_uuid(whole, &part).to_string());
    }
}

/// The rows are put there by hand, so that characters that no cut would yield are compared as well.
async fn store(db: &TestDb, manifest: &Manifest, envelope: Uuid) {
    let mut statements = vec![format!(
        "insert into cutter_governance.manifest_envelope values ('{envelope}', {}, 'accepted', '{envelope}', '{envelope}', 'doc',
           '{}', {}, {}, {}, {}, {}, {}, 'test', 'x', now(), 'x', now(), null, '')",
        sql(&manifest.operation),
        manifest.source_version_id,
        sql_bytes(&manifest.content_sha256),
        sql(&manifest.profile),
        sql(&manifest.unit_kind),
        sql(&manifest.publication_type),
        manifest.units.len(),
        sql_bytes(&manifest.digest()),
    )];
    for (n, unit) in manifest.units.iter().enumerate() {
        statements.push(format!(
            "insert into cutter_governance.manifest_unit_block values ('{envelope}', {}, 'result', {}, {}, {}, {}, {}, {}, {}, {}, '')",
            sql(&unit.local_id),
            n + 1,
            unit.start,
            unit.end,
            sql_bytes(&unit.sha256),
            sql(&unit.address),
            sql(&unit.section_type),
            sql(&unit.title),
            sql_optional(unit.parent.as_deref()),
        ));
    }
    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
    db.forge(&statements).await;
}

#[tokio::test]
async fn manifests_and_effects_are_the_same() {
    let db = TestDb::new().await;
    db.forge(&["insert into iu.source_document values ('doc', 'DOC', 'x', now(), '')"]).await;
    let mut random = Random::new(2);
    for _ in 0..25 {
        let (manifest, envelope, owner) = (random.manifest(), random.uuid(), random.text());
        store(&db, &manifest, envelope).await;
        let text = db.text(&format!("select cutter_governance.manifest_text('{envelope}')")).await;
        assert_eq!(text, manifest.text());
        assert_eq!(canonical::to_string(&serde_json::from_str(&text).expect("JSON")), text);

        let change_set = random.uuid();
        let effect = Effect::of(&manifest, change_set, &owner);
        let writer = format!(
            "select encode(cutter_governance.writer_digest('{envelope}', {}), 'hex')",
            sql(&owner)
        );
        assert_eq!(db.text(&writer).await, hex::encode(effect.writer_digest()));
        for (n, unit) in effect.units.iter().enumerate() {
            let parent = manifest.units[n].parent.as_deref();
            let parent = parent.and_then(|p| manifest.unit(p)).map(|p| p.address.as_str());
            let query = format!(
                "select cutter_governance.unit_snapshot({}, '{}', {}, {}, {}, {}, {}, {}, {}, {}, '{}', '{}')",
                sql(&unit.address),
                unit.content_hash,
                sql(&unit.local_id),
                sql(&owner),
                sql_optional(parent),
                sql(&manifest.publication_type),
                sql(&unit.section_type),
                unit.sort_order,
                sql(&unit.title),
                sql(&manifest.unit_kind),
                unit.unit_id,
                unit.version_id,
            );
            assert_eq!(db.text(&query).await, effect.snapshots[n]);
        }
        let (entry, decision) = (random.uuid(), random.uuid());
        let query = format!(
            "select encode(cutter_governance.change_set_digest('{change_set}', '{entry}', '{decision}', {}, {}, {}, {}), 'hex')",
            sql_bytes(&manifest.digest()),
            sql_bytes(&effect.writer_digest()),
            sql_bytes(&effect.effect_digest()),
            manifest.units.len(),
        );
        let digest = effect.change_set_digest(&manifest, entry, decision);
        assert_eq!(db.text(&query).await, hex::encode(digest));
    }
}

#[tokio::test]
async fn signed_texts_are_the_same() {
    let db = TestDb::new().await;
    let mut random = Random::new(3);
    for _ in 0..50 {
        let findings = random.object(3);
        let (rationale, risk, principal) =
            (random.maybe(Random::text), random.text(), random.text());
        let (verdict, signed_at) =
            (random.text(), random.0.gen_range(0..4_000_000_000_000_000_i64));
        let decision = Decision {
            review_decision_id: random.uuid(),
            governance_event_kind: "cut_review",
            entry_id: random.uuid(),
            manifest_id: random.uuid(),
            manifest_digest: random.digest(),
            verdict: &verdict,
            findings: &findings,
            rationale: rationale.as_deref(),
            risk: &risk,
            prior_review_decision_id: random.maybe(Random::uuid),
            principal: &principal,
            key_id: random.uuid(),
            signed_at,
        };
        let query = format!(
            "select cutter_governance.decision_payload('{}', 'cut_review', '{}', '{}', {}, {}, {}::jsonb, {}, {}, {}, {}, '{}', {signed_at})",
            decision.review_decision_id,
            decision.entry_id,
            decision.manifest_id,
            sql_bytes(&decision.manifest_digest),
            sql(&verdict),
            sql(&findings.to_string()),
            sql_optional(rationale.as_deref()),
            sql(&risk),
            sql_uuid(decision.prior_review_decision_id),
            sql(&principal),
            decision.key_id,
        );
        assert_eq!(db.text(&query).await, decision_payload(&decision));
        let query = format!(
            "select internal.canonical_json(cutter_governance.review_evidence('{}', '{}', {}, {}))",
            decision.review_decision_id,
            decision.manifest_id,
            sql_bytes(&decision.manifest_digest),
            sql(&verdict),
        );
        let ours = review_evidence(
            decision.review_decision_id,
            decision.manifest_id,
            &decision.manifest_digest,
            &verdict,
        );
        assert_eq!(db.text(&query).await, canonical::to_string(&ours));

        let set_digest = random.digest();
        let verification = Verification {
            verify_result_id: random.uuid(),
            change_set_id: random.uuid(),
            change_set_digest: &set_digest,
            executor_signature_id: random.uuid(),
            verdict: "fail",
            findings: &findings,
            prior_verify_result_id: random.maybe(Random::uuid),
            rollback_change_set_id: random.maybe(Random::uuid),
            escalation_ref: random.maybe(Random::uuid),
        };
        let query = format!(
            "select encode(cutter_governance.verify_digest('{}', '{}', {}, '{}', 'fail', {}::jsonb, {}, {}, {}), 'hex')",
            verification.verify_result_id,
            verification.change_set_id,
            sql_bytes(&set_digest),
            verification.executor_signature_id,
            sql(&findings.to_string()),
            sql_uuid(verification.prior_verify_result_id),
            sql_uuid(verification.rollback_change_set_id),
            sql_uuid(verification.escalation_ref),
        );
        assert_eq!(db.text(&query).await, hex::encode(verify_digest(&verification)));

        let (tool, prior) =
            (random.text(), random.maybe(|r| (r.uuid(), [r.digest(), r.digest()].concat())));
        let signer = LaneSigner {
            lane: EXECUTOR_LANE,
            signature_id: random.uuid(),
            principal: &principal,
            key_id: random.uuid(),
            tool_revision: &tool,
            prior: prior.as_ref().map(|(id, bytes)| (*id, bytes.as_slice())),
            signed_at,
        };
        let attested = [
            executor_attested(
                decision.entry_id,
                verification.change_set_id,
                &set_digest,
                &decision.manifest_digest,
            ),
            verifier_attested(decision.entry_id, &verification, "00"),
        ];
        let documents = [
            json!({ "meaning": "cut applied", "entry_id": decision.entry_id, "change_set_id": verification.change_set_id,
                    "change_set_digest": hex::encode(set_digest), "manifest_digest": hex::encode(decision.manifest_digest) }),
            json!({ "meaning": "cut verified: fail", "entry_id": decision.entry_id, "change_set_id": verification.change_set_id,
                    "change_set_digest": hex::encode(set_digest), "manifest_digest": "00",
                    "verify_result_id": verification.verify_result_id, "verify_digest": hex::encode(verify_digest(&verification)),
                    "verdict": "fail" }),
        ];
        for (attested, document) in attested.iter().zip(documents) {
            let row = json!({
                "signature_id": signer.signature_id, "signer_dot_id": signer.lane, "signer_principal": principal,
                "signer_tool_revision": tool, "key_id": signer.key_id, "prior_signature_id": prior.as_ref().map(|(id, _)| id),
            });
            let query = format!(
                "select cutter_governance.signature_payload(
                   jsonb_populate_record(jsonb_populate_record(null::cutter_governance.dot_pair_signature, {}::jsonb),
                     jsonb_build_object('signed_at', internal.from_micros({signed_at}))), {}::jsonb, {})",
                sql(&row.to_string()),
                sql(&document.to_string()),
                prior.as_ref().map_or_else(|| "null".to_owned(), |(_, bytes)| sql_bytes(bytes)),
            );
            assert_eq!(db.text(&query).await, lane_payload(&signer, attested));
        }
    }
    // Used by the audit for compensations, whose unit count can be nought.
    let set = ChangeSet {
        change_set_id: random.uuid(),
        entry_id: random.uuid(),
        review_decision_id: random.uuid(),
        manifest_digest: random.digest(),
        writer_digest: random.digest(),
        effect_digest: random.digest(),
        unit_count: 0,
    };
    let query = format!(
        "select encode(cutter_governance.change_set_digest('{}', '{}', '{}', {}, {}, {}, 0), 'hex')",
        set.change_set_id,
        set.entry_id,
        set.review_decision_id,
        sql_bytes(&set.manifest_digest),
        sql_bytes(&set.writer_digest),
        sql_bytes(&set.effect_digest),
    );
    assert_eq!(db.text(&query).await, hex::encode(change_set_digest(&set)));
}

/// Every row of every evidence table carries the digest that Rust computes from its raw columns, and the tables and their mutable
/// columns are those that the model names.
#[tokio::test]
async fn every_stamped_row_carries_the_digest_of_its_columns() {
    let scene = Scene::new().await;
    let entry = scene.applied("several", "SEV", SEVERAL).await;
    assert!(scene.verify(entry).await.expect("verified").passed());
    scene.add("other", "OTHER", SEVERAL).await;
    let request = chancery_engine::cutter::MarkRequest {
        document_id: "other".to_owned(),
        depends_on: vec![entry],
        ..Default::default()
    };
    let other = scene.mark_with(&request).await.expect("marked").entry_id;
    scene.sweep().await;
    scene.review(other, Verdict::Approve).await.expect("approved");
    scene.cut(other).await.expect("cut");
    scene.db.forge(&["update iu.unit_version set title = 'x' where title = 'Scope' and unit_id in (select id from iu.information_unit where doc_code = 'OTHER')"]).await;
    scene.verify(other).await.expect("a verdict");
    let address = "SEV/end";
    scene
        .exec
        .fn_iu_edit_draft(Uuid::now_v7(), address, "End", "other", "dora")
        .await
        .expect("a draft");
    crate::approvals::a_used_approval(&scene).await;
    crate::kb::a_signed_document(&scene).await;
    orchestrated(&scene.db).await;
    found(&scene.db).await;
    chancery_testkit::births::live(&scene.db).await;
    chancery_testkit::flows::live(&scene.db).await;
    a_replay_of_a_dead_job(&scene.db).await;

    let declared: BTreeSet<(String, Vec<String>)> = evidence::release()
        .tables()
        .iter()
        .map(|table| {
            let mutable = table.mutable_columns().iter();
            let mut mutable: Vec<String> = mutable.map(|&c| c.to_owned()).collect();
            mutable.sort();
            (table.name().to_owned(), mutable)
        })
        .collect();
    let installed = scene
        .db
        .texts("select table_name || ' ' || array_to_string(array(select c from unnest(mutable_columns) c order by c), ' ') from audit.evidence_def")
        .await;
    let installed: BTreeSet<(String, Vec<String>)> = installed
        .into_iter()
        .flatten()
        .map(|line| {
            let mut words = line.split_whitespace().map(str::to_owned);
            (words.next().expect("a table"), words.collect())
        })
        .collect();
    assert_eq!(declared, installed);

    for table in evidence::release().tables().iter().map(evidence::Table::name) {
        let rows = raw_rows(&scene.db, table).await;
        assert!(!rows.is_empty(), "{table} has a row to look at");
        let mut wrong = 0;
        for row in rows {
            let stored = row[evidence::DIGEST_COLUMN].clone().expect("a digest");
            wrong +=
                usize::from(Some(stored) != evidence::row_digest(table, &row).map(hex::encode));
        }
        // One title was forged above.
        assert_eq!(wrong, usize::from(table == "iu.unit_version"), "{table}");
    }
}

/// A finding.
async fn found(db: &TestDb) {
    let machine =
        chancery_testkit::shipped().into_iter().find(|machine| machine.machine == "finding");
    db.definition(&machine.expect("the machine of findings")).await;
    let log = "select governance.fn_log_issue('test', 'warning', 'something is wrong', null, 'thing', 'a', 'trouble', '{}', 'chancery') ->> 'opened'";
    assert_eq!(db.text_as(Role::App, log).await, "true");
}

/// A run that was started, and a key that backups are encrypted to.
async fn orchestrated(db: &TestDb) {
    let id = Uuid::now_v7();
    let start = format!(
        "select orchestrator.fn_orchestrate_start('{id}', 'ictr-20260914T080000Z-{id}', 'several', '{}', 'dora') ->> 'state'",
        Uuid::now_v7()
    );
    assert_eq!(db.text_as(Role::CutterExec, &start).await, "pending");
    let pin = format!(
        "select orchestrator.fn_backup_key_pin('{}', '-----BEGIN PGP PUBLIC KEY BLOCK-----', 'test') ->> 'replayed'",
        "A1".repeat(20)
    );
    assert_eq!(db.text_as(Role::Migrator, &pin).await, "false");
}

/// A job that died, and a proposal to run it again.
async fn a_replay_of_a_dead_job(db: &TestDb) {
    for machine in ["job", "dlq_replay"] {
        let path = chancery_testkit::repo_path(&format!("machines/{machine}.yaml"));
        db.machine(&std::fs::read_to_string(path).expect("a shipped machine")).await;
    }
    db.service("hall", &["executor_worker"]).await;
    let store = db.store(Role::App);
    let job = NewJob {
        class: "noop".to_owned(),
        kind: "test".to_owned(),
        key: "đơn".to_owned(),
        payload: Some(serde_json::json!({ "n": 1.50, "a": "đ" })),
        ..NewJob::default()
    };
    store.fn_job_enqueue(&[job], "hall", "executor_worker").await.expect("a job");
    let leased = store.fn_job_claim("noop", 1, "w", "hall").await.expect("a claim").remove(0);
    let result = JobResult {
        job_id: leased.job_id,
        lease_no: leased.lease_no,
        outcome: JobOutcome::FailedForGood,
        detail: serde_json::json!({ "reason": "không có" }),
    };
    store.fn_job_ack("w", "hall", &[result]).await.expect("a report");
    // The dead letter is a problem, and a summary says so.
    store.fn_summaries_run("chancery").await.expect("a summary");
    let proposal = ReplayProposal {
        batch_id: Uuid::now_v7(),
        job_ids: vec![leased.job_id],
        reason: "again".to_owned(),
        stagger_ms: 5,
        actor_class: "executor_worker".to_owned(),
        principal: "hall".to_owned(),
        key_id: None,
        signatures: None,
    };
    store.fn_dlq_replay_propose(&proposal).await.expect("proposed");
}

/// A second reader of raw columns, from the table itself.
async fn raw_rows(db: &TestDb, table: &str) -> Vec<BTreeMap<String, Option<String>>> {
    let columns = db
        .texts(&format!(
            "select format('%L, %s', attname, case atttypid
                      when 'timestamptz'::regtype then format('(extract(epoch from t.%I) * 1000000)::bigint::text', attname)
                      when 'bytea'::regtype then format('encode(t.%I, ''hex'')', attname)
                      else format('t.%I::text', attname) end)
               from pg_attribute where attrelid = '{table}'::regclass and attnum > 0 and not attisdropped"
        ))
        .await;
    let columns: Vec<String> = columns.into_iter().flatten().collect();
    let rows = db
        .texts(&format!("select json_build_object({})::text from {table} t", columns.join(", ")))
        .await;
    rows.into_iter().flatten().map(|row| serde_json::from_str(&row).expect("a row")).collect()
}
