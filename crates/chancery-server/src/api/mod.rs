//! The routes of `chancery-api`, each bound to a function.

mod access;
mod bearer;
mod bind;
mod call;
mod description;
mod events;
mod limits;
pub(crate) mod password;

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
    let nouns = [access::bind, description::bind, events::bind];
    nouns.into_iter().fold(Routes::new(host), |routes, bind| bind(routes)).into_router()
}
