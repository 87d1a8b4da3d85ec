//! What pages say at their heads.

use chancery_api::Nothing;
use chancery_api::id;
use chancery_api::words::{HEADLINE, Headline, HeadlineQuery};

use super::bind::not_permitted;
use super::page::told;
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

pub(super) fn bind(routes: Routes) -> Routes {
    routes.on(&HEADLINE, headline)
}

/// What a page is about.
#[derive(Clone, Copy)]
enum Subject {
    Nothing,
    /// An id with this prefix.
    Id(&'static str),
    Text,
}
use Subject::{Id, Text};

/// What each page shows needs, and what it is about. The database decides who may; a token may less than its principal.
const PAGES: [(&str, &str, Subject); 29] = [
    ("problems", "problems.read", Subject::Nothing),
    ("category", "problems.read", Text),
    ("problem", "problems.read", Text),
    ("inbox", "self.read", Subject::Nothing),
    ("approval", "approval.read", Id("apr")),
    ("replay", "queue.read", Id("bat")),
    ("runs", "workflow.read", Subject::Nothing),
    ("run", "workflow.read", Id("wfr")),
    ("step", "workflow.read", Id("stp")),
    ("task", "workflow.read", Id("tsk")),
    ("workflows", "workflow.read", Subject::Nothing),
    ("workflow", "workflow.read", Text),
    ("change", "workflow.read", Id("chg")),
    ("entries", "entry.read", Subject::Nothing),
    ("entry", "entry.read", Id("ent")),
    ("orchestrator", "orchestrator.read", Subject::Nothing),
    ("orchestrator_run", "orchestrator.read", Id("orc")),
    ("documents", "doc.read", Subject::Nothing),
    ("document", "doc.read", Text),
    ("permits", "birth.read", Subject::Nothing),
    ("permit", "birth.read", Id("prm")),
    ("workers", "queue.read", Subject::Nothing),
    ("lag", "queue.read", Subject::Nothing),
    ("kb", "kb.read", Subject::Nothing),
    ("kb_document", "kb.read", Text),
    ("machines", "machine.read", Subject::Nothing),
    ("machine", "machine.read", Text),
    ("audit", "workflow.read", Subject::Nothing),
    ("keys", "self.read", Subject::Nothing),
];

async fn headline(call: Call<HeadlineQuery, Nothing>) -> Result<Answered<Headline>, Problem> {
    let HeadlineQuery { subject, locale } = &call.query;
    let page = call.text("page");
    let none = || Problem::of(Fault::NotFound, "there is no such page, or nothing that it shows");
    let Some((page, permission, about)) = PAGES.iter().find(|(name, ..)| *name == page) else {
        return Err(none());
    };
    if !call.bearer.as_ref().is_some_and(|bearer| bearer.may(permission)) {
        return Err(not_permitted(&call.host, call.reader(), permission).await);
    }
    let wrong = |why: &str| Problem::of(Fault::QueryInvalid, why.to_owned());
    let told_id;
    let about = match (about, subject.as_deref()) {
        (Subject::Nothing, None) => None,
        (Subject::Nothing, Some(_)) => return Err(wrong("this page has no subject")),
        (_, None) => return Err(wrong("subject says what the page is about")),
        (_, Some(text)) if text.is_empty() || text.chars().count() > 1000 => {
            return Err(wrong("subject has 1 to 1000 characters"));
        }
        (Text, Some(text)) => Some(text),
        (Id(prefix), Some(text)) => {
            let id = id::parse(text, prefix)
                .map_err(|why| Problem::of(Fault::IdMalformed, why.to_string()))?;
            told_id = id.to_string();
            Some(&*told_id)
        }
    };
    let said = call.store().fn_headline(call.reader(), page, about, locale.as_str()).await?;
    let mut said = told::<Headline>(said.ok_or_else(none)?)?;
    // As it was asked.
    said.subject.clone_from(subject);
    Ok(said.into())
}
