//! Settings, and the words that the database gives to people.

use chancery_model::refusal::{Code, Problem, Refusal};

use serde_json::Value;

use crate::{Error, Store};

impl Store {
    /// A setting, or `None` when there is none of this name.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn setting(&self, key: &str) -> Result<Option<Value>, Error> {
        Ok(sqlx::query_scalar("select value from config.dot_config where key = $1")
            .bind(key)
            .fetch_optional(&self.pool)
            .await?)
    }

    /// A refusal in the database's own words, for what a reader finds out without asking for a move.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn refusal(&self, code: Code, problems: Vec<Problem>) -> Result<Refusal, Error> {
        let (title, hint) =
            sqlx::query_as("select title, hint from config.refusal where code = $1")
                .bind(code.as_str())
                .fetch_one(&self.pool)
                .await?;
        Ok(Refusal { code, title, hint, problems })
    }
}
