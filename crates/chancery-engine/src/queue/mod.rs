//! The queue: work that is leased, done and reported on, and what becomes of work that could not be done.

pub mod people;

mod command;
mod executor;
mod http;
mod prefix;
mod step;
mod task;
mod worker;

pub use command::{Command, Program};
pub use executor::{Answer, Executor, Failure, Noop};
pub(crate) use http::agent;
pub use http::{CallBack, HeaderSecret, Http, HttpSettings, Reached};
pub use prefix::{NotAPrefix, Prefix};
pub use task::{FailureClass, Outcome, Task, Trouble, Work};
pub use worker::{Settings, Tally, Worker};
