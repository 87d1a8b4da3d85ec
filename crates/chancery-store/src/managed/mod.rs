//! A private PostgreSQL cluster in Chancery's own data directory.
//!
//! This is what runs when no `DATABASE_URL` is given: server binaries found on the machine, a
//! cluster reachable through a unix socket only, SCRAM passwords in 0600 files, and a start that
//! takes over cleanly after a crash. Everything here is synchronous and waits on processes; from
//! async code call it inside `spawn_blocking`.
//!
//! Start reading at [`Cluster::start`]. Not here: databases, roles and schema inside the cluster
//! (the migrator makes them), and the environment (the binary reads it and passes it in).
//!
//! ```text
//! <home>/secrets/<role>.password   0600, in a 0700 folder
//! <home>/secrets/serve.token       the same; what programs show to `chancery serve`
//! <home>/pg/data                   the cluster; owned by the user the server runs as
//! <home>/pg/log, log.1             the server's messages, rotated by size at start
//! <home>/pg/run                    the socket, unless that path is too long for one
//! <home>/pg/socket_dir             where the socket is
//! <home>/pg/programs               what the server's programs said when they were asked
//! <home>/pg/cluster.lock           held while somebody starts or stops the server
//! <home>/postgresql                server binaries unpacked without root, if any
//! ```
//!
//! Invariant: when started as root, `<home>/pg` itself stays root's. The server's user owns only
//! what lies below, so it can't swap a file under a root process for a link to another one.

mod answers;
mod binaries;
mod cluster;
mod error;
mod home;
pub mod secrets;

mod files;
mod initialise;
mod lock;
mod os_user;
mod postmaster;
mod settings;
mod socket;
mod wait;

pub use binaries::{
    Binaries, BinarySearch, OLDEST_SUPPORTED_MAJOR, Version, VersionFolders, find_binaries,
};
pub use cluster::{Cluster, Connection, Options, Running, Started, Status};
pub use error::Error;
pub use home::{Env, Home};
pub use secrets::Secret;
