//! The runner's signature under every document of its run.
//!
//! A document is written by the door of its gate, in the transaction of the move; what the door adds to it is known only afterwards. So the
//! signature follows the move, and whoever goes on with a run that was killed between the two puts it there.

use std::collections::HashSet;

use chancery_model::envelope::Statement;
use chancery_model::evidence::artefact_digest;
use chancery_model::kb::{Signature, signature_payload};
use chancery_store::Store;
use chancery_store::kb::Sign;
use chancery_store::orchestrator::RunMove;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::Error;
use crate::run::Actor;

/// What the signature says: the runner saw this document when the run went on.
const MEANING: &str = "receipt";

/// A document of the run that no runner signed yet.
pub(super) struct Unsigned {
    path: String,
    revision: i32,
    body: String,
}

/// What the moves of a run wrote and no runner signed yet. `seen` are the documents that were looked at before. A run that is over is left
/// as it is, unless it is one whose documents are signed: then its runner was killed before the last of them was.
pub(super) async fn unsigned_documents(
    store: &Store,
    moves: &[RunMove],
    is_over: bool,
    seen: &mut HashSet<(String, i32)>,
) -> Result<Vec<Unsigned>, Error> {
    let mut named = Vec::new();
    for one in moves {
        named.extend(documents(one));
        named.extend(report(store, one).await?);
    }
    let mut unsigned = Vec::new();
    // A run that failed at its first gate has nothing but its report.
    let mut any_signed = !is_over || !seen.is_empty() || named.len() == 1;
    for (path, revision) in named {
        if !seen.insert((path.clone(), revision)) {
            continue;
        }
        let signatures = store.kb_signatures(&path).await?;
        if signatures.iter().any(|s| s.revision == revision && s.meaning == MEANING) {
            any_signed = true;
            continue;
        }
        // What is not there is the audit's to name; here nothing rests on it.
        let Some(body) = store.kb_body(&path, revision).await? else { continue };
        unsigned.push(Unsigned { path, revision, body });
    }
    Ok(if any_signed { unsigned } else { Vec::new() })
}

/// The documents that a move names.
fn documents(one: &RunMove) -> Vec<(String, i32)> {
    let text = |name: &str| one.evidence[name].as_str().map(str::to_owned);
    let number = |name: &str| one.evidence[name].as_i64().and_then(|n| i32::try_from(n).ok());
    let named = [("kb_doc_id", "kb_revision"), ("index_kb_id", "index_kb_revision")];
    named.into_iter().filter_map(|(path, revision)| text(path).zip(number(revision))).collect()
}

/// The stop-route report that a halt wrote. The evidence of a sovereign's stop was signed before the report had a number, so there the
/// revision is the one that the digest of the move is over; one that somebody put beside it is not signed.
async fn report(store: &Store, one: &RunMove) -> Result<Option<(String, i32)>, Error> {
    let Some(path) = one.evidence["report_kb_id"].as_str() else { return Ok(None) };
    if let Some(number) = one.evidence["kb_revision"].as_i64() {
        return Ok(i32::try_from(number).ok().map(|number| (path.to_owned(), number)));
    }
    let written = store.kb_row_digests(path).await?.into_iter().find(|(_, digest)| {
        let digest = <[u8; 32]>::try_from(digest.as_slice()).ok();
        let of_the_move = digest.map(|digest| hex::encode(artefact_digest(&[digest])));
        of_the_move.is_some() && of_the_move == one.artefact_digest
    });
    Ok(written.map(|(revision, _)| (path.to_owned(), revision)))
}

/// Puts the runner's signature under a document.
pub(super) async fn sign(store: &Store, actor: &Actor, document: Unsigned) -> Result<(), Error> {
    let Unsigned { path, revision, body } = document;
    let sha256: [u8; 32] = Sha256::digest(body.as_bytes()).into();
    let (signature_id, signed_at) = (Uuid::now_v7(), actor.signing_time());
    let payload = signature_payload(&Signature {
        signature_id,
        path: &path,
        revision,
        sha256: &sha256,
        meaning: MEANING,
        principal: &actor.principal,
        key_id: actor.key_id().unwrap_or_default(),
        signed_at,
    });
    let sign = Sign {
        signature_id,
        path,
        revision,
        meaning: MEANING.to_owned(),
        principal: actor.principal.clone(),
        actor_class: "executor_dot991".to_owned(),
        signed_at,
        signed: actor.sign_statement(&Statement::kb(payload.clone()))?,
        payload,
    };
    store.fn_kb_sign(&sign).await?;
    Ok(())
}
