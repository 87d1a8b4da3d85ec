//! A database with the cutter in it: principals with keys, a document, and each phase's request as it would be signed.
//!
//! Everybody signs with the key of their name ([`keys`]). The texts come from `chancery_model::cutter`, which shares no code with `sql/`.

use std::collections::BTreeMap;

use chancery_model::cutter::{
    Decision, EXECUTOR_LANE, Effect, FIRST_CUT, LaneSigner, Manifest, ManifestUnit, VERIFIER_LANE,
    Verification, decision_payload, entry_id, escalation_id, executor_attested, lane_payload,
    rollback_id, verifier_attested,
};
use chancery_model::envelope::Statement;
use chancery_store::cutter::{
    Abandon, Cut, EntryReport, LaneSignature, LifecycleReview, Mark, Review, SweepReport, Verify,
};
use chancery_store::fsm::Signed;
use chancery_store::iu::{Enactment, NewUnit, SourceAdded};
use chancery_store::{Error, Role, Store};
use chancery_testkit::{TestDb, keys, shipped};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

/// Services, so that only what must be signed is signed; each has a key all the same.
const PRINCIPALS: [(&str, &[&str]); 9] = [
    ("executor", &["executor_dot991"]),
    ("executor_2", &["executor_dot991"]),
    ("verifier", &["verifier_dot992"]),
    ("verifier_2", &["verifier_dot992"]),
    ("authority", &["review_authority"]),
    ("authority_2", &["review_authority"]),
    ("sovereign", &["sovereign"]),
    ("sweeper", &["system"]),
    // Holds every duty: what it cannot do, no name allows.
    (
        "everyone",
        &["executor_dot991", "verifier_dot992", "review_authority", "pic_human", "system"],
    ),
];

pub(crate) const BODY: &str = "# One\nalpha\n## One a\nbeta\n# Two\ngamma\n";

pub(crate) struct World {
    pub(crate) db: TestDb,
    pub(crate) app: Store,
    pub(crate) exec: Store,
    pub(crate) verify: Store,
    pub(crate) review: Store,
    keys: BTreeMap<&'static str, Uuid>,
}

