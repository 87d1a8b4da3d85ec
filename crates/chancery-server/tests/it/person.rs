//! Somebody who asks over HTTP: with a token, and with a key that the server never sees.

use axum::body::Body;
use axum::http::Request;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use chancery_engine::identity::OwnKey;
use chancery_engine::run::Actor;
use chancery_store::Role;
use chancery_store::access::NewToken;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::scene::{Answer, Scene};

pub(crate) struct Person {
    pub(crate) name: String,
    token: String,
    key_id: Uuid,
    key: SigningKey,
}

impl Person {
    /// A service of these classes without a key, whose moves need no signature, and a token for everything it may.
    pub(crate) async fn service(scene: &Scene, name: &str, classes: &[&str]) -> Self {
        scene.db.service(name, classes).await;
        let seed: [u8; 32] = Sha256::digest(name.as_bytes()).into();
        Self::with_token(scene, name, classes, Uuid::now_v7(), SigningKey::from_bytes(&seed)).await
    }

    /// A principal of these classes with a key, and a token for everything it may.
    pub(crate) async fn new(scene: &Scene, name: &str, kind: &str, classes: &[&str]) -> Self {
        let operator = scene.db.store(Role::Migrator);
        let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
        operator.fn_principal_add(name, kind, &classes, None).await.expect("a principal");
        let seed: [u8; 32] = Sha256::digest(name.as_bytes()).into();
        let (key_id, key) = (Uuid::now_v7(), SigningKey::from_bytes(&seed));
        let own = OwnKey { key_id, key: key.clone() };
        own.register(&operator, name, None, None).await.expect("a key");
        let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
        Self::with_token(scene, name, &classes, key_id, key).await
    }

    async fn with_token(
        scene: &Scene,
        name: &str,
        classes: &[&str],
        key_id: Uuid,
        key: SigningKey,
    ) -> Self {
        let operator = scene.db.store(Role::Migrator);
        let held = format!(
            "select distinct permission from identity.v_class_permission where actor_class = any ('{{{}}}') order by 1",
            classes.join(",")
        );
        let scopes: Vec<String> = scene.db.texts(&held).await.into_iter().flatten().collect();
        let token = format!("chy_{name}");
        let issued = NewToken {
            token_id: Uuid::now_v7(),
            principal: name,
            label: "a test",
            scopes: &scopes,
            seconds: 3600,
            token_sha256: Sha256::digest(token.as_bytes()).into(),
            by_token: None,
            acted_by: None,
        };
        operator.fn_token_issue(&issued).await.expect("a token");
        Self { name: name.to_owned(), token, key_id, key }
    }

    /// The same person at the command line.
    pub(crate) fn actor(&self) -> Actor {
        let own = OwnKey { key_id: self.key_id, key: self.key.clone() };
        Actor::new(self.name.clone(), Some(own))
    }

    pub(crate) async fn get(&self, scene: &Scene, path: &str) -> Answer {
        self.ask(scene, "GET", path, &[], Value::Null).await
    }

    /// A request with exactly these headers beside the token.
    pub(crate) async fn ask(
        &self,
        scene: &Scene,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        scene.send(request.body(body).expect("a request")).await
    }

    pub(crate) async fn post(&self, scene: &Scene, path: &str, key: &str, body: &Value) -> Answer {
        self.ask(scene, "POST", path, &[("idempotency-key", key)], body.clone()).await
    }

    /// The headers of a signature under what an answer asked for.
    pub(crate) fn sign(&self, asked: &Answer) -> Vec<(&'static str, String)> {
        asked.is_problem(428, "signature_needed");
        let statements = asked.body["to_sign"]["statements"].as_array().expect("statements");
        let signatures = statements.iter().map(|one| {
            let bytes = one["bytes"].as_str().expect("bytes");
            let bytes = BASE64_STANDARD.decode(bytes).expect("base64");
            BASE64_STANDARD.encode(self.key.sign(&bytes).to_bytes())
        });
        vec![
            ("chancery-key", asked.body["to_sign"]["key_id"].as_str().expect("a key").to_owned()),
            ("chancery-signed-at", asked.body["to_sign"]["signed_at"].to_string()),
            ("chancery-signature", signatures.collect::<Vec<_>>().join(", ")),
        ]
    }

    /// Asks, signs what is to be signed, and asks again, until there is nothing more to sign. Gives the headers that did it.
    pub(crate) async fn signed(
        &self,
        scene: &Scene,
        method: &str,
        path: &str,
        key: &str,
        body: &Value,
    ) -> (Answer, Vec<(&'static str, String)>) {
        let mut headers: Vec<(&'static str, String)> = vec![("idempotency-key", key.to_owned())];
        for _ in 0..3 {
            let shown: Vec<(&str, &str)> =
                headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let answer = self.ask(scene, method, path, &shown, body.clone()).await;
            if answer.status.as_u16() != 428 {
                return (answer, headers);
            }
            for (name, value) in self.sign(&answer) {
                match headers.iter_mut().find(|(known, _)| *known == name) {
                    // What was signed before stays good.
                    Some((_, known)) if name == "chancery-signature" => {
                        known.push_str(", ");
                        known.push_str(&value);
                    }
                    Some(_) => {}
                    None => headers.push((name, value)),
                }
            }
        }
        panic!("{method} {path} never has enough signatures");
    }

    pub(crate) async fn done(&self, scene: &Scene, path: &str, key: &str, body: &Value) -> Answer {
        self.signed(scene, "POST", path, key, body).await.0
    }
}
