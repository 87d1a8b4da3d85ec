//! What the sovereign does: requests, approvals, decisions, stops and voids.

use std::time::Duration;

use chancery_engine::approval::{self, NewRequest};
use chancery_engine::kb::{self, Writer};
use chancery_model::canonical;
use chancery_model::cutter::{Decision, abandon_evidence, decision_payload, review_evidence};
use chancery_model::envelope::{Move, Statement};
use chancery_store::cutter::{LifecycleReview, Review};
use chancery_store::{Error, Role};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Authority, Run, World, block, key_id, sealed};

impl World {
    // ── the sovereign gates ─────────────────────────────────────────────────────────────────────────────────────────

    /// Asks for what a gate needs; gives what the sovereign would have to say.
    pub(crate) async fn ask(&self, run: &Run, gate: &str) -> Authority {
        let kind = match gate {
            "SG_cut_authz" => "cut_authorization",
            "SG_lifecycle_authz" => "lifecycle_authorization",
            "SG_resume_stopped" => "resume_stopped",
            _ => "drift_ack",
        };
        let mut facts = self.preview(run, gate).await["binding"].clone();
        facts["nonce"] = json!(Uuid::now_v7());
        let new = NewRequest {
            approval_id: None,
            kind: kind.to_owned(),
            subject_ref: run.name.clone(),
            subject_digest: Some(canonical::sha256(&facts).to_vec()),
            risk: None,
            title: format!("{gate} of {}", run.name),
            facts: facts.clone(),
            expires_in: Duration::from_secs(3_600),
        };
        let edith = self.cutter.actor("edith");
        let asked = approval::request(&self.cutter.exec, edith, "executor_dot991", &new).await;
        let approval_id = asked.expect("asked").approval_id;
        let expires_at = self
            .text(&format!("select internal.micros(expires_at)::text from approval.approval_request where approval_id = '{approval_id}'"))
            .await;
        let mut said = facts;
        said["approval_id"] = json!(approval_id);
        said["expires_at"] = json!(expires_at.parse::<i64>().expect("a time"));
        said["authorizes"] = json!(true);
        Authority {
            approval_id,
            path: run.path(&format!("{}-approval", gate.to_lowercase())),
            said,
        }
    }

    /// Takes the run to a sovereign gate.
    pub(crate) async fn request(&self, run: &Run, gate: &str) -> Authority {
        let authority = self.ask(run, gate).await;
        let pins = self.preview(run, gate).await["pins"].clone();
        let mut said = authority.said.clone();
        said["sidecar_path"] = json!("/var/lib/chancery/run.json");
        for name in ["region_sha", "candidate_count", "backup_sha", "grants_probe_snapshot"] {
            said[name] = pins[name].clone();
        }
        let evidence = json!({ "approval_id": authority.approval_id });
        let passed =
            self.gate_with(run, &format!("{gate}_request"), &evidence, &block(&said)).await;
        passed.expect("the request is complete");
        authority
    }

    /// The document of an approval, written and signed.
    pub(crate) async fn sign(&self, authority: &Authority, gate: &str) {
        let writer = Writer { principal: "sara", actor_class: "sovereign" };
        let body = block(&authority.said);
        let put = kb::put(
            &self.cutter.review,
            writer,
            &authority.path,
            "approval",
            body.as_bytes(),
            None,
        );
        put.await.expect("written");
        let sara = self.cutter.actor("sara");
        kb::sign(&self.cutter.review, sara, "sovereign", &authority.path, None, gate)
            .await
            .expect("signed");
    }

    pub(crate) async fn vote(&self, authority: &Authority) {
        let sara = self.cutter.actor("sara");
        let approve = approval::Decision::Approve;
        let voted = approval::vote(
            &self.cutter.review,
            sara,
            "sovereign",
            authority.approval_id,
            approve,
            None,
        );
        assert_eq!(voted.await.expect("a vote").state, "approved");
    }

