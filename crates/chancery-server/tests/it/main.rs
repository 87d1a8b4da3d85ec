//! The routes against a real database, without a socket.

mod bad_input;
mod clients;
mod ear;
mod feed;
mod feed_load;
mod leases;
mod matrix;
mod probes;
mod scene;
mod schemathesis;
mod work;
