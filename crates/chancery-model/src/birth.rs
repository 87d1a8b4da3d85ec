//! The digests of births: of what is asked for, and of what a permit was issued with.
//!
//! `birth.request_hash` and `birth.permit_digest` compute the same in PostgreSQL. Who signs a reservation and the audit compute
//! them here.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::canonical;

/// What somebody asks to be born: a code in a collection, and the normalized intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    pub collection: &'a str,
    pub code: &'a str,
    pub name: Option<&'a str>,
    pub species: Option<&'a str>,
    /// The role that was asked for, or the family's where none was.
    pub role: &'a str,
    /// As [`payload_digest`] makes it; nothing where no payload was announced.
    pub payload_digest: Option<&'a [u8]>,
}

/// The digest of a payload: SHA-256 of its canonical text.
pub fn payload_digest(payload: &Value) -> [u8; 32] {
    canonical::sha256(payload)
}

/// The digest of a request. The same request has the same digest, whoever makes it and how often. The lengths come first, so that
/// no two requests have the same text; a length of -1 tells what is not there from what is empty.
pub fn request_hash(request: &Request<'_>) -> [u8; 32] {
    let length = |text: Option<&str>| text.map_or_else(|| "-1".to_owned(), |t| t.len().to_string());
    let mut text = format!(
        "chancery.birth.v1,{},{},{},{},{},{}:",
        request.payload_digest.map(hex::encode).unwrap_or_default(),
        request.collection.len(),
        request.code.len(),
        length(request.name),
        length(request.species),
        request.role.len(),
    );
    let texts = [
        Some(request.collection),
        Some(request.code),
        request.name,
        request.species,
        Some(request.role),
    ];
    texts.into_iter().flatten().for_each(|t| text.push_str(t));
    Sha256::digest(text).into()
}

/// What a permit was issued with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permit<'a> {
    pub permit_id: Uuid,
    /// As [`request_hash`] makes it.
    pub request_hash: &'a [u8],
    pub batch_id: Option<Uuid>,
    /// The command that asked for it.
    pub dot: &'a str,
    pub approval_id: Option<Uuid>,
    /// Microseconds since 1970.
    pub requested_at: i64,
    /// Microseconds since 1970.
    pub expires_at: i64,
}

/// The digest that the log row of a reservation carries.
pub fn permit_digest(permit: &Permit<'_>) -> [u8; 32] {
    let id = |id: Option<Uuid>| id.map(|id| id.to_string()).unwrap_or_default();
    let mut text = String::from("chancery.permit.v1,");
    write!(
        text,
        "{},{},{},{},{},{},{}",
        permit.permit_id,
        hex::encode(permit.request_hash),
        id(permit.batch_id),
        id(permit.approval_id),
        permit.requested_at,
        permit.expires_at,
        permit.dot,
    )
    .expect("writing to a string cannot fail");
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Request<'_> = Request {
        collection: "shop.film",
        code: "F-1",
        name: None,
        species: None,
        role: "governed",
        payload_digest: None,
    };

    #[test]
    fn nothing_is_not_the_empty_text_and_bytes_cannot_move_between_fields() {
        let digests = [
            PLAIN,
            Request { name: Some(""), ..PLAIN },
            Request { species: Some(""), ..PLAIN },
            Request { collection: "shop.filmF", code: "-1", ..PLAIN },
            Request { name: Some("Phở"), ..PLAIN },
            Request { species: Some("Phở"), ..PLAIN },
            Request { payload_digest: Some(&[0; 32]), ..PLAIN },
        ]
        .map(|request| request_hash(&request));
        let different: std::collections::HashSet<_> = digests.iter().collect();
        assert_eq!(different.len(), digests.len());
    }

    #[test]
    fn a_payload_has_the_digest_of_its_canonical_text() {
        let spaced: Value = serde_json::from_str(r#"{ "b": 1.0, "a": "Phở" }"#).expect("JSON");
        assert_eq!(
            payload_digest(&spaced),
            <[u8; 32]>::from(Sha256::digest(r#"{"a":"Phở","b":1}"#))
        );
    }
}
