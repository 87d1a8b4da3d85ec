//! What things are called: search, words, and how states are shown.

use serde_json::Value;
use uuid::Uuid;

use crate::{Error, Store};

impl Store {
    /// What is called like this and the reader may see, the best first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_search(
        &self,
        reader: &str,
        query: &str,
        kinds: &[String],
        run: Option<Uuid>,
        limit: i32,
    ) -> Result<Value, Error> {
        Ok(sqlx::query_scalar(limited!("$6", "governance.fn_search($1, $2, $3, $4, $5)"))
            .bind(reader)
            .bind(query)
            .bind(kinds)
            .bind(run)
            .bind(limit)
            .bind(self.limit())
            .fetch_one(&self.pool)
            .await?)
    }

    /// Every text that people read, in a language.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_words(&self, locale: &str) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select fsm.fn_words($1)").bind(locale).fetch_one(&self.pool).await?)
    }

    /// One sentence of what is true of a page for this reader; nothing when there is no such page.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_headline(
        &self,
        reader: &str,
        page: &str,
        subject: Option<&str>,
        locale: &str,
    ) -> Result<Option<Value>, Error> {
        Ok(sqlx::query_scalar(limited!("$5", "governance.fn_headline($1, $2, $3, $4)"))
            .bind(reader)
            .bind(page)
            .bind(subject)
            .bind(locale)
            .bind(self.limit())
            .fetch_one(&self.pool)
            .await?)
    }

    /// How the states of every active machine are shown.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_tokens(&self) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select fsm.fn_tokens()").fetch_one(&self.pool).await?)
    }
}
