#![doc = include_str!("../README.md")]

/// A reading function, asked with the permissions of the credential: `identity.permits` goes by them and by those of the principal. They
/// hold for this one statement; a CASE looks at its condition first.
macro_rules! limited {
    ($last:literal, $call:literal) => {
        concat!(
            "select case when set_config('chancery.permissions', ",
            $last,
            ", true) is not null then ",
            $call,
            " end"
        )
    };
}

pub mod access;
pub mod agent;
pub mod approval;
pub mod birth;
pub mod consumer;
pub mod cutter;
pub mod drift;
pub mod event;
pub mod feed;
pub mod fsm;
pub mod governance;
pub mod ground;
pub mod host;
pub mod identity;
pub mod iu;
pub mod kb;
pub mod managed;
pub mod orchestrator;
pub mod page;
pub mod queue;
pub mod workflow;

mod audit;
mod bundle;
mod config;
mod error;
mod evidence;
mod migrate;
mod target;
mod words;

pub use audit::{KeyFacts, RawRow, RunFacts, Shape, Snapshot, Weight};
pub use error::Error;
pub use evidence::EvidenceRow;
pub use migrate::{DATABASE, Migrated, Release};
pub use target::{LOGINS, Role, Store, Target};
