//! What stands in the backlog, its plans, its cuts and their verdicts: typed for people, raw for those who check.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use crate::evidence::EvidenceRow;
use crate::fsm::decode;
use crate::iu::UnitEvidence;
use crate::{Error, Store};

/// A request as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryRow {
    pub entry_id: Uuid,
    pub kind: String,
    pub status: String,
    pub document_id: Option<String>,
    pub source_version_id: Option<Uuid>,
    pub escalation_of: Option<Uuid>,
    pub idempotency_key: String,
    pub scenario_ref: Option<String>,
    pub payload: Value,
    pub started_by: String,
    pub state_machine_id: String,
    pub seq: i64,
    pub trace_id: String,
    pub emitted_at: String,
    pub last_transition_at: String,
}

/// What a request waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyRow {
    pub entry_id: Uuid,
    pub dependency_kind: String,
    pub status: String,
}

/// A decision on a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionRow {
    pub review_decision_id: Uuid,
    pub governance_event_kind: String,
    pub verdict: String,
    pub reviewer: String,
    pub risk: String,
    pub rationale: Option<String>,
    pub findings: Value,
    pub manifest_id: Uuid,
    /// Hex.
    pub manifest_digest: String,
    pub profile: String,
    pub unit_kind: String,
    pub publication_type: String,
    pub unit_count: i32,
    pub prior_review_decision_id: Option<Uuid>,
    pub superseded_by: Option<Uuid>,
    pub key_id: Uuid,
    pub decision_at: String,
}

/// A change set of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSetRow {
    pub change_set_id: Uuid,
    /// `apply` or `compensate`.
    pub change_kind: String,
    pub review_decision_id: Uuid,
    pub manifest_id: Uuid,
    pub units: i32,
    pub executor_signature_id: Option<Uuid>,
    pub rollback_of: Option<Uuid>,
    pub rollback_reason: Option<String>,
    /// Hex.
    pub change_set_digest: String,
    pub tool_revision: String,
    pub emitted_by: String,
    pub emitted_at: String,
}

/// A verdict on a change set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerifyRow {
    pub verify_result_id: Uuid,
    pub change_set_id: Uuid,
    pub verdict: String,
    pub findings: Value,
    pub verifier: String,
    pub tool_revision: String,
    pub verifier_signature_id: Uuid,
    pub prior_verify_result_id: Option<Uuid>,
    pub rollback_change_set_id: Option<Uuid>,
    pub escalation_ref: Option<Uuid>,
    pub verified_at: String,
}

/// A move of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryHistoryRow {
    pub seq: i64,
    pub at: String,
    pub from: Option<String>,
    pub to: String,
    pub change_kind: String,
    pub principal: String,
    pub actor_class: String,
    pub reason: Option<String>,
    pub evidence: Value,
    pub event_type: Option<String>,
    pub signed: bool,
    /// Hex.
    pub hash: String,
}

/// Everything about one request that a reader can want to see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryDetail {
    pub entry: EntryRow,
    pub depends_on: Vec<DependencyRow>,
    pub decisions: Vec<DecisionRow>,
    pub change_sets: Vec<ChangeSetRow>,
    pub verify_results: Vec<VerifyRow>,
    /// The entries that failures of this one opened.
    pub escalations: Vec<Uuid>,
    pub history: Vec<EntryHistoryRow>,
}

/// Which requests to list.
#[derive(Debug, Clone, Default)]
pub struct EntryFilter {
    pub status: Option<String>,
    pub document_id: Option<String>,
    pub limit: i64,
    /// Oldest first instead of newest: the order in which work is done.
    pub oldest_first: bool,
}

/// The rows that a plan and the decision on it consist of, as stored, read in one snapshot.
#[derive(Debug, Clone)]
pub struct PlanEvidence {
    pub entry: EvidenceRow,
    pub document: Option<EvidenceRow>,
    /// With the bytes of the source, in hex.
    pub source: Option<EvidenceRow>,
    /// All decisions on the entry, oldest first.
    pub decisions: Vec<EvidenceRow>,
    /// All manifests of the entry.
    pub envelopes: Vec<EvidenceRow>,
    /// The units of these manifests, in order.
    pub blocks: Vec<EvidenceRow>,
}

