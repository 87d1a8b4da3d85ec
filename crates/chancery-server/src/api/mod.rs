//! The routes of `chancery-api`, each bound to a function.

mod access;
mod approvals;
mod bearer;
mod bind;
mod births;
mod call;
mod common;
mod description;
mod documents;
mod entries;
mod events;
mod governance;
mod guesses;
mod headlines;
mod kb;
mod leases;
mod limits;
mod machines;
mod orchestrator;
mod page;
pub(crate) mod password;
mod principals;
mod proposals;
mod queue;
mod refusal;
mod runs;
mod search;
mod words;
mod work;
mod workflow_runs;
mod workflows;

use axum::Router;

use crate::host::Host;

pub(crate) use bearer::cookie;
pub(crate) use bind::Routes;
pub(crate) use call::{Answered, Call};
pub(crate) use guesses::Guesses;
pub(crate) use limits::Limits;

/// Every route of the API.
///
/// # Panics
/// When a route of `chancery_api::routes` has no function: such a server must not start.
pub(crate) fn routes(host: &Host) -> Router<Host> {
    let nouns = [
        access::bind,
        approvals::bind,
        births::bind,
        description::bind,
        documents::bind,
        entries::bind,
        events::bind,
        governance::bind,
        headlines::bind,
        kb::bind,
        leases::bind,
        machines::bind,
        orchestrator::bind,
        principals::bind,
        proposals::bind,
        queue::bind,
        runs::bind,
        search::bind,
        words::bind,
        work::bind,
        workflow_runs::bind,
        workflows::bind,
    ];
    nouns.into_iter().fold(Routes::new(host), |routes, bind| bind(routes)).into_router()
}
