//! The routes against a real database, most of them without a socket.

mod access;
mod bad_input;
mod leases;
mod oidc;
mod probes;
mod scene;
mod security;
mod sockets;
mod web;
mod work;
