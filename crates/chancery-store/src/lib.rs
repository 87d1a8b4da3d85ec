#![doc = include_str!("../README.md")]

pub mod event;
pub mod fsm;
pub mod ground;
pub mod identity;
pub mod managed;

mod audit;
mod bundle;
mod config;
mod error;
mod migrate;
mod target;

pub use audit::RunFacts;
pub use error::Error;
pub use migrate::{DATABASE, Migrated, Release};
pub use target::{LOGINS, Role, Store, Target};
