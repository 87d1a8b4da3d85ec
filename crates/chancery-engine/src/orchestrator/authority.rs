//! The sovereign's word: asked for by the runner, given by the sovereign, checked by the runner before it acts.

use std::time::Duration;

use chancery_model::canonical;
use chancery_model::cutter::derived_uuid;
use chancery_model::envelope::{Domain, Statement};
use chancery_model::kb::{Signature, signature_payload_of};
use chancery_store::Store;
use chancery_store::approval::{ApprovalFilter, ApprovalRow};
use chancery_store::orchestrator::RunRow;
use rand::RngCore as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::phase::approval_kind;
use super::stop::Stop;
use crate::approval::{NewRequest, request};
use crate::run::Actor;
use crate::{Error, kb};

/// How long a gate waits, when the settings do not say.
const TTL: u64 = 259_200;

/// What the sovereign is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// `SG_…`.
    pub gate: String,
    pub approval: ApprovalRow,
    /// Microseconds since 1970.
    pub expires_at: i64,
}

/// The request that waits for the sovereign, made anew when there is none that can still be answered.
pub(super) async fn ask(
    store: &Store,
    actor: &Actor,
    run: &RunRow,
    gate: &str,
) -> Result<Question, Error> {
    if let Some(waiting) = waiting(store, run, gate).await? {
        return Ok(waiting);
    }
    let made = requests(store, run, gate).await?.len();
    let binding = store.fn_gate_preview(run.run_id, gate, &json!({})).await?.binding;
    let mut facts = binding.unwrap_or_else(|| json!({}));
    let mut nonce = [0_u8; 16];
    rand::thread_rng().fill_bytes(&mut nonce);
    facts["nonce"] = json!(hex::encode(nonce));
    let ttl = store.setting("orchestrator.approval_ttl_seconds").await?;
    let ttl = ttl.as_ref().and_then(Value::as_u64).unwrap_or(TTL);
    let new = NewRequest {
        approval_id: Some(derived_uuid(run.run_id, &format!("approval,{gate},{}", made + 1))),
        kind: approval_kind(gate).to_owned(),
        subject_ref: run.run_name.clone(),
        subject_digest: Some(canonical::sha256(&facts).to_vec()),
        risk: None,
        title: format!("{gate} of {}", run.run_name),
        facts,
        expires_in: Duration::from_secs(ttl),
    };
    request(store, actor, "executor_dot991", &new).await?;
    waiting(store, run, gate).await?.ok_or_else(|| {
        Error::Ambiguous(format!("the request for {gate} was made and cannot be answered"))
    })
}

async fn requests(store: &Store, run: &RunRow, gate: &str) -> Result<Vec<ApprovalRow>, Error> {
    let filter = ApprovalFilter {
        subject_ref: Some(run.run_name.clone()),
        limit: 1000,
        ..Default::default()
    };
    let mut all = store.approvals(&filter).await?;
    all.retain(|row| row.kind == approval_kind(gate));
    all.sort_by(|a, b| a.requested_at.cmp(&b.requested_at));
    Ok(all)
}

/// The newest request for this gate that is neither used, rejected nor expired, and asks about the run as it stands now.
pub(super) async fn waiting(
    store: &Store,
    run: &RunRow,
    gate: &str,
) -> Result<Option<Question>, Error> {
    let Some(approval) = requests(store, run, gate).await?.pop() else { return Ok(None) };
    if !matches!(approval.state.as_str(), "pending" | "approved" | "rejected") {
        return Ok(None);
    }
    let preview = store.fn_gate_preview(run.run_id, gate, &json!({})).await?;
    let binding = preview.binding.unwrap_or_default();
    let stale = binding
        .as_object()
        .is_some_and(|fields| fields.iter().any(|(name, value)| approval.facts[name] != *value));
    if stale {
        return Ok(None);
    }
    let row = store.approval_request_row(approval.approval_id).await?;
    let expires_at = row.and_then(|row| row.number("expires_at")).unwrap_or_default();
    Ok(Some(Question { gate: gate.to_owned(), approval, expires_at }))
}

/// What an approval says: everything that was asked, and that it is authorized.
pub(super) fn answer(question: &Question) -> Value {
    let mut said = question.approval.facts.clone();
    said["approval_id"] = json!(question.approval.approval_id);
    said["expires_at"] = json!(question.expires_at);
    said["authorizes"] = json!(true);
    said
}

