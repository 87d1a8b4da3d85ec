//! The real binary against a real, private PostgreSQL in a throw-away data directory.
//!
//! A cluster takes seconds to make, so it is made once, and each test has a copy of it (`place::Place::prepared`).

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
mod cutter_words;
mod demo;
mod docs;
mod drift;
mod governance;
mod kb;
mod mcp;
mod orchestrate;
mod place;
mod prepared;
mod queue;
mod relay;
mod serve;
mod surface;
mod walk;
mod whole_backup;
mod worker;
mod workflow;
