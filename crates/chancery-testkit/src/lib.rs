#![doc = include_str!("../README.md")]

pub mod births;
mod cluster;
mod database;
pub mod flows;
mod hand;
pub mod keys;
mod machines;
mod people;
pub mod slice;
mod waiting;
pub mod workflows;

pub use cluster::TestCluster;
pub use database::TestDb;
pub use hand::Held;
pub use machines::{as_custom, repo_path, shipped};
pub use waiting::{pause, pause_thread, until, until_found};
