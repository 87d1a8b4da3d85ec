//! Making the cluster: whole or not at all.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, lchown};
use std::path::PathBuf;

use super::binaries::Binaries;
use super::error::{Doing, Error};
use super::home::Home;
use super::os_user::OsUser;
use super::{files, secrets};

/// Everything that is not yet a cluster has this in front of its name.
const UNFINISHED: &str = "data.new-";

/// Removes what an interrupted start left. The lock must be held: a live start owns such names too.
pub(super) fn remove_unfinished(home: &Home, notes: &mut Vec<String>) -> Result<(), Error> {
    let pg = home.pg();
    for entry in fs::read_dir(&pg).doing("list", &pg)? {
        let entry = entry.doing("list", &pg)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with(UNFINISHED) {
            continue;
        }
        let path = entry.path();
        if entry.file_type().doing("look at", &path)?.is_dir() {
            fs::remove_dir_all(&path).doing("remove", &path)?;
            notes.push(format!("removed {name}, a cluster that was never finished"));
        } else {
            files::remove_if_there(&path)?;
        }
    }
    Ok(())
}

/// Runs initdb beside the final place and moves the result there when it is complete.
pub(super) fn create_cluster(
    home: &Home,
    binaries: &Binaries,
    user: &OsUser,
    superuser: &str,
) -> Result<(), Error> {
    let password = secrets::ensure(home, superuser)?;
    let unfinished = Unfinished::new(home);

    DirBuilder::new().mode(0o700).create(&unfinished.data).doing("create", &unfinished.data)?;
    if user.dropped {
        lchown(&unfinished.data, Some(user.uid), Some(user.gid))
            .doing("hand over", &unfinished.data)?;
    }
    let line = format!("{}\n", password.expose());
    files::create_file(&unfinished.password, line.as_bytes(), 0o600, user.as_owner())?;

    run_initdb(&unfinished, binaries, user, superuser)?;

    // Renaming replaces an empty folder and nothing else. initdb has synced all files.
    let data = home.data();
    fs::rename(&unfinished.data, &data).doing("put in place", &data)?;
    files::sync_parent(&data)
}

fn run_initdb(
    unfinished: &Unfinished,
    binaries: &Binaries,
    user: &OsUser,
    superuser: &str,
) -> Result<(), Error> {
    let mut initdb = binaries.command("initdb");
    initdb
        .arg("--pgdata")
        .arg(&unfinished.data)
        .arg("--pwfile")
        .arg(&unfinished.password)
        .arg(format!("--username={superuser}"))
        // The C locale sorts by code point everywhere: an upgrade of the system's libraries can't
        // change the order under an index.
        .args(["--encoding=UTF8", "--locale=C", "--data-checksums", "--no-instructions"])
        .args(["--auth-local=scram-sha-256", "--auth-host=scram-sha-256"]);
    user.run(&mut initdb);
    let output = initdb.output().doing("run", &binaries.bin_dir.join("initdb"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(Error::Initdb { output: String::from_utf8_lossy(&said).trim().to_owned() })
}

/// The names in use before the cluster is complete; dropped, they are gone.
struct Unfinished {
    data: PathBuf,
    password: PathBuf,
}

impl Unfinished {
    fn new(home: &Home) -> Self {
        let name = format!("{UNFINISHED}{}", std::process::id());
        Self { data: home.pg().join(&name), password: home.pg().join(format!("{name}.password")) }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // What can't be removed now is removed by the next start.
        let _ = fs::remove_file(&self.password);
        let _ = fs::remove_dir_all(&self.data);
    }
}
