//! Passwords become argon2id here, a few at a time: each takes memory and a core for a while.

use argon2::{Algorithm, Argon2, Params, Version};
use chancery_store::access::Argon2id;
use rand::RngCore as _;
use rand::rngs::OsRng;
use tokio::sync::Semaphore;

use crate::problem::{Fault, Problem};

static AT_ONCE: Semaphore = Semaphore::const_new(2);

/// How a new password is hashed: OWASP's least, the same for all, so that names without one look alike.
pub fn fresh() -> Argon2id {
    let mut salt = [0; 16];
    OsRng.fill_bytes(&mut salt);
    Argon2id { salt, memory_kib: 19456, passes: 2, lanes: 1 }
}

/// The hash of a password; nothing when it can't be made.
pub fn hashed(password: &[u8], how: Argon2id) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    let params = Params::new(how.memory_kib, how.passes, how.lanes, Some(hash.len())).ok()?;
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_into(password, &how.salt, &mut hash).ok()?;
    Some(hash)
}

/// The hash of a password, when it is its turn.
pub(crate) async fn hash(password: String, how: Argon2id) -> Result<[u8; 32], Problem> {
    let wrong = || Problem::of(Fault::Internal, "nothing more is told here");
    let turn = AT_ONCE.acquire().await.map_err(|_| Problem::of(Fault::Stopping, "ask again"))?;
    let hash = tokio::task::spawn_blocking(move || hashed(password.as_bytes(), how)).await;
    drop(turn);
    hash.ok().flatten().ok_or_else(wrong)
}
