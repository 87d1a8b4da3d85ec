//! The managed cluster, with real servers: each test makes its own.

mod binaries;
mod crash;
mod lifecycle;
mod passwords;
mod places;
mod support;
