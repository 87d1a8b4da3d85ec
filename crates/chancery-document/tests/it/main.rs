//! Tests of the crate from outside, in one binary.

mod detection;
mod documents;
mod growth;
mod laws;
mod legal;
mod markdown;
mod refusals;
mod samples;
mod stability;
