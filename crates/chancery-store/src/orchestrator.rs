//! Runs of the orchestrator. Each function has the name of the door it calls, with the room before it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::cutter::LaneSignature;
use crate::fsm::{ISO, Signed, decode};
use crate::page::After;
use crate::{Error, Store};

/// Where a run stands, and what the call did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    #[serde(rename = "run_uuid")]
    pub run_id: Uuid,
    /// As every command knows it.
    #[serde(rename = "run_id")]
    pub run_name: String,
    pub state: String,
    pub seq: i64,
    pub document_id: String,
    pub entry_id: Uuid,
    /// Done before; nothing was done twice.
    pub replayed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invariants: Option<BTreeMap<String, bool>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kb_doc_id: Option<String>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    #[serde(rename = "run_uuid")]
    pub run_id: Uuid,
    /// As every command knows it.
    #[serde(rename = "run_id")]
    pub run_name: String,
    pub state: String,
    pub seq: i64,
    pub document_id: String,
    pub prefix: String,
    pub source_version_id: Uuid,
    pub entry_id: Uuid,
    pub started_by: String,
    pub created_at: String,
    pub last_transition_at: String,
}

/// A move of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunMove {
    pub seq: i64,
    pub at: String,
    pub from: Option<String>,
    pub to: String,
    pub principal: String,
    pub actor_class: String,
    pub reason: Option<String>,
    pub evidence: Value,
    pub hash: String,
    /// What the caller knew the move by; not part of what is shown.
    #[serde(skip_serializing)]
    pub idempotency_key: String,
    /// Hex; over the rows that came with the move. Not part of what is shown.
    #[serde(skip_serializing)]
    pub artefact_digest: Option<String>,
}

/// What a gate would find now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GatePreview {
    pub invariants: BTreeMap<String, bool>,
    /// What was pinned and is otherwise now.
    pub drift: Vec<Value>,
    pub survey: Value,
    pub pins: Value,
    /// What an approval for the gate would have to say.
    pub binding: Option<Value>,
}

/// A gate that a run passes: what it is told, and the document that says so.
#[derive(Debug, Clone, Copy)]
pub struct Gate<'a> {
    pub run_id: Uuid,
    pub evidence: &'a Value,
    pub document: &'a str,
    pub principal: &'a str,
}

/// A stop or a failure.
#[derive(Debug, Clone)]
pub struct Halt<'a> {
    pub gate: Gate<'a>,
    pub to: &'a str,
    pub actor_class: &'a str,
    pub reason: &'a str,
    pub idempotency_key: &'a str,
    pub signed: Option<Signed>,
}

/// What voids a run.
#[derive(Debug, Clone)]
pub struct Void<'a> {
    pub run_id: Uuid,
    pub evidence: &'a Value,
    pub reason: &'a str,
    pub principal: &'a str,
    pub signed: Option<Signed>,
    /// The request is given up by a move of its own, signed as well.
    pub entry_evidence: &'a Value,
    pub entry_signature: Option<Vec<u8>>,
}

/// The public key that backups are encrypted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupKeyRow {
    pub fingerprint: String,
    pub public_key: String,
    pub pinned_by: String,
    pub pinned_at: String,
}

macro_rules! run_rows {
    ($($rest:literal)? $(,)?) => {
        concat!(
            "select jsonb_build_object(
    'run_uuid', r.run_id, 'run_id', r.run_name, 'state', r.state_code, 'seq', r.seq, 'document_id', r.document_id, 'prefix', d.address_docprefix,
    'source_version_id', r.source_version_id, 'entry_id', r.entry_id, 'started_by', r.started_by,
    'created_at', to_char(r.created_at at time zone 'UTC', $1), 'last_transition_at', to_char(r.last_transition_at at time zone 'UTC', $1))
  from orchestrator.v_run r join iu.v_source_document d using (document_id)"
            $(, $rest)?
        )
    };
}

