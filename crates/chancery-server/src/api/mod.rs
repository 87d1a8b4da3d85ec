//! The routes of `chancery-api`, each bound to a function.

mod access;
mod bearer;
mod bind;
mod births;
mod call;
mod common;
mod description;
mod events;
mod leases;
mod limits;
pub(crate) mod password;
mod proposals;
mod queue;
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
pub(crate) use limits::Limits;

/// Every route of the API.
///
/// # Panics
/// When a route of `chancery_api::routes` has no function: such a server must not start.
pub(crate) fn routes(host: &Host) -> Router<Host> {
    let nouns = [
        access::bind,
        births::bind,
        description::bind,
        events::bind,
        leases::bind,
        proposals::bind,
        queue::bind,
        search::bind,
        words::bind,
        work::bind,
        workflow_runs::bind,
        workflows::bind,
    ];
    nouns.into_iter().fold(Routes::new(host), |routes, bind| bind(routes)).into_router()
}
