#![doc = include_str!("../README.md")]

pub mod canonical;
pub mod chain;
pub mod cutter;
pub mod envelope;
pub mod evidence;
pub mod machine;
pub mod reference;
pub mod refusal;
