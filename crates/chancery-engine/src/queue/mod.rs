//! The queue from outside of the database: what people do to jobs.

pub mod people;
