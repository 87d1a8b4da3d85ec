#![doc = include_str!("../README.md")]

pub mod canonical;
pub mod chain;
pub mod envelope;
pub mod machine;
pub mod reference;
pub mod refusal;
