//! State machines as data: read from a file, expanded to rows, checked, drawn.
//!
//! The way of a machine is [`File::parse`] → [`Definition::from`] → [`check()`]; what passes is handed
//! to PostgreSQL as one JSON document and [`diagram()`] draws the page people read. Nothing here
//! decides whether a run may move: that is the database's work, over the rows made here.
//!
//! Start reading at `file`, then `expand`, then `check`.

mod vocabulary;

mod appearance;

mod file;

mod expand;

mod check;
pub mod rule;
pub mod schema_subset;

mod diagram;

pub use appearance::{COLOURS, ICONS};
pub use check::{Finding, Rule, check};
pub use diagram::diagram;
pub use expand::{Definition, Facet, Message, State, Transition};
pub use file::{
    AlwaysVia, Claim, DeclaredFacet, DeclaredState, DeclaredTransition, Derived, Event, File,
    Guard, Invariant, NeverEdge, NeverPath, ParseError, Rollup, Separation, Text, Trigger,
};
pub use vocabulary::{
    ANY_STATE, ActorClass, BIRTH, GuardKind, Lane, Scope, SemanticClass, Stream, TriggerKind,
};
