//! Principals' private keys: files that only their owner can read.
//!
//! A key lies in `<keystore>/<principal>/<key id>.key` as 32 bytes of hex. The newest one that the database has not
//! revoked is the one that signs.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use chancery_model::envelope::Statement;
use chancery_store::identity::SigningKey as RegisteredKey;
use chancery_store::{Role, Store};
use ed25519_dalek::SigningKey;
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::Error;

/// The folder of private keys in the data directory.
#[derive(Debug, Clone)]
pub struct Keystore(PathBuf);

/// A private key with the id it is registered under.
pub struct OwnKey {
    pub key_id: Uuid,
    pub key: SigningKey,
}

impl OwnKey {
    /// Registers the public half, signed by the private one.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn register(
        &self,
        store: &Store,
        principal: &str,
        supersedes: Option<Uuid>,
        acted_by: Option<&str>,
    ) -> Result<RegisteredKey, chancery_store::Error> {
        let public = self.key.verifying_key();
        let possession = Statement::possession(principal, &public).sign(&self.key);
        store
            .fn_key_register(
                self.key_id,
                principal,
                public.as_bytes(),
                &possession,
                supersedes,
                acted_by,
            )
            .await
    }
}

impl std::fmt::Debug for OwnKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The private half never reaches a log.
        f.debug_struct("OwnKey").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

impl Keystore {
    /// The keystore below a data directory.
    pub fn below(home: &Path) -> Self {
        Self(home.join("keys"))
    }

    /// Where a key lies.
    pub fn path(&self, principal: &str, key_id: Uuid) -> PathBuf {
        self.0.join(principal).join(format!("{key_id}.key"))
    }

    /// Makes a key and writes it with mode 0600, flushed to disk before anyone can rely on it.
    fn create(&self, principal: &str) -> Result<OwnKey, Error> {
        let own =
            OwnKey { key_id: Uuid::now_v7(), key: SigningKey::generate(&mut rand::rngs::OsRng) };
        let path = self.path(principal, own.key_id);
        let folder = path.parent().expect("a key lies in its principal's folder");
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::File { path, source }
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed(folder))?;
        let text = Zeroizing::new(hex::encode(own.key.as_bytes()));
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed(&path))?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed(&path))?;
        fs::File::open(folder).and_then(|dir| dir.sync_all()).map_err(failed(folder))?;
        Ok(own)
    }

    /// Reads one key. A file that others can read is refused: then it is no longer one person's key.
    fn read(&self, principal: &str, key_id: Uuid) -> Result<OwnKey, Error> {
        let path = self.path(principal, key_id);
        let failed = |source| Error::File { path: path.clone(), source };
        let mode = fs::metadata(&path).map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(Error::Key(format!(
                "{} can be read by others (mode {:o}); run `chmod 600` on it, or rotate the key",
                path.display(),
                mode & 0o777
            )));
        }
        let text = Zeroizing::new(fs::read_to_string(&path).map_err(failed)?);
        let mut bytes = Zeroizing::new([0u8; 32]);
        hex::decode_to_slice(text.trim(), bytes.as_mut_slice())
            .map_err(|_| Error::Key(format!("{} is not a key file", path.display())))?;
        Ok(OwnKey { key_id, key: SigningKey::from_bytes(&bytes) })
    }

    /// The ids of a principal's keys in this keystore, oldest first.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self, principal: &str) -> Result<Vec<Uuid>, Error> {
        let folder = self.0.join(principal);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(Error::File { path: folder, source }),
        };
        let mut ids: Vec<Uuid> = entries
            .filter_map(|entry| {
                entry.ok()?.file_name().to_str()?.strip_suffix(".key")?.parse().ok()
            })
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// The key that signs for a principal: the newest of ours that is registered and not revoked. When all of ours are
    /// revoked it is the newest of these, so that the database's refusal says so; `None` when there is none at all.
    ///
    /// # Errors
    /// When a key file cannot be used or the database does not answer.
    pub async fn signing_key(
        &self,
        store: &Store,
        principal: &str,
    ) -> Result<Option<OwnKey>, Error> {
        let registered = store.signing_keys().await?;
        let ours = self.list(principal)?;
        let is_live =
            |id: &Uuid| registered.iter().any(|key| key.key_id == *id && key.revoked_at.is_none());
        let is_known = |id: &Uuid| registered.iter().any(|key| key.key_id == *id);
        let chosen = ours
            .iter()
            .rev()
            .find(|id| is_live(id))
            .or_else(|| ours.iter().rev().find(|id| is_known(id)));
        chosen.map(|id| self.read(principal, *id)).transpose()
    }
}

