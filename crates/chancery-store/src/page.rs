//! Lists in pages: where the page before ended.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The last row of the page before, by time and id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    /// As PostgreSQL reads a time; whoever makes one of a caller's text checks it first.
    pub at: String,
    pub id: Uuid,
}
