//! Proposals, of workflows and of anything else: written, handed in, voted on by others, carried out.

use std::time::Duration;

use chancery_model::canonical;
use chancery_model::cutter::derived_uuid;
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::approval::ApprovalReport;
use chancery_store::workflow::{
    Act, ChangeReport, Listing, LoggedMove, NewProposal, ProposalReport, Proposed, Way,
};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::act::{Said, Statement, class_of, key_of, target};
use crate::Error;
use crate::approval::{self, Decision, NewRequest};
use crate::cutter::refused;
use crate::run::Actor;

/// What a proposal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A definition of a workflow.
    Workflow,
    /// Anything else.
    Other,
}

impl Kind {
    /// The kind of its runs, and of the approval it needs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "workflow_change",
            Self::Other => "proposal",
        }
    }
}

/// A proposal that was handed in, and the request that others vote on.
#[derive(Debug, Clone, Serialize)]
pub struct Submitted {
    #[serde(flatten)]
    pub proposal: Proposed,
    pub approval: ApprovalReport,
}

/// A draft of a workflow.
#[derive(Debug, Clone)]
pub struct Written {
    pub definition: Value,
    /// By default what the definition calls itself.
    pub title: Option<String>,
    /// By default the writer's open draft of this workflow, or a new one.
    pub change_id: Option<Uuid>,
}

/// A draft of anything else.
#[derive(Debug, Clone)]
pub struct NewDraft {
    pub proposal_id: Option<Uuid>,
    pub kind: String,
    pub proposer_class: String,
    pub title: String,
    pub affected_iu_ids: Vec<Uuid>,
    pub action: Value,
    /// What it rests on, a list.
    pub usage: Value,
}

/// What the approval is asked with.
#[derive(Debug, Clone)]
pub struct Asked {
    /// How long others can vote.
    pub expires_in: Duration,
}

/// A proposal of either kind, as it stands.
struct Standing {
    kind: Kind,
    id: Uuid,
    state: String,
    seq: i64,
    machine: String,
    /// Hex.
    digest: String,
    title: String,
    /// What voters should know.
    facts: Value,
}

async fn standing(store: &Store, kind: Kind, id: Uuid) -> Result<Standing, Error> {
    let found = match kind {
        Kind::Workflow => store.workflow_change(id).await?.map(|change| Standing {
            kind,
            id,
            state: change.state,
            seq: change.seq,
            machine: change.state_machine_id,
            digest: change.definition_sha256,
            title: change.title,
            facts: json!({
                "workflow": change.workflow, "base_version": change.base_version, "revision": change.revision_no,
            }),
        }),
        Kind::Other => store.proposal(id).await?.map(|proposal| Standing {
            kind,
            id,
            state: proposal.state,
            seq: proposal.seq,
            machine: proposal.state_machine_id,
            digest: proposal.action_sha256,
            title: proposal.title,
            facts: json!({ "kind": proposal.kind, "affected_iu_ids": proposal.affected_iu_ids }),
        }),
    };
    match found {
        Some(found) => Ok(found),
        None => Err(refused(store, Code::RW001, json!({ "kind": kind.as_str(), "id": id })).await),
    }
}

/// Writes a definition as a draft, or the next revision of one. Written again, it is the same.
///
/// # Errors
/// The database's refusal; RW003 says what is wrong with the definition.
pub async fn propose(
    store: &Store,
    actor: &Actor,
    said: &Said,
    written: &Written,
) -> Result<ChangeReport, Error> {
    let definition = &written.definition;
    let digest = hex::encode(canonical::sha256(definition));
    let births = store.workflow_births("proposal").await?;
    let class = class_of(store, actor, said, &births, None).await?;
    let name = definition["workflow"].as_str().unwrap_or_default();
    let id = match written.change_id {
        Some(id) => id,
        None => own_draft(store, actor, name, &digest).await?.unwrap_or_else(Uuid::now_v7),
    };
    let title = written.title.clone().unwrap_or_else(|| {
        definition["title"]["en"]
            .as_str()
            .map_or_else(|| format!("The workflow {name}"), str::to_owned)
    });
    let evidence = json!({ "definition_sha256": digest });
    let key = said.key.as_deref().unwrap_or("propose");
    let act = born(actor, Kind::Workflow, id, &births[..], &class, &evidence, key)?;
    Ok(store.fn_workflow_propose(&act, definition, &title).await?)
}

/// The writer's draft of this workflow that is still open, or the proposal that says exactly this and is not over.
async fn own_draft(
    store: &Store,
    actor: &Actor,
    workflow: &str,
    digest: &str,
) -> Result<Option<Uuid>, Error> {
    let listing = Listing { name: Some(workflow.to_owned()), state: None, limit: 200 };
    let changes = store.workflow_changes(&listing).await?;
    let mut own = changes.iter().filter(|change| change.proposer == actor.principal);
    let open = own.find(|change| {
        change.state == "draft"
            || (change.definition_sha256 == digest
                && matches!(change.state.as_str(), "submitted" | "review" | "approved"))
    });
    Ok(open.map(|change| change.change_request_id))
}