    /// Everything that the sovereign does at a gate.
    pub(crate) async fn authorize(&self, run: &Run, gate: &str, authority: &Authority) {
        self.sign(authority, gate).await;
        self.vote(authority).await;
        match gate {
            "SG_cut_authz" => self.review(run).await,
            "SG_lifecycle_authz" => self.lifecycle_review(run).await,
            _ => {}
        }
    }

    pub(crate) async fn review(&self, run: &Run) {
        let review = self.a_review(run, run.part("cut_decision")).await;
        self.cutter.review.fn_review(&review).await.expect("reviewed");
    }

    pub(crate) async fn a_review(&self, run: &Run, id: Uuid) -> Review {
        let (envelope_id, signed_at) = (run.part("manifest"), self.cutter.now().await);
        let manifest_digest = run.manifest.digest();
        let findings = json!({});
        let sara = self.cutter.actor("sara");
        let payload = decision_payload(&Decision {
            review_decision_id: id,
            governance_event_kind: "cut_review",
            entry_id: run.entry,
            manifest_id: envelope_id,
            manifest_digest,
            verdict: "approve",
            findings: &findings,
            rationale: None,
            risk: "medium",
            prior_review_decision_id: None,
            principal: "sara",
            key_id: key_id(sara),
            signed_at,
        });
        let idempotency_key = format!("review:{id}");
        let evidence = review_evidence(id, envelope_id, &manifest_digest, "approve");
        let statement = Move {
            run_kind: "cut_request",
            run_id: run.entry,
            to: "reviewed_approved",
            principal: "sara",
            actor_class: "review_authority",
            trigger_kind: "rpc",
            trigger_ref: "review",
            evidence: &evidence,
            reason: None,
            idempotency_key: &idempotency_key,
            birth: None,
        }
        .statement();
        Review {
            entry_id: run.entry,
            verdict: "approve".to_owned(),
            manifest: run.manifest.door_json(),
            manifest_digest,
            envelope_id,
            review_decision_id: id,
            prior_review_decision_id: None,
            findings,
            rationale: None,
            risk: "medium".to_owned(),
            tool_revision: "chancery-review/test".to_owned(),
            principal: "sara".to_owned(),
            idempotency_key,
            signed_at,
            decision: Some(sealed(sara, &Statement::review(payload.clone()))),
            decision_payload: payload,
            move_signature: Some(sealed(sara, &statement).signature),
        }
    }

    pub(crate) async fn lifecycle_review(&self, run: &Run) {
        let review = self.a_lifecycle_review(run, run.part("lifecycle_decision")).await;
        self.cutter.review.fn_lifecycle_review(&review).await.expect("reviewed");
    }

    pub(crate) async fn a_lifecycle_review(&self, run: &Run, id: Uuid) -> LifecycleReview {
        let signed_at = self.cutter.now().await;
        let findings = json!({});
        let sara = self.cutter.actor("sara");
        let payload = decision_payload(&Decision {
            review_decision_id: id,
            governance_event_kind: "lifecycle_enactment",
            entry_id: run.entry,
            manifest_id: run.part("manifest"),
            manifest_digest: run.manifest.digest(),
            verdict: "approve",
            findings: &findings,
            rationale: None,
            risk: "medium",
            prior_review_decision_id: Some(run.part("cut_decision")),
            principal: "sara",
            key_id: key_id(sara),
            signed_at,
        });
        LifecycleReview {
            entry_id: run.entry,
            verdict: "approve".to_owned(),
            review_decision_id: id,
            prior_review_decision_id: Some(run.part("cut_decision")),
            findings,
            rationale: None,
            risk: "medium".to_owned(),
            principal: "sara".to_owned(),
            signed_at,
            decision: Some(sealed(sara, &Statement::review(payload.clone()))),
            decision_payload: payload,
        }
    }

    // ── stops ───────────────────────────────────────────────────────────────────────────────────────────────────────

