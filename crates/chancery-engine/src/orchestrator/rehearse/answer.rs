//! What a rehearsal asks the sovereign, and the answer: files beside the sidecar, signed like the documents of a live run.

use std::fs;
use std::path::{Path, PathBuf};

use chancery_model::envelope::Statement;
use chancery_model::kb::{Signature, signature_payload};
use chancery_store::Store;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::super::approve::{Approved, Asked};
use super::super::phase::question;
use super::super::run_id::RunId;
use super::super::sidecar::Sidecar;
use super::super::stop::Stop;
use super::super::view;
use crate::Error;
use crate::cutter::now_micros;
use crate::run::Actor;

/// The signature beside an approval that is a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    signer: String,
    key_id: Uuid,
    signature_id: Uuid,
    meaning: String,
    signed_at: i64,
    /// Hex.
    signature: String,
}

/// The approval in a file: signed by a human sovereign's live key, saying exactly what was asked.
pub(super) async fn answered(
    store: &Store,
    file: &Path,
    gate: &str,
    request: &Value,
    binding: &Value,
) -> Result<(), Stop> {
    let refused = |why: String| {
        Stop::new(
            "STOP_APPROVAL_REFUSED",
            why,
            "let the sovereign approve with `cutter orchestrate approve`",
        )
    };
    let body = fs::read_to_string(file)
        .map_err(|error| refused(format!("{} can't be read: {error}", file.display())))?;
    let said =
        json_block(&body).ok_or_else(|| refused("the approval holds no facts".to_owned()))?;
    let mut expected = binding.as_object().cloned().unwrap_or_default();
    for field in ["approval_id", "nonce", "expires_at"] {
        expected.insert(field.to_owned(), request[field].clone());
    }
    expected.insert("authorizes".to_owned(), json!(true));
    let differs: Vec<&str> = expected
        .iter()
        .filter(|(name, value)| said[name.as_str()] != **value)
        .map(|(name, _)| name.as_str())
        .collect();
    if !differs.is_empty() {
        return Err(refused(format!("the approval differs in {}", differs.join(", "))));
    }
    if request["expires_at"].as_i64().is_none_or(|at| at <= now_micros()) {
        return Err(refused("the approval differs in expires_at: it is over".to_owned()));
    }
    let signed: Signed = fs::read_to_string(signature_file(file))
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .ok_or_else(|| refused("the approval differs in signature: there is none".to_owned()))?;
    let principals = store.principals().await.map_err(Error::from)?;
    let sovereign = principals.iter().any(|p| {
        p.name == signed.signer
            && p.active
            && p.kind == "human"
            && p.actor_classes.iter().any(|class| class == "sovereign")
    });
    let keys = store.signing_keys().await.map_err(Error::from)?;
    let key = keys.iter().find(|key| {
        key.key_id == signed.key_id && key.principal == signed.signer && key.revoked_at.is_none()
    });
    let payload = payload(file, &body, &signed);
    let good = key.and_then(|key| hex::decode(&key.public_key).ok()).is_some_and(|key| {
        let bytes = hex::decode(&signed.signature).unwrap_or_default();
        Statement::kb(payload).is_signed_by(&key, &bytes)
    });
    if !good || !sovereign || signed.meaning != gate {
        return Err(refused(format!(
            "the approval differs in signature: {} did not sign it for {gate}",
            signed.signer
        )));
    }
    Ok(())
}

/// What a rehearsal asks the sovereign.
///
/// # Errors
/// When it asks nothing, or its request is gone.
pub fn rehearsal_asks(root: &Path, run_id: RunId) -> Result<Asked, Stop> {
    let run = super::super::sidecar::read(root, run_id)?;
    let gate = question(&run.state).ok_or_else(|| {
        Stop::new(
            "STOP_NOTHING_ASKED",
            format!("the rehearsal is {}", run.state),
            "see `cutter orchestrate list`",
        )
    })?;
    let request = read_file_request(
        &super::super::sidecar::Folder::of(root, run_id).path().join(request_name(gate)),
    )?;
    Ok(Asked {
        run_id: run_id.to_string(),
        document_id: run.document_id,
        state: run.state,
        gate: gate.to_owned(),
        approval_id: request["approval_id"]
            .as_str()
            .and_then(|id| id.parse().ok())
            .unwrap_or_default(),
        asks: answer(&request),
    })
}

