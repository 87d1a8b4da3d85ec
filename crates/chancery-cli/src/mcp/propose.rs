//! Proposals and requests for approval. An agent writes and asks; people decide.

use std::time::Duration;

use chancery_engine::approval::{self, Missing, NewRequest};
use chancery_engine::identity::acting_class;
use chancery_engine::workflow::{self as engine, Asked, Kind, NewDraft, Written};
use chancery_model::canonical;
use chancery_store::approval::ApprovalFilter;
use chancery_store::workflow::Listing;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Server;
use super::tools::{AskForApproval, Propose, ProposeWorkflowChange, Proposed, Withdraw};
use crate::approval::duration;
use crate::failure::Failure;
use crate::saying::position_events;

const A_WEEK: Duration = Duration::from_secs(7 * 86_400);

impl Server {
    /// An id that the agent's own key stands for, so that a repeated call finds what the first one made.
    fn id_for(&self, what: &str, key: &str) -> Uuid {
        let name = json!(["mcp", what, self.principal, key]);
        Uuid::new_v5(&Uuid::NAMESPACE_OID, name.to_string().as_bytes())
    }

    pub(super) async fn propose_workflow_change(
        &self,
        args: ProposeWorkflowChange,
    ) -> Result<Value, Failure> {
        self.require("workflow.propose").await?;
        let said = args.said();
        let definition = match args.definition {
            Value::String(text) => engine::parse(&text).map_err(|error| {
                let place = error.line.map(|line| format!(" (line {line})")).unwrap_or_default();
                Failure::Usage(format!("the definition is not YAML{place}: {}", error.message))
            })?,
            definition => definition,
        };
        let of_key = args.key.as_deref().map(|key| self.id_for("workflow_change", key));
        let written =
            Written { definition, title: args.title, change_id: args.change_id.or(of_key) };
        let actor = self.actor().await?;
        let report = engine::propose(&self.store, &actor, &said, &written).await?;
        position_events(&self.store).await;
        Ok(json!(report))
    }

    pub(super) async fn propose(&self, args: Propose) -> Result<Value, Failure> {
        self.require("workflow.propose").await?;
        let said = args.said();
        let action = Value::Object(args.action);
        let proposal_id = match &args.key {
            Some(key) => Some(self.id_for("proposal", key)),
            None => self.same_draft(&args.kind, &args.title, &action).await?,
        };
        let draft = NewDraft {
            proposal_id,
            kind: args.kind,
            proposer_class: "agent".to_owned(),
            title: args.title,
            affected_iu_ids: args.units,
            action,
            usage: Value::Array(args.evidence),
        };
        let actor = self.actor().await?;
        let report = engine::create(&self.store, &actor, &said, &draft).await?;
        position_events(&self.store).await;
        Ok(json!(report))
    }

    /// The agent's own draft that says the same: then this is that one again.
    async fn same_draft(
        &self,
        kind: &str,
        title: &str,
        action: &Value,
    ) -> Result<Option<Uuid>, Failure> {
        let digest = hex_of(action);
        let drafts =
            Listing { name: Some(kind.to_owned()), state: Some("draft".to_owned()), limit: 50 };
        let drafts = self.store.proposals(&drafts).await?;
        let same = drafts.iter().find(|one| {
            one.proposer == self.principal && one.title == title && one.action_sha256 == digest
        });
        Ok(same.map(|one| one.proposal_id))
    }

    pub(super) async fn ask_for_approval(&self, args: AskForApproval) -> Result<Value, Failure> {
        self.require("approval.request").await?;
        let said = args.said();
        let expires_in =
            args.expires.as_deref().map_or(Ok(A_WEEK), duration).map_err(Failure::Usage)?;
        let actor = self.actor().await?;
        let of_a_draft = match args.kind.as_str() {
            "workflow_change" => Some(Kind::Workflow),
            "proposal" => Some(Kind::Other),
            _ => None,
        };
        if let Some(kind) = of_a_draft {
            let id = parsed(&args.subject)?;
            let asked = Asked { expires_in };
            let report = engine::submit(&self.store, &actor, &said, kind, id, &asked).await?;
            position_events(&self.store).await;
            return Ok(json!(report));
        }
        let Some(title) = args.title.clone() else {
            return Err(Failure::Usage("title is missing: it is what voters read".to_owned()));
        };
        let subject_digest = args.digest.as_deref().map(digest_of).transpose()?;
        let approval_id = match &args.key {
            Some(key) => Some(self.id_for("approval", key)),
            None => self.same_request(&args, &title).await?,
        };
        let new = NewRequest {
            approval_id,
            kind: args.kind,
            subject_ref: args.subject,
            subject_digest,
            risk: args.risk,
            title,
            facts: Value::Object(args.facts),
            expires_in,
        };
        let class = match args.actor_class {
            Some(class) => class,
            None => acting_class(&self.store, &self.principal, &[]).await?,
        };
        let report = approval::request(&self.store, &actor, &class, &new).await?;
        let mut answer = json!(report);
        answer["missing"] = json!(Missing::of(&report.quorum, &report.tally));
        Ok(answer)
    }

    /// The agent's own request that is open and says the same: then this is that one again.
    async fn same_request(
        &self,
        args: &AskForApproval,
        title: &str,
    ) -> Result<Option<Uuid>, Failure> {
        let filter = ApprovalFilter {
            state: Some("pending".to_owned()),
            subject_ref: Some(args.subject.clone()),
            limit: 50,
            ..ApprovalFilter::default()
        };
        let open = self.store.approvals(&filter).await?;
        let facts = Value::Object(args.facts.clone());
        let same = open.iter().find(|one| {
            one.proposer == self.principal
                && one.kind == args.kind
                && one.title == title
                && one.facts == facts
        });
        Ok(same.map(|one| one.approval_id))
    }

    pub(super) async fn withdraw(&self, args: Withdraw) -> Result<Value, Failure> {
        self.require("workflow.propose").await?;
        let said = args.said();
        let kind = match args.kind {
            Proposed::WorkflowChange => Kind::Workflow,
            Proposed::Proposal => Kind::Other,
        };
        let actor = self.actor().await?;
        let report = engine::withdraw(&self.store, &actor, &said, kind, args.id).await?;
        position_events(&self.store).await;
        Ok(json!(report))
    }
}

pub(super) fn parsed(id: &str) -> Result<Uuid, Failure> {
    id.parse().map_err(|_| Failure::Usage(format!("{id:?} is no UUID")))
}

fn hex_of(value: &Value) -> String {
    canonical::sha256(value).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest_of(text: &str) -> Result<Vec<u8>, Failure> {
    let wrong = || Failure::Usage("digest is 64 hex digits".to_owned());
    if text.len() != 64 || !text.is_ascii() {
        return Err(wrong());
    }
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| wrong());
    (0..64).step_by(2).map(byte).collect()
}
