//! Finding PostgreSQL's server programs on this machine.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::answers::Answers;
use super::error::Error;
use super::home::Home;

/// The oldest major version whose features the schema uses.
pub const OLDEST_SUPPORTED_MAJOR: u32 = 15;

const NEEDED: [&str; 3] = ["initdb", "postgres", "pg_ctl"];

/// A server version such as 15.18, 17beta1 or 18devel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    /// As the server prints it.
    pub text: String,
}

impl Version {
    /// From the line that `postgres --version` prints.
    fn parse(line: &str) -> Option<Self> {
        let text = line.trim().strip_prefix("postgres (PostgreSQL) ")?.split_whitespace().next()?;
        let number = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text[..end].parse().ok()
        };
        let minor = text.split_once('.').and_then(|(_, minor)| number(minor)).unwrap_or(0);
        Some(Self { major: number(text)?, minor, text: text.to_owned() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A folder with one subfolder a version, as distributions lay PostgreSQL out.
#[derive(Clone, Debug)]
pub struct VersionFolders {
    pub parent: PathBuf,
    /// What the names of the subfolders begin with; the programs lie in their `bin`.
    pub prefix: String,
}

impl VersionFolders {
    fn bin_dirs(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = fs::read_dir(&self.parent)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&self.prefix))
            .map(|entry| entry.path().join("bin"))
            .filter(|bin| bin.is_dir())
            .collect();
        found.sort();
        found
    }
}

/// Where to look for server binaries; the default looks nowhere.
#[derive(Clone, Debug, Default)]
pub struct BinarySearch {
    /// A folder the user named: when given, no other place counts.
    pub explicit: Option<PathBuf>,
    /// The folders of `PATH`, for the programs themselves and for `pg_config`.
    pub path: Vec<PathBuf>,
    /// The distributions' version folders.
    pub distributions: Vec<VersionFolders>,
    /// A root below which packages were unpacked, with their libraries.
    pub cache: Option<PathBuf>,
    /// A file that keeps what programs answered, so that a command need not ask them again.
    pub answers: Option<PathBuf>,
}

impl BinarySearch {
    /// Everywhere a server may be: `PATH`, the distributions' folders and Chancery's own cache.
    pub fn on_this_machine(path_variable: Option<&OsStr>, home: &Home) -> Self {
        let distribution = |parent: &str, prefix: &str| VersionFolders {
            parent: parent.into(),
            prefix: prefix.to_owned(),
        };
        Self {
            explicit: None,
            path: path_variable
                .map(|path| std::env::split_paths(path).collect())
                .unwrap_or_default(),
            distributions: vec![
                distribution("/usr/lib/postgresql", ""),
                distribution("/usr", "pgsql-"),
                distribution("/usr/local", "pgsql"),
                distribution("/opt/homebrew/opt", "postgresql@"),
            ],
            cache: Some(home.binary_cache()),
            answers: Some(home.pg().join("programs")),
        }
    }

    /// The folders to look into, best first, each with the libraries its programs need.
    fn places(&self, answers: &mut Answers) -> Vec<Place> {
        if let Some(explicit) = &self.explicit {
            return vec![Place::system(explicit.clone())];
        }
        let mut places: Vec<Place> = Vec::new();
        places.extend(self.bin_dir_of_pg_config(answers).map(Place::system));
        places.extend(self.path.iter().cloned().map(Place::system));
        places.extend(
            self.distributions.iter().flat_map(VersionFolders::bin_dirs).map(Place::system),
        );
        if let Some(cache) = &self.cache {
            let library_dirs = library_dirs_below(cache);
            let parent = cache.join("usr/lib/postgresql");
            let unpacked = VersionFolders { parent, prefix: String::new() };
            places.extend(
                unpacked
                    .bin_dirs()
                    .into_iter()
                    .map(|bin_dir| Place { bin_dir, library_dirs: library_dirs.clone() }),
            );
        }
        places
    }

    fn bin_dir_of_pg_config(&self, answers: &mut Answers) -> Option<PathBuf> {
        let pg_config =
            self.path.iter().map(|dir| dir.join("pg_config")).find(|path| is_program(path))?;
        let line = answers.of(&pg_config, || {
            let mut command = Command::new(&pg_config);
            let output = command.arg("--bindir").stdin(Stdio::null()).output().ok()?;
            let line = String::from_utf8(output.stdout).ok()?;
            output.status.success().then_some(line)
        })?;
        let dir = line.trim_end();
        (!dir.is_empty()).then(|| PathBuf::from(dir))
    }

    /// The places by name, for the message that nothing was found.
    fn looked_in(&self, places: &[Place]) -> Vec<PathBuf> {
        let mut names: Vec<PathBuf> = places.iter().map(|place| place.bin_dir.clone()).collect();
        if self.explicit.is_none() {
            names.extend(
                self.distributions
                    .iter()
                    .map(|folders| folders.parent.join(format!("{}*", folders.prefix)).join("bin")),
            );
            names.extend(self.cache.clone());
        }
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }
}

/// A PostgreSQL installation with all that a cluster needs.
#[derive(Clone, Debug)]
pub struct Binaries {
    pub bin_dir: PathBuf,
    pub version: Version,
    /// The client, where it is installed.
    pub psql: Option<PathBuf>,
    /// The dump program, where it is installed.
    pub pg_dump: Option<PathBuf>,
    /// Other usable installations, newest first: an existing cluster may need an older one.
    pub others: Vec<Binaries>,
    library_dirs: Vec<PathBuf>,
}

impl Binaries {
    /// The installation of this major version, if it is there.
    pub fn for_major(&self, major: u32) -> Option<&Binaries> {
        std::iter::once(self).chain(&self.others).find(|found| found.version.major == major)
    }

