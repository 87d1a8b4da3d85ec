//! Tests of the model from outside, in one binary.

mod canonical;
mod layout;
mod machine;
