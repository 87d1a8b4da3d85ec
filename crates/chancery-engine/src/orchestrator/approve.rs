//! The sovereign's own command: one document, one vote, one decision, in one transaction, signed with the sovereign's key.

use chancery_model::cutter::{Decision, decision_payload};
use chancery_model::envelope::Statement;
use chancery_model::kb::{Signature, signature_payload};
use chancery_store::cutter::{LifecycleReview, Review};
use chancery_store::kb::{Put, Sign};
use chancery_store::orchestrator::RunRow;
use chancery_store::{Role, Store, Target};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::authority::{self, Question};
use super::document::{self, approval_path};
use super::phase::question;
use super::plan::Ids;
use super::stop::Stop;
use crate::Error;
use crate::approval::{self, Decision as Vote};
use crate::cutter::{DecisionIds, ReviewRequest, Verdict, plan, sign_review};
use crate::run::Actor;

/// What the sovereign would sign.
#[derive(Debug, Clone, Serialize)]
pub struct Asked {
    pub run_id: String,
    pub document_id: String,
    pub state: String,
    pub gate: String,
    pub approval_id: Uuid,
    pub asks: Value,
}

/// An approval that stands.
#[derive(Debug, Clone, Serialize)]
pub struct Approved {
    pub run_id: String,
    pub gate: String,
    pub approval_id: Uuid,
    pub approval_kb_id: String,
    /// Where the request stands now; a larger quorum may need more votes.
    pub state: String,
}

/// What a run waits for.
///
/// # Errors
/// `STOP_NOTHING_ASKED` when it waits for nobody.
pub async fn asked(store: &Store, run: &RunRow) -> Result<(Asked, Question), Stop> {
    let nothing = || {
        Stop::new(
            "STOP_NOTHING_ASKED",
            format!("run {} is {} and asks nothing of the sovereign", run.run_name, run.state),
            format!(
                "see `cutter orchestrate status --run-id {}`; a stopped run asks when it is resumed",
                run.run_name
            ),
        )
    };
    let gate = question(&run.state).ok_or_else(nothing)?;
    let Some(question) = authority::waiting(store, run, gate).await? else {
        return Err(match authority::expired_request(store, run, gate).await? {
            None => nothing(),
            Some(expired) => Stop::new(
                "STOP_NOTHING_ASKED",
                format!(
                    "what run {} asked for {gate} expired at {}",
                    run.run_name, expired.expires_at
                ),
                format!("let it ask again: `cutter orchestrate resume --run-id {}`", run.run_name),
            ),
        });
    };
    let asked = Asked {
        run_id: run.run_name.clone(),
        document_id: run.document_id.clone(),
        state: run.state.clone(),
        gate: gate.to_owned(),
        approval_id: question.approval.approval_id,
        asks: authority::answer(&question),
    };
    Ok((asked, question))
}

/// Signs what a run asks for. Repeating it changes nothing.
///
/// # Errors
/// The database's refusal; then nothing changed.
pub async fn approve(
    target: &Target,
    store: &Store,
    actor: &Actor,
    run: &RunRow,
    rationale: Option<&str>,
) -> Result<Approved, Stop> {
    let (asked, question) = asked(store, run).await?;
    let path = approval_path(&run.run_name, &asked.gate, run.seq);
    let words = format!(
        "{} authorizes what is asked below, and nothing else, with the key {}.{}",
        actor.principal,
        // A new key is a new text: the signature of a revoked one stays under the old one.
        actor.key_id().unwrap_or_default(),
        rationale.map_or_else(String::new, |why| format!(" {why}"))
    );
    let title = format!("Approval: {}", asked.gate);
    let body = document::page(&title, run, &words, &authority::answer(&question));
    let decision = decide(store, actor, run, &asked.gate, rationale).await?;
    let open = Store::begin(target, Role::CutterReview).await.map_err(Error::from)?;
    let written = write(&open, actor, &asked, &path, &body, rationale, &decision).await;
    match written {
        Ok(state) => {
            open.commit().await.map_err(Error::from)?;
            Ok(Approved {
                run_id: asked.run_id,
                gate: asked.gate,
                approval_id: asked.approval_id,
                approval_kb_id: path,
                state,
            })
        }
        Err(error) => {
            open.roll_back().await;
            Err(Stop::from(error).of_run(&run.run_name))
        }
    }
}

/// The decision that comes with an approval.
enum Deciding {
    Cut(Box<Review>),
    Lifecycle(Box<LifecycleReview>),
    /// It stands already, or the question needs none.
    Nothing,
}

