//! Runs of the orchestrator, driven door by door, each door by its own login, with keys that really sign.

use chancery_engine::iu::{self, NewDocument};
use chancery_engine::run::Actor;
use chancery_model::canonical;
use chancery_model::cutter::{
    EXECUTOR_LANE, Effect, FIRST_CUT, Lane, LaneSigner, Manifest, ManifestUnit, VERIFIER_LANE,
    Verification, derived_uuid, entry_id, escalation_id, executor_attested, lane_payload,
    rollback_id, verifier_attested,
};
use chancery_model::envelope::Statement;
use chancery_store::fsm::Signed;
use chancery_store::{Error, Role};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use crate::tamper::scene::Cutter;

mod sovereign;

pub(crate) const BODY: &str = "# One\nalpha\n## One a\nbeta\n# Two\ngamma\n";
pub(crate) const FINGERPRINT: &str = "0123456789ABCDEF0123456789ABCDEF01234567";
pub(crate) const KEY: &str =
    "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDME\n-----END PGP PUBLIC KEY BLOCK-----\n";
const EXECUTOR_TOOL: &str = "chancery-executor/test";

/// The gates in their order, but for the two that wait for the sovereign's word.
pub(crate) const GATES: [&str; 13] = [
    "IG_source_pin",
    "IG_mark",
    "IG_cutplan",
    "IG_backup",
    "IG_grant_probe",
    "SG_cut_authz_request",
    "SG_cut_authz_received",
    "IG_structural_verify",
    "IG_leg_b_record",
    "IG_write_verify",
    "SG_lifecycle_authz_request",
    "SG_lifecycle_authz_received",
    "IG_closeout",
];

/// A run as its runner knows it.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) id: Uuid,
    pub(crate) name: String,
    pub(crate) entry: Uuid,
    pub(crate) document: String,
    pub(crate) manifest: Manifest,
    pub(crate) effect: Effect,
}

impl Run {
    pub(crate) fn part(&self, part: &str) -> Uuid {
        derived_uuid(self.id, part)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        format!("orchestrator/{}/{name}", self.name.to_lowercase())
    }

    fn key(&self) -> String {
        format!("orchestrate:{}", self.name)
    }
}

/// What the sovereign says at a gate: the document, its kind, what is asked for.
#[derive(Clone)]
pub(crate) struct Authority {
    pub(crate) approval_id: Uuid,
    pub(crate) path: String,
    pub(crate) said: Value,
}

impl Authority {
    pub(crate) fn evidence(&self) -> Value {
        json!({ "approval_id": self.approval_id, "approval_kb_id": self.path })
    }
}

pub(crate) struct World {
    pub(crate) cutter: Cutter,
}

pub(crate) fn block(said: &Value) -> String {
    format!(
        "# What is said\n\n```json\n{}\n```\n",
        serde_json::to_string_pretty(said).expect("JSON")
    )
}

