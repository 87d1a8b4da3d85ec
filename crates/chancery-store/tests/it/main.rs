//! The rules as they stand in PostgreSQL, asked through the real logins.

mod catalogue;
mod differential;
mod engine;
mod hardening;
mod locking;
mod logins;
mod matrix;
mod reference_rows;
mod session;
mod shadowing;
mod shipped;
mod source;
mod support;
mod tables;
mod tamper;
mod outbox;
mod restore;