    /// The executor fails or stops the run.
    pub(crate) async fn halt(&self, run: &Run, to: &str) -> Result<Value, Error> {
        Ok(sqlx::query_scalar(
            "select orchestrator.fn_orchestrate_halt($1, $2, '{}', '# Stop-route report', 'edith', 'executor_dot991', 'it had to be', $3)",
        )
        .bind(run.id)
        .bind(to)
        .bind(Uuid::now_v7().to_string())
        .fetch_one(&mut self.login(Role::CutterExec).await)
        .await?)
    }

    pub(crate) async fn stop(&self, run: &Run) -> Result<Value, Error> {
        let sara = self.cutter.actor("sara");
        let evidence = json!({ "why": "wait" });
        let statement = Move {
            run_kind: "orchestrator_run",
            run_id: run.id,
            to: "stopped_sovereign",
            principal: "sara",
            actor_class: "sovereign",
            trigger_kind: "rpc",
            trigger_ref: "orchestrate_stop",
            evidence: &evidence,
            reason: Some("wait"),
            idempotency_key: "stop:1",
            birth: None,
        };
        let signed = sealed(sara, &statement.statement());
        Ok(sqlx::query_scalar(
            "select orchestrator.fn_orchestrate_halt($1, 'stopped_sovereign', $2, '# Stopped', 'sara', 'sovereign', 'wait', 'stop:1', $3, $4)",
        )
        .bind(run.id)
        .bind(&evidence)
        .bind(signed.key_id)
        .bind(signed.signature)
        .fetch_one(&mut self.login(Role::CutterReview).await)
        .await?)
    }

    pub(crate) async fn resume(&self, run: &Run, evidence: &Value) -> Result<Value, Error> {
        Ok(sqlx::query_scalar(
            "select orchestrator.fn_orchestrate_resume($1, $2, '# Resumed', 'edith')",
        )
        .bind(run.id)
        .bind(evidence)
        .fetch_one(&mut self.login(Role::CutterExec).await)
        .await?)
    }

    /// The sovereign voids the run, with a document that says so.
    pub(crate) async fn void(&self, run: &Run) -> Result<Value, Error> {
        const REASON: &str = "the wrong document";
        let sara = self.cutter.actor("sara");
        // Beside the run's own documents: there is no such place of a run that is unknown.
        let path = run.path("void").replacen("orchestrator/", "voids/", 1);
        let writer = Writer { principal: "sara", actor_class: "sovereign" };
        let body = block(&json!({ "run_id": run.name, "voids": true }));
        kb::put(&self.cutter.review, writer, &path, "void", body.as_bytes(), None)
            .await
            .expect("written");
        kb::sign(&self.cutter.review, sara, "sovereign", &path, None, "void")
            .await
            .expect("signed");
        let evidence =
            json!({ "void_kb_id": path, "audit_ref": path, "event": { "approval_kb_id": path } });
        let sign = |kind: &str, id: Uuid, to: &str, trigger: &str, evidence: &Value, key: &str| {
            let statement = Move {
                run_kind: kind,
                run_id: id,
                to,
                principal: "sara",
                actor_class: "sovereign",
                trigger_kind: "rpc",
                trigger_ref: trigger,
                evidence,
                reason: Some(REASON),
                idempotency_key: key,
                birth: None,
            };
            sealed(sara, &statement.statement())
        };
        let signed = sign(
            "orchestrator_run",
            run.id,
            "voided_sovereign",
            "orchestrate_void",
            &evidence,
            "void",
        );
        let entry_evidence = abandon_evidence(REASON, &path);
        let key = format!("void:{}", run.name);
        let entry = sign("cut_request", run.entry, "abandoned", "abandon", &entry_evidence, &key);
        Ok(sqlx::query_scalar(
            "select orchestrator.fn_orchestrate_void($1, $2, $3, 'sara', $4, $5, $6, $7)",
        )
        .bind(run.id)
        .bind(&evidence)
        .bind(REASON)
        .bind(signed.key_id)
        .bind(signed.signature)
        .bind(entry_evidence)
        .bind(entry.signature)
        .fetch_one(&mut self.login(Role::CutterReview).await)
        .await?)
    }
}
