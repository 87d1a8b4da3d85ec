//! Findings, heartbeats, lag and pending events: what people answer, and what workers say.
//!
//! The rules stand in the database: what is silent, what is late, what closes a finding. Here is only who asks when.

mod answer;
mod pulse;
pub mod summaries;

pub use answer::{Answer, acknowledge, resolve};
pub use pulse::Pulse;
