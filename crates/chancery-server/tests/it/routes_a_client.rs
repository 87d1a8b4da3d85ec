//! Somebody with a token and a key of their own, as a program or a browser asks.

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use chancery_engine::identity::OwnKey;
use chancery_server::router;
use chancery_store::Role;
use chancery_store::access::NewToken;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;
use uuid::Uuid;

use crate::scene::{Answer, Scene};

/// A person at the API.
pub(crate) struct Person<'a> {
    scene: &'a Scene,
    token: String,
    key: SigningKey,
    key_id: Uuid,
}

/// What an answer is made of, before anybody reads it as JSON.
pub(crate) struct Raw {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
}

/// The headers of a signature.
#[derive(Clone)]
pub(crate) struct Signature(Vec<(&'static str, String)>);

impl<'a> Person<'a> {
    /// A human with these classes, a key, and a token for everything that they may.
    pub(crate) async fn new(scene: &'a Scene, name: &str, classes: &[&str]) -> Self {
        let operator = scene.db.store(Role::Migrator);
        let held: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
        operator.fn_principal_add(name, "human", &held, None).await.expect("a principal");
        let seed: [u8; 32] = Sha256::digest(name.as_bytes()).into();
        let (key, key_id) = (SigningKey::from_bytes(&seed), Uuid::now_v7());
        let own = OwnKey { key_id, key: key.clone() };
        own.register(&operator, name, None, None).await.expect("a key");
        let list = held.iter().map(|class| format!("'{class}'")).collect::<Vec<_>>().join(",");
        let query = format!(
            "select distinct permission from identity.v_class_permission where actor_class in ({list}) order by 1"
        );
        let scopes: Vec<String> = scene.db.texts(&query).await.into_iter().flatten().collect();
        let token = Self::token(scene, name, &scopes).await;
        Self { scene, token, key, key_id }
    }

    /// The same principal with a token for these things only.
    pub(crate) async fn limited(&self, name: &str, scopes: &[&str]) -> Self {
        let scopes: Vec<String> = scopes.iter().map(|&scope| scope.to_owned()).collect();
        let token = Self::token(self.scene, name, &scopes).await;
        Self { scene: self.scene, token, key: self.key.clone(), key_id: self.key_id }
    }

    async fn token(scene: &Scene, name: &str, scopes: &[String]) -> String {
        let token = format!("test-{}", Uuid::now_v7());
        let new = NewToken {
            token_id: Uuid::now_v7(),
            principal: name,
            label: "a test",
            scopes,
            seconds: 3600,
            token_sha256: Sha256::digest(token.as_bytes()).into(),
            by_token: None,
            acted_by: None,
        };
        scene.db.store(Role::Migrator).fn_token_issue(&new).await.expect("a token");
        token
    }

    pub(crate) async fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Raw {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.token));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = match body {
            Some(body) => request
                .header("content-type", "application/json")
                .body(Body::from(body.to_string())),
            None => request.body(Body::empty()),
        };
        let request = request.expect("a request");
        let response = router(self.scene.host.clone()).oneshot(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.expect("a body").to_vec();
        Raw { status: parts.status, headers: parts.headers, bytes }
    }

    async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        let Raw { status, headers, bytes } = self.raw(method, path, headers, body).await;
        let body = serde_json::from_slice(&bytes).expect("this answer is JSON");
        Answer { status, headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], None).await
    }

    /// A request with these headers.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Answer {
        self.ask(method, path, headers, Some(body)).await
    }

    /// A change under a key, with the signatures that were made for it.
    pub(crate) async fn change(
        &self,
        path: &str,
        key: &str,
        body: &Value,
        signature: Option<&Signature>,
    ) -> Answer {
        let mut headers = vec![("idempotency-key", key)];
        let signed = signature.map_or(&[][..], |signature| &signature.0);
        headers.extend(signed.iter().map(|(name, value)| (*name, value.as_str())));
        self.ask("POST", path, &headers, Some(body)).await
    }

    /// Signs what an answer asks to be signed.
    #[track_caller]
    pub(crate) fn sign(&self, answer: &Answer) -> Signature {
        answer.is_problem(428, "signature_needed");
        let asked = &answer.body["to_sign"];
        let key_id = format!("key_{}", self.key_id.simple());
        assert_eq!(asked["key_id"], key_id.as_str());
        let statements = asked["statements"].as_array().expect("statements");
        let signatures: Vec<String> = statements
            .iter()
            .map(|statement| {
                let bytes = statement["bytes"].as_str().expect("bytes");
                let bytes = BASE64_STANDARD.decode(bytes).expect("base64");
                let payload = statement["payload"].as_str().expect("what a person reads");
                let text = String::from_utf8(bytes.clone()).expect("DSSE of JSON is text");
                assert!(text.starts_with("DSSEv1 ") && text.ends_with(payload), "{text}");
                BASE64_STANDARD.encode(self.key.sign(&bytes).to_bytes())
            })
            .collect();
        Signature(vec![
            ("chancery-key", key_id),
            ("chancery-signed-at", asked["signed_at"].to_string()),
            ("chancery-signature", signatures.join(",")),
        ])
    }

    /// A change that is asked for, signed, and asked for again.
    pub(crate) async fn signed(&self, path: &str, key: &str, body: &Value) -> (Answer, Signature) {
        let asked = self.change(path, key, body, None).await;
        let signature = self.sign(&asked);
        (self.change(path, key, body, Some(&signature)).await, signature)
    }

    /// Every item of a list, by pages of this size; no page is larger and none but the last is smaller.
    pub(crate) async fn all(&self, path: &str, limit: usize) -> Vec<Value> {
        let mut items = Vec::new();
        let mut after = String::new();
        loop {
            let join = if path.contains('?') { '&' } else { '?' };
            let answer = self.get(&format!("{path}{join}limit={limit}{after}")).await;
            let page = answer.is(200).body["items"].as_array().expect("items").clone();
            assert!(page.len() <= limit, "{answer:?}");
            items.extend(page.iter().cloned());
            match answer.body["next"].as_str() {
                Some(next) => {
                    assert_eq!(page.len(), limit, "{answer:?}");
                    after = format!("&after={next}");
                }
                None => return items,
            }
        }
    }
}

impl Signature {
    /// Another key's signature: well-formed, and of nobody who may.
    pub(crate) fn spoiled(&self) -> Self {
        let mut spoiled = self.clone();
        let forged = SigningKey::from_bytes(&[9; 32]).sign(b"something else").to_bytes();
        spoiled.0[2].1 = BASE64_STANDARD.encode(forged);
        spoiled
    }
}

/// The strings of a member, of every item.
pub(crate) fn column(items: &[Value], name: &str) -> Vec<String> {
    items.iter().map(|item| item[name].as_str().expect("a text").to_owned()).collect()
}
