//! The routes against a real database, without a socket.

mod access;
mod bad_input;
mod leases;
mod oidc;
mod probes;
mod scene;
mod web;
mod work;
