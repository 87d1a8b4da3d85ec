//! Findings, heartbeats, lag and pending events: what people answer, what workers say, and what the watch loop asks.
//!
//! The rules stand in the database: what is silent, what is late, what closes a finding. Here is only who asks when.

mod answer;
mod pulse;
mod watch;

pub use answer::{Answer, acknowledge, resolve};
pub use pulse::Pulse;
pub use watch::{Seen, watch};
