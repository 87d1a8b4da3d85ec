//! What the host of the loops asks the database. Each function has the name of the door it calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fsm::decode;
use crate::{Error, Store};

/// Who leads a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopLease {
    /// The one who asked.
    pub held: bool,
    /// Whoever led it last; nobody ever did when it is missing.
    pub holder: Option<String>,
    /// By the clock of the database; in the past when nobody leads.
    pub lease_until: Option<String>,
}

impl Store {
    /// Asks to lead a loop for some seconds, or with 0 to lead it no longer.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_loop_lease(
        &self,
        loop_name: &str,
        holder: &str,
        seconds: i32,
        principal: &str,
    ) -> Result<LoopLease, Error> {
        let lease: Value = sqlx::query_scalar("select queue.fn_loop_lease($1, $2, $3, $4)")
            .bind(loop_name)
            .bind(holder)
            .bind(seconds)
            .bind(principal)
            .fetch_one(&self.pool)
            .await?;
        decode(lease)
    }

    /// Sees to job leases that ran out, in every lane; answers how many lanes were looked at.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_leases_expire(&self, principal: &str) -> Result<i32, Error> {
        Ok(sqlx::query_scalar("select queue.fn_leases_expire($1)")
            .bind(principal)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Makes the partitions of the days ahead; answers how many were made.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_partitions_prepare(&self, principal: &str) -> Result<i32, Error> {
        Ok(sqlx::query_scalar("select event.fn_partitions_prepare($1)")
            .bind(principal)
            .fetch_one(&self.pool)
            .await?)
    }
}