/// The sovereign signs what a rehearsal asks: a file, and its signature beside it.
///
/// # Errors
/// When it asks nothing, or the files cannot be written.
pub fn approve_rehearsal(
    root: &Path,
    run_id: RunId,
    actor: &Actor,
    rationale: Option<&str>,
) -> Result<Approved, Stop> {
    let asked = rehearsal_asks(root, run_id)?;
    let Some(own) = actor.key.as_ref() else {
        return Err(Stop::new(
            "STOP_KEY",
            format!("{} has no key here", actor.principal),
            "make one: `chancery key new NAME`",
        ));
    };
    let folder = super::super::sidecar::Folder::of(root, run_id);
    let file = folder.path().join(approval_name(&asked.gate));
    let facts = serde_json::to_string_pretty(&asked.asks).expect("facts are plain data");
    let body = format!(
        "# Approval: {}\n\n{} authorizes what is asked below, in a rehearsal, and nothing else.{}\n\n```json\n{facts}\n```\n",
        asked.gate,
        actor.principal,
        rationale.map_or_else(String::new, |why| format!(" {why}"))
    );
    let mut signed = Signed {
        signer: actor.principal.clone(),
        key_id: own.key_id,
        signature_id: Uuid::now_v7(),
        meaning: asked.gate.clone(),
        signed_at: now_micros(),
        signature: String::new(),
    };
    let statement = Statement::kb(payload(&file, &body, &signed));
    signed.signature =
        actor.sign_statement(&statement)?.map(|s| hex::encode(s.signature)).unwrap_or_default();
    view::write_file(&file, body.as_bytes())?;
    let text = serde_json::to_string_pretty(&signed).expect("a signature is plain data");
    view::write_file(&signature_file(&file), text.as_bytes())?;
    Ok(Approved {
        run_id: asked.run_id,
        approval_kb_id: approval_name(&asked.gate),
        approval_id: asked.approval_id,
        gate: asked.gate,
        state: "approved".to_owned(),
    })
}

fn payload(file: &Path, body: &str, signed: &Signed) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let sha256: [u8; 32] = Sha256::digest(body.as_bytes()).into();
    signature_payload(&Signature {
        signature_id: signed.signature_id,
        path: &name,
        revision: 1,
        sha256: &sha256,
        meaning: &signed.meaning,
        principal: &signed.signer,
        key_id: signed.key_id,
        signed_at: signed.signed_at,
    })
}

fn signature_file(file: &Path) -> PathBuf {
    file.with_extension("sig.json")
}

fn request_name(gate: &str) -> &'static str {
    if gate == "SG_cut_authz" {
        "sg1-cut-authz-request.md"
    } else {
        "sg2-lifecycle-authz-request.md"
    }
}

pub(super) fn approval_name(gate: &str) -> String {
    let name = if gate == "SG_cut_authz" {
        "sg1-cut-authz-approval.md"
    } else {
        "sg2-lifecycle-authz-approval.md"
    };
    name.to_owned()
}

pub(super) fn read_request(sidecar: &Sidecar, gate: &str) -> Result<Value, Stop> {
    read_file_request(&sidecar.folder().path().join(request_name(gate)))
}

fn read_file_request(file: &Path) -> Result<Value, Stop> {
    let body =
        fs::read_to_string(file).map_err(|source| Error::File { path: file.to_owned(), source })?;
    json_block(&body).ok_or_else(|| {
        Stop::new(
            "STOP_SIDECAR_CORRUPT",
            format!("{} holds no facts", file.display()),
            "start another rehearsal",
        )
    })
}

/// What is to be signed: the binding of the request, without what is only there to be read.
fn answer(request: &Value) -> Value {
    let read_only =
        ["sidecar_path", "region_sha", "candidate_count", "backup_sha", "grants_probe_snapshot"];
    let mut facts = request.as_object().cloned().unwrap_or_default();
    facts.retain(|name, _| !read_only.contains(&name.as_str()));
    facts.insert("authorizes".to_owned(), json!(true));
    Value::Object(facts)
}

fn json_block(body: &str) -> Option<Value> {
    let start = body.find("```json\n")? + "```json\n".len();
    let end = start + body[start..].find("\n```")?;
    serde_json::from_str(&body[start..end]).ok()
}
