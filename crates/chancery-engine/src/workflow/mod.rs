//! Workflows as people deal with them: propose a definition, start a run, act on its steps, see where it stands.
//!
//! Nothing is decided here. A definition is read and handed over, a statement is signed, and the database says what is wrong with
//! either. Where a call leads is read from the rows of the machine, since that is part of what a person signs.

mod act;
mod definition;
mod picture;
mod proposal;
mod step;
mod view;

pub use act::{RunMove, Said, Start, move_run, start};
pub use definition::{parse, read};
pub use picture::Pictures;
pub use proposal::{
    Asked, Kind, NewDraft, Submitted, Written, carry_out, create, merge, propose, settle, submit,
    vote, withdraw,
};
pub use step::{
    Failed, Step, Verb, WaitFor, act, answer, call, callback_token, checkpoint, comment, complete,
    escalate_block, extend, fail, find, give, wait_evidence,
};
pub use view::{Detail, HeldUp, Status, Why, detail, moment, status};
