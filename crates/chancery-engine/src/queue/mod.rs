//! The queue: work that is leased, done and reported on, and what becomes of work that could not be done.

mod command;
mod executor;
mod worker;

pub use command::Command;
pub use executor::{Answer, Executor, Failure, Noop};
pub use worker::{Settings, Tally, Worker};