/// Writes a proposal that is not about a workflow.
///
/// # Errors
/// The database's refusal.
pub async fn create(
    store: &Store,
    actor: &Actor,
    said: &Said,
    draft: &NewDraft,
) -> Result<ProposalReport, Error> {
    let births = store.workflow_births("proposal").await?;
    let class = class_of(store, actor, said, &births, None).await?;
    let id = draft.proposal_id.unwrap_or_else(Uuid::now_v7);
    let evidence = json!({ "action_sha256": hex::encode(canonical::sha256(&draft.action)) });
    let key = said.key.as_deref().unwrap_or("propose");
    let act = born(actor, Kind::Other, id, &births[..], &class, &evidence, key)?;
    let proposal = NewProposal {
        kind: &draft.kind,
        proposer_class: &draft.proposer_class,
        title: &draft.title,
        affected_iu_ids: &draft.affected_iu_ids,
        action: &draft.action,
        usage: &draft.usage,
    };
    Ok(store.fn_proposal_create(&act, &proposal).await?)
}

fn born<'a>(
    actor: &'a Actor,
    kind: Kind,
    id: Uuid,
    births: &[Way],
    class: &'a str,
    evidence: &'a Value,
    key: &'a str,
) -> Result<Act<'a>, Error> {
    let signed = Statement {
        run_kind: kind.as_str(),
        run_id: id,
        to: births.first().map_or("", |birth| birth.to.as_str()),
        class,
        trigger: ("rpc", "propose"),
        evidence,
        reason: None,
        key,
        born_as: Some("proposal"),
    }
    .signed_by(actor)?;
    Ok(Act {
        run_kind: kind.as_str(),
        run_id: id,
        call: "propose",
        evidence,
        principal: &actor.principal,
        actor_class: class,
        idempotency_key: key,
        reason: None,
        signed,
    })
}

/// Hands a proposal in and asks for the approval that it needs. Done again, nothing is asked for twice.
///
/// # Errors
/// The database's refusal.
pub async fn submit(
    store: &Store,
    actor: &Actor,
    said: &Said,
    kind: Kind,
    id: Uuid,
    asked: &Asked,
) -> Result<Submitted, Error> {
    let standing = standing(store, kind, id).await?;
    let evidence = json!({ "digest": standing.digest });
    let mut said = said.clone();
    let history = store.workflow_history(id).await?;
    let submission = newest_submission(&history, &standing.state);
    if let Some(first) = submission.filter(|_| said.key.is_none()) {
        said.key = Some(first.idempotency_key.clone());
    }
    let class = moved_class(store, actor, &said, &standing, "submit").await?;
    said.class = Some(class.clone());
    // One request a submission: what was returned undecided is asked for anew when it is handed in again.
    let seq = submission.map_or(standing.seq + 1, |first| first.seq);
    let request = NewRequest {
        approval_id: Some(derived_uuid(id, &format!("approval,{seq}"))),
        kind: kind.as_str().to_owned(),
        subject_ref: id.to_string(),
        subject_digest: hex::decode(&standing.digest).ok(),
        risk: None,
        title: standing.title.clone(),
        facts: standing.facts.clone(),
        expires_in: asked.expires_in,
    };
    let key = key_of(store, actor, &said, id, "submit", standing.seq, &evidence).await?;
    let reason = said.reason.as_deref();
    let handed_in = signed(store, actor, &standing, "submit", &class, &evidence, reason, &key);
    // Both signatures before anything is done, so that whose key lies elsewhere is asked once.
    let (act, request) =
        both(handed_in.await, approval::signed_request(store, actor, &class, &request).await)?;
    let handed_in = actor.past_rehearsal(store.fn_proposal_move(&act).await)?;
    let approval = store.fn_approval_request(&request).await?;
    handed_in?;
    let proposal = store.fn_proposal_settle(kind.as_str(), id).await?;
    Ok(Submitted { proposal, approval })
}

/// Two things that are signed: what is missing of either is named at once.
fn both<A, B>(one: Result<A, Error>, other: Result<B, Error>) -> Result<(A, B), Error> {
    match (one, other) {
        (
            Err(Error::Unsigned { mut statements, key_id, asked_at }),
            Err(Error::Unsigned { statements: more, .. }),
        ) => {
            statements.extend(more);
            Err(Error::Unsigned { statements, key_id, asked_at })
        }
        (one, other) => Ok((one?, other?)),
    }
}

/// The move that handed the proposal in, when it is still handed in.
fn newest_submission<'a>(history: &'a [LoggedMove], state: &str) -> Option<&'a LoggedMove> {
    let newest = || history.iter().rev().find(|one| one.trigger_ref == "submit");
    if state == "draft" { None } else { newest() }
}

/// Takes a proposal back before others were asked: what was submitted is a draft again, a draft is given up.
///
/// # Errors
/// The database's refusal.
pub async fn withdraw(
    store: &Store,
    actor: &Actor,
    said: &Said,
    kind: Kind,
    id: Uuid,
) -> Result<Proposed, Error> {
    let standing = standing(store, kind, id).await?;
    moved(store, actor, said, &standing, "withdraw", &json!({})).await
}

