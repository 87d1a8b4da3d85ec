//! The routes of `chancery-api`, each bound to a function.

mod access;
mod bearer;
mod bind;
mod births;
mod call;
mod common;
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

pub(crate) use bind::Routes;
pub(crate) use call::{Answered, Call};
pub(crate) use limits::Limits;

/// Every route of the API.
///
/// # Panics
/// When a route of `chancery_api::routes` has no function: such a server must not start.
pub(crate) fn routes(host: &Host) -> Router<Host> {
    let routes = access::bind(Routes::new(host));
    let routes = workflow_runs::bind(proposals::bind(workflows::bind(routes)));
    let routes = queue::bind(leases::bind(work::bind(routes)));
    let routes = words::bind(search::bind(births::bind(routes)));
    routes.into_router()
}
