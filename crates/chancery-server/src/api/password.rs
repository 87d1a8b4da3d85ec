//! Passwords become argon2id here, a few at a time: each takes memory and a core for a while.

use argon2::{Algorithm, Argon2, Params, Version};
use chancery_store::access::Argon2id;
use tokio::sync::Semaphore;

use crate::problem::{Fault, Problem};

static AT_ONCE: Semaphore = Semaphore::const_new(2);

/// The hash of a password.
pub(crate) async fn hash(password: String, how: Argon2id) -> Result<[u8; 32], Problem> {
    let wrong = |_| Problem::of(Fault::Internal, "nothing more is told here");
    let turn = AT_ONCE.acquire().await.map_err(|_| Problem::of(Fault::Stopping, "ask again"))?;
    let hashed = tokio::task::spawn_blocking(move || {
        let mut hash = [0; 32];
        let params = Params::new(how.memory_kib, how.passes, how.lanes, Some(hash.len()))?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon2.hash_password_into(password.as_bytes(), &how.salt, &mut hash)?;
        Ok::<_, argon2::Error>(hash)
    })
    .await
    .map_err(|_| Problem::of(Fault::Internal, "nothing more is told here"))?;
    drop(turn);
    hashed.map_err(wrong)
}
