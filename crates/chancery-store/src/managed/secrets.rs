//! One password file a login role.
//!
//! The database never sees a password in a statement: roles get [`scram_verifier`]'s text, and
//! the password itself only serves the client's side of the SCRAM exchange.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use rand::RngCore;
use rand::rngs::OsRng;
use ring::digest::SHA256;
use ring::hmac;

use super::error::{Doing, Error};
use super::files;
use super::home::Home;

const RANDOM_BYTES: usize = 32;
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const OTHERS: u32 = 0o077;

/// A password; shown nowhere unless it is asked for with [`Secret::expose`].
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    fn random() -> Self {
        let mut bytes = [0; RANDOM_BYTES];
        OsRng.fill_bytes(&mut bytes);
        Self(BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Whether it has the form of those that are made here.
    fn is_random(&self) -> bool {
        BASE64_URL_SAFE_NO_PAD.decode(&self.0).is_ok_and(|bytes| bytes.len() == RANDOM_BYTES)
    }

    /// One that came from elsewhere.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The password itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// Where a role's password file lies.
pub fn path(home: &Home, role: &str) -> Result<PathBuf, Error> {
    let valid = role.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && role.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if !valid {
        return Err(Error::RoleName { name: role.to_owned() });
    }
    Ok(home.secrets().join(format!("{role}.password")))
}

/// Where the token lies that programs show to `chancery serve`.
pub fn token_path(home: &Home) -> PathBuf {
    home.secrets().join("serve.token")
}

/// The token that programs show to `chancery serve`; made and kept when there is none yet.
pub fn ensure_token(home: &Home) -> Result<Secret, Error> {
    ensure_at(home, &token_path(home))
}

/// What the tokens of call-backs are made from; made and kept when there is none yet.
pub fn ensure_call_back_key(home: &Home) -> Result<Secret, Error> {
    ensure_at(home, &home.secrets().join("callback.key"))
}

/// A role's password; made and kept when there is none yet.
pub fn ensure(home: &Home, role: &str) -> Result<Secret, Error> {
    ensure_at(home, &path(home, role)?)
}

fn ensure_at(home: &Home, path: &Path) -> Result<Secret, Error> {
    files::make_dir(home.path(), super::os_user::folder_mode())?;
    files::make_dir(&home.secrets(), FOLDER_MODE)?;
    if let Some(secret) = read_file(home, path)? {
        return Ok(secret);
    }
    let secret = Secret::random();
    let draft = path.with_extension(format!("draft-{:016x}", OsRng.next_u64()));
    files::create_file(&draft, format!("{}\n", secret.expose()).as_bytes(), FILE_MODE, None)?;
    // A hard link, unlike a rename, fails when another process was first: its password then counts.
    let linked = fs::hard_link(&draft, path);
    files::remove_if_there(&draft)?;
    match linked {
        Ok(()) => {
            files::sync_parent(path)?;
            Ok(secret)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            read_file(home, path)?.ok_or_else(|| Error::SecretMalformed { path: path.to_owned() })
        }
        Err(error) => Err(error).doing("create", path),
    }
}

/// A role's password; an error when there is none.
pub fn read(home: &Home, role: &str) -> Result<Secret, Error> {
    let path = path(home, role)?;
    read_file(home, &path)?.ok_or_else(|| Error::SecretMissing { role: role.to_owned(), path })
}

/// What the server may keep and a statement may carry instead of the password. Thousands of hashes slow down who guesses; nobody guesses
/// 256 random bits, and each new connection would pay for them: where we made the password, there is one.
pub fn scram_verifier(secret: &Secret) -> String {
    if !secret.is_random() {
        return postgres_protocol::password::scram_sha_256(secret.expose().as_bytes());
    }
    let mut salt = [0; 16];
    OsRng.fill_bytes(&mut salt);
    // PBKDF2 with one round (RFC 8018): the salt and the number of the block, one.
    let salted = keyed(secret.expose().as_bytes(), &[&salt[..], &[0, 0, 0, 1]].concat());
    let stored = ring::digest::digest(&SHA256, keyed(salted.as_ref(), b"Client Key").as_ref());
    let server = keyed(salted.as_ref(), b"Server Key");
    let text = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
    format!("SCRAM-SHA-256$1:{}${}:{}", text(&salt), text(stored.as_ref()), text(server.as_ref()))
}

fn keyed(key: &[u8], data: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), data)
}

fn read_file(home: &Home, path: &Path) -> Result<Option<Secret>, Error> {
    let mut file = match files::open_no_link(OpenOptions::new().read(true), path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).doing("open", path),
    };
    let folder = home.secrets();
    let folder_mode = folder.metadata().doing("look at", &folder)?.mode();
    refuse_if_open_to_others(&folder, folder_mode, FOLDER_MODE)?;
    refuse_if_open_to_others(path, file.metadata().doing("look at", path)?.mode(), FILE_MODE)?;

    let mut text = String::new();
    file.read_to_string(&mut text).doing("read", path)?;
    let line = text.trim_end_matches(['\r', '\n']);
    if line.is_empty() || !line.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Error::SecretMalformed { path: path.to_owned() });
    }
    Ok(Some(Secret(line.to_owned())))
}

fn refuse_if_open_to_others(path: &Path, mode: u32, expected: u32) -> Result<(), Error> {
    if mode & OTHERS != 0 {
        return Err(Error::SecretExposed { path: path.to_owned(), mode: mode & 0o777, expected });
    }
    Ok(())
}
