//! placeholder
pub mod machine;
pub mod reference;
