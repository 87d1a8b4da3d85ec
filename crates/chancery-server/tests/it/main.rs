//! The routes against a real database, without a socket.

mod bad_input;
mod ear;
mod feed;
mod feed_load;
mod leases;
mod probes;
mod scene;
mod telemetry;
mod work;
