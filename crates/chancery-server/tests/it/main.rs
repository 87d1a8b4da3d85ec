//! The routes against a real database, without a socket.

mod bad_input;
mod leases;
mod person;
mod probes;
mod routes_b;
mod routes_b_queue;
mod routes_b_work;
mod scene;
mod work;
