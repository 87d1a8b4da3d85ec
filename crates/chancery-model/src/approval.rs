//! The texts that proposers and voters sign.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::canonical;

/// What somebody asks others to approve.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub approval_id: Uuid,
    pub kind: &'a str,
    /// What kind of thing the subject is; the kind of approval says so.
    pub subject_kind: &'a str,
    pub subject_ref: &'a str,
    /// Pins the subject as it was when it was asked about.
    pub subject_digest: Option<&'a [u8]>,
    pub risk: &'a str,
    pub title: &'a str,
    /// An object.
    pub facts: &'a Value,
    /// Microseconds since 1970.
    pub expires_at: i64,
    pub principal: &'a str,
    pub key_id: Uuid,
    /// Microseconds since 1970.
    pub signed_at: i64,
}

/// The canonical text that a proposer signs: what exactly is to be approved, under which risk, until when.
pub fn request_payload(request: &Request<'_>) -> String {
    request_v1(request)
}

/// The text that a proposer signed under a version, or nothing for one that this release does not know.
pub fn request_payload_of(version: u16, request: &Request<'_>) -> Option<String> {
    (version == 1).then(|| request_v1(request))
}

fn request_v1(request: &Request<'_>) -> String {
    canonical::to_string(&json!({
        "domain": "chancery.approval.v1",
        "meaning": "approval requested",
        "approval_id": request.approval_id,
        "kind": request.kind,
        "subject_kind": request.subject_kind,
        "subject_ref": request.subject_ref,
        "subject_digest": request.subject_digest.map(hex::encode),
        "risk": request.risk,
        "title": request.title,
        "facts": request.facts,
        "expires_at": request.expires_at,
        "principal": request.principal,
        "key_id": request.key_id,
        "signed_at": request.signed_at,
    }))
}

/// How somebody votes on a request.
#[derive(Debug, Clone, Copy)]
pub struct Vote<'a> {
    pub vote_id: Uuid,
    pub approval_id: Uuid,
    /// The digest of the request's row: a vote is good for exactly what was asked.
    pub request_digest: &'a [u8],
    /// `approve`, `reject` or `abstain`.
    pub decision: &'a str,
    pub rationale: Option<&'a str>,
    pub principal: &'a str,
    /// What the voter votes as; it decides what the vote counts for.
    pub actor_class: &'a str,
    pub key_id: Uuid,
    /// Microseconds since 1970.
    pub signed_at: i64,
}

/// The canonical text that a voter signs: how they vote on exactly this request.
pub fn vote_payload(vote: &Vote<'_>) -> String {
    vote_v1(vote)
}

/// The text that a voter signed under a version, or nothing for one that this release does not know.
pub fn vote_payload_of(version: u16, vote: &Vote<'_>) -> Option<String> {
    (version == 1).then(|| vote_v1(vote))
}

fn vote_v1(vote: &Vote<'_>) -> String {
    canonical::to_string(&json!({
        "domain": "chancery.approval.v1",
        "meaning": format!("vote: {}", vote.decision),
        "vote_id": vote.vote_id,
        "approval_id": vote.approval_id,
        "request_digest": hex::encode(vote.request_digest),
        "decision": vote.decision,
        "rationale": vote.rationale,
        "principal": vote.principal,
        "actor_class": vote.actor_class,
        "key_id": vote.key_id,
        "signed_at": vote.signed_at,
    }))
}

/// What a signed vote counts as: only a person is a sovereign, and one voter has one part.
pub fn counted_as(actor_class: &str, principal_kind: &str) -> &'static str {
    match actor_class {
        "sovereign" if principal_kind == "human" => "sovereign",
        "reviewer" | "review_authority" => "reviewer",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_no_sovereign() {
        assert_eq!(counted_as("sovereign", "human"), "sovereign");
        assert_eq!(counted_as("sovereign", "service"), "other");
        assert_eq!(counted_as("review_authority", "agent"), "reviewer");
        assert_eq!(counted_as("pic_human", "human"), "other");
    }

    #[test]
    fn a_vote_is_about_one_request_as_it_stands() {
        let vote = Vote {
            vote_id: Uuid::nil(),
            approval_id: Uuid::nil(),
            request_digest: &[1; 32],
            decision: "approve",
            rationale: None,
            principal: "sam",
            actor_class: "sovereign",
            key_id: Uuid::nil(),
            signed_at: 1_700_000_000_123_456,
        };
        let text = vote_payload(&vote);
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["meaning"], "vote: approve");
        assert_eq!(value["rationale"], Value::Null);
        assert_eq!(canonical::to_string(&value), text);
        assert_ne!(vote_payload(&Vote { request_digest: &[2; 32], ..vote }), text);
        assert_ne!(vote_payload(&Vote { actor_class: "reviewer", ..vote }), text);
    }
}
