//! The routes against a real database, without a socket.

mod access;
mod bad_input;
mod ear;
mod feed;
mod feed_load;
mod leases;
mod matrix;
mod oidc;
mod probes;
mod routes_a;
mod routes_a_client;
mod routes_a_decisions;
mod scene;
mod web;
mod work;
