//! The login that inserts: never that of the doors, since triggers of the table's owner run as it.

use std::str::FromStr as _;

use serde::Serialize;
use serde_json::Value;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgDatabaseError};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use super::{Ask, Rehearsal, Statement};
use crate::fsm::decode;
use crate::{Error, Role, Target};

/// How the inserting login gets in.
#[derive(Clone)]
pub struct Writer {
    options: PgConnectOptions,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The options hold a password, and would show it.
        f.debug_struct("Writer")
            .field("login", &self.options.get_username())
            .finish_non_exhaustive()
    }
}

/// An insert that the table did not take: a constraint, a type, a right, a trigger of its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rejected {
    pub sqlstate: String,
    /// The database's words. They can hold a value of the row, so they are shown and never kept.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

impl Rejected {
    /// The reason as it is kept: the database's words where they are about the schema, and otherwise their kind, because the words
    /// of a type or of an owner's trigger quote values.
    pub fn reason(&self) -> String {
        let names_only = matches!(self.sqlstate.get(..2), Some("23" | "42"));
        let words = if names_only {
            self.message.clone()
        } else {
            match self.sqlstate.get(..2) {
                Some("22") => "a value does not fit its column".to_owned(),
                Some("P0") => "a trigger of the table refused the row".to_owned(),
                _ => "the table refused the row".to_owned(),
            }
        };
        let place = |what: &str, name: &Option<String>| {
            name.as_ref()
                .filter(|name| !words.contains(name.as_str()))
                .map(|name| format!(", {what} {name}"))
                .unwrap_or_default()
        };
        let column = place("column", &self.column);
        format!("{} {words}{}{column}", self.sqlstate, place("constraint", &self.constraint))
    }
}

impl std::fmt::Display for Rejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.sqlstate, self.message)
    }
}

/// How an insert ends when it does not go well.
#[derive(Debug, thiserror::Error)]
pub enum InsertError {
    /// Nothing was written, and the same again would not be either.
    #[error("{0}")]
    Rejected(Box<Rejected>),
    /// A rule of ours refused it, somebody was in the way, or there is no answer.
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<sqlx::Error> for InsertError {
    fn from(error: sqlx::Error) -> Self {
        let rejected = match &error {
            sqlx::Error::Database(database) => {
                database.try_downcast_ref::<PgDatabaseError>().and_then(rejected)
            }
            _ => None,
        };
        match rejected {
            Some(rejected) => Self::Rejected(Box::new(rejected)),
            None => Self::Store(error.into()),
        }
    }
}

/// What is neither a refusal of ours nor the weather is the table's answer to this row.
fn rejected(error: &PgDatabaseError) -> Option<Rejected> {
    let text = |given: Option<&str>| given.map(str::to_owned);
    let is_about_the_row = match error.code().get(..2)? {
        // data, integrity, names and rights, an owner's trigger, a view with a check, a missing foreign server …
        "22" | "23" | "42" | "P0" | "44" | "0A" | "2F" | "38" | "39" | "HV" => true,
        "21" | "2B" | "54" => true,
        _ => false,
    };
    is_about_the_row.then(|| Rejected {
        sqlstate: error.code().to_owned(),
        message: error.message().to_owned(),
        constraint: text(error.constraint()),
        table: text(error.table()),
        column: text(error.column()),
    })
}

impl Writer {
    /// The product's own login for this.
    ///
    /// # Errors
    /// When its password file cannot be used.
    pub fn of(target: &Target) -> Result<Self, Error> {
        Ok(Self { options: target.options(Role::BirthWriter)? })
    }

    /// A login of the user's, in the same database.
    ///
    /// # Errors
    /// When the URL is not one.
    pub fn at(url: &str, target: &Target) -> Result<Self, Error> {
        let options = PgConnectOptions::from_str(url)
            .map_err(|error| Error::Denied(format!("the writer's URL can't be used: {error}")))?;
        Ok(Self { options: options.database(target.database()).application_name("chancery") })
    }