pub(crate) fn digest(text: &str) -> String {
    canonical::sha256(&json!(text)).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl World {
    pub(crate) async fn new() -> Self {
        let world = Self { cutter: Cutter::new().await };
        world.pin_key(FINGERPRINT, KEY).await.expect("a pinned key");
        world
    }

    pub(crate) async fn login(&self, role: Role) -> PgConnection {
        self.cutter.db.connect(role).await
    }

    pub(crate) async fn pin_key(&self, fingerprint: &str, key: &str) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select orchestrator.fn_backup_key_pin($1, $2, 'operator')")
            .bind(fingerprint)
            .bind(key)
            .fetch_one(&mut self.login(Role::Migrator).await)
            .await?)
    }

    /// A document of three units under its prefix.
    pub(crate) async fn document(&self, name: &str) {
        self.version(name, BODY).await;
    }

    pub(crate) async fn version(&self, name: &str, body: &str) {
        let document = NewDocument {
            document_id: name,
            prefix: Some(&name.to_ascii_uppercase()),
            media_type: "text/markdown",
            body: body.as_bytes(),
            profile: None,
        };
        iu::add_document(&self.cutter.app, "mara", &document).await.expect("a document");
    }

    pub(crate) async fn text(&self, query: &str) -> String {
        self.cutter.db.text(query).await
    }

    pub(crate) async fn state(&self, run: &Run) -> String {
        self.text(&format!("select state_code from orchestrator.run where run_id = '{}'", run.id))
            .await
    }

    /// A run that is not there yet.
    pub(crate) async fn planned(&self, document: &str) -> Run {
        let id = Uuid::now_v7();
        let name = format!("ictr-20260914T080000Z-{id}");
        let source: Uuid = self
            .text(&format!(
                "select source_version_id::text from iu.source_version where document_id = '{document}' order by version_seq desc limit 1"
            ))
            .await
            .parse()
            .unwrap_or_default();
        let manifest = manifest(document, source);
        let effect = Effect::of(&manifest, derived_uuid(id, "change_set"), "edith");
        let entry = entry_id(&format!("orchestrate:{name}"));
        Run { id, name, entry, document: document.to_owned(), manifest, effect }
    }

    pub(crate) async fn start(&self, run: &Run) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select orchestrator.fn_start($1, $2, $3, $4, 'edith')")
            .bind(run.id)
            .bind(&run.name)
            .bind(&run.document)
            .bind(run.entry)
            .fetch_one(&mut self.login(Role::CutterExec).await)
            .await?)
    }

    /// A new document with a run of it.
    pub(crate) async fn started(&self, document: &str) -> Run {
        self.document(document).await;
        let run = self.planned(document).await;
        self.start(&run).await.expect("started");
        run
    }

    /// What the runner brings to a gate, without what needs a sovereign.
    pub(crate) fn evidence(&self, run: &Run, gate: &str) -> Value {
        let manifest_digest = hex(&run.manifest.digest());
        let writer_digest = hex(&run.effect.writer_digest());
        let count = run.manifest.units.len();
        match gate {
            "IG_source_pin" => json!({ "pins": {
                "manifest_digest": manifest_digest, "region_sha": hex(&run.manifest.content_sha256), "profile": run.manifest.profile,
                "unit_kind": run.manifest.unit_kind, "publication_type": run.manifest.publication_type,
            } }),
            "IG_mark" => json!({
                "region_sha": hex(&run.manifest.content_sha256), "pins": { "candidate_count": count },
            }),
            "IG_cutplan" => json!({
                "rebuilt_writer_digest": writer_digest, "rebuilt_manifest_digest": manifest_digest, "planned_rows": count,
                "distinct_keys": count, "vocabulary": ["unit_kind.design_doc_section", "section_type.heading"],
                "pins": { "writer_digest": writer_digest, "section_types": { "heading": count } },
            }),
            "IG_backup" => json!({
                "read_back_sha": digest("backup"), "sidecar_sha256": digest("sidecar"),
                "pins": { "backup_sha": digest("backup"), "backup_bytes": 4711, "backup_fingerprint": FINGERPRINT },
            }),
            "IG_grant_probe" => json!({ "pins": { "grants_probe_snapshot": { "asked": 5 } } }),
            "IG_closeout" => json!({ "sidecar_sha256": digest("sidecar") }),
            _ => json!({}),
        }
    }

    pub(crate) async fn gate(
        &self,
        run: &Run,
        gate: &str,
        evidence: &Value,
    ) -> Result<Value, Error> {
        self.gate_with(run, gate, evidence, &format!("# {gate}\n\nof {}\n", run.name)).await
    }

    pub(crate) async fn gate_with(
        &self,
        run: &Run,
        gate: &str,
        evidence: &Value,
        document: &str,
    ) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select orchestrator.fn_gate($1, $2, $3, $4, 'edith')")
            .bind(run.id)
            .bind(gate)
            .bind(evidence)
            .bind(document)
            .fetch_one(&mut self.login(Role::CutterExec).await)
            .await?)
    }

    pub(crate) async fn mark(&self, run: &Run, evidence: &Value) -> Result<Value, Error> {
        let payload = json!({
            "idempotency_key": run.key(), "signal_source": "orchestrator", "iu_ref": run.document,
            "proposed_cut_spec": {
                "document_id": run.document, "source_version_id": run.manifest.source_version_id,
                "content_sha256": hex(&run.manifest.content_sha256),
            },
        });
        Ok(sqlx::query_scalar("select orchestrator.fn_mark($1, $2, $3, '# Marked', 'edith')")
            .bind(run.id)
            .bind(payload)
            .bind(evidence)
            .fetch_one(&mut self.login(Role::CutterExec).await)
            .await?)
    }

    pub(crate) async fn preview(&self, run: &Run, gate: &str) -> Value {
        sqlx::query_scalar("select orchestrator.fn_gate_preview($1, $2, '{}')")
            .bind(run.id)
            .bind(gate)
            .fetch_one(&mut self.login(Role::CutterExec).await)
            .await
            .expect("a preview")
    }

    // ── the doors that write ────────────────────────────────────────────────────────────────────────────────────────

    pub(crate) async fn cut_leg_a(&self, run: &Run, evidence: &Value) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select orchestrator.fn_cut_leg_a($1, $2, '# Leg A', $3, 'edith')")
            .bind(run.id)
            .bind(evidence)
            .bind(EXECUTOR_TOOL)
            .fetch_one(&mut self.login(Role::CutterExec).await)
            .await?)
    }

    async fn lane_end(&self, lane: &str, principal: &str) -> Option<(Uuid, Vec<u8>)> {
        self.cutter.auditor.lane_end(lane, principal).await.expect("the end of the chain")
    }

    async fn lane(
        &self,
        (lane, name, tool): (&str, &str, &str),
        id: Uuid,
        attested: &Lane,
    ) -> (Option<Uuid>, i64, String, Signed) {
        let actor = self.cutter.actor(name);
        let prior = self.lane_end(lane, name).await;
        let signed_at = self.cutter.now().await;
        let payload = lane_payload(
            &LaneSigner {
                lane,
                signature_id: id,
                principal: name,
                key_id: key_id(actor),
                tool_revision: tool,
                prior: prior.as_ref().map(|(id, signature)| (*id, signature.as_slice())),
                signed_at,
            },
            attested,
        );
        let signed = sealed(actor, &Statement::lane(payload.clone()));
        (prior.map(|(id, _)| id), signed_at, payload, signed)
    }

    pub(crate) async fn leg_b(&self, run: &Run) -> Result<Value, Error> {
        let set = run.part("change_set");
        let digest =
            run.effect.change_set_digest(&run.manifest, run.entry, run.part("cut_decision"));
        let attested = executor_attested(run.entry, set, &digest, &run.manifest.digest());
        let lane = (EXECUTOR_LANE, "edith", EXECUTOR_TOOL);
        let (prior, at, payload, signed) =
            self.lane(lane, run.part("executor_signature"), &attested).await;
        Ok(sqlx::query_scalar(
            "select orchestrator.fn_leg_b($1, '{}', '# Leg B', $2, $3, 'edith', $4, $5, $6, $7, $8)",
        )
        .bind(run.id)
        .bind(digest.to_vec())
        .bind(EXECUTOR_TOOL)
        .bind(prior)
        .bind(signed.key_id)
        .bind(at)
        .bind(payload)
        .bind(signed.signature)
        .fetch_one(&mut self.login(Role::CutterExec).await)
        .await?)
    }

    pub(crate) async fn write_verify(&self, run: &Run, verdict: &str) -> Result<Value, Error> {
        const TOOL: &str = "chancery-verifier/test";
        let result = run.part("verify_result");
        let failed = verdict == "fail";
        let found =
            if failed { json!([{ "finding": "text_differs", "address": "A" }]) } else { json!([]) };
        let findings = json!({ "findings": found, "checks": {}, "rule": "rfc8785" });
        let digest =
            run.effect.change_set_digest(&run.manifest, run.entry, run.part("cut_decision"));
        let verification = Verification {
            verify_result_id: result,
            change_set_id: run.part("change_set"),
            change_set_digest: &digest,
            executor_signature_id: run.part("executor_signature"),
            verdict,
            findings: &findings,
            prior_verify_result_id: None,
            rollback_change_set_id: failed.then(|| rollback_id(result)),
            escalation_ref: failed.then(|| escalation_id(result)),
        };
        let attested = verifier_attested(run.entry, &verification, &hex(&run.manifest.digest()));
        let lane = (VERIFIER_LANE, "vera", TOOL);
        let (prior, at, payload, signed) =
            self.lane(lane, run.part("verifier_signature"), &attested).await;
        Ok(sqlx::query_scalar(
            "select orchestrator.fn_write_verify($1, '{}', '# Verdict', $2, $3, $4, 'vera', $5, $6, $7, $8, $9)",
        )
        .bind(run.id)
        .bind(verdict)
        .bind(&findings)
        .bind(TOOL)
        .bind(prior)
        .bind(signed.key_id)
        .bind(at)
        .bind(payload)
        .bind(signed.signature)
        .fetch_one(&mut self.login(Role::CutterVerify).await)
        .await?)
    }

    pub(crate) async fn lifecycle_enact(
        &self,
        run: &Run,
        evidence: &Value,
    ) -> Result<Value, Error> {
        Ok(sqlx::query_scalar(
            "select orchestrator.fn_lifecycle_enact($1, $2, '# Enacted', $3, 'edith')",
        )
        .bind(run.id)
        .bind(evidence)
        .bind(EXECUTOR_TOOL)
        .fetch_one(&mut self.login(Role::CutterExec).await)
        .await?)
    }

    pub(crate) async fn closeout(&self, run: &Run) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select orchestrator.fn_closeout($1, $2, '# Final report', 'edith')")
            .bind(run.id)
            .bind(self.evidence(run, "IG_closeout"))
            .fetch_one(&mut self.login(Role::CutterExec).await)
            .await?)
    }

    /// Passes one gate, whatever it needs.
    pub(crate) async fn pass(&self, run: &Run, gate: &str) {
        let evidence = self.evidence(run, gate);
        let passed = match gate {
            "IG_mark" => self.mark(run, &evidence).await,
            "SG_cut_authz_request" | "SG_lifecycle_authz_request" => {
                let gate = gate.trim_end_matches("_request");
                let authority = self.request(run, gate).await;
                return self.authorize(run, gate, &authority).await;
            }
            "SG_cut_authz_received" => {
                self.cut_leg_a(run, &self.given(run, "SG_cut_authz").await).await
            }
            "IG_leg_b_record" => self.leg_b(run).await,
            "IG_write_verify" => self.write_verify(run, "pass").await,
            "SG_lifecycle_authz_received" => {
                self.lifecycle_enact(run, &self.given(run, "SG_lifecycle_authz").await).await
            }
            "IG_closeout" => self.closeout(run).await,
            _ => self.gate(run, gate, &evidence).await,
        };
        passed.unwrap_or_else(|error| panic!("{gate}: {error:?}"));
    }

    /// The newest approval that was asked for at a gate, as evidence.
    pub(crate) async fn given(&self, run: &Run, gate: &str) -> Value {
        let id = self
            .text(&format!(
                "select approval_id::text from approval.approval_request where subject_ref = '{}' and kind = orchestrator.approval_kind('{gate}')
                  order by requested_at desc limit 1",
                run.name
            ))
            .await;
        json!({ "approval_id": id, "approval_kb_id": run.path(&format!("{}-approval", gate.to_lowercase())) })
    }

    /// Passes the gates up to this one, itself included.
    pub(crate) async fn drive(&self, run: &Run, last: &str) {
        let first = GATES.iter().position(|gate| *gate == last).expect("a gate");
        for gate in &GATES[..=first] {
            self.pass(run, gate).await;
        }
    }

    /// Runs that went every way there is, one document each.
    pub(crate) async fn every_run(&self) -> Vec<(&'static str, Run)> {
        let mut runs = Vec::new();
        let done = self.started("done").await;
        self.drive(&done, "IG_closeout").await;
        runs.push(("done", done));
        // Stopped twice, once by drift, and on.
        let resumed = self.started("resumed").await;
        self.drive(&resumed, "IG_mark").await;
        self.stop(&resumed).await.expect("stopped");
        let word = self.ask(&resumed, "SG_resume_stopped").await;
        self.authorize(&resumed, "SG_resume_stopped", &word).await;
        self.resume(&resumed, &word.evidence()).await.expect("resumed");
        self.halt(&resumed, "stopped_drift").await.expect("stopped");
        let word = self.ask(&resumed, "SG_drift_ack").await;
        self.authorize(&resumed, "SG_drift_ack", &word).await;
        self.resume(&resumed, &word.evidence()).await.expect("resumed");
        self.pass(&resumed, "IG_cutplan").await;
        runs.push(("resumed", resumed));
        // Written, and no ledger yet.
        let written = self.started("written").await;
        self.drive(&written, "SG_cut_authz_received").await;
        runs.push(("written", written));
        let failed = self.started("failed").await;
        self.drive(&failed, "IG_leg_b_record").await;
        self.write_verify(&failed, "fail").await.expect("a verdict");
        runs.push(("failed", failed));
        for (name, gate) in [
            ("voided0", ""),
            ("voided1", "IG_mark"),
            ("voided2", "SG_cut_authz_received"),
            ("voided3", "IG_leg_b_record"),
            ("voided4", "IG_write_verify"),
            ("voided5", "SG_lifecycle_authz_received"),
        ] {
            let run = self.started(name).await;
            if !gate.is_empty() {
                self.drive(&run, gate).await;
            }
            self.void(&run).await.expect("voided");
            runs.push((name, run));
        }
        runs
    }
}

