//! Finding things by what they are called.

use chancery_api::Nothing;
use chancery_api::search::{Found, SEARCH, SearchQuery};

use super::page::told;
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

const KINDS: [&str; 7] = ["step", "workflow", "run", "document", "unit", "kb", "principal"];
/// So many when nobody says.
const HITS: u16 = 20;

pub(super) fn bind(routes: Routes) -> Routes {
    routes.on(&SEARCH, search)
}

async fn search(call: Call<SearchQuery, Nothing>) -> Result<Answered<Found>, Problem> {
    let wrong = |why: &str| Problem::of(Fault::QueryInvalid, why.to_owned());
    let SearchQuery { q, kinds, run, limit } = &call.query;
    if !(1..=200).contains(&q.chars().count()) {
        return Err(wrong("q has 1 to 200 characters"));
    }
    let limit = limit.unwrap_or(HITS);
    if !(1..=100).contains(&limit) {
        return Err(wrong("limit is between 1 and 100"));
    }
    let kinds: Vec<String> = match kinds {
        None => KINDS.iter().map(|&kind| kind.to_owned()).collect(),
        Some(text) => text.split(',').map(str::to_owned).collect(),
    };
    if let Some(kind) = kinds.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
        return Err(wrong(&format!("{kind:?} is no kind; there are {}", KINDS.join(", "))));
    }
    // What a token may not read is not found with it, whatever its principal may.
    let may = |permission| call.bearer.as_ref().is_some_and(|bearer| bearer.may(permission));
    let kinds: Vec<String> = kinds
        .into_iter()
        .filter(|kind| match kind.as_str() {
            "document" | "unit" => may("doc.read"),
            "kb" => may("kb.read"),
            "principal" => may("principal.read"),
            _ => true,
        })
        .collect();
    let run = run.map(|run| run.0);
    let items = call.store().fn_search(call.reader(), q, &kinds, run, i32::from(limit)).await?;
    Ok(Found { items: told(items)? }.into())
}
