//! Machine files: reading, expanding, checking, drawing.

mod definition;
mod diagram;
mod fixture;
mod graph_laws;
mod parse;
mod repository;
mod rules;
mod schema_subset;