fn key_id(actor: &Actor) -> Uuid {
    actor.key.as_ref().expect("a key").key_id
}

fn sealed(actor: &Actor, statement: &Statement) -> Signed {
    let key = actor.key.as_ref().expect("a key");
    Signed { key_id: key.key_id, signature: statement.sign(&key.key).to_vec() }
}

/// The three units of the document.
fn manifest(document: &str, source_version_id: Uuid) -> Manifest {
    let prefix = document.to_ascii_uppercase();
    let unit = |local_id: &str, address: &str, text: &str, parent: Option<&str>| {
        let start = BODY.find(text).expect("a piece of the document");
        ManifestUnit {
            local_id: local_id.to_owned(),
            address: format!("{prefix}/{address}"),
            start: i64::try_from(start).expect("short"),
            end: i64::try_from(start + text.len()).expect("short"),
            sha256: Sha256::digest(text.as_bytes()).into(),
            section_type: "heading".to_owned(),
            title: text.lines().next().expect("a line").trim_start_matches('#').trim().to_owned(),
            parent: parent.map(str::to_owned),
        }
    };
    Manifest {
        document_id: document.to_owned(),
        prefix: prefix.clone(),
        source_version_id,
        content_sha256: Sha256::digest(BODY.as_bytes()).into(),
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