async fn decide(
    store: &Store,
    actor: &Actor,
    run: &RunRow,
    gate: &str,
    rationale: Option<&str>,
) -> Result<Deciding, Error> {
    let ids = Ids::of(run.run_id);
    let decision = match gate {
        "SG_cut_authz" => ids.cut_decision,
        "SG_lifecycle_authz" => ids.lifecycle_decision,
        _ => return Ok(Deciding::Nothing),
    };
    let stands = store.plan_evidence(run.entry_id).await?.is_some_and(|plan| {
        plan.decisions.iter().any(|row| row.uuid("review_decision_id") == Some(decision))
    });
    if stands {
        return Ok(Deciding::Nothing);
    }
    let plan = plan(store, run.entry_id).await?;
    if gate == "SG_lifecycle_authz" {
        let review = lifecycle(actor, run, ids, plan.digest, rationale)?;
        return Ok(Deciding::Lifecycle(Box::new(review)));
    }
    let request = ReviewRequest {
        rationale: rationale.map(str::to_owned),
        ..ReviewRequest::new(Verdict::Approve)
    };
    let ids = DecisionIds { envelope: ids.manifest, decision: ids.cut_decision };
    let review = sign_review(actor, run.entry_id, &request, &plan, None, ids)?;
    Ok(Deciding::Cut(Box::new(review)))
}

async fn write(
    store: &Store,
    actor: &Actor,
    asked: &Asked,
    path: &str,
    body: &str,
    rationale: Option<&str>,
    decision: &Deciding,
) -> Result<String, Error> {
    put_signed(store, actor, path, "approval", body, &asked.gate).await?;
    let vote =
        approval::vote(store, actor, "sovereign", asked.approval_id, Vote::Approve, rationale)
            .await?;
    match decision {
        Deciding::Cut(review) => drop(store.fn_review(review).await?),
        Deciding::Lifecycle(review) => drop(store.fn_lifecycle_review(review).await?),
        Deciding::Nothing => {}
    }
    Ok(vote.state)
}

fn lifecycle(
    actor: &Actor,
    run: &RunRow,
    ids: Ids,
    manifest_digest: [u8; 32],
    rationale: Option<&str>,
) -> Result<LifecycleReview, Error> {
    let signed_at = actor.signing_time();
    let findings = json!({});
    let payload = decision_payload(&Decision {
        review_decision_id: ids.lifecycle_decision,
        governance_event_kind: "lifecycle_enactment",
        entry_id: run.entry_id,
        manifest_id: ids.manifest,
        manifest_digest,
        verdict: "approve",
        findings: &findings,
        rationale,
        risk: "low",
        prior_review_decision_id: Some(ids.cut_decision),
        principal: &actor.principal,
        key_id: actor.key_id().unwrap_or_default(),
        signed_at,
    });
    Ok(LifecycleReview {
        entry_id: run.entry_id,
        verdict: "approve".to_owned(),
        review_decision_id: ids.lifecycle_decision,
        prior_review_decision_id: Some(ids.cut_decision),
        findings,
        rationale: rationale.map(str::to_owned),
        risk: "low".to_owned(),
        principal: actor.principal.clone(),
        signed_at,
        decision: actor.sign_statement(&Statement::review(payload.clone()))?,
        decision_payload: payload,
    })
}

/// A document of the sovereign, with the sovereign's signature under it.
pub(super) async fn put_signed(
    store: &Store,
    actor: &Actor,
    path: &str,
    kind: &str,
    body: &str,
    meaning: &str,
) -> Result<(), Error> {
    let put = Put {
        path,
        kind,
        body,
        expected_revision: None,
        principal: &actor.principal,
        actor_class: "sovereign",
    };
    let revision = store.fn_kb_put(&put).await?.revision;
    let sha256: [u8; 32] = Sha256::digest(body.as_bytes()).into();
    let (signature_id, signed_at) =
        (actor.new_id(&format!("signature of {path}")), actor.signing_time());
    let payload = signature_payload(&Signature {
        signature_id,
        path,
        revision,
        sha256: &sha256,
        meaning,
        principal: &actor.principal,
        key_id: actor.key_id().unwrap_or_default(),
        signed_at,
    });
    let sign = Sign {
        signature_id,
        path: path.to_owned(),
        revision,
        meaning: meaning.to_owned(),
        principal: actor.principal.clone(),
        actor_class: "sovereign".to_owned(),
        signed_at,
        signed: actor.sign_statement(&Statement::kb(payload.clone()))?,
        payload,
    };
    store.fn_kb_sign(&sign).await?;
    Ok(())
}
