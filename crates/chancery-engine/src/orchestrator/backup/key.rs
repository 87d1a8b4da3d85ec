//! The public key that backups are encrypted to.

use std::fmt;
use std::io::{Read, Write};

use pgp::composed::{
    ArmorOptions, MessageBuilder, PublicOrSecret, SignedPublicKey, SignedPublicSubKey,
};
use pgp::crypto::sym::SymmetricKeyAlgorithm;
use pgp::packet::{KeyFlags, Signature, SignatureType};
use pgp::types::{KeyDetails as _, KeyVersion, SignedUser, Tag, Timestamp};
use rand::rngs::OsRng;

use super::BackupError;

/// An OpenPGP public key that something can be encrypted to today. Nothing here can decrypt: whoever takes a backup cannot
/// read the older ones.
#[derive(Clone)]
pub struct BackupKey {
    certificate: SignedPublicKey,
    user_id: String,
    armored: String,
}

impl fmt::Debug for BackupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BackupKey").field(&self.fingerprint()).field(&self.user_id).finish()
    }
}

/// Which part of a certificate encrypts.
enum Recipient<'a> {
    Primary(&'a pgp::packet::PublicKey),
    Subkey(&'a pgp::packet::PublicSubkey),
}

impl BackupKey {
    /// Reads a public key, armored or binary, as `gpg --export` writes it.
    ///
    /// # Errors
    /// Says by name what is wrong with it: no key, a secret one, several, another version, expired, revoked, or none that
    /// encrypts.
    pub fn parse(bytes: &[u8]) -> Result<Self, BackupError> {
        let not_a_key = |reason: &dyn fmt::Display| BackupError::NotAKey(reason.to_string());
        let (keys, _) = PublicOrSecret::from_reader_many(bytes).map_err(|e| not_a_key(&e))?;
        let mut certificates = Vec::new();
        for key in keys {
            match key.map_err(|e| not_a_key(&e))? {
                PublicOrSecret::Public(certificate) => certificates.push(certificate),
                PublicOrSecret::Secret(_) => return Err(BackupError::SecretKey),
            }
        }
        let count = certificates.len();
        let Some(certificate) = certificates.pop() else {
            return Err(not_a_key(&"there is no key in it"));
        };
        if count > 1 {
            return Err(BackupError::SeveralKeys { count });
        }
        // A v6 key has a longer fingerprint, and gpg 2.2 cannot read it.
        if certificate.version() != KeyVersion::V4 {
            return Err(BackupError::UnsupportedKey(format!(
                "it is of version {}, not 4",
                u8::from(certificate.version())
            )));
        }
        let user_id = user_id(&certificate);
        let armored = certificate
            .to_armored_string(ArmorOptions::default())
            .map_err(|error| not_a_key(&error))?;
        let key = Self { certificate, user_id, armored };
        key.recipient_now()?;
        // An algorithm that can encrypt by its name need not be one that we have.
        key.encrypt(std::io::empty(), std::io::sink())
            .map_err(|error| BackupError::UnsupportedKey(error.to_string()))?;
        Ok(key)
    }

    /// The fingerprint of the primary key: 40 hexadecimal digits in upper case, as gpg shows it.
    pub fn fingerprint(&self) -> String {
        hex::encode_upper(self.certificate.fingerprint().as_bytes())
    }

    /// The key as text, for a configuration row.
    pub fn armored(&self) -> &str {
        &self.armored
    }

    /// Whose key it says it is. For people to read: the fingerprint is what is pinned.
    pub fn user_id(&self) -> &str {
        &self.user_id
    }

    /// Whether it can be used at this moment: a key that was good when it was pinned may have expired since.
    pub(super) fn check_now(&self) -> Result<(), BackupError> {
        self.recipient_now().map(|_| ())
    }

    /// Encrypts a stream. In memory at once are a few chunks of 512 KiB.
    pub(super) fn encrypt(
        &self,
        plain: impl Read,
        out: impl Write,
    ) -> Result<(), EncryptionFailure> {
        let recipient = self.recipient_now().map_err(EncryptionFailure::Key)?;
        let mut message =
            MessageBuilder::from_reader("", plain).seipd_v1(OsRng, SymmetricKeyAlgorithm::AES256);
        match recipient {
            Recipient::Primary(key) => message.encrypt_to_key(OsRng, key),
            Recipient::Subkey(key) => message.encrypt_to_key(OsRng, key),
        }?;
        message.to_writer(OsRng, out)?;
        Ok(())
    }

    /// The newest part that may encrypt, as gpg chooses it.
    fn recipient_now(&self) -> Result<Recipient<'_>, BackupError> {
        let now = Timestamp::now();
        let key = &self.certificate;
        let fingerprint = || self.fingerprint();
        // Whoever signed it: a revocation that cannot be checked is no reason to go on.
        if !key.details.revocation_signatures.is_empty() {
            return Err(BackupError::KeyRevoked { fingerprint: fingerprint() });
        }
        let own = own_signatures(key);
        if own.is_empty() {
            return Err(BackupError::NotAKey("it has no valid signature of its own".to_owned()));
        }
        let ends = own.iter().filter_map(|own| expiry(key.primary_key.created_at(), own)).min();
        if let Some(at) = ends.filter(|at| *at <= now) {
            return Err(BackupError::KeyExpired { fingerprint: fingerprint(), at: shown(at) });
        }
        let mut found: Option<&SignedPublicSubKey> = None;
        let (mut revoked, mut expired) = (false, None);
        for subkey in &key.public_subkeys {
            let Some(binding) = binding(key, subkey) else { continue };
            if !encrypts(&binding.key_flags()) || !subkey.algorithm().can_encrypt() {
                continue;
            }
            if is_revoked(key, subkey) {
                revoked = true;
            } else if let Some(at) = expiry(subkey.created_at(), binding).filter(|at| *at <= now) {
                expired = expired.max(Some(at));
            } else if found.is_none_or(|found| found.created_at() <= subkey.created_at()) {
                found = Some(subkey);
            }
        }
        match (found, expired) {
            (Some(subkey), _) => Ok(Recipient::Subkey(&subkey.key)),
            (None, _)
                if key.algorithm().can_encrypt()
                    && own.iter().any(|own| encrypts(&own.key_flags())) =>
            {
                Ok(Recipient::Primary(&key.primary_key))
            }
            (None, Some(at)) => {
                Err(BackupError::KeyExpired { fingerprint: fingerprint(), at: shown(at) })
            }
            (None, None) if revoked => Err(BackupError::KeyRevoked { fingerprint: fingerprint() }),
            (None, None) => Err(BackupError::NoEncryptionKey { fingerprint: fingerprint() }),
        }
    }
}

