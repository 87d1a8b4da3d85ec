#![doc = include_str!("../README.md")]

pub mod access;
pub mod action;
pub mod approvals;
pub mod births;
pub mod description;
pub mod documents;
pub mod entries;
pub mod events;
pub mod governance;
pub mod id;
pub mod kb;
pub mod leases;
pub mod machines;
pub mod openapi;
pub mod orchestrator;
pub mod page;
pub mod principals;
pub mod problem;
pub mod proposals;
pub mod queue;
pub mod route;
pub mod runs;
pub mod search;
pub mod words;
pub mod work;
pub mod workflow_runs;
pub mod workflows;

pub use page::{Page, PageQuery};
pub use problem::Problem;
pub use route::{Access, Endpoint, Method, Nothing, Route, Shape};

/// Every route there is.
pub fn routes() -> Vec<&'static Route> {
    [
        access::ROUTES,
        approvals::ROUTES,
        births::ROUTES,
        description::ROUTES,
        documents::ROUTES,
        entries::ROUTES,
        events::ROUTES,
        governance::ROUTES,
        kb::ROUTES,
        leases::ROUTES,
        machines::ROUTES,
        orchestrator::ROUTES,
        principals::ROUTES,
        proposals::ROUTES,
        queue::ROUTES,
        runs::ROUTES,
        search::ROUTES,
        words::ROUTES,
        work::ROUTES,
        workflow_runs::ROUTES,
        workflows::ROUTES,
    ]
    .concat()
}
