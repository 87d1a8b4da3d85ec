//! What the environment and the global options say, read once.

use std::ffi::OsString;
use std::path::PathBuf;

use chancery_engine::identity::Keystore;
use chancery_store::managed::{Env, Home};

use crate::cli::Globals;
use crate::failure::Failure;
use crate::lifeline;
use crate::orchestrate::colour_is_welcome;

/// The configuration of one invocation.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) home: Home,
    /// Who acts, when somebody was named.
    pub(crate) principal: Option<String>,
    /// An outside PostgreSQL; without it the private one in the home is used.
    pub(crate) database_url: Option<String>,
    /// Where the sidecars of runs lie, when somebody said so.
    runs_dir: Option<PathBuf>,
    /// Whether colours are welcome (<https://no-color.org>).
    pub(crate) colour: bool,
    /// Whether the terminal can't move its cursor.
    pub(crate) dumb_terminal: bool,
    /// Whether another process started this one and has it end with itself.
    pub(crate) works_for_another: bool,
    /// `PATH`, for finding server binaries.
    pub(crate) path: Option<OsString>,
}

impl Config {
    /// Reads the environment. Nothing else in the product does.
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    pub(crate) fn read(globals: &Globals) -> Result<Self, Failure> {
        let env = Env {
            xdg_data_home: std::env::var_os("XDG_DATA_HOME").map(Into::into),
            home: std::env::var_os("HOME").map(Into::into),
            root: Env::process_is_root(),
        };
        let database_url = match std::env::var("DATABASE_URL") {
            Ok(url) => Some(url).filter(|url| !url.is_empty()),
            Err(std::env::VarError::NotPresent) => None,
            Err(std::env::VarError::NotUnicode(_)) => {
                return Err(Failure::Usage("DATABASE_URL is not text".to_owned()));
            }
        };
        Ok(Self {
            home: Home::resolve(globals.home.clone(), &env)?,
            principal: globals.principal.clone().filter(|name| !name.is_empty()),
            database_url,
            runs_dir: std::env::var_os("CUTTER_RUNS_DIR")
                .filter(|dir| !dir.is_empty())
                .map(Into::into),
            colour: colour_is_welcome(std::env::var_os("NO_COLOR").as_deref()),
            dumb_terminal: std::env::var_os("TERM").is_some_and(|term| term == "dumb"),
            works_for_another: std::env::var_os(lifeline::VARIABLE)
                .is_some_and(|line| line == "stdin"),
            path: std::env::var_os("PATH"),
        })
    }

    /// The principal who acts.
    pub(crate) fn acting(&self) -> Result<&str, Failure> {
        self.principal.as_deref().ok_or_else(|| {
            Failure::Usage(
                "who acts? name a principal with --as NAME or CHANCERY_PRINCIPAL".to_owned(),
            )
        })
    }

    /// Who a process that runs by itself acts as: the service that comes with every database, unless another one is named. It may
    /// host loops and do jobs, and nothing that a person has to decide.
    pub(crate) fn service(&self) -> &str {
        self.principal.as_deref().unwrap_or("chancery")
    }

    /// Where the sidecars of runs lie: beside the database that they belong to, unless CUTTER_RUNS_DIR says otherwise.
    pub(crate) fn runs_dir(&self) -> PathBuf {
        self.runs_dir.clone().unwrap_or_else(|| self.home.path().join("runs"))
    }

    /// Where private keys lie.
    pub(crate) fn keystore(&self) -> Keystore {
        Keystore::below(self.home.path())
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("home", &self.home.path())
            .field("principal", &self.principal)
            // It may hold a password.
            .field("database_url", &self.database_url.as_ref().map(|_| "hidden"))
            .finish_non_exhaustive()
    }
}

/// A variable that somebody named on the command line.
#[expect(clippy::disallowed_methods, reason = "its name is an argument of the command")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The whole environment, for a program that takes our place.
pub(crate) fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}
