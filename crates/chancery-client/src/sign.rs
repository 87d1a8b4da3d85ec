//! Signatures that the server asks for.

use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use chancery_api::id::KeyId;
use chancery_api::problem::{Statement, ToSign};
use ed25519_dalek::{Signer as _, SigningKey};

use crate::Error;

/// The key of the program's principal.
#[derive(Clone)]
pub struct OwnKey {
    key_id: KeyId,
    key: SigningKey,
}

impl fmt::Debug for OwnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnKey").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

impl OwnKey {
    /// A key, as it was registered.
    pub fn new(key_id: impl Into<KeyId>, key: SigningKey) -> Self {
        Self { key_id: key_id.into(), key }
    }

    /// The headers of a signed request.
    pub(crate) fn headers(&self, wanted: &ToSign) -> Result<[(&'static str, String); 3], Error> {
        let signatures: Vec<String> =
            wanted.statements.iter().map(|one| self.sign(one)).collect::<Result<_, _>>()?;
        Ok([
            ("chancery-key", self.key_id.to_string()),
            ("chancery-signed-at", wanted.signed_at.to_string()),
            ("chancery-signature", signatures.join(",")),
        ])
    }

    fn sign(&self, statement: &Statement) -> Result<String, Error> {
        let Statement { payload_type, payload, bytes } = statement;
        let read =
            format!("DSSEv1 {} {payload_type} {} {payload}", payload_type.len(), payload.len());
        if BASE64_STANDARD.decode(bytes).ok().as_deref() != Some(read.as_bytes()) {
            return Err(Error::NotSigned("the bytes are not those of the statement".to_owned()));
        }
        Ok(BASE64_STANDARD.encode(self.key.sign(read.as_bytes()).to_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_what_can_be_read_is_signed() {
        let own = OwnKey::new(Uuid::nil(), SigningKey::from_bytes(&[7; 32]));
        let statement = |bytes: &str| ToSign {
            key_id: Uuid::nil().into(),
            signed_at: 5,
            statements: vec![Statement {
                payload_type: "t".to_owned(),
                payload: "{}".to_owned(),
                bytes: BASE64_STANDARD.encode(bytes),
            }],
        };
        let headers = own.headers(&statement("DSSEv1 1 t 2 {}")).expect("signatures");
        assert_eq!(headers[1].1, "5");
        assert_eq!(BASE64_STANDARD.decode(&headers[2].1).expect("base64").len(), 64);
        for other in ["DSSEv1 1 t 2 {1", "", "transfer everything"] {
            assert!(matches!(own.headers(&statement(other)), Err(Error::NotSigned(_))), "{other}");
        }
    }
}
