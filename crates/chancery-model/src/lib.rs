#![doc = include_str!("../README.md")]

pub mod approval;
pub mod birth;
pub mod canonical;
pub mod chain;
pub mod cutter;
pub mod envelope;
pub mod evidence;
pub mod kb;
pub mod layout;
pub mod machine;
pub mod refusal;
pub mod strict_json;