/// A document as it was stored.
#[derive(Clone)]
pub(crate) struct Document {
    pub(crate) source: SourceAdded,
    pub(crate) body: String,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::on(TestDb::new().await).await
    }

    /// The cutter in a database that has other things in it.
    pub(crate) async fn on(db: TestDb) -> Self {
        let operator = db.store(Role::Migrator);
        let mut registered = BTreeMap::new();
        for (name, classes) in PRINCIPALS {
            db.service(name, classes).await;
            registered.insert(name, keys::register(&operator, name).await);
        }
        // Units are born by permit.
        for machine in shipped() {
            if ["cut_request", "birth_permit"].contains(&machine.machine.as_str()) {
                db.definition(&machine).await;
            }
        }
        let [app, exec, verify, review] =
            [Role::App, Role::CutterExec, Role::CutterVerify, Role::CutterReview]
                .map(|role| db.store(role));
        Self { db, app, exec, verify, review, keys: registered }
    }

    pub(crate) fn key(&self, principal: &str) -> Uuid {
        self.keys[principal]
    }

    pub(crate) fn signed(&self, principal: &str, statement: &Statement) -> Option<Signed> {
        Some(Signed { key_id: self.key(principal), signature: keys::sign(principal, statement) })
    }

    /// A value as a superuser reads it.
    pub(crate) async fn one<T>(&self, query: &str) -> T
    where
        T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres> + Send + Unpin,
    {
        let query = AssertSqlSafe(query.to_owned());
        sqlx::query_scalar(query).fetch_one(&mut self.db.superuser().await).await.expect("a value")
    }

    /// A statement of a superuser with the triggers out of the way: what only the audit can find.
    pub(crate) async fn tamper(&self, table: &str, statement: &str) {
        let mut admin = self.db.superuser().await;
        let armed = format!(
            "do $armed$ declare v_name text; begin
               for v_name in select tgname from pg_trigger where tgrelid = '{table}'::regclass and not tgisinternal loop
                 execute format('alter table {table} enable always trigger %I', v_name);
               end loop;
             end $armed$"
        );
        for statement in [
            "begin",
            &format!("alter table {table} disable trigger user"),
            statement,
            &armed,
            "commit",
        ] {
            admin.execute(AssertSqlSafe(statement.to_owned())).await.expect("a superuser may");
        }
    }

    pub(crate) async fn now(&self) -> i64 {
        self.one("select internal.micros(internal.now())").await
    }

    pub(crate) async fn status(&self, entry: Uuid) -> String {
        self.one(&format!(
            "select status from cutter_governance.decision_backlog_entry where entry_id = '{entry}'"
        ))
        .await
    }

    pub(crate) async fn document(&self, name: &str, prefix: &str) -> Document {
        let source = self
            .app
            .fn_source_add(name, Some(prefix), "text/markdown", BODY.as_bytes(), "executor")
            .await
            .expect("a document");
        Document { source, body: BODY.to_owned() }
    }

    // ── the requests of each phase ──────────────────────────────────────────────────────────────────────────────────

    pub(crate) fn a_mark(&self, document: &Document, key: &str) -> Mark {
        let source = &document.source;
        Mark {
            entry_id: entry_id(key),
            kind: "cut_request".to_owned(),
            payload: json!({
                "idempotency_key": key, "signal_source": "test", "iu_ref": source.document_id,
                "proposed_cut_spec": {
                    "document_id": source.document_id, "source_version_id": source.source_version_id,
                    "content_sha256": source.content_sha256,
                },
            }),
            depends_on: Vec::new(),
            scenario_ref: None,
            actor_class: "executor_dot991".to_owned(),
            principal: "executor".to_owned(),
            reason: None,
            trace_id: None,
            signed: None,
            plan: None,
        }
    }

    /// The three units of the document: a heading, one below it, and another heading.
    pub(crate) fn manifest(&self, document: &Document) -> Manifest {
        let source = &document.source;
        let unit = |local_id: &str, address: &str, text: &str, parent: Option<&str>| {
            let start = document.body.find(text).expect("a piece of the document");
            ManifestUnit {
                local_id: local_id.to_owned(),
                address: format!("{}/{address}", source.prefix),
                start: i64::try_from(start).expect("short"),
                end: i64::try_from(start + text.len()).expect("short"),
                sha256: Sha256::digest(text.as_bytes()).into(),
                section_type: "heading".to_owned(),
                title: text
                    .lines()
                    .next()
                    .expect("a line")
                    .trim_start_matches('#')
                    .trim()
                    .to_owned(),
                parent: parent.map(str::to_owned),
            }
        };
        Manifest {
            document_id: source.document_id.clone(),
            prefix: source.prefix.clone(),
            source_version_id: source.source_version_id,
            content_sha256: Sha256::digest(document.body.as_bytes()).into(),
            operation: FIRST_CUT.to_owned(),
            profile: "markdown".to_owned(),
            unit_kind: "design_doc_section".to_owned(),
            publication_type: "document".to_owned(),
            units: vec![
                unit("u1", "one", "# One\nalpha\n", None),
                unit("u2", "one-one-a", "## One a\nbeta\n", Some("u1")),
                unit("u3", "two", "# Two\ngamma\n", None),
            ],
        }
    }

    /// A decision on the document's manifest, after the newest one there is.
    pub(crate) async fn a_review(&self, document: &Document, entry: Uuid, verdict: &str) -> Review {
        let prior: Option<Uuid> = self
            .one(&format!(
                "select (select review_decision_id from cutter_governance.review_decision
                          where entry_id = '{entry}' and governance_event_kind = 'cut_review' and superseded_by_review_decision_id is null)"
            ))
            .await;
        let manifest = self.manifest(document);
        let mut review = Review {
            entry_id: entry,
            verdict: verdict.to_owned(),
            manifest: manifest.door_json(),
            manifest_digest: manifest.digest(),
            envelope_id: Uuid::now_v7(),
            review_decision_id: Uuid::now_v7(),
            prior_review_decision_id: prior,
            findings: json!({}),
            rationale: Some("as planned".to_owned()),
            risk: "low".to_owned(),
            tool_revision: "chancery-review/test".to_owned(),
            principal: "authority".to_owned(),
            idempotency_key: Uuid::now_v7().to_string(),
            signed_at: self.now().await,
            decision_payload: String::new(),
            decision: None,
            move_signature: None,
        };
        self.sign_review(&mut review);
        review
    }

    /// Signs again after a change.
    pub(crate) fn sign_review(&self, review: &mut Review) {
        review.decision_payload = decision_payload(&Decision {
            review_decision_id: review.review_decision_id,
            governance_event_kind: "cut_review",
            entry_id: review.entry_id,
            manifest_id: review.envelope_id,
            manifest_digest: review.manifest_digest,
            verdict: &review.verdict,
            findings: &review.findings,
            rationale: review.rationale.as_deref(),
            risk: &review.risk,
            prior_review_decision_id: review.prior_review_decision_id,
            principal: &review.principal,
            key_id: self.key(&review.principal),
            signed_at: review.signed_at,
        });
        review.decision =
            self.signed(&review.principal, &Statement::review(&review.decision_payload));
    }

    /// A cut by the newest decision on the entry.
    pub(crate) async fn a_cut(&self, document: &Document, entry: Uuid, principal: &str) -> Cut {
        let decision: Option<Uuid> = self
            .one(&format!(
                "select (select review_decision_id from cutter_governance.review_decision
                          where entry_id = '{entry}' and governance_event_kind = 'cut_review' and superseded_by_review_decision_id is null)"
            ))
            .await;
        let owner: String = self
            .one(&format!("select started_by from cutter_governance.decision_backlog_entry where entry_id = '{entry}'"))
            .await;
        let manifest = self.manifest(document);
        let effect = Effect::of(&manifest, Uuid::now_v7(), &owner);
        let digest = effect.change_set_digest(&manifest, entry, decision.unwrap_or_else(Uuid::nil));
        let mut cut = Cut {
            entry_id: entry,
            change_set_id: effect.change_set_id,
            review_decision_id: decision,
            change_set_digest: digest,
            tool_revision: "chancery-executor/test".to_owned(),
            principal: principal.to_owned(),
            signature: LaneSignature {
                signature_id: Uuid::now_v7(),
                prior_signature_id: None,
                signed_at: self.now().await,
                payload: String::new(),
                signed: None,
            },
        };
        self.sign_cut(&manifest, &mut cut).await;
        cut
    }

    /// Signs again after a change, at the end of the signer's chain.
    pub(crate) async fn sign_cut(&self, manifest: &Manifest, cut: &mut Cut) {
        let prior = self.lane_end(EXECUTOR_LANE, &cut.principal).await;
        cut.signature.prior_signature_id = prior.as_ref().map(|(id, _)| *id);
        cut.signature.payload = lane_payload(
            &LaneSigner {
                lane: EXECUTOR_LANE,
                signature_id: cut.signature.signature_id,
                principal: &cut.principal,
                key_id: self.key(&cut.principal),
                tool_revision: &cut.tool_revision,
                prior: prior.as_ref().map(|(id, signature)| (*id, signature.as_slice())),
                signed_at: cut.signature.signed_at,
            },
            &executor_attested(
                cut.entry_id,
                cut.change_set_id,
                &cut.change_set_digest,
                &manifest.digest(),
            ),
        );
        cut.signature.signed =
            self.signed(&cut.principal, &Statement::lane(&cut.signature.payload));
    }

    async fn lane_end(&self, lane: &str, principal: &str) -> Option<(Uuid, Vec<u8>)> {
        sqlx::query_as(
            "select signature_id, signature from cutter_governance.dot_pair_signature
              where signer_dot_id = $1 and signer_principal = $2 order by lane_seq desc limit 1",
        )
        .bind(lane)
        .bind(principal)
        .fetch_optional(&mut self.db.superuser().await)
        .await
        .expect("the end of the chain")
    }

    /// A verdict on the entry's change set. A fail has one finding.
    pub(crate) async fn a_verdict(&self, entry: Uuid, verdict: &str, principal: &str) -> Verify {
        let change_set: Uuid = self
            .one(&format!(
                "select change_set_id from cutter_governance.cut_change_set where decision_backlog_entry_id = '{entry}' and change_kind = 'apply'"
            ))
            .await;
        let prior: Option<Uuid> = self
            .one(&format!(
                "select (select verify_result_id from cutter_governance.verify_result r where change_set_id = '{change_set}'
                            and not exists (select from cutter_governance.verify_result n where n.prior_verify_result_id = r.verify_result_id))"
            ))
            .await;
        let findings = if verdict == "pass" {
            json!({ "findings": [], "checks": {}, "rule": "rfc8785" })
        } else {
            json!({ "findings": [{ "finding": "text_differs", "address": "T/one" }], "checks": {}, "rule": "rfc8785" })
        };
        let mut verify = Verify {
            entry_id: entry,
            verify_result_id: Uuid::now_v7(),
            change_set_id: change_set,
            verdict: verdict.to_owned(),
            findings,
            prior_verify_result_id: prior,
            tool_revision: "chancery-verifier/test".to_owned(),
            principal: principal.to_owned(),
            signature: LaneSignature {
                signature_id: Uuid::now_v7(),
                prior_signature_id: None,
                signed_at: self.now().await,
                payload: String::new(),
                signed: None,
            },
        };
        self.sign_verdict(&mut verify).await;
        verify
    }

    /// Signs again after a change, at the end of the signer's chain.
    pub(crate) async fn sign_verdict(&self, verify: &mut Verify) {
        let (digest, executor_signature_id, manifest_version): (Vec<u8>, Uuid, String) = sqlx::query_as(
            "select change_set_digest, executor_signature_id, manifest_version from cutter_governance.cut_change_set where change_set_id = $1",
        )
        .bind(verify.change_set_id)
        .fetch_one(&mut self.db.superuser().await)
        .await
        .expect("the change set");
        let moves = self.status(verify.entry_id).await == "cut_applied";
        let failed = verify.verdict == "fail";
        let verification = Verification {
            verify_result_id: verify.verify_result_id,
            change_set_id: verify.change_set_id,
            change_set_digest: &digest,
            executor_signature_id,
            verdict: &verify.verdict,
            findings: &verify.findings,
            prior_verify_result_id: verify.prior_verify_result_id,
            rollback_change_set_id: (failed && moves).then(|| rollback_id(verify.verify_result_id)),
            escalation_ref: failed.then(|| escalation_id(verify.verify_result_id)),
        };
        let prior = self.lane_end(VERIFIER_LANE, &verify.principal).await;
        verify.signature.prior_signature_id = prior.as_ref().map(|(id, _)| *id);
        verify.signature.payload = lane_payload(
            &LaneSigner {
                lane: VERIFIER_LANE,
                signature_id: verify.signature.signature_id,
                principal: &verify.principal,
                key_id: self.key(&verify.principal),
                tool_revision: &verify.tool_revision,
                prior: prior.as_ref().map(|(id, signature)| (*id, signature.as_slice())),
                signed_at: verify.signature.signed_at,
            },
            &verifier_attested(verify.entry_id, &verification, &manifest_version),
        );
        verify.signature.signed =
            self.signed(&verify.principal, &Statement::lane(&verify.signature.payload));
    }

    /// A decision on enacting the units of the entry's cut.
    pub(crate) async fn a_lifecycle_review(&self, entry: Uuid, verdict: &str) -> LifecycleReview {
        let (prior, manifest_id, digest): (Uuid, Uuid, Vec<u8>) = sqlx::query_as(
            "select coalesce((select d.review_decision_id from cutter_governance.review_decision d
                               where d.entry_id = $1 and d.governance_event_kind = 'lifecycle_enactment' and d.superseded_by_review_decision_id is null),
                             c.review_decision_id), m.envelope_id, m.manifest_digest
               from cutter_governance.cut_change_set c join cutter_governance.manifest_envelope m on m.envelope_id = c.manifest_id
              where c.decision_backlog_entry_id = $1 and c.change_kind = 'apply'",
        )
        .bind(entry)
        .fetch_one(&mut self.db.superuser().await)
        .await
        .expect("the cut");
        let mut review = LifecycleReview {
            entry_id: entry,
            verdict: verdict.to_owned(),
            review_decision_id: Uuid::now_v7(),
            prior_review_decision_id: Some(prior),
            findings: json!({}),
            rationale: None,
            risk: "low".to_owned(),
            principal: "authority".to_owned(),
            signed_at: self.now().await,
            decision_payload: String::new(),
            decision: None,
        };
        review.decision_payload = decision_payload(&Decision {
            review_decision_id: review.review_decision_id,
            governance_event_kind: "lifecycle_enactment",
            entry_id: entry,
            manifest_id,
            manifest_digest: digest.try_into().expect("32 bytes"),
            verdict: &review.verdict,
            findings: &review.findings,
            rationale: None,
            risk: &review.risk,
            prior_review_decision_id: Some(prior),
            principal: &review.principal,
            key_id: self.key("authority"),
            signed_at: review.signed_at,
        });
        review.decision = self.signed("authority", &Statement::review(&review.decision_payload));
        review
    }

    pub(crate) fn an_abandonment(&self, entry: Uuid) -> Abandon {
        Abandon {
            entry_id: entry,
            reason: "no longer needed".to_owned(),
            audit_ref: "A-1".to_owned(),
            principal: "sovereign".to_owned(),
            idempotency_key: "abandon".to_owned(),
            signed: None,
        }
    }

    // ── the phases, done ────────────────────────────────────────────────────────────────────────────────────────────

    pub(crate) async fn marked(&self, document: &Document, key: &str) -> Uuid {
        self.exec.fn_mark(&self.a_mark(document, key)).await.expect("marked").entry_id
    }

    pub(crate) async fn swept(&self) -> SweepReport {
        self.exec
            .fn_sweep(Uuid::now_v7(), "executor_dot991", "executor", "manual", None)
            .await
            .expect("swept")
    }

    /// An entry that waits for its review.
    pub(crate) async fn pending(&self, document: &Document, key: &str) -> Uuid {
        let entry = self.marked(document, key).await;
        self.swept().await;
        entry
    }

    pub(crate) async fn approved(&self, document: &Document, key: &str) -> Uuid {
        let entry = self.pending(document, key).await;
        let review = self.a_review(document, entry, "approve").await;
        self.review.fn_review(&review).await.expect("approved");
        entry
    }

    pub(crate) async fn cut(&self, document: &Document, key: &str) -> Uuid {
        let entry = self.approved(document, key).await;
        let cut = self.a_cut(document, entry, "executor").await;
        self.exec.fn_cut(&cut).await.expect("cut");
        entry
    }

    pub(crate) async fn verified(&self, document: &Document, key: &str) -> Uuid {
        let entry = self.cut(document, key).await;
        let verdict = self.a_verdict(entry, "pass", "verifier").await;
        self.verify.fn_verify(&verdict).await.expect("verified");
        entry
    }

    pub(crate) async fn failed(&self, document: &Document, key: &str) -> (Uuid, EntryReport) {
        let entry = self.cut(document, key).await;
        let verdict = self.a_verdict(entry, "fail", "verifier").await;
        (entry, self.verify.fn_verify(&verdict).await.expect("a verdict"))
    }

    /// The enacted units of a verified entry.
    pub(crate) async fn enacted(&self, document: &Document, entry: Uuid) -> Uuid {
        let decision = self.a_lifecycle_review(entry, "approve").await;
        self.review.fn_lifecycle_review(&decision).await.expect("decided");
        for unit in self.manifest(document).units {
            self.enact(&unit.address, decision.review_decision_id).await.expect("enacted");
        }
        decision.review_decision_id
    }

    pub(crate) async fn enact(&self, address: &str, decision: Uuid) -> Result<Value, Error> {
        self.exec
            .fn_iu_enact(&Enactment {
                canonical_address: address.to_owned(),
                actor: "executor".to_owned(),
                review_decision_id: decision,
                reason: None,
                tool_revision: None,
                dry_run: false,
            })
            .await
    }

    /// Leaves a row in every table of both rooms: units enacted, edited and taken back, decisions superseded, verdicts of both
    /// kinds, an entry that waits for another.
    pub(crate) async fn live(&self) {
        let enacted = self.document("enacted", "ENACTED").await;
        let entry = self.verified(&enacted, "enacted").await;
        self.enacted(&enacted, entry).await;
        self.failed(&self.document("failed", "FAILED").await, "failed").await;
        let waiting = self.document("waiting", "WAITING").await;
        let mut mark = self.a_mark(&waiting, "waiting");
        mark.depends_on = vec![entry];
        self.exec.fn_mark(&mark).await.expect("marked");
        self.swept().await;
        for verdict in ["approve", "defer"] {
            let review = self.a_review(&waiting, mark.entry_id, verdict).await;
            self.review.fn_review(&review).await.expect("decided");
        }
        self.exec.fn_iu_create(&self.a_unit("LOOSE/one")).await.expect("a unit");
        let draft = Uuid::now_v7();
        self.exec
            .fn_iu_edit_draft(draft, "LOOSE/one", "A title", "another text", "executor")
            .await
            .expect("a draft");
        self.exec.fn_iu_apply_edit_draft(draft, "executor", None).await.expect("applied");
    }

    pub(crate) fn a_unit(&self, address: &str) -> NewUnit {
        NewUnit {
            canonical_address: address.to_owned(),
            title: "A title".to_owned(),
            body: "a text".to_owned(),
            actor: "executor".to_owned(),
            unit_kind: Some("law_unit".to_owned()),
            section_type: Some("article".to_owned()),
            publication_type: Some("law".to_owned()),
            ..NewUnit::default()
        }
    }
}

