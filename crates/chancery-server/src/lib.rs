#![doc = include_str!("../README.md")]

mod api;
mod asking;
mod body;
mod feed;
mod health;
mod host;
mod listen;
mod metrics;
mod observe;
mod oidc;
mod options;
mod patience;
mod problem;
mod request_head;
pub mod telemetry;
mod ui;
mod waiting;

pub use api::password::{fresh as fresh_salt, hashed as hashed_password};
pub use host::{Bound, Host, bind, router, serve};
pub use options::{Oidc, Options, Patience, Tls, TlsError};
pub use problem::Fault;
