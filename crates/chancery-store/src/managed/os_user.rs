//! The user of the operating system that the server runs as.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{getegid, geteuid};

use super::error::{Doing, Error};
use super::home::Home;

/// Tried in this order when the cluster is made by root, whom PostgreSQL refuses.
const UNPRIVILEGED: [&str; 3] = ["postgres", "chancery", "nobody"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OsUser {
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// Whether it is another user than the one who runs us.
    pub(super) dropped: bool,
}

/// As root, folders are traversable: the server runs as somebody else. Otherwise they are closed.
pub(super) fn folder_mode() -> u32 {
    if geteuid().is_root() { 0o755 } else { 0o700 }
}

impl OsUser {
    /// Ourselves; as root the owner of the existing cluster, or else an unprivileged user.
    pub(super) fn for_cluster(home: &Home) -> Result<Self, Error> {
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let (uid, gid) = (geteuid(), getegid());
        if !uid.is_root() {
            return Ok(Self {
                name: name_of(&passwd, uid.as_raw()),
                uid: uid.as_raw(),
                gid: gid.as_raw(),
                dropped: false,
            });
        }
        match home.data().metadata() {
            Ok(data) if data.uid() != 0 => Ok(Self {
                name: name_of(&passwd, data.uid()),
                uid: data.uid(),
                gid: data.gid(),
                dropped: true,
            }),
            _ => unprivileged(&passwd).ok_or(Error::NoUnprivilegedUser),
        }
    }

    /// Who must own what the server writes; `None` when that is ourselves anyway.
    pub(super) fn as_owner(&self) -> Option<&Self> {
        self.dropped.then_some(self)
    }

    /// Makes a command run as this user.
    pub(super) fn run(&self, command: &mut Command) {
        if self.dropped {
            // Setting the uid also drops root's supplementary groups.
            command.uid(self.uid).gid(self.gid);
        }
    }

    /// Refuses a place that this user can't get to, and says which folder is in the way.
    ///
    /// Without this, initdb and pg_ctl fail with "could not access directory" and name the wrong one.
    pub(super) fn check_can_enter(&self, target: &Path) -> Result<(), Error> {
        if !self.dropped {
            return Ok(());
        }
        let from_the_root = target.ancestors().collect::<Vec<_>>().into_iter().rev();
        for folder in from_the_root {
            let metadata = folder.metadata().doing("look at", folder)?;
            let bit = match (metadata.uid() == self.uid, metadata.gid() == self.gid) {
                (true, _) => 0o100,
                (false, true) => 0o010,
                (false, false) => 0o001,
            };
            // The mode may say no where an access list says yes; then the kernel knows best.
            if metadata.mode() & bit == 0 && !self.may_search(folder) {
                return Err(Error::NotTraversable {
                    folder: folder.to_owned(),
                    user: self.name.clone(),
                    target: target.to_owned(),
                });
            }
        }
        Ok(())
    }

    fn may_search(&self, folder: &Path) -> bool {
        let mut test = Command::new("/usr/bin/test");
        test.arg("-x").arg(folder).current_dir("/").stdin(Stdio::null());
        self.run(&mut test);
        test.status().is_ok_and(|status| status.success())
    }
}

fn unprivileged(passwd: &str) -> Option<OsUser> {
    UNPRIVILEGED.iter().find_map(|wanted| {
        let (name, uid, gid) = entries(passwd).find(|(name, ..)| name == wanted)?;
        // An entry with uid 0 under one of these names would be refused by PostgreSQL all the same.
        (uid != 0).then(|| OsUser { name: name.to_owned(), uid, gid, dropped: true })
    })
}

fn name_of(passwd: &str, wanted: u32) -> String {
    entries(passwd)
        .find(|(_, uid, _)| *uid == wanted)
        .map_or_else(|| wanted.to_string(), |(name, ..)| name.to_owned())
}

fn entries(passwd: &str) -> impl Iterator<Item = (&str, u32, u32)> {
    passwd.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _password) = (fields.next()?, fields.next()?);
        Some((name, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_is_preferred_to_chancery_and_chancery_to_nobody() {
        let nobody = "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n";
        let chancery = format!("{nobody}chancery:x:500:501::/:/bin/false\n");
        let postgres = format!("{chancery}postgres:x:101:104::/:/bin/false\n");
        let picked =
            |passwd: &str| unprivileged(passwd).map(|user| (user.name, user.uid, user.gid));
        assert_eq!(picked(nobody), Some(("nobody".to_owned(), 65534, 65534)));
        assert_eq!(picked(&chancery), Some(("chancery".to_owned(), 500, 501)));
        assert_eq!(picked(&postgres), Some(("postgres".to_owned(), 101, 104)));
        assert_eq!(picked("root:x:0:0::/:/bin/sh\nnonsense\n"), None);
        assert_eq!(picked("postgres:x:0:0::/:/bin/sh\n"), None);
    }
}