/// The login that acts for a class, as installations have it. It decides nothing: the database knows better.
pub fn login_of(actor_class: &str) -> Role {
    match actor_class {
        "executor_dot991" => Role::CutterExec,
        "verifier_dot992" => Role::CutterVerify,
        "review_authority" => Role::CutterReview,
        _ => Role::App,
    }
}

/// The class that a principal acts in when none was named: of those that make a difference, the only one that it holds; where none
/// of them does, one behind the login of people and loops, or else any. Nothing at all for somebody who has none.
///
/// # Errors
/// When it holds several that make a difference: then only the caller can say.
pub async fn acting_class(
    store: &Store,
    principal: &str,
    that_matter: &[&str],
) -> Result<String, Error> {
    let principals = store.principals().await?;
    let held: &[String] =
        principals.iter().find(|p| p.name == principal).map_or(&[], |p| &p.actor_classes);
    let fitting: Vec<&str> =
        held.iter().map(String::as_str).filter(|class| that_matter.contains(class)).collect();
    match fitting.as_slice() {
        [only] => Ok((*only).to_owned()),
        [] => {
            // An observer has no login to act behind.
            let acting = || held.iter().filter(|class| *class != "observer");
            let of_the_app = acting().find(|class| login_of(class) == Role::App);
            Ok(of_the_app
                .or_else(|| acting().next())
                .or_else(|| held.first())
                .cloned()
                .unwrap_or_default())
        }
        several => Err(Error::Ambiguous(format!(
            "{principal} holds several classes that may do this ({}); choose one with --class",
            several.join(", ")
        ))),
    }
}

/// Makes a key for a principal and registers it. The file is written first: a registered key that nobody holds would be
/// worse than a file that nobody registered.
///
/// # Errors
/// The database's refusal, or a file that cannot be written.
pub async fn new_key(
    store: &Store,
    keystore: &Keystore,
    principal: &str,
    acted_by: Option<&str>,
) -> Result<RegisteredKey, Error> {
    register(store, keystore, principal, None, acted_by).await
}

/// Replaces a principal's live keys by a new one; what the old ones signed stays good.
///
/// # Errors
/// The database's refusal, a file that cannot be written, or no live key to replace.
pub async fn rotate_key(
    store: &Store,
    keystore: &Keystore,
    principal: &str,
    acted_by: Option<&str>,
) -> Result<RegisteredKey, Error> {
    let live: Vec<Uuid> = store
        .signing_keys()
        .await?
        .into_iter()
        .filter(|key| key.principal == principal && key.revoked_at.is_none())
        .map(|key| key.key_id)
        .collect();
    let Some((newest, older)) = live.split_last() else {
        return Err(Error::Key(format!(
            "{principal} has no live key to rotate; make one with `chancery key new {principal}`"
        )));
    };
    let key = register(store, keystore, principal, Some(*newest), acted_by).await?;
    for old in older {
        store.fn_key_revoke(*old, &format!("superseded by {}", key.key_id), acted_by).await?;
    }
    Ok(key)
}

async fn register(
    store: &Store,
    keystore: &Keystore,
    principal: &str,
    supersedes: Option<Uuid>,
    acted_by: Option<&str>,
) -> Result<RegisteredKey, Error> {
    // Asked first, so that a mistyped name leaves no key file behind.
    if !store.principals().await?.iter().any(|known| known.name == principal) {
        // The door gives the refusal its words; it is asked with a key that is never written anywhere.
        let probe = SigningKey::generate(&mut rand::rngs::OsRng);
        let own = OwnKey { key_id: Uuid::now_v7(), key: probe };
        return Ok(own.register(store, principal, supersedes, acted_by).await?);
    }
    let own = keystore.create(principal)?;
    let registered = own.register(store, principal, supersedes, acted_by).await;
    if registered.as_ref().is_err_and(|error| error.refusal().is_some()) {
        let path = keystore.path(principal, own.key_id);
        fs::remove_file(&path).map_err(|source| Error::File { path, source })?;
    }
    Ok(registered?)
}