impl Store {
    /// Begins a run of a document's newest version. `plan` says how many units and which words it would make.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_orchestrate_start(
        &self,
        run_id: Uuid,
        run_name: &str,
        document_id: &str,
        entry_id: Uuid,
        principal: &str,
        plan: &Value,
    ) -> Result<RunReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select orchestrator.fn_orchestrate_start($1, $2, $3, $4, $5, p_plan => $6)",
        )
        .bind(run_id)
        .bind(run_name)
        .bind(document_id)
        .bind(entry_id)
        .bind(principal)
        .bind(plan)
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// Passes a gate whose phase writes nothing but its receipt.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_orchestrate_gate(
        &self,
        gate: Gate<'_>,
        name: &str,
    ) -> Result<RunReport, Error> {
        let report: Value =
            sqlx::query_scalar("select orchestrator.fn_orchestrate_gate($1, $2, $3, $4, $5)")
                .bind(gate.run_id)
                .bind(name)
                .bind(gate.evidence)
                .bind(gate.document)
                .bind(gate.principal)
                .fetch_one(&self.pool)
                .await?;
        decode(report)
    }

    /// Marks the run's request and puts it before its reviewers.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_orchestrate_mark(
        &self,
        gate: Gate<'_>,
        payload: &Value,
    ) -> Result<RunReport, Error> {
        let report: Value =
            sqlx::query_scalar("select orchestrator.fn_orchestrate_mark($1, $2, $3, $4, $5)")
                .bind(gate.run_id)
                .bind(payload)
                .bind(gate.evidence)
                .bind(gate.document)
                .bind(gate.principal)
                .fetch_one(&self.pool)
                .await?;
        decode(report)
    }

    /// Writes the authorized units.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_cut_leg_a(
        &self,
        gate: Gate<'_>,
        tool_revision: &str,
    ) -> Result<RunReport, Error> {
        self.with_tool("select orchestrator.fn_cut_leg_a($1, $2, $3, $4, $5)", gate, tool_revision)
            .await
    }

    /// Enacts every unit of the run.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_lifecycle_enact(
        &self,
        gate: Gate<'_>,
        tool_revision: &str,
    ) -> Result<RunReport, Error> {
        let sql = "select orchestrator.fn_lifecycle_enact($1, $2, $3, $4, $5)";
        self.with_tool(sql, gate, tool_revision).await
    }

    async fn with_tool(
        &self,
        sql: &'static str,
        gate: Gate<'_>,
        tool_revision: &str,
    ) -> Result<RunReport, Error> {
        let report: Value = sqlx::query_scalar(sql)
            .bind(gate.run_id)
            .bind(gate.evidence)
            .bind(gate.document)
            .bind(tool_revision)
            .bind(gate.principal)
            .fetch_one(&self.pool)
            .await?;
        decode(report)
    }

    /// Records what leg A wrote.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_leg_b(
        &self,
        gate: Gate<'_>,
        change_set_digest: &[u8; 32],
        tool_revision: &str,
        signature: &LaneSignature,
    ) -> Result<RunReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select orchestrator.fn_leg_b($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        )
        .bind(gate.run_id)
        .bind(gate.evidence)
        .bind(gate.document)
        .bind(change_set_digest.as_slice())
        .bind(tool_revision)
        .bind(gate.principal)
        .bind(signature.prior_signature_id)
        .bind(signature.signed.as_ref().map(|s| s.key_id))
        .bind(signature.signed_at)
        .bind(&signature.payload)
        .bind(signature.signed.as_ref().map(|s| &s.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// Puts the verifier's verdict on the run's change set.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_write_verify(
        &self,
        gate: Gate<'_>,
        verdict: &str,
        findings: &Value,
        tool_revision: &str,
        signature: &LaneSignature,
    ) -> Result<RunReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select orchestrator.fn_write_verify($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(gate.run_id)
        .bind(gate.evidence)
        .bind(gate.document)
        .bind(verdict)
        .bind(findings)
        .bind(tool_revision)
        .bind(gate.principal)
        .bind(signature.prior_signature_id)
        .bind(signature.signed.as_ref().map(|s| s.key_id))
        .bind(signature.signed_at)
        .bind(&signature.payload)
        .bind(signature.signed.as_ref().map(|s| &s.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// Ends the run with its final report and its line in the index.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_closeout(&self, gate: Gate<'_>) -> Result<RunReport, Error> {
        self.plain("select orchestrator.fn_closeout($1, $2, $3, $4)", gate).await
    }

    /// Takes a stopped run back to where it was stopped.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_orchestrate_resume(&self, gate: Gate<'_>) -> Result<RunReport, Error> {
        self.plain("select orchestrator.fn_orchestrate_resume($1, $2, $3, $4)", gate).await
    }

    async fn plain(&self, sql: &'static str, gate: Gate<'_>) -> Result<RunReport, Error> {
        let report: Value = sqlx::query_scalar(sql)
            .bind(gate.run_id)
            .bind(gate.evidence)
            .bind(gate.document)
            .bind(gate.principal)
            .fetch_one(&self.pool)
            .await?;
        decode(report)
    }

    /// Stops or fails a run where it stands.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_orchestrate_halt(&self, halt: &Halt<'_>) -> Result<RunReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select orchestrator.fn_orchestrate_halt($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(halt.gate.run_id)
        .bind(halt.to)
        .bind(halt.gate.evidence)
        .bind(halt.gate.document)
        .bind(halt.gate.principal)
        .bind(halt.actor_class)
        .bind(halt.reason)
        .bind(halt.idempotency_key)
        .bind(halt.signed.as_ref().map(|s| s.key_id))
        .bind(halt.signed.as_ref().map(|s| &s.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// Voids a run.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_orchestrate_void(&self, void: &Void<'_>) -> Result<RunReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select orchestrator.fn_orchestrate_void($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(void.run_id)
        .bind(void.evidence)
        .bind(void.reason)
        .bind(void.principal)
        .bind(void.signed.as_ref().map(|s| s.key_id))
        .bind(void.signed.as_ref().map(|s| &s.signature))
        .bind(void.entry_evidence)
        .bind(&void.entry_signature)
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// What a gate would find now. Writes nothing.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_gate_preview(
        &self,
        run_id: Uuid,
        gate: &str,
        evidence: &Value,
    ) -> Result<GatePreview, Error> {
        let preview: Value = sqlx::query_scalar("select orchestrator.fn_gate_preview($1, $2, $3)")
            .bind(run_id)
            .bind(gate)
            .bind(evidence)
            .fetch_one(&self.pool)
            .await?;
        decode(preview)
    }

    /// Pins the public key that backups are encrypted to. Gives whether it was pinned before.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_backup_key_pin(
        &self,
        fingerprint: &str,
        public_key: &str,
        pinned_by: &str,
    ) -> Result<bool, Error> {
        let report: Value = sqlx::query_scalar("select orchestrator.fn_backup_key_pin($1, $2, $3)")
            .bind(fingerprint)
            .bind(public_key)
            .bind(pinned_by)
            .fetch_one(&self.pool)
            .await?;
        Ok(report["replayed"] == true)
    }

    /// The public key that holds, if one was pinned.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn orchestrator_backup_key(&self) -> Result<Option<BackupKeyRow>, Error> {
        let row: Option<Value> = sqlx::query_scalar(
            "select jsonb_build_object('fingerprint', k.fingerprint, 'public_key', k.public_key, 'pinned_by', k.pinned_by,
                                       'pinned_at', to_char(k.pinned_at at time zone 'UTC', $1))
               from orchestrator.v_backup_key k order by k.pin_seq desc limit 1",
        )
        .bind(ISO)
        .fetch_optional(&self.pool)
        .await?;
        row.map(decode).transpose()
    }

    /// A run by its name.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn orchestrator_run(&self, run_name: &str) -> Result<Option<RunRow>, Error> {
        let row: Option<Value> = sqlx::query_scalar(run_rows!(" where r.run_name = $2"))
            .bind(ISO)
            .bind(run_name)
            .fetch_optional(&self.pool)
            .await?;
        row.map(decode).transpose()
    }

    /// A run by its id.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn orchestrator_run_by_id(&self, run_id: Uuid) -> Result<Option<RunRow>, Error> {
        let row: Option<Value> = sqlx::query_scalar(run_rows!(" where r.run_id = $2"))
            .bind(ISO)
            .bind(run_id)
            .fetch_optional(&self.pool)
            .await?;
        row.map(decode).transpose()
    }

    /// Runs in a state or of a document, newest first, behind one.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn orchestrator_runs_page(
        &self,
        document_id: Option<&str>,
        state: Option<&str>,
        after: Option<&After>,
        limit: i64,
    ) -> Result<Vec<RunRow>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(run_rows!(
            " where ($2::text is null or r.document_id = $2) and ($3::text is null or r.state_code = $3)
                and ($4::text is null or (r.created_at, r.run_id) < ($4::text::timestamptz, $5))
              order by r.created_at desc, r.run_id desc limit $6",
        ))
        .bind(ISO)
        .bind(document_id)
        .bind(state)
        .bind(after.map(|after| &after.at))
        .bind(after.map(|after| after.id))
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// The runs, newest first; those of one document, or those that are not over.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn orchestrator_runs(
        &self,
        document_id: Option<&str>,
        open: bool,
        limit: i64,
    ) -> Result<Vec<RunRow>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(run_rows!(
            " where ($2::text is null or r.document_id = $2) and (not $3 or r.state_code <> all ('{closeout_reported,voided_sovereign}'))
              order by r.created_at desc, r.run_id desc limit $4",
        ))
        .bind(ISO)
        .bind(document_id)
        .bind(open)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// Every move of a run, in order.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn orchestrator_moves(&self, run_id: Uuid) -> Result<Vec<RunMove>, Error> {
        let rows: Value = sqlx::query_scalar(
            "select coalesce(jsonb_agg(jsonb_build_object(
                      'seq', l.seq, 'at', to_char(l.at at time zone 'UTC', $2), 'from', l.from_state, 'to', l.to_state, 'principal', l.principal,
                      'actor_class', l.actor_class, 'reason', l.reason, 'evidence', l.evidence::jsonb, 'hash', encode(l.hash, 'hex'), 'idempotency_key', l.idempotency_key,
                      'artefact_digest', encode(l.artefact_digest, 'hex')) order by l.seq), '[]')
               from fsm.v_transition_log l where l.run_id = $1",
        )
        .bind(run_id)
        .bind(ISO)
        .fetch_one(&self.pool)
        .await?;
        decode(rows)
    }
}
