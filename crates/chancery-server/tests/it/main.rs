//! The routes against a real database, without a socket.

mod bad_input;
mod clients;
mod leases;
mod matrix;
mod probes;
mod scene;
mod schemathesis;
mod work;
