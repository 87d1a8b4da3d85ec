//! placeholder
pub mod managed;