    /// A program of this installation, with a clean environment, from the root folder.
    ///
    /// Deliberately: settings such as `PGOPTIONS`, `PGDATA` or a foreign `LC_ALL` of the caller
    /// never reach the server's programs.
    pub fn command(&self, program: &str) -> Command {
        let mut command = in_clean_environment(&self.bin_dir.join(program), &self.library_dirs);
        let path = std::env::join_paths([
            self.bin_dir.as_path(),
            Path::new("/usr/local/bin"),
            Path::new("/usr/bin"),
            Path::new("/bin"),
        ]);
        if let Ok(path) = path {
            command.env("PATH", path);
        }
        command
    }
}

/// The newest usable server; its older companions are in [`Binaries::others`].
pub fn find_binaries(search: &BinarySearch) -> Result<Binaries, Error> {
    let mut answers = Answers::read(search.answers.as_deref());
    let places = search.places(&mut answers);
    let mut seen = HashSet::new();
    let mut usable: Vec<Binaries> = Vec::new();
    let mut newest_too_old: Option<(Version, PathBuf)> = None;
    for place in &places {
        let real = place.bin_dir.canonicalize().unwrap_or_else(|_| place.bin_dir.clone());
        if !seen.insert(real) {
            continue;
        }
        let Some(version) = place.server_version(&mut answers) else { continue };
        if version.major < OLDEST_SUPPORTED_MAJOR {
            if newest_too_old.as_ref().is_none_or(|(old, _)| rank(old) < rank(&version)) {
                newest_too_old = Some((version, place.bin_dir.clone()));
            }
        } else if NEEDED.iter().all(|program| is_program(&place.bin_dir.join(program))) {
            usable.push(place.binaries(version));
        }
    }
    answers.keep();
    // The sort is stable: of two equal versions the place that comes first in the order wins.
    usable.sort_by_key(|binaries| std::cmp::Reverse(rank(&binaries.version)));
    let mut newest_first = usable.into_iter();
    match (newest_first.next(), newest_too_old) {
        (Some(best), _) => Ok(Binaries { others: newest_first.collect(), ..best }),
        (None, Some((found, at))) => {
            Err(Error::TooOld { found: found.text, at, needs: OLDEST_SUPPORTED_MAJOR })
        }
        (None, None) => Err(Error::NoServer {
            looked_in: search.looked_in(&places),
            needs: OLDEST_SUPPORTED_MAJOR,
        }),
    }
}

struct Place {
    bin_dir: PathBuf,
    library_dirs: Vec<PathBuf>,
}

impl Place {
    fn system(bin_dir: PathBuf) -> Self {
        Self { bin_dir, library_dirs: Vec::new() }
    }

    fn server_version(&self, answers: &mut Answers) -> Option<Version> {
        let postgres = self.bin_dir.join("postgres");
        if !is_program(&postgres) {
            return None;
        }
        let line = answers.of(&postgres, || {
            let mut command = in_clean_environment(&postgres, &self.library_dirs);
            let output = command.arg("--version").output().ok()?;
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        })?;
        Version::parse(&line)
    }

    fn binaries(&self, version: Version) -> Binaries {
        let optional = |name: &str| Some(self.bin_dir.join(name)).filter(|path| is_program(path));
        Binaries {
            version,
            psql: optional("psql"),
            pg_dump: optional("pg_dump"),
            others: Vec::new(),
            library_dirs: self.library_dirs.clone(),
            bin_dir: self.bin_dir.clone(),
        }
    }
}

fn rank(version: &Version) -> (u32, u32) {
    (version.major, version.minor)
}

fn in_clean_environment(program: &Path, library_dirs: &[PathBuf]) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LANG", "C.UTF-8").current_dir("/").stdin(Stdio::null());
    if let Ok(path) = std::env::join_paths(library_dirs)
        && !library_dirs.is_empty()
    {
        command.env("LD_LIBRARY_PATH", path);
    }
    command
}

/// Packages that were unpacked rather than installed bring their libraries along.
fn library_dirs_below(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["usr/lib", "lib"]
        .iter()
        .flat_map(|dir| fs::read_dir(root.join(dir)).into_iter().flatten().flatten())
        .filter(|entry| entry.file_name().to_string_lossy().contains("-linux-"))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_servers_print() {
        let check = |line: &str, expect: Option<(u32, u32, &str)>| {
            let parsed = Version::parse(line);
            let parsed = parsed.as_ref().map(|v| (v.major, v.minor, v.text.as_str()));
            assert_eq!(parsed, expect, "{line:?}");
        };
        check("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", Some((15, 18, "15.18")));
        check("postgres (PostgreSQL) 17beta1", Some((17, 0, "17beta1")));
        check("postgres (PostgreSQL) 18devel", Some((18, 0, "18devel")));
        check("postgres (PostgreSQL) 9.6.24", Some((9, 6, "9.6.24")));
        check("postgres (PostgreSQL) unknown", None);
        check("something else 15.1", None);
        check("", None);
    }
}