/// `fn_cut` on a connection of one's own, for transactions that are held open.
pub(crate) async fn cut_on(connection: &mut PgConnection, cut: &Cut) -> Result<Value, Error> {
    let report = sqlx::query_scalar(
        "select cutter_governance.fn_cut($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(cut.entry_id)
    .bind(cut.change_set_id)
    .bind(cut.review_decision_id)
    .bind(cut.change_set_digest.as_slice())
    .bind(&cut.tool_revision)
    .bind(&cut.principal)
    .bind(cut.signature.signature_id)
    .bind(cut.signature.prior_signature_id)
    .bind(cut.signature.signed.as_ref().map(|s| s.key_id))
    .bind(cut.signature.signed_at)
    .bind(&cut.signature.payload)
    .bind(cut.signature.signed.as_ref().map(|s| &s.signature))
    .fetch_one(connection)
    .await?;
    Ok(report)
}

/// `fn_review` on a connection of one's own.
pub(crate) async fn review_on(
    connection: &mut PgConnection,
    review: &Review,
) -> Result<Value, Error> {
    let report = sqlx::query_scalar(
        "select cutter_governance.fn_review($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
    )
    .bind(review.entry_id)
    .bind(&review.verdict)
    .bind(&review.manifest)
    .bind(review.manifest_digest.as_slice())
    .bind(review.envelope_id)
    .bind(review.review_decision_id)
    .bind(review.prior_review_decision_id)
    .bind(&review.findings)
    .bind(&review.rationale)
    .bind(&review.risk)
    .bind(&review.tool_revision)
    .bind(&review.principal)
    .bind(&review.idempotency_key)
    .bind(review.decision.as_ref().map(|s| s.key_id))
    .bind(review.signed_at)
    .bind(&review.decision_payload)
    .bind(review.decision.as_ref().map(|s| &s.signature))
    .bind(&review.move_signature)
    .fetch_one(connection)
    .await?;
    Ok(report)
}

/// `fn_sweep` on a connection of one's own.
pub(crate) async fn sweep_on(connection: &mut PgConnection, id: Uuid) -> Result<Value, Error> {
    let report = sqlx::query_scalar(
        "select cutter_governance.fn_sweep($1, 'executor_dot991', 'executor', 'manual', null)",
    )
    .bind(id)
    .fetch_one(connection)
    .await?;
    Ok(report)
}
