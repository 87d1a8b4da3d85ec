//! MARK: a request to cut a version of a document.

use std::collections::BTreeSet;

use chancery_document::Profile;
use chancery_model::cutter::{entry_id, mark_evidence};
use chancery_model::envelope;
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::cutter::{EntryReport, EntryRow, Mark};
use serde_json::{Value, json};
use uuid::Uuid;

use super::retry::Retry;
use super::{RUN_KIND, held_class, refused};
use crate::Error;
use crate::iu::cut_source;
use crate::run::Actor;

/// What is asked for; what is left out follows from the document.
#[derive(Debug, Clone, Default)]
pub struct MarkRequest {
    pub document_id: String,
    /// The newest one by default.
    pub version: Option<i32>,
    /// By default one version of a document is one request.
    pub idempotency_key: Option<String>,
    /// Requests that must be verified before this one is cut.
    pub depends_on: Vec<Uuid>,
    pub profile: Option<Profile>,
    pub unit_kind: Option<String>,
    pub publication_type: Option<String>,
    pub scenario_ref: Option<String>,
    /// `cli` by default.
    pub signal_source: Option<String>,
    pub reason: Option<String>,
    /// By default the first of executor_dot991, executor_worker and pic_human that the principal holds.
    pub actor_class: Option<String>,
}

/// Puts a request into the backlog. The same request again is the same entry.
///
/// # Errors
/// The database's refusal, RC022 among them for what the review would refuse, or RI022 when the document cannot be cut.
pub async fn mark(
    store: &Store,
    actor: &Actor,
    request: &MarkRequest,
) -> Result<EntryReport, Error> {
    let Some(source) = store.source_of(&request.document_id, request.version).await? else {
        let facts = json!({
            "field": "document", "document": request.document_id, "version": request.version,
        });
        return Err(refused(store, Code::RC002, facts).await);
    };
    // Cut now, so that what cannot be cut does not wait for a reviewer, and the profile is fixed by whoever asks.
    let cut =
        cut_source(store, &request.document_id, &source.prefix, &source.body, request.profile)
            .await?;
    let content_sha256 = hex::encode(&source.content_sha256);
    let key = request
        .idempotency_key
        .clone()
        .unwrap_or_else(|| format!("cut:{}:{content_sha256}", request.document_id));
    let unit_kind = request.unit_kind.as_deref().unwrap_or_else(|| unit_kind(cut.profile));
    let publication_type =
        request.publication_type.as_deref().unwrap_or_else(|| publication_type(cut.profile));
    // What the review would refuse is refused now.
    let sections =
        cut.units.iter().map(|unit| format!("section_type.{}", unit.section_type.as_str()));
    let words: BTreeSet<String> = sections
        .chain([format!("unit_kind.{unit_kind}"), format!("publication_type.{publication_type}")])
        .collect();
    let plan = json!({ "units": cut.units.len(), "vocabulary": words });
    let payload = json!({
        "idempotency_key": key,
        "signal_source": request.signal_source.as_deref().unwrap_or("cli"),
        "iu_ref": request.document_id,
        "proposed_cut_spec": {
            "document_id": request.document_id,
            "source_version_id": source.source_version_id,
            "content_sha256": content_sha256,
            "profile": cut.profile,
            "unit_kind": unit_kind,
            "publication_type": publication_type,
        },
    });
    let classes = ["executor_dot991", "executor_worker", "pic_human"];
    let actor_class = match &request.actor_class {
        Some(class) => class.clone(),
        None => held_class(store, &actor.principal, &classes).await?,
    };
    let mark = Mark {
        entry_id: entry_id(&key),
        kind: "cut_request".to_owned(),
        payload,
        depends_on: request.depends_on.clone(),
        scenario_ref: request.scenario_ref.clone(),
        actor_class,
        principal: actor.principal.clone(),
        reason: request.reason.clone(),
        trace_id: None,
        signed: None,
        plan: Some(plan),
    };
    make(store, actor, mark, &key).await
}

/// Hands a cut that could not be made on to people: an entry of its own, for the same source.
pub(super) async fn escalate(
    store: &Store,
    actor: &Actor,
    failed: &EntryRow,
    why: &str,
) -> Result<Uuid, Error> {
    let key = format!("escalation:cut:{}", failed.entry_id);
    let payload = json!({
        "idempotency_key": key,
        "signal_source": "executor",
        "iu_ref": failed.payload["iu_ref"],
        "escalation_of": failed.entry_id,
        "proposed_cut_spec": failed.payload["proposed_cut_spec"],
    });
    let mark = Mark {
        entry_id: entry_id(&key),
        kind: "escalation".to_owned(),
        payload,
        depends_on: Vec::new(),
        scenario_ref: failed.scenario_ref.clone(),
        actor_class: "executor_dot991".to_owned(),
        principal: actor.principal.clone(),
        reason: Some(why.to_owned()),
        trace_id: Some(failed.trace_id.clone()),
        signed: None,
        // It asks for what was asked for before.
        plan: None,
    };
    Ok(make(store, actor, mark, &key).await?.entry_id)
}

async fn make(
    store: &Store,
    actor: &Actor,
    mut mark: Mark,
    key: &str,
) -> Result<EntryReport, Error> {
    let evidence: Value = mark_evidence(&mark.depends_on, &mark.payload);
    let statement = envelope::Move {
        run_kind: RUN_KIND,
        run_id: mark.entry_id,
        to: "marked",
        principal: &mark.principal,
        actor_class: &mark.actor_class,
        trigger_kind: "rpc",
        trigger_ref: "mark",
        evidence: &evidence,
        reason: mark.reason.as_deref(),
        idempotency_key: key,
        birth: Some(envelope::Birth { machine: RUN_KIND, data: &mark.payload }),
    }
    .statement();
    mark.signed = actor.sign_statement(&statement)?;
    let mut retry = Retry::new(store);
    loop {
        match store.fn_mark(&mark).await {
            Ok(report) => return Ok(report),
            Err(error) => retry.or_give_up(error.into()).await?,
        }
    }
}

/// What units of a profile are, unless somebody says otherwise.
pub(super) const fn unit_kind(profile: Profile) -> &'static str {
    match profile {
        Profile::Markdown => "design_doc_section",
        Profile::LegalEn | Profile::LegalVi => "law_unit",
    }
}

/// What a document of a profile is published as, unless somebody says otherwise.
pub(super) const fn publication_type(profile: Profile) -> &'static str {
    match profile {
        Profile::Markdown => "document",
        Profile::LegalEn | Profile::LegalVi => "law",
    }
}
