//! Runs and their moves, in pages.

use uuid::Uuid;

use super::{HistoryRow, ISO, RunRow, history_row, run_row};
use crate::page::After;
use crate::{Error, Store};

/// Which runs.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// By name, or by id with its version.
    pub machine: Option<String>,
    pub state: Option<String>,
    pub after: Option<After>,
    pub limit: i64,
}

impl Store {
    /// Runs, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn runs_page(&self, filter: &RunFilter) -> Result<Vec<RunRow>, Error> {
        let rows = sqlx::query(concat!(
            run!("$1"),
            " where ($2::text is null or $2 in (state_machine_id, split_part(state_machine_id, '@', 1))) and ($3::text is null or state_code = $3)
                and ($4::text is null or (v_run.created_at, run_id) < ($4::text::timestamptz, $5))
              order by v_run.created_at desc, run_id desc limit $6"
        ))
        .bind(ISO)
        .bind(&filter.machine)
        .bind(&filter.state)
        .bind(filter.after.as_ref().map(|after| &after.at))
        .bind(filter.after.as_ref().map(|after| after.id))
        .bind(filter.limit)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(run_row).collect()
    }

    /// The moves of a run behind a number, oldest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn history_page(
        &self,
        run_id: Uuid,
        after: i64,
        limit: i64,
    ) -> Result<Vec<HistoryRow>, Error> {
        let rows = sqlx::query(concat!(
            history!("$1"),
            " where run_id = $2 and seq > $3 order by seq limit $4"
        ))
        .bind(ISO)
        .bind(run_id)
        .bind(after)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(history_row).collect()
    }
}
