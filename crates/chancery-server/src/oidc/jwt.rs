//! Tokens that a provider signed. Only what a key of the provider signed with the algorithm of that key is read at all; then every claim
//! is compared. `none` and algorithms with a shared secret are no signatures here.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Clocks differ by no more.
const SKEW: i64 = 60;
/// No token of a provider is longer.
const MOST_BYTES: usize = 64 * 1024;

/// The keys of a provider.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Jwks {
    pub(crate) keys: Vec<Jwk>,
}

/// One of them. What we do not know is left alone: a provider may have keys for others.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<serde_json::Value>,
}

/// What a token says.
#[derive(Debug, Deserialize)]
pub(crate) struct Claims {
    iss: String,
    pub(crate) sub: String,
    aud: Audience,
    exp: i64,
    iat: i64,
    nbf: Option<i64>,
    azp: Option<String>,
    nonce: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// What it has to say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) nonce: &'a str,
    /// Seconds since 1970.
    pub(crate) now: i64,
}

/// Why it is no proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The provider may have new keys.
    KeyUnknown,
    For(&'static str),
}

impl Unfit {
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::KeyUnknown => "no key of the provider fits its token",
            Self::For(why) => why,
        }
    }
}

/// The claims of a token that the provider signed for us, now, for this sign-in.
pub(crate) fn claims(token: &str, jwks: &Jwks, expected: Expected<'_>) -> Result<Claims, Unfit> {
    let claims: Claims = verified(token, jwks)?;
    let aud = match &claims.aud {
        Audience::One(one) => std::slice::from_ref(one),
        Audience::Many(many) => many,
    };
    let wrong = [
        (claims.iss != expected.issuer, "the token is of another issuer"),
        (!aud.iter().any(|one| one == expected.client_id), "the token is for somebody else"),
        (aud.len() > 1 && claims.azp.is_none(), "the token is for several, and does not say whose"),
        (
            claims.azp.as_deref().is_some_and(|azp| azp != expected.client_id),
            "the token was given to somebody else",
        ),
        (claims.exp.saturating_add(SKEW) <= expected.now, "the token has expired"),
        (claims.iat.saturating_sub(SKEW) > expected.now, "the token is of the future"),
        (
            claims.nbf.is_some_and(|nbf| nbf.saturating_sub(SKEW) > expected.now),
            "the token is not good yet",
        ),
        (claims.nonce.as_deref() != Some(expected.nonce), "the token is of another sign-in"),
        (!(1..=255).contains(&claims.sub.len()), "the token does not say who it is"),
        // PostgreSQL could not keep it, and would answer with a fault of ours.
        (claims.sub.contains(char::is_control), "the token's subject has a control character"),
    ];
    match wrong.into_iter().find(|(wrong, _)| *wrong) {
        Some((_, why)) => Err(Unfit::For(why)),
        None => Ok(claims),
    }
}

/// What a key of the provider signed.
fn verified<T: DeserializeOwned>(token: &str, jwks: &Jwks) -> Result<T, Unfit> {
    const MALFORMED: Unfit = Unfit::For("the token is malformed");
    let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| MALFORMED);
    if token.len() > MOST_BYTES {
        return Err(MALFORMED);
    }
    let parts: Vec<&str> = token.split('.').collect();
    let [head, payload, signature] = parts[..] else { return Err(MALFORMED) };
    let header: Header = serde_json::from_slice(&decode(head)?).map_err(|_| MALFORMED)?;
    if header.crit.is_some() {
        return Err(Unfit::For("the token wants something that is not known here"));
    }
    let signature = decode(signature)?;
    let signed = &token.as_bytes()[..head.len() + 1 + payload.len()];
    let mut fitting = jwks.keys.iter().filter(|key| key.fits(&header)).peekable();
    if fitting.peek().is_none() {
        return Err(Unfit::KeyUnknown);
    }
    if !fitting.any(|key| key.verifies(signed, &signature)) {
        return Err(Unfit::For("the signature of the token is wrong"));
    }
    serde_json::from_slice(&decode(payload)?).map_err(|_| MALFORMED)
}

