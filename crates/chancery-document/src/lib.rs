#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod cut;
mod error;
mod legal;
mod line;
mod mark;
mod markdown;
mod profile;
mod slug;
mod unit;

pub use cut::{cut, rejoin};
pub use error::{CutError, source_text};
pub use profile::{ParseProfileError, Profile};
pub use unit::{Cut, SectionType, Unit};
