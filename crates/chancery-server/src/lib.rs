#![doc = include_str!("../README.md")]

mod access;
mod api;
mod body;
mod feed;
mod health;
mod host;
mod metrics;
mod observe;
mod patience;
mod problem;
mod queue;
mod waiting;
mod work;

pub use host::{Bound, Host, bind, router, serve};
pub use problem::Fault;
