#![doc = include_str!("../README.md")]

mod api;
mod body;
mod health;
mod host;
mod problem;
mod waiting;

pub use host::{Bound, Host, bind, router, serve};
pub use problem::Fault;
