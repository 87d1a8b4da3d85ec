//! Which database, and as whom.

use std::process::Command;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use crate::Error;
use crate::managed::{Cluster, Home, secrets};
use crate::migrate::DATABASE;

/// A login of the database. Each duty has its own; owners cannot log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// People, agents and the loops of the product.
    App,
    /// The operator: applies releases, machines, principals and keys.
    Migrator,
    /// Reads everything that is evidence, writes nothing.
    Auditor,
    /// Reads every table for a dump.
    Backup,
    /// The executor of cuts, lane DOT-991.
    CutterExec,
    /// The independent verifier of cuts, lane DOT-992.
    CutterVerify,
    /// The review authority.
    CutterReview,
    /// Reads redacted views of the cutter.
    CutterReadOnly,
    /// Inserts into protected tables: it has the rehearsal's door and no other, since triggers of their owners run as it.
    BirthWriter,
}

/// Every login, in the order in which `db status` shows them.
pub const LOGINS: &[Role] = &[
    Role::App,
    Role::Migrator,
    Role::Auditor,
    Role::Backup,
    Role::CutterExec,
    Role::CutterVerify,
    Role::CutterReview,
    Role::CutterReadOnly,
    Role::BirthWriter,
];

impl Role {
    /// The role's name in PostgreSQL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::App => "chancery_app",
            Self::Migrator => "chancery_migrator",
            Self::Auditor => "auditor_ro",
            Self::Backup => "chancery_backup",
            Self::CutterExec => "cutter_exec",
            Self::CutterVerify => "cutter_verify",
            Self::CutterReview => "cutter_review",
            Self::CutterReadOnly => "cutter_ro",
            Self::BirthWriter => "birth_writer",
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        LOGINS.iter().copied().find(|role| role.name() == name).ok_or_else(|| {
            let known: Vec<_> = LOGINS.iter().map(|role| role.name()).collect();
            format!("no login is called {name}; there are {}", known.join(", "))
        })
    }
}

/// The database to work on, and how each login gets in.
#[derive(Clone)]
pub struct Target {
    pub(crate) admin: PgConnectOptions,
    pub(crate) database: String,
    pub(crate) home: Home,
    /// Whether the server is our own, so that its passwords are ours to set.
    pub(crate) managed: bool,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The connection options hold a password, and would show it.
        f.debug_struct("Target")
            .field("database", &self.database)
            .field("managed", &self.managed)
            .finish_non_exhaustive()
    }
}

impl Target {
    /// The private cluster.
    ///
    /// # Errors
    /// When the superuser's password file cannot be read.
    pub fn managed(cluster: &Cluster) -> Result<Self, Error> {
        let admin = cluster.connection(cluster.superuser())?;
        let options = PgConnectOptions::new_without_pgpass()
            .socket(&admin.socket_dir)
            .port(admin.port)
            .username(&admin.user)
            .password(admin.password.expose());
        Ok(Self {
            admin: options,
            database: DATABASE.to_owned(),
            home: cluster.home().clone(),
            managed: true,
        })
    }

    /// An outside PostgreSQL: the URL's user administers it, the logins' passwords lie in the home.
    ///
    /// # Errors
    /// When the URL is not one.
    pub fn outside(url: &str, home: Home) -> Result<Self, Error> {
        let admin = PgConnectOptions::from_str(url)
            .map_err(|error| Error::Denied(format!("DATABASE_URL can't be used: {error}")))?;
        let database = admin.get_database().unwrap_or(DATABASE).to_owned();
        Ok(Self { admin, database, home, managed: false })
    }

    /// The same server, another database.
    #[must_use]
    pub fn with_database(mut self, database: impl Into<String>) -> Self {
        self.database = database.into();
        self
    }

    /// The database's name.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// How `role` gets in. Where no password file of the role is at hand, the outside URL is used as it is: then it names
    /// the login it means.
    ///
    /// # Errors
    /// When a password file is there and cannot be used.
    pub fn options(&self, role: Role) -> Result<PgConnectOptions, Error> {
        let options = self.admin.clone().database(&self.database).application_name("chancery");
        if !self.managed && !secrets::path(&self.home, role.name())?.exists() {
            return Ok(options);
        }
        let password = secrets::ensure(&self.home, role.name())?;
        Ok(options.username(role.name()).password(password.expose()))
    }

    /// Lets a client program of PostgreSQL in as `role`. By its environment, since everybody on a machine can read argument
    /// lists; the program's `Debug` shows it, so it belongs in no message.
    ///
    /// # Errors
    /// When a password file is there and cannot be used.
    pub fn let_in(&self, role: Role, program: &mut Command) -> Result<(), Error> {
        let options = self.options(role)?;
        let url = options.to_url_lossy();
        match options.get_socket() {
            Some(folder) => program.env("PGHOST", folder),
            None => program.env("PGHOST", options.get_host()),
        };
        program
            .env("PGPORT", options.get_port().to_string())
            .env("PGUSER", options.get_username())
            .env("PGDATABASE", &self.database)
            .env("PGAPPNAME", "chancery")
            // Nobody's own files decide as whom we connect.
            .env("PGPASSFILE", "/dev/null")
            .env("PGSERVICEFILE", "/dev/null");
        if let Some(password) = url.password() {
            program.env("PGPASSWORD", percent_decoded(password));
        }
        for (key, value) in url.query_pairs() {
            let variable = match &*key {
                "sslmode" => "PGSSLMODE",
                "sslrootcert" => "PGSSLROOTCERT",
                "sslcert" => "PGSSLCERT",
                "sslkey" => "PGSSLKEY",
                _ => continue,
            };
            // The driver's way to write a file's name; libpq takes certificates from files alone.
            program.env(variable, value.strip_prefix("file: ").unwrap_or(&value));
        }
        Ok(())
    }
}