/// Why a stream could not be encrypted.
#[derive(Debug, thiserror::Error)]
pub(super) enum EncryptionFailure {
    #[error(transparent)]
    Key(BackupError),
    #[error(transparent)]
    OpenPgp(#[from] pgp::errors::Error),
    #[error(transparent)]
    Write(#[from] std::io::Error),
}

fn encrypts(flags: &KeyFlags) -> bool {
    flags.encrypt_storage() || flags.encrypt_comms()
}

fn expiry(created: Timestamp, signature: &Signature) -> Option<Timestamp> {
    let lasts = signature.key_expiration_time()?.as_secs();
    // Zero is OpenPGP's other way to say never.
    (lasts != 0).then(|| Timestamp::from_secs(created.as_secs().saturating_add(lasts)))
}

fn shown(at: Timestamp) -> String {
    jiff::Timestamp::from_second(i64::from(at.as_secs()))
        .map_or_else(|_| at.as_secs().to_string(), |at| at.to_string())
}

/// A user id's newest signature by the key itself, unless it takes the user id back.
fn certification<'a>(key: &SignedPublicKey, user: &'a SignedUser) -> Option<&'a Signature> {
    user.signatures
        .iter()
        .filter(|s| s.verify_certification(&key.primary_key, Tag::UserId, &user.id).is_ok())
        .max_by_key(|signature| signature.created())
        .filter(|signature| signature.typ() != Some(SignatureType::CertRevocation))
}

/// What the key says about itself, what it is for and until when: the newest signature of each user id and the newest on the
/// key as such. Where they differ about its end, the earliest counts.
fn own_signatures(key: &SignedPublicKey) -> Vec<&Signature> {
    let users = key.details.users.iter().filter_map(|user| certification(key, user));
    let direct = key.details.direct_signatures.iter();
    let direct = direct.filter(|signature| signature.verify_key(&key.primary_key).is_ok());
    users.chain(direct.max_by_key(|signature| signature.created())).collect()
}

fn user_id(key: &SignedPublicKey) -> String {
    let live = key.details.users.iter().filter_map(|u| Some((certification(key, u)?, u)));
    let primary = live.max_by_key(|(signature, _)| (signature.is_primary(), signature.created()));
    let text = primary.map(|(_, user)| String::from_utf8_lossy(user.id.id())).unwrap_or_default();
    // It goes to terminals, and its owner wrote it.
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn bound<'a>(
    key: &'a SignedPublicKey,
    subkey: &'a SignedPublicSubKey,
    typ: SignatureType,
) -> impl Iterator<Item = &'a Signature> {
    subkey.signatures.iter().filter(move |signature| {
        signature.typ() == Some(typ)
            && signature.verify_subkey_binding(&key.primary_key, &subkey.key).is_ok()
    })
}

fn binding<'a>(key: &'a SignedPublicKey, subkey: &'a SignedPublicSubKey) -> Option<&'a Signature> {
    bound(key, subkey, SignatureType::SubkeyBinding).max_by_key(|signature| signature.created())
}

fn is_revoked(key: &SignedPublicKey, subkey: &SignedPublicSubKey) -> bool {
    bound(key, subkey, SignatureType::SubkeyRevocation).next().is_some()
}
