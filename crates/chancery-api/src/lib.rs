#![doc = include_str!("../README.md")]

pub mod access;
pub mod description;
pub mod id;
pub mod leases;
pub mod openapi;
pub mod page;
pub mod problem;
pub mod route;

pub use page::{Page, PageQuery};
pub use problem::Problem;
pub use route::{Access, Endpoint, Method, Nothing, Route, Shape};

/// Every route there is.
pub fn routes() -> Vec<&'static Route> {
    [access::ROUTES, description::ROUTES].concat()
}
