//! Where a page begins.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::decode;
use crate::{Error, Store};

/// The last row of the page before: its time, RFC 3339 with all its digits, and its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    pub at: String,
    pub id: Uuid,
}

impl Store {
    /// A page by two filters: `$1` and `$2`; the place is `$3` and `$4`, the size `$5`.
    pub(crate) async fn paged<T: for<'de> Deserialize<'de>>(
        &self,
        text: &'static str,
        filters: [Option<&str>; 2],
        after: Option<&After>,
        limit: i64,
    ) -> Result<Vec<T>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(text)
            .bind(filters[0])
            .bind(filters[1])
            .bind(after.map(|after| after.at.as_str()))
            .bind(after.map(|after| after.id))
            .bind(limit)
            .fetch_all(&self.pool)
            .await?;
        rows.into_iter().map(decode).collect()
    }
}
