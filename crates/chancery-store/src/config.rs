//! Words that the database gives to people.

use chancery_model::refusal::{Code, Problem, Refusal};

use crate::{Error, Store};

impl Store {
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