/// Votes on a proposal, signed, and brings it to where the votes say.
///
/// # Errors
/// The database's refusal; RA002 when nobody asked for an approval.
pub async fn vote(
    store: &Store,
    actor: &Actor,
    class: &str,
    kind: Kind,
    id: Uuid,
    decision: Decision,
    rationale: Option<&str>,
) -> Result<Submitted, Error> {
    let proposal = store.fn_proposal_settle(kind.as_str(), id).await?;
    let approval_id = match &proposal {
        Proposed::Change(change) => change.approval_id,
        Proposed::Other(other) => other.approval_id,
    };
    // Of a request that is not there, the door says so.
    let approval_id = approval_id.unwrap_or_default();
    let approval = approval::vote(store, actor, class, approval_id, decision, rationale).await?;
    Ok(Submitted { proposal: settle(store, kind, id).await?, approval })
}

/// Brings a proposal to where the votes say.
///
/// # Errors
/// The database's refusal.
pub async fn settle(store: &Store, kind: Kind, id: Uuid) -> Result<Proposed, Error> {
    Ok(store.fn_proposal_settle(kind.as_str(), id).await?)
}

/// Makes an approved definition the newest version of its workflow.
///
/// # Errors
/// The database's refusal; RW004 when somebody else's merge came first.
pub async fn merge(
    store: &Store,
    actor: &Actor,
    said: &Said,
    id: Uuid,
) -> Result<ChangeReport, Error> {
    let standing = standing(store, Kind::Workflow, id).await?;
    let evidence = said.evidence(actor, json!({ "definition_sha256": standing.digest }));
    let (class, key) = merging(store, actor, said, &standing, &evidence).await?;
    let act = signed(store, actor, &standing, "merge", &class, &evidence, None, &key).await?;
    Ok(store.fn_workflow_merge(&act).await?)
}

/// Records that what was approved is done, with what came of it.
///
/// # Errors
/// The database's refusal.
pub async fn carry_out(
    store: &Store,
    actor: &Actor,
    said: &Said,
    id: Uuid,
    outcome: &Value,
) -> Result<ProposalReport, Error> {
    let standing = standing(store, Kind::Other, id).await?;
    let facts = json!({
        "action_sha256": standing.digest, "outcome_sha256": hex::encode(canonical::sha256(outcome)),
    });
    let evidence = said.evidence(actor, facts);
    let (class, key) = merging(store, actor, said, &standing, &evidence).await?;
    let act = signed(store, actor, &standing, "merge", &class, &evidence, None, &key).await?;
    Ok(store.fn_proposal_carry_out(&act, outcome).await?)
}

async fn merging(
    store: &Store,
    actor: &Actor,
    said: &Said,
    standing: &Standing,
    evidence: &Value,
) -> Result<(String, String), Error> {
    let class = moved_class(store, actor, said, standing, "merge").await?;
    let said = Said { reason: None, ..said.clone() };
    let key = key_of(store, actor, &said, standing.id, "merge", standing.seq, evidence).await?;
    Ok((class, key))
}

async fn moved_class(
    store: &Store,
    actor: &Actor,
    said: &Said,
    standing: &Standing,
    call: &str,
) -> Result<String, Error> {
    let ways = store.workflow_ways(&standing.machine, call, &standing.state).await?;
    if let Some(class) = &said.class {
        return Ok(class.clone());
    }
    // Who may make the call is the same from every state, and which of them it is makes no difference to the proposal.
    let ways: Vec<_> = ways.into_iter().map(|way| Way { from: None, ..way }).collect();
    class_of(store, actor, said, &ways, None).await
}

async fn moved(
    store: &Store,
    actor: &Actor,
    said: &Said,
    standing: &Standing,
    call: &str,
    evidence: &Value,
) -> Result<Proposed, Error> {
    let class = moved_class(store, actor, said, standing, call).await?;
    let key = key_of(store, actor, said, standing.id, call, standing.seq, evidence).await?;
    let reason = said.reason.as_deref();
    let act = signed(store, actor, standing, call, &class, evidence, reason, &key).await?;
    Ok(store.fn_proposal_move(&act).await?)
}

#[expect(clippy::too_many_arguments, reason = "the fields of a signed move")]
async fn signed<'a>(
    store: &Store,
    actor: &'a Actor,
    standing: &Standing,
    call: &'a str,
    class: &'a str,
    evidence: &'a Value,
    reason: Option<&'a str>,
    key: &'a str,
) -> Result<Act<'a>, Error> {
    let ways = store.workflow_ways(&standing.machine, call, &standing.state).await?;
    let (to, trigger_kind) = target(&ways, &standing.state, class);
    let statement = Statement {
        run_kind: standing.kind.as_str(),
        run_id: standing.id,
        to,
        class,
        trigger: (trigger_kind, call),
        evidence,
        reason,
        key,
        born_as: None,
    };
    Ok(Act {
        run_kind: standing.kind.as_str(),
        run_id: standing.id,
        call,
        evidence,
        principal: &actor.principal,
        actor_class: class,
        idempotency_key: key,
        reason,
        signed: statement.signed_by(actor)?,
    })
}
