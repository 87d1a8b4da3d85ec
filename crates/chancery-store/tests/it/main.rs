//! The rules as they stand in PostgreSQL, asked through the real logins.

mod archive;
mod canonical;
mod catalogue;
mod cutter_doors;
mod cutter_world;
mod differential;
mod engine;
mod hardening;
mod identity;
mod locking;
mod logins;
mod matrix;
mod migrate;
mod outbox;
mod reference_rows;
mod registry;
mod restore;
mod schema;
mod session;
mod shadowing;
mod shipped;
mod source;
mod support;
mod tables;
mod tamper;