/// The rows that a cut consists of, as stored, read in one snapshot.
#[derive(Debug, Clone)]
pub struct CutEvidence {
    pub plan: PlanEvidence,
    /// Applied and compensating ones.
    pub change_sets: Vec<EvidenceRow>,
    /// The ledgers of these change sets, in order.
    pub affected: Vec<EvidenceRow>,
    /// Executors' signatures on these change sets, and those that they chain to.
    pub signatures: Vec<EvidenceRow>,
    /// Oldest first.
    pub verify_results: Vec<EvidenceRow>,
    /// What stands under the document's prefix, and what the change sets say they touched.
    pub units: UnitEvidence,
}

const ENTRY: &str = "cutter_governance.decision_backlog_entry";
const DECISION: &str = "cutter_governance.review_decision";
const ENVELOPE: &str = "cutter_governance.manifest_envelope";
const BLOCK: &str = "cutter_governance.manifest_unit_block";
const SIGNATURE: &str = "cutter_governance.dot_pair_signature";
const CHANGE_SET: &str = "cutter_governance.cut_change_set";
const AFFECTED: &str = "cutter_governance.cut_change_set_affected_row";
const VERIFY_RESULT: &str = "cutter_governance.verify_result";

impl Store {
    /// One request, or `None`.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn entry(&self, entry_id: Uuid) -> Result<Option<EntryRow>, Error> {
        let row: Option<Value> = sqlx::query_scalar(
            r#"select to_jsonb(e) - 'facet' - 'head_hash' - 'row_digest' || jsonb_build_object(
                      'payload', e.payload::jsonb,
                      'emitted_at', to_char(e.emitted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                      'last_transition_at', to_char(e.last_transition_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
                 from cutter_governance.v_decision_backlog_entry e where e.entry_id = $1"#,
        )
        .bind(entry_id)
        .fetch_optional(&self.pool)
        .await?;
        row.map(decode).transpose()
    }

    /// Requests, newest first unless asked otherwise.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn entries(&self, filter: &EntryFilter) -> Result<Vec<EntryRow>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            r#"select to_jsonb(e) - 'facet' - 'head_hash' - 'row_digest' || jsonb_build_object(
                      'payload', e.payload::jsonb,
                      'emitted_at', to_char(e.emitted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                      'last_transition_at', to_char(e.last_transition_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
                 from cutter_governance.v_decision_backlog_entry e
                where ($1::text is null or e.status = $1) and ($2::text is null or e.document_id = $2)
                order by case when $4 then e.emitted_at end, e.emitted_at desc, e.entry_id limit $3"#,
        )
        .bind(&filter.status)
        .bind(&filter.document_id)
        .bind(filter.limit)
        .bind(filter.oldest_first)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// Everything about one request, read in one snapshot; `None` when there is no such request.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn entry_detail(&self, entry_id: Uuid) -> Result<Option<EntryDetail>, Error> {
        let Some(entry) = self.entry(entry_id).await? else { return Ok(None) };
        let parts: Value = sqlx::query_scalar(
            r#"select jsonb_build_object(
  'depends_on', coalesce((
    select jsonb_agg(jsonb_build_object('entry_id', d.to_entry_id, 'dependency_kind', d.dependency_kind, 'status', b.status) order by d.to_entry_id)
      from cutter_governance.v_decision_backlog_dependency d
      join cutter_governance.v_decision_backlog_entry b on b.entry_id = d.to_entry_id
     where d.from_entry_id = $1), '[]'),
  'decisions', coalesce((
    select jsonb_agg(jsonb_build_object(
             'review_decision_id', r.review_decision_id, 'governance_event_kind', r.governance_event_kind, 'verdict', r.verdict,
             'reviewer', r.reviewer_identity, 'risk', r.risk_class_assessment, 'rationale', r.verdict_rationale, 'findings', r.findings::jsonb,
             'manifest_id', r.manifest_id, 'manifest_digest', r.manifest_version, 'profile', m.profile, 'unit_kind', m.unit_kind,
             'publication_type', m.publication_type, 'unit_count', m.unit_count, 'prior_review_decision_id', r.prior_review_decision_id,
             'superseded_by', r.superseded_by_review_decision_id, 'key_id', r.key_id,
             'decision_at', to_char(r.decision_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) order by r.created_at, r.review_decision_id)
      from cutter_governance.v_review_decision r join cutter_governance.v_manifest_envelope m on m.envelope_id = r.manifest_id
     where r.entry_id = $1), '[]'),
  'change_sets', coalesce((
    select jsonb_agg(jsonb_build_object(
             'change_set_id', c.change_set_id, 'change_kind', c.change_kind, 'review_decision_id', c.review_decision_id,
             'manifest_id', c.manifest_id, 'units', c.affected_unit_count, 'executor_signature_id', c.executor_signature_id,
             'rollback_of', c.rollback_of_change_set_id, 'rollback_reason', c.rollback_reason,
             'change_set_digest', encode(c.change_set_digest, 'hex'), 'tool_revision', c.executor_tool_revision, 'emitted_by', c.emitted_by,
             'emitted_at', to_char(c.emitted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) order by c.emitted_at, c.change_set_id)
      from cutter_governance.v_cut_change_set c where c.decision_backlog_entry_id = $1), '[]'),
  'verify_results', coalesce((
    select jsonb_agg(jsonb_build_object(
             'verify_result_id', v.verify_result_id, 'change_set_id', v.change_set_id, 'verdict', v.verdict, 'findings', v.findings::jsonb,
             'verifier', v.verified_by, 'tool_revision', v.verifier_tool_revision, 'verifier_signature_id', v.verifier_signature_id,
             'prior_verify_result_id', v.prior_verify_result_id, 'rollback_change_set_id', v.rollback_change_set_id_triggered,
             'escalation_ref', v.escalation_ref,
             'verified_at', to_char(v.verified_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) order by v.verified_at, v.verify_result_id)
      from cutter_governance.v_verify_result v
      join cutter_governance.v_cut_change_set c on c.change_set_id = v.change_set_id where c.decision_backlog_entry_id = $1), '[]'),
  'escalations', coalesce((
    select jsonb_agg(e.entry_id order by e.emitted_at, e.entry_id)
      from cutter_governance.v_decision_backlog_entry e where e.escalation_of = $1), '[]'),
  'history', coalesce((
    select jsonb_agg(jsonb_build_object(
             'seq', l.seq, 'at', to_char(l.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'from', l.from_state, 'to', l.to_state,
             'change_kind', h.change_kind, 'principal', l.principal, 'actor_class', l.actor_class, 'reason', l.reason,
             'evidence', l.evidence::jsonb, 'event_type', l.event_type, 'signed', l.signature is not null, 'hash', encode(l.hash, 'hex'))
             order by l.seq)
      from fsm.v_transition_log l
      join cutter_governance.decision_backlog_history h on h.history_id = l.log_id and h.entry_id = l.run_id
     where l.run_id = $1), '[]'))"#,
        )
        .bind(entry_id)
        .fetch_one(&self.pool)
        .await?;
        let mut detail = parts;
        detail["entry"] = serde_json::to_value(&entry).expect("an entry is plain data");
        Ok(Some(decode(detail)?))
    }

    /// The newest signature of a principal in a lane: its id and its bytes.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn lane_end(
        &self,
        lane: &str,
        principal: &str,
    ) -> Result<Option<(Uuid, Vec<u8>)>, Error> {
        Ok(sqlx::query_as(
            "select s.signature_id, s.signature from cutter_governance.v_dot_pair_signature s
              where s.signer_dot_id = $1 and s.signer_principal = $2 order by s.lane_seq desc limit 1",
        )
        .bind(lane)
        .bind(principal)
        .fetch_optional(&self.pool)
        .await?)
    }

    /// The rows of an entry's plans and decisions, in one snapshot; `None` when there is no such entry.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn plan_evidence(&self, entry_id: Uuid) -> Result<Option<PlanEvidence>, Error> {
        let mut transaction =
            self.pool.begin_with("begin isolation level repeatable read read only").await?;
        let plan = plan_evidence(&mut transaction, entry_id).await?;
        transaction.rollback().await?;
        Ok(plan)
    }

    /// The rows of an entry's plans, decisions, cuts and verdicts, and of the units they are about, in one snapshot; `None` when
    /// there is no such entry.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn cut_evidence(&self, entry_id: Uuid) -> Result<Option<CutEvidence>, Error> {
        let mut transaction =
            self.pool.begin_with("begin isolation level repeatable read read only").await?;
        let evidence = cut_evidence(&mut transaction, entry_id).await?;
        transaction.rollback().await?;
        Ok(evidence)
    }
}

async fn plan_evidence(
    connection: &mut PgConnection,
    entry_id: Uuid,
) -> Result<Option<PlanEvidence>, Error> {
    let entry = rows(
        connection,
        ENTRY,
        "select t.* from cutter_governance.v_decision_backlog_entry t where t.entry_id = $1",
        entry_id,
    )
    .await?;
    let Some(entry) = entry.into_iter().next() else { return Ok(None) };
    let document = rows(
        connection,
        "iu.source_document",
        "select t.* from iu.v_source_document t
          where t.document_id = (select e.document_id from cutter_governance.v_decision_backlog_entry e where e.entry_id = $1)",
        entry_id,
    )
    .await?;
    let source = rows(
        connection,
        "iu.source_version",
        "select t.* from iu.v_source_version t
          where t.source_version_id = (select e.source_version_id from cutter_governance.v_decision_backlog_entry e where e.entry_id = $1)",
        entry_id,
    )
    .await?;
    Ok(Some(PlanEvidence {
        entry,
        document: document.into_iter().next(),
        source: source.into_iter().next(),
        decisions: rows(
            connection,
            DECISION,
            "select t.* from cutter_governance.v_review_decision t where t.entry_id = $1 order by t.created_at, t.review_decision_id",
            entry_id,
        )
        .await?,
        envelopes: rows(
            connection,
            ENVELOPE,
            "select t.* from cutter_governance.v_manifest_envelope t where t.entry_id = $1 order by t.created_at, t.envelope_id",
            entry_id,
        )
        .await?,
        blocks: rows(
            connection,
            BLOCK,
            "select t.* from cutter_governance.v_manifest_unit_block t
              where t.envelope_id in (select e.envelope_id from cutter_governance.v_manifest_envelope e where e.entry_id = $1)
              order by t.envelope_id, t.render_order",
            entry_id,
        )
        .await?,
    }))
}

async fn cut_evidence(
    connection: &mut PgConnection,
    entry_id: Uuid,
) -> Result<Option<CutEvidence>, Error> {
    let Some(plan) = plan_evidence(connection, entry_id).await? else { return Ok(None) };
    let change_sets = rows(
        connection,
        CHANGE_SET,
        "select t.* from cutter_governance.v_cut_change_set t where t.decision_backlog_entry_id = $1 order by t.emitted_at, t.change_set_id",
        entry_id,
    )
    .await?;
    let affected = rows(
        connection,
        AFFECTED,
        "select t.* from cutter_governance.v_cut_change_set_affected_row t
          where t.change_set_id in (select c.change_set_id from cutter_governance.v_cut_change_set c where c.decision_backlog_entry_id = $1)
          order by t.change_set_id, t.render_order",
        entry_id,
    )
    .await?;
    let signatures = rows(
        connection,
        SIGNATURE,
        "with own as (
           select s.* from cutter_governance.v_dot_pair_signature s
            where s.signature_id in (select c.executor_signature_id from cutter_governance.v_cut_change_set c where c.decision_backlog_entry_id = $1)
               or s.cross_reference_change_set_id in
                    (select c.change_set_id from cutter_governance.v_cut_change_set c where c.decision_backlog_entry_id = $1))
         select own.* from own
         union
         select p.* from cutter_governance.v_dot_pair_signature p where p.signature_id in (select own.prior_signature_id from own)",
        entry_id,
    )
    .await?;
    let verify_results = rows(
        connection,
        VERIFY_RESULT,
        "select t.* from cutter_governance.v_verify_result t
          where t.change_set_id in (select c.change_set_id from cutter_governance.v_cut_change_set c where c.decision_backlog_entry_id = $1)
          order by t.verified_at, t.verify_result_id",
        entry_id,
    )
    .await?;
    let unit_ids: Vec<Uuid> =
        affected.iter().filter_map(|row| row.get("target_row_id")?.parse().ok()).collect();
    let prefix =
        plan.document.as_ref().and_then(|row| row.get("address_docprefix")).unwrap_or_default();
    let units = crate::iu::unit_evidence(connection, prefix, &unit_ids).await?;
    Ok(Some(CutEvidence { plan, change_sets, affected, signatures, verify_results, units }))
}

async fn rows(
    connection: &mut PgConnection,
    table: &'static str,
    query: &'static str,
    entry_id: Uuid,
) -> Result<Vec<EvidenceRow>, Error> {
    let rows = sqlx::query(query).bind(entry_id).fetch_all(connection).await?;
    rows.iter().map(|row| EvidenceRow::read(table, row)).collect()
}
