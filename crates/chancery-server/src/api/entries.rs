//! Requests to cut.

use std::collections::BTreeSet;

use chancery_api::action::Action;
use chancery_api::entries::{
    ABANDON, Abandon, ENTRIES, ENTRY, EntriesQuery, Entry, EntryMoved, EntryShown, Guard, MARK,
    NewEntry, Stage,
};
use chancery_api::id::EntryId;
use chancery_api::{Nothing, Page};
use chancery_engine::cutter::{self as engine, AbandonRequest, MarkRequest};
use chancery_store::cutter::{EntryDetail, EntryPage};
use chancery_store::fsm::WayOn;
use chancery_store::page::After;
use serde_json::{Map, Value, json};

use super::page::{after_time, limit, page, told};
use super::{Answered, Call, Routes};
use crate::problem::Problem;

pub(super) fn bind(routes: Routes) -> Routes {
    routes.on(&ENTRIES, list).on(&MARK, mark).on(&ENTRY, show).on(&ABANDON, abandon)
}

async fn list(call: Call<EntriesQuery, Nothing>) -> Result<Answered<Page<Entry>>, Problem> {
    let EntriesQuery { status, document, after, limit: most } = &call.query;
    let limit = limit(*most)?;
    let asked = EntryPage {
        status: status.clone(),
        document_id: document.clone(),
        after: after_time(after.as_deref())?,
        limit: limit + 1,
    };
    let rows = call.store().entries_page(&asked).await?;
    Ok(page(rows, limit, |row| After { at: row.emitted_at.clone(), id: row.entry_id })?.into())
}

async fn mark(call: Call<Nothing, NewEntry>) -> Result<Answered<EntryMoved>, Problem> {
    let actor = call.actor().await?;
    let body = call.body.clone();
    let request = MarkRequest {
        document_id: body.document_id,
        version: body.version,
        // Keys of entries are one room for everybody: who asks over HTTP has a corner of their own in it.
        idempotency_key: Some(format!("http:{}:{}", call.reader(), call.key())),
        depends_on: body.depends_on.iter().map(|id| id.0).collect(),
        profile: told(body.profile)?,
        unit_kind: body.unit_kind,
        publication_type: body.publication_type,
        scenario_ref: body.scenario_ref,
        signal_source: Some("http".to_owned()),
        reason: body.reason,
        actor_class: body.actor_class,
    };
    let report = engine::mark(call.store(), &actor, &request).await?;
    Ok(told::<EntryMoved>(report)?.into())
}

async fn show(call: Call<Nothing, Nothing>) -> Result<Answered<EntryShown>, Problem> {
    let EntryId(id) = call.id("entry")?;
    let shown = engine::show(call.store(), id).await?;
    let actions = call.store().fn_entry_actions(id, call.reader()).await?;
    let actions: Vec<Action> = told(actions)?;
    let detail = &shown.detail;
    let mut answer = json!(detail);
    if let Value::Object(entry) = answer["entry"].take() {
        for (name, value) in entry {
            answer[name] = value;
        }
    }
    answer["stages"] = json!(stages(detail));
    answer["guards"] = json!(guards(&shown.ways_on, &actions));
    answer["actions"] = json!(actions);
    Ok(Answered::from(told::<EntryShown>(answer)?).version(detail.entry.seq))
}

/// Who did and signed what, in the order of the phases.
fn stages(detail: &EntryDetail) -> Vec<Stage> {
    let marked = detail.history.first();
    let reviewed =
        detail.decisions.iter().rfind(|one| one.governance_event_kind != "lifecycle_enactment");
    let cut = detail.change_sets.iter().rfind(|one| one.change_kind == "apply");
    let verified = detail.verify_results.last();
    vec![
        Stage {
            stage: "mark".to_owned(),
            done: marked.is_some(),
            by: marked.map(|one| one.principal.clone()),
            at: marked.map(|one| one.at.clone()),
            verdict: None,
            signed: marked.is_some_and(|one| one.signed),
        },
        Stage {
            stage: "review".to_owned(),
            done: reviewed.is_some_and(|one| one.verdict != "defer"),
            by: reviewed.map(|one| one.reviewer.clone()),
            at: reviewed.map(|one| one.decision_at.clone()),
            verdict: reviewed.map(|one| one.verdict.clone()),
            // A decision does not stand without its signature.
            signed: reviewed.is_some(),
        },
        Stage {
            stage: "cut".to_owned(),
            done: cut.is_some(),
            by: cut.map(|one| one.emitted_by.clone()),
            at: cut.map(|one| one.emitted_at.clone()),
            verdict: None,
            signed: cut.is_some_and(|one| one.executor_signature_id.is_some()),
        },
        Stage {
            stage: "verify".to_owned(),
            done: verified.is_some(),
            by: verified.map(|one| one.verifier.clone()),
            at: verified.map(|one| one.verified_at.clone()),
            verdict: verified.map(|one| one.verdict.clone()),
            signed: verified.is_some(),
        },
    ]
}

/// The rules on the ways that lead on from here, as the actions found them.
fn guards(ways: &[WayOn], actions: &[Action]) -> Vec<Guard> {
    let named = |problems: &[Map<String, Value>], guard: &str| {
        problems.iter().find(|problem| problem.get("guard").is_some_and(|it| it == guard)).cloned()
    };
    let mut known = BTreeSet::new();
    let mut guards = Vec::new();
    for way in ways {
        let action = actions
            .iter()
            .find(|a| a.to.as_ref() == Some(&way.to) && a.actor_class == way.actor_class);
        let Some(action) = action else { continue };
        for guard in way.guards.as_deref().unwrap_or_default().split('+').filter(|g| !g.is_empty())
        {
            if !known.insert((way.to.as_str(), guard)) {
                continue;
            }
            let failed = named(&action.problems, guard);
            let asked = named(&action.needs, guard);
            let means = failed.as_ref().or(asked.as_ref()).and_then(|p| p.get("means")?.as_str());
            guards.push(Guard {
                guard: guard.to_owned(),
                action: action.name.clone(),
                to: way.to.clone(),
                holds: if asked.is_some() { None } else { Some(failed.is_none()) },
                means: means.map(str::to_owned),
            });
        }
    }
    guards
}

async fn abandon(call: Call<Nothing, Abandon>) -> Result<Answered<EntryMoved>, Problem> {
    let EntryId(id) = call.id("entry")?;
    let shown = engine::show(call.store(), id).await?;
    if let Err(changed) = call.require_version(shown.detail.entry.seq)
        && !call.store().entry_keys(id).await?.iter().any(|key| key == call.key())
    {
        return Err(changed);
    }
    let actor = call.actor().await?;
    let Abandon { reason, audit_ref } = call.body.clone();
    let request =
        AbandonRequest { reason, audit_ref, idempotency_key: Some(call.key().to_owned()) };
    let report = engine::abandon(call.store(), &actor, id, &request).await?;
    Ok(told::<EntryMoved>(report)?.into())
}
