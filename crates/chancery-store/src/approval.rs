//! Requests for approval and the votes on them. Each function has the name of the door it calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::evidence::EvidenceRow;
use crate::fsm::{Signed, decode};
use crate::{Error, Store};

/// A request as it stands; the parameter is the format of times.
macro_rules! approval {
    ($iso:literal, $rest:literal) => {
        concat!(
            "select v.report || jsonb_build_object(
                      'subject_digest', encode(r.subject_digest, 'hex'), 'facts', r.facts::jsonb,
                      'requested_at', to_char(r.requested_at at time zone 'UTC', ", $iso, "),
                      'expires_at', to_char(r.expires_at at time zone 'UTC', ", $iso, "),
                      'used', (select jsonb_build_object(
                                 'used_for_kind', u.used_for_kind, 'used_for_ref', u.used_for_ref, 'used_by', u.used_by,
                                 'used_at', to_char(u.used_at at time zone 'UTC', ", $iso, "))
                                 from approval.v_approval_use u where u.approval_id = r.approval_id))
               from approval.v_approval_request r join approval.v_approval v using (approval_id)",
            $rest
        )
    };
}

mod pages;

pub use pages::{ApprovalPage, VoteAction};

/// A request that is to be made.
#[derive(Debug, Clone)]
pub struct Request {
    pub approval_id: Uuid,
    pub kind: String,
    pub subject_ref: String,
    pub subject_digest: Option<Vec<u8>>,
    /// `low`, `medium` or `high`.
    pub risk: String,
    pub title: String,
    pub facts: Value,
    /// Microseconds since 1970.
    pub expires_at: i64,
    pub principal: String,
    pub actor_class: String,
    /// Microseconds since 1970.
    pub signed_at: i64,
    pub payload: String,
    /// Without a key the door says what is missing.
    pub signed: Option<Signed>,
}

/// A vote that is to be cast.
#[derive(Debug, Clone)]
pub struct Vote {
    pub vote_id: Uuid,
    pub approval_id: Uuid,
    /// `approve`, `reject` or `abstain`.
    pub decision: String,
    pub rationale: Option<String>,
    pub principal: String,
    pub actor_class: String,
    /// Microseconds since 1970.
    pub signed_at: i64,
    pub payload: String,
    /// Without a key the door says what is missing.
    pub signed: Option<Signed>,
}

/// How the newest votes stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub sovereigns: i64,
    pub reviewers: i64,
    pub approvals: i64,
    pub rejects: i64,
}

/// What an approval needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quorum {
    pub sovereigns: i64,
    pub reviewers: i64,
    pub approvals: i64,
    pub rejects_allowed: i64,
}

/// What a door answers about a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalReport {
    pub approval_id: Uuid,
    pub kind: String,
    pub subject_kind: String,
    pub subject_ref: String,
    pub risk: String,
    pub title: String,
    pub proposer: String,
    /// `pending`, `approved`, `rejected`, `expired` or `used`.
    pub state: String,
    pub tally: Tally,
    pub quorum: Quorum,
    /// Hex; what a vote is about.
    pub request_digest: String,
    /// Microseconds since 1970.
    pub expires_at: i64,
    /// Done before; nothing was done twice.
    #[serde(default)]
    pub replayed: bool,
}

/// A request as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRow {
    pub approval_id: Uuid,
    pub kind: String,
    pub subject_kind: String,
    pub subject_ref: String,
    /// Hex.
    pub subject_digest: Option<String>,
    pub risk: String,
    pub title: String,
    pub facts: Value,
    pub proposer: String,
    pub state: String,
    pub tally: Tally,
    pub quorum: Quorum,
    pub requested_at: String,
    pub expires_at: String,
    /// Hex.
    pub request_digest: String,
    /// What it was used for.
    pub used: Option<Used>,
}

/// What an approval was used for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    pub used_for_kind: String,
    pub used_for_ref: String,
    pub used_by: String,
    pub used_at: String,
}

/// A vote as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoteRow {
    pub vote_id: Uuid,
    pub voter: String,
    pub vote_seq: i32,
    pub decision: String,
    pub rationale: Option<String>,
    /// `sovereign`, `reviewer` or `other`.
    pub counted_as: String,
    pub key_id: Uuid,
    pub vote_payload: String,
    /// Hex.
    pub signature: String,
    /// Microseconds since 1970.
    pub signed_at_micros: i64,
    pub voted_at: String,
    /// Whether it is the newest of its voter, so the one that counts.
    pub counts: bool,
}