    /// Its name in PostgreSQL.
    pub fn login(&self) -> &str {
        self.options.get_username()
    }

    async fn connect(&self) -> Result<PgConnection, Error> {
        Ok(self.options.connect().await?)
    }

    /// Writes the row, in a transaction of its own. Answers how many rows came of it: a trigger can swallow one.
    ///
    /// # Errors
    /// `Rejected` when the table did not take it. Without an answer it is unknown whether it did.
    pub async fn insert(&self, insert: &Statement) -> Result<u64, InsertError> {
        let mut connection = self.connect().await?;
        let mut transaction = connection.begin().await?;
        let rows = sqlx::query(AssertSqlSafe(insert.statement.as_str()))
            .bind(sqlx::types::Json(&insert.document))
            .execute(&mut *transaction)
            .await?
            .rows_affected();
        transaction.commit().await?;
        // It is written; a connection that does not close properly changes nothing about that.
        let _ = connection.close().await;
        Ok(rows)
    }

    /// Does what [`Writer::insert`] would do, with every deferred constraint, and takes it back.
    ///
    /// # Errors
    /// As [`Writer::insert`].
    pub async fn fn_birth_rehearse(
        &self,
        collection: &str,
        ask: &Ask,
        principal: &str,
        actor_class: &str,
        insert: &Statement,
    ) -> Result<(Rehearsal, u64), InsertError> {
        let mut connection = self.connect().await?;
        let mut transaction = connection.begin().await?;
        let answer: Value = sqlx::query_scalar("select birth.fn_birth_rehearse($1, $2, $3, $4)")
            .bind(collection)
            .bind(sqlx::types::Json([ask]))
            .bind(principal)
            .bind(actor_class)
            .fetch_one(&mut *transaction)
            .await
            .map_err(|error| InsertError::Store(self.without_the_door(error.into())))?;
        let rehearsal: Rehearsal = decode(answer)?;
        let rows = sqlx::query(AssertSqlSafe(insert.statement.as_str()))
            .bind(sqlx::types::Json(&insert.document))
            .execute(&mut *transaction)
            .await?
            .rows_affected();
        sqlx::raw_sql(AssertSqlSafe(rehearsal.constraints.as_str()))
            .execute(&mut *transaction)
            .await?;
        transaction.rollback().await?;
        let _ = connection.close().await;
        Ok((rehearsal, rows))
    }

    fn without_the_door(&self, error: Error) -> Error {
        match error {
            Error::Denied(message) => Error::Denied(format!(
                "{message}; to let {0} rehearse, an administrator runs: grant usage on schema birth to {0}; \
                 grant execute on function birth.fn_birth_rehearse(text, jsonb, text, text, text) to {0}",
                self.login()
            )),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ADM-2: a reason that is kept has no value of the row in it.
    #[test]
    fn a_reason_names_the_schema_and_no_value() {
        let rejected = |sqlstate: &str, message: &str, constraint: Option<&str>| {
            Rejected {
                sqlstate: sqlstate.to_owned(),
                message: message.to_owned(),
                constraint: constraint.map(str::to_owned),
                table: None,
                column: None,
            }
            .reason()
        };
        assert_eq!(
            rejected(
                "23514",
                "new row violates check constraint \"length_is_positive\"",
                Some("length_is_positive")
            ),
            "23514 new row violates check constraint \"length_is_positive\""
        );
        assert_eq!(
            rejected("22P02", "invalid input syntax for type integer: \"secret\"", None),
            "22P02 a value does not fit its column"
        );
        assert_eq!(
            rejected("P0001", "no credit for secret", None),
            "P0001 a trigger of the table refused the row"
        );
        assert_eq!(
            rejected("22P02", "secret", Some("amounts_only")),
            "22P02 a value does not fit its column, constraint amounts_only"
        );
    }
}