impl Jwk {
    /// The one algorithm that we use this key with.
    fn algorithm(&self) -> Option<&'static str> {
        match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => Some("RS256"),
            ("EC", Some("P-256")) => Some("ES256"),
            ("OKP", Some("Ed25519")) => Some("EdDSA"),
            _ => None,
        }
    }

    fn fits(&self, header: &Header) -> bool {
        self.algorithm() == Some(header.alg.as_str())
            && self.alg.as_deref().is_none_or(|alg| alg == header.alg)
            && self.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && header.kid.as_ref().is_none_or(|kid| self.kid.as_ref() == Some(kid))
    }

    fn verifies(&self, signed: &[u8], signature: &[u8]) -> bool {
        let bytes = |text: &Option<String>| BASE64_URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
        let checked = match self.algorithm() {
            Some("RS256") => {
                let (Some(n), Some(e)) = (bytes(&self.n), bytes(&self.e)) else { return false };
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature)
            }
            Some("ES256") => {
                let (Some(x), Some(y)) = (bytes(&self.x), bytes(&self.y)) else { return false };
                let point = [&[4][..], &x, &y].concat();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            Some("EdDSA") => {
                let Some(x) = bytes(&self.x) else { return false };
                UnparsedPublicKey::new(&ED25519, x).verify(signed, signature)
            }
            _ => return false,
        };
        checked.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// RFC 7515, A.2 and A.3; RFC 8037, A.4.
    const VECTORS: [(&str, &str); 3] = [
        (
            r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#,
            "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
        ),
        (
            r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ),
        (
            r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
    ];

    fn jwks(keys: &[Value]) -> Jwks {
        serde_json::from_value(json!({ "keys": keys })).expect("keys")
    }

    fn of(key: &str) -> Value {
        serde_json::from_str(key).expect("a key")
    }

    /// The published examples verify; with one bit more or less, another key or another algorithm they do not.
    #[test]
    fn published_examples_verify_and_changed_ones_do_not() {
        let wrong = Unfit::For("the signature of the token is wrong");
        for (number, (key, token)) in VECTORS.into_iter().enumerate() {
            let keys = jwks(&[of(key)]);
            // The last one signs a text that is no JSON: its signature holds nevertheless.
            let said = verified::<Value>(token, &keys);
            if number < 2 {
                assert_eq!(said.expect("verified")["iss"], "joe");
            } else {
                assert_eq!(said, Err(Unfit::For("the token is malformed")));
            }
            let signature = token.rfind('.').expect("three parts") + 1;
            for at in [signature, signature + 20] {
                let mut changed = token.to_owned().into_bytes();
                changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
                let changed = String::from_utf8(changed).expect("text");
                assert_eq!(verified::<Value>(&changed, &keys), Err(wrong), "{number} {at}");
            }
            for (other, (foreign, _)) in VECTORS.into_iter().enumerate() {
                if other != number {
                    let said = verified::<Value>(token, &jwks(&[of(foreign)]));
                    assert_eq!(said, Err(Unfit::KeyUnknown));
                }
            }
        }
        let mut key = of(VECTORS[1].0);
        for (name, value) in [("use", "enc"), ("alg", "ES384")] {
            key[name] = value.into();
            let said = verified::<Value>(VECTORS[1].1, &jwks(&[key.clone()]));
            assert_eq!(said, Err(Unfit::KeyUnknown), "{name}");
        }
    }

    /// Without a signature, or with a shared secret, there is no proof; nor is there with a head that wants more.
    #[test]
    fn what_is_not_signed_by_a_key_is_no_proof() {
        let keys = jwks(&VECTORS.map(|(key, _)| of(key)));
        let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let payload = encode(&json!({ "iss": "joe" }));
        for (alg, expected) in [
            ("none", Unfit::KeyUnknown),
            ("HS256", Unfit::KeyUnknown),
            ("rs256", Unfit::KeyUnknown),
        ] {
            for signature in ["", "AAAA"] {
                let token = format!("{}.{payload}.{signature}", encode(&json!({ "alg": alg })));
                assert_eq!(verified::<Value>(&token, &keys), Err(expected), "{alg}");
            }
        }
        let crit = json!({ "alg": "RS256", "crit": ["exp"] });
        let token = format!("{}.{payload}.AAAA", encode(&crit));
        assert!(matches!(verified::<Value>(&token, &keys), Err(Unfit::For(_))));
        for token in ["", ".", "..", "...", "a.b", "a.b.c", "a.b.c.d", "é.é.é", &"a".repeat(70_000)]
        {
            let said = verified::<Value>(token, &keys);
            assert_eq!(said, Err(Unfit::For("the token is malformed")), "{token:.20}");
        }
    }
}
