//! The routes against a real database, most of them without a socket.

mod access;
mod bad_input;
mod clients;
mod colours;
mod ear;
mod feed;
mod feed_load;
mod headlines;
mod leases;
mod matrix;
mod oidc;
mod person;
mod probes;
mod routes_a;
mod routes_a_client;
mod routes_a_decisions;
mod routes_b;
mod routes_b_queue;
mod routes_b_work;
mod scene;
mod schemathesis;
mod security;
mod sockets;
mod telemetry;
mod web;
mod work;