/// What can be approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalKind {
    pub kind: String,
    /// The least risk that a request may name.
    pub risk: String,
    pub subject_kind: String,
    pub max_ttl_seconds: i32,
    pub description: String,
}

/// Which requests to list.
#[derive(Debug, Clone, Default)]
pub struct ApprovalFilter {
    pub approval_id: Option<Uuid>,
    pub state: Option<String>,
    pub subject_ref: Option<String>,
    pub limit: i64,
}

impl Store {
    /// Asks for an approval.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_approval_request(&self, request: &Request) -> Result<ApprovalReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select approval.fn_approval_request($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        )
        .bind(request.approval_id)
        .bind(&request.kind)
        .bind(&request.subject_ref)
        .bind(&request.subject_digest)
        .bind(&request.risk)
        .bind(&request.title)
        .bind(&request.facts)
        .bind(request.expires_at)
        .bind(&request.principal)
        .bind(&request.actor_class)
        .bind(request.signed.as_ref().map(|s| s.key_id))
        .bind(request.signed_at)
        .bind(&request.payload)
        .bind(request.signed.as_ref().map(|s| &s.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// Votes on a request.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_approval_vote(&self, vote: &Vote) -> Result<ApprovalReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select approval.fn_approval_vote($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(vote.vote_id)
        .bind(vote.approval_id)
        .bind(&vote.decision)
        .bind(&vote.rationale)
        .bind(&vote.principal)
        .bind(&vote.actor_class)
        .bind(vote.signed.as_ref().map(|s| s.key_id))
        .bind(vote.signed_at)
        .bind(&vote.payload)
        .bind(vote.signed.as_ref().map(|s| &s.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// What can be approved.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn approval_kinds(&self) -> Result<Vec<ApprovalKind>, Error> {
        let all: Value = sqlx::query_scalar(
            "select coalesce(jsonb_agg(to_jsonb(k) order by k.kind), '[]') from approval.v_approval_kind k",
        )
        .fetch_one(&self.pool)
        .await?;
        decode(all)
    }

    /// Requests, newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<ApprovalRow>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(approval!(
            "$5",
            " where ($1::uuid is null or r.approval_id = $1) and ($3::text is null or r.subject_ref = $3)
                and ($2::text is null or v.report ->> 'state' = $2)
              order by r.requested_at desc, r.approval_id limit $4"
        ))
        .bind(filter.approval_id)
        .bind(&filter.state)
        .bind(&filter.subject_ref)
        .bind(filter.limit)
        .bind(crate::fsm::ISO)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// A request as it stands.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn approval(&self, approval_id: Uuid) -> Result<Option<ApprovalRow>, Error> {
        let filter = ApprovalFilter {
            approval_id: Some(approval_id),
            limit: 1,
            ..ApprovalFilter::default()
        };
        Ok(self.approvals(&filter).await?.pop())
    }

    /// The row of a request, every column.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn approval_request_row(
        &self,
        approval_id: Uuid,
    ) -> Result<Option<EvidenceRow>, Error> {
        let row = sqlx::query("select * from approval.v_approval_request where approval_id = $1")
            .bind(approval_id)
            .fetch_optional(&self.pool)
            .await?;
        row.map(|row| EvidenceRow::read("approval.approval_request", &row)).transpose()
    }

    /// The votes on a request, in the order in which they were cast.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn votes(&self, approval_id: Uuid) -> Result<Vec<VoteRow>, Error> {
        let all: Value = sqlx::query_scalar(
            "select coalesce(jsonb_agg(jsonb_build_object(
                      'vote_id', v.vote_id, 'voter', v.voter, 'vote_seq', v.vote_seq, 'decision', v.decision, 'rationale', v.rationale,
                      'counted_as', v.counted_as, 'key_id', v.key_id, 'vote_payload', v.vote_payload, 'signature', encode(v.signature, 'hex'),
                      'signed_at_micros', (extract(epoch from v.signed_at) * 1000000)::bigint,
                      'voted_at', to_char(v.voted_at at time zone 'UTC', $2),
                      'counts', not exists (select from approval.v_approval_vote n
                                             where n.approval_id = v.approval_id and n.voter = v.voter and n.vote_seq > v.vote_seq))
                    order by v.voted_at, v.vote_id), '[]')
               from approval.v_approval_vote v where v.approval_id = $1",
        )
        .bind(approval_id)
        .bind(crate::fsm::ISO)
        .fetch_one(&self.pool)
        .await?;
        decode(all)
    }
}