/// The driver gives a password back in a URL only.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| first == b'%').and_then(|two| hex::decode(two).ok());
        bytes.push(code.as_ref().map_or(first, |code| code[0]));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One login's way into the database.
#[derive(Clone)]
pub struct Store {
    pub(crate) pool: PgPool,
    /// What the credential of a request is limited to, as `identity.permits` reads it: names with commas between them, or nothing at all
    /// for everything that the principal may.
    permissions: Arc<str>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The pool's options hold a password, and would show it.
        f.debug_struct("Store").field("connections", &self.pool.size()).finish_non_exhaustive()
    }
}

impl Store {
    /// Connects lazily: the first call opens a connection.
    ///
    /// # Errors
    /// When a password file cannot be used.
    pub fn open(target: &Target, role: Role) -> Result<Self, Error> {
        Self::with_connections(target, role, 8)
    }

    /// As [`Store::open`], with a bound on connections.
    ///
    /// # Errors
    /// When a password file cannot be used.
    pub fn with_connections(target: &Target, role: Role, connections: u32) -> Result<Self, Error> {
        Ok(Self::of(pool(connections).connect_lazy_with(target.options(role)?)))
    }

    /// As [`Store::with_connections`], for callers that repeat what failed: a connection is not asked whether it still lives before
    /// each call, which saves a round trip.
    ///
    /// # Errors
    /// When a password file cannot be used.
    pub fn for_repeaters(target: &Target, role: Role, connections: u32) -> Result<Self, Error> {
        let pool = pool(connections).test_before_acquire(false);
        Ok(Self::of(pool.connect_lazy_with(target.options(role)?)))
    }

    /// One connection, in a transaction that ends with [`Store::commit`] or [`Store::roll_back`]: several doors, all or nothing.
    ///
    /// # Errors
    /// When there is no way in.
    pub async fn begin(target: &Target, role: Role) -> Result<Self, Error> {
        let store = Self::with_connections(target, role, 1)?;
        sqlx::query("begin isolation level read committed").execute(&store.pool).await?;
        Ok(store)
    }

    /// Ends the transaction of [`Store::begin`]: everything holds.
    ///
    /// # Errors
    /// When the database refuses at the end; then nothing holds.
    pub async fn commit(self) -> Result<(), Error> {
        let done = sqlx::query("commit").execute(&self.pool).await;
        self.pool.close().await;
        done?;
        Ok(())
    }

    /// Ends the transaction of [`Store::begin`]: nothing holds.
    pub async fn roll_back(self) {
        // A connection that is closed inside a transaction takes it along.
        self.pool.close().await;
    }

    fn of(pool: PgPool) -> Self {
        Self { pool, permissions: Arc::from("") }
    }

    /// The same way in, for readers that see no more than these permissions let them see, whatever their principal may besides: a token
    /// that was given a part of them sees that part, also where one answer embeds another.
    #[must_use]
    pub fn limited_to(&self, permissions: &[String]) -> Self {
        // No permission has this name, so an empty list permits nothing.
        let permissions =
            if permissions.is_empty() { "-".to_owned() } else { permissions.join(",") };
        Self { pool: self.pool.clone(), permissions: permissions.into() }
    }

    /// For the last parameter of `limited!`.
    pub(crate) fn limit(&self) -> &str {
        &self.permissions
    }

    /// Closes the connections.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

fn pool(connections: u32) -> PgPoolOptions {
    PgPoolOptions::new().max_connections(connections).acquire_timeout(Duration::from_secs(10))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed::Env;

    /// ORC-6: an outside URL's own login, whatever its password is made of.
    #[test]
    fn a_client_program_is_let_in_by_its_environment() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::resolve(Some(folder.path().to_owned()), &Env::default()).expect("a home");
        let url = "postgresql://me:p%25%40%3A%C4%91@db.example:6543/books?sslmode=verify-full&sslrootcert=/ca.pem";
        let target = Target::outside(url, home).expect("a target");
        let mut program = Command::new("pg_dump");
        target.let_in(Role::Backup, &mut program).expect("let in");
        let given: Vec<_> = program
            .get_envs()
            .map(|(k, v)| format!("{}={}", k.display(), v.unwrap_or_default().display()))
            .collect();
        for expected in [
            "PGHOST=db.example",
            "PGPORT=6543",
            "PGUSER=me",
            "PGDATABASE=books",
            "PGPASSWORD=p%@:đ",
            "PGSSLMODE=verify-full",
            "PGSSLROOTCERT=/ca.pem",
        ] {
            assert!(given.iter().any(|found| found == expected), "{expected}: {given:?}");
        }
        assert_eq!(program.get_args().count(), 0);
    }
}
