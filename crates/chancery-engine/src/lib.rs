#![doc = include_str!("../README.md")]

pub mod admission;
pub mod approval;
pub mod audit;
pub mod cutter;
pub mod event;
pub mod governance;
pub mod identity;
pub mod iu;
pub mod kb;
pub mod loops;
pub mod orchestrator;
pub mod queue;
pub mod registry;
pub mod rule_watch;
pub mod run;
pub mod workflow;

mod error;

pub use error::Error;
