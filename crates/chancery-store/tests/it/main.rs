//! The rules as they stand in PostgreSQL, asked through the real logins.

mod engine;
mod support;
