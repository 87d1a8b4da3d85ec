//! The real binary against a real, private PostgreSQL in a throw-away data directory.
//!
//! A cluster takes seconds to make, so each test that needs one walks a long way with it.

mod access;
mod approval;
mod audit;
mod backup;
mod bad_documents;
mod bad_input;
mod birth;
mod centre_piece;
mod chaos;
mod crash;
mod cutter;
mod demo;
mod docs;
mod governance;
mod kb;
mod mcp;
mod orchestrate;
mod place;
mod queue;
mod relay;
mod serve;
mod surface;
mod walk;
mod worker;
mod workflow;
