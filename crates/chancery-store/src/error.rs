//! What can go wrong between us and PostgreSQL, by what the caller can do about it.

use chancery_model::refusal::{Code, Problem, Refusal};
use serde::Deserialize;
use sqlx::postgres::PgDatabaseError;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A declared rule says no. Repeating it changes nothing.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// Somebody else was faster; the same call may succeed when it is made again.
    #[error("another transaction was in the way ({0}); try again")]
    Conflict(String),
    /// The server has no room for more locks. Nothing was done, and the same call would end the same way.
    #[error(
        "the database has no room for more locks ({0}); nothing was done. Raise max_locks_per_transaction and restart \
         PostgreSQL (a private server: in postgresql.conf of its data directory, then `chancery db stop` and `chancery db start`), \
         or ask for fewer things at once"
    )]
    Locks(String),
    /// No answer from the database: it is unknown whether the call took effect. The same key makes it safe to repeat.
    #[error("the database is away: {0}")]
    Away(String),
    /// The schema is not what this binary knows.
    #[error("{0}")]
    Schema(String),
    /// The login is refused or misses a right.
    #[error("the database denies access: {0}")]
    Denied(String),
    /// Neither a rule nor the weather: a defect of ours or of the installation.
    #[error("unexpected database error {sqlstate}: {message}")]
    Bug { sqlstate: String, message: String },
    /// The private server could not be reached or started.
    #[error(transparent)]
    Managed(#[from] crate::managed::Error),
}

#[derive(Deserialize)]
struct Detail {
    problems: Vec<Problem>,
}

impl Error {
    /// The refusal, when it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Conflict(_)
            | Self::Locks(_)
            | Self::Away(_)
            | Self::Schema(_)
            | Self::Denied(_)
            | Self::Bug { .. }
            | Self::Managed(_) => None,
        }
    }

    fn of_database(error: &PgDatabaseError) -> Self {
        let sqlstate = error.code();
        if let Some(code) = Code::from_sqlstate(sqlstate) {
            let problems = error
                .detail()
                .and_then(|detail| serde_json::from_str::<Detail>(detail).ok())
                .map_or_else(Vec::new, |detail| detail.problems);
            return Self::Refused(Box::new(Refusal {
                code,
                title: error.message().to_owned(),
                hint: error.hint().unwrap_or_default().to_owned(),
                problems,
            }));
        }
        let message = error.message().to_owned();
        match sqlstate {
            // serialization failure, deadlock, lock not available
            "40001" | "40P01" | "55P03" => Self::Conflict(message),
            // out of memory: of the shared memory for locks, where the server names the setting; its words may be in any language
            "53200"
                if error.hint().is_some_and(|hint| hint.contains("max_locks_per_transaction")) =>
            {
                Self::Locks(message)
            }
            // insufficient privilege, bad password, no such role
            "42501" | "28P01" | "28000" => Self::Denied(message),
            // shutting down, crash, cannot connect now, too many connections
            "57P01" | "57P02" | "57P03" | "53300" => Self::Away(message),
            state if state.starts_with("08") => Self::Away(message),
            state => Self::Bug { sqlstate: state.to_owned(), message },
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) => match database.try_downcast_ref::<PgDatabaseError>()
            {
                Some(error) => Self::of_database(error),
                None => Self::Bug { sqlstate: String::new(), message: error.to_string() },
            },
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed => Self::Away(error.to_string()),
            _ => Self::Bug { sqlstate: String::new(), message: error.to_string() },
        }
    }
}