/// The executor's own look at an approval: the signatures under the document and on the vote are good, and it says what was asked. Who
/// may sign is the database's to check, and it looks at all of it again.
pub(super) async fn check(store: &Store, question: &Question, path: &str) -> Result<(), Stop> {
    let refused = |why: String| {
        Stop::new(
            "STOP_APPROVAL_REFUSED",
            why,
            format!(
                "let the sovereign approve: `cutter orchestrate approve --run-id {}`",
                question.approval.subject_ref
            ),
        )
    };
    let Some(document) = kb::get(store, path, None).await? else {
        return Err(refused(format!("there is no document {path}")));
    };
    let keys = store.signing_keys().await.map_err(Error::from)?;
    let public_key = |key_id, principal: &str| {
        let key = keys.iter().find(|key| key.key_id == key_id && key.principal == principal)?;
        hex::decode(&key.public_key).ok()
    };
    let sha256: [u8; 32] = Sha256::digest(document.body.as_bytes()).into();
    let mut asked = document.signed.iter().filter(|s| s.meaning == question.gate).peekable();
    if asked.peek().is_none() {
        let meanings: Vec<&str> = document.signed.iter().map(|s| s.meaning.as_str()).collect();
        let other = if meanings.is_empty() {
            String::new()
        } else {
            format!(", but for {}", meanings.join(", "))
        };
        return Err(refused(format!("{path} is not signed for {}{other}", question.gate)));
    }
    // Every one of them: a good signature of somebody must not hide a bad one of the sovereign.
    for signature in asked {
        let signed_at = serde_json::from_str::<Value>(&signature.signature_payload)
            .ok()
            .and_then(|payload| payload["signed_at"].as_i64())
            .unwrap_or_default();
        // It may be older than this release.
        let version = Domain::Kb.version_of(&signature.signature_payload).unwrap_or_default();
        let expected = signature_payload_of(
            version,
            &Signature {
                signature_id: signature.signature_id,
                path,
                revision: document.revision.revision,
                sha256: &sha256,
                meaning: &signature.meaning,
                principal: &signature.signer,
                key_id: signature.key_id,
                signed_at,
            },
        );
        let bytes = hex::decode(&signature.signature).unwrap_or_default();
        let statement = expected.and_then(|text| Statement::stored(Domain::Kb, &text).ok());
        let good = public_key(signature.key_id, &signature.signer)
            .zip(statement)
            .is_some_and(|(key, statement)| statement.is_signed_by(&key, &bytes));
        if !good {
            return Err(refused(format!(
                "the signature of {} under {path} is not good",
                signature.signer
            )));
        }
    }
    // The database looks as well, when the phase is done; here nothing has begun yet.
    let said = json_block(&document.body).unwrap_or_default();
    let asked = answer(question);
    let differs: Vec<&str> = asked
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| said[name.as_str()] != **value)
        .map(|(name, _)| name.as_str())
        .collect();
    if let Some(expired) = expired(store, question, &said).await? {
        return Err(refused(format!(
            "the approval {} expired at {} before it was used, and the run asks again",
            expired.approval_id, expired.expires_at
        )));
    }
    if !differs.is_empty() {
        return Err(refused(format!("the approval differs in {}", differs.join(", "))));
    }
    for vote in store.votes(question.approval.approval_id).await.map_err(Error::from)? {
        let bytes = hex::decode(&vote.signature).unwrap_or_default();
        let statement = Statement::stored(Domain::Approval, &vote.vote_payload).ok();
        let good = public_key(vote.key_id, &vote.voter)
            .zip(statement)
            .is_some_and(|(key, statement)| statement.is_signed_by(&key, &bytes));
        if vote.counts && vote.decision == "approve" && !good {
            return Err(refused(format!("the vote of {} is not signed by them", vote.voter)));
        }
    }
    Ok(())
}

/// The request that a document answers, when it is an older one of this run that expired.
async fn expired(
    store: &Store,
    question: &Question,
    said: &Value,
) -> Result<Option<ApprovalRow>, Error> {
    if said["approval_id"] == json!(question.approval.approval_id) {
        return Ok(None);
    }
    let filter = ApprovalFilter {
        subject_ref: Some(question.approval.subject_ref.clone()),
        limit: 1000,
        ..Default::default()
    };
    let all = store.approvals(&filter).await?;
    Ok(all
        .into_iter()
        .find(|row| said["approval_id"] == json!(row.approval_id) && row.state == "expired"))
}

/// The request for this gate that nobody answered in time, when that was the last one.
pub(super) async fn expired_request(
    store: &Store,
    run: &RunRow,
    gate: &str,
) -> Result<Option<ApprovalRow>, Error> {
    Ok(requests(store, run, gate).await?.pop().filter(|row| row.state == "expired"))
}

/// The facts of a document: its first fenced block.
fn json_block(body: &str) -> Option<Value> {
    let (_, rest) = body.split_once("```json\n")?;
    let (block, _) = rest.split_once("\n```")?;
    serde_json::from_str(block).ok()
}
