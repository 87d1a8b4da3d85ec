//! Where Chancery keeps its data on this machine.

use std::path::{Path, PathBuf};

use super::error::Error;

/// The state directory of the system; root's own home is closed to the user the server runs as.
const SYSTEM_STATE_DIR: &str = "/var/lib/chancery";

/// What the environment says about data directories; read once, by the binary.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// `XDG_DATA_HOME`
    pub xdg_data_home: Option<PathBuf>,
    /// `HOME`
    pub home: Option<PathBuf>,
    /// Whether the process runs as root.
    pub root: bool,
}

impl Env {
    /// Whether this process runs as root.
    pub fn process_is_root() -> bool {
        rustix::process::geteuid().is_root()
    }
}

/// The data directory: an absolute path, which need not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    /// The folder named explicitly (`CHANCERY_HOME`), or else the platform's place for data.
    pub fn resolve(explicit: Option<PathBuf>, env: &Env) -> Result<Self, Error> {
        let named = explicit.filter(|path| !path.as_os_str().is_empty());
        let path = match named {
            Some(path) => path,
            None if env.root => PathBuf::from(SYSTEM_STATE_DIR),
            None => default_for_user(env).ok_or(Error::NoHome)?,
        };
        Self::at(path)
    }

    fn at(path: PathBuf) -> Result<Self, Error> {
        let absolute = std::path::absolute(&path).map_err(|cause| Error::Io {
            doing: "resolve",
            path,
            cause,
        })?;
        let home = with_links_resolved(&absolute);
        // pg_ctl hands its paths to a shell inside double quotes.
        let interpreted = |c: char| matches!(c, '"' | '\'' | '`' | '$' | '\\') || c.is_control();
        match home.to_str() {
            Some(text) if !text.contains(interpreted) => Ok(Self(home)),
            _ => Err(Error::UnsafePath { path: home }),
        }
    }

    /// The data directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of the managed cluster.
    pub fn pg(&self) -> PathBuf {
        self.0.join("pg")
    }

    /// The cluster's own data directory.
    pub fn data(&self) -> PathBuf {
        self.pg().join("data")
    }

    /// The server's log file.
    pub fn log(&self) -> PathBuf {
        self.pg().join("log")
    }

    /// The folder of the password files.
    pub fn secrets(&self) -> PathBuf {
        self.0.join("secrets")
    }

    /// Server binaries that were unpacked here because root was not at hand.
    pub fn binary_cache(&self) -> PathBuf {
        self.0.join("postgresql")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.pg().join("cluster.lock")
    }

    pub(super) fn socket_record(&self) -> PathBuf {
        self.pg().join("socket_dir")
    }
}

/// As the XDG base directory specification says: relative values are ignored.
fn default_for_user(env: &Env) -> Option<PathBuf> {
    let absolute = |path: &Option<PathBuf>| path.clone().filter(|path| path.is_absolute());
    let data = absolute(&env.xdg_data_home)
        .or_else(|| absolute(&env.home).map(|home| home.join(".local/share")))?;
    Some(data.join("chancery"))
}

/// Resolves the links of the part that exists, so that one folder has one name (and one socket).
fn with_links_resolved(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).expect("an ancestor is a prefix");
            // Joining an empty rest would add a trailing slash.
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(explicit: Option<&str>, env: &Env) -> PathBuf {
        Home::resolve(explicit.map(PathBuf::from), env).expect("resolves").path().to_owned()
    }

    #[test]
    fn the_named_folder_wins_then_xdg_then_home() {
        let env = Env {
            xdg_data_home: Some("/none/xdg".into()),
            home: Some("/none/user".into()),
            root: false,
        };
        assert_eq!(resolved(Some("/none/named"), &env), Path::new("/none/named"));
        assert_eq!(resolved(Some(""), &env), Path::new("/none/xdg/chancery"));
        let env = Env { xdg_data_home: Some("relative".into()), ..env };
        assert_eq!(resolved(None, &env), Path::new("/none/user/.local/share/chancery"));
    }

    #[test]
    fn root_gets_the_state_directory_of_the_system() {
        let env = Env { home: Some("/root".into()), root: true, ..Env::default() };
        assert_eq!(resolved(None, &env), Path::new("/var/lib/chancery"));
        assert_eq!(resolved(Some("/none/named"), &env), Path::new("/none/named"));
    }

    #[test]
    fn no_place_at_all_is_an_error() {
        assert!(matches!(Home::resolve(None, &Env::default()), Err(Error::NoHome)));
    }

    #[test]
    fn a_path_that_a_shell_would_interpret_is_refused() {
        for path in ["/none/a$HOME", "/none/a\"b", "/none/`id`", "/none/a\nb"] {
            let refused = Home::resolve(Some(path.into()), &Env::default());
            assert!(matches!(refused, Err(Error::UnsafePath { .. })), "{path:?}");
        }
        assert_eq!(
            resolved(Some("/none/with space"), &Env::default()),
            Path::new("/none/with space")
        );
    }
}
