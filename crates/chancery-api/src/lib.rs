#![doc = include_str!("../README.md")]

pub mod access;
pub mod action;
pub mod births;
pub mod id;
pub mod leases;
pub mod openapi;
pub mod page;
pub mod problem;
pub mod proposals;
pub mod queue;
pub mod route;
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
        workflows::ROUTES,
        proposals::ROUTES,
        workflow_runs::ROUTES,
        work::ROUTES,
        leases::ROUTES,
        queue::ROUTES,
        births::ROUTES,
        search::ROUTES,
        words::ROUTES,
    ]
    .concat()
}
