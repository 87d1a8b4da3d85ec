//! Browsers and programs at a host: people with passwords, sessions with what they show, tokens.

use axum::body::{Body, to_bytes};
use axum::http::request::Builder;
use axum::http::{HeaderMap, Request};
use chancery_server::{Host, Options, fresh_salt, hashed_password, router};
use chancery_store::access::NewToken;
use chancery_store::managed::Secret;
use chancery_store::{Role, Store};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;
use uuid::Uuid;

use crate::scene::Scene;

pub(crate) const PASSWORD: &str = "correct horse battery staple";

pub(crate) struct Web {
    pub(crate) scene: Scene,
    pub(crate) host: Host,
    pub(crate) operator: Store,
}

/// An answer of any kind.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// Null when it is no JSON.
    pub(crate) body: Value,
}

impl Reply {
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// A problem document with this word.
    #[track_caller]
    pub(crate) fn says(self, status: u16, problem: &str) -> Self {
        assert_eq!((self.status, self.word()), (status, problem), "{self:?}");
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        self
    }

    pub(crate) fn word(&self) -> &str {
        self.body["problem"].as_str().unwrap_or_default()
    }

    /// What a cookie of this name is set to.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let set = self.headers.get_all("set-cookie").iter().filter_map(|value| value.to_str().ok());
        set.filter_map(|text| text.split(';').next()?.split_once('='))
            .find(|(set, _)| *set == name)
            .map(|(_, value)| value.to_owned())
    }
}

/// A browser that signed in.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    pub(crate) session: String,
    pub(crate) csrf: String,
}

impl Browser {
    pub(crate) fn of(reply: &Reply) -> Self {
        Self {
            session: reply.cookie("chancery_session").expect("a session"),
            csrf: reply.cookie("chancery_csrf").expect("its token for forms"),
        }
    }

    /// A request with everything that it needs.
    pub(crate) fn request(&self, method: &str, path: &str) -> Builder {
        Request::builder()
            .method(method)
            .uri(path)
            .header("cookie", format!("chancery_session={}", self.session))
            .header("chancery-csrf", &self.csrf)
            .header("idempotency-key", Uuid::now_v7().to_string())
    }
}

impl Web {
    pub(crate) async fn new() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let scene = Scene::new().await;
        let token = Secret::new(scene.token.clone());
        let (store, stop) = (scene.store.clone(), scene.stop.subscribe());
        let host = Host::with_options(store, scene.board.clone(), token, stop, options);
        let operator = scene.db.store(Role::Migrator);
        Self { scene, host, operator }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let response = router(self.host.clone()).oneshot(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.expect("a body");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str(&text).unwrap_or_default();
        Reply { status: parts.status.as_u16(), headers: parts.headers, text, body }
    }

    pub(crate) async fn json(&self, request: Builder, body: &Value) -> Reply {
        let request = request.header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).expect("a request")).await
    }

    pub(crate) async fn get(&self, request: Builder) -> Reply {
        self.send(request.body(Body::empty()).expect("a request")).await
    }

    /// A person with classes and the password.
    pub(crate) async fn person(&self, name: &str, classes: &[&str]) {
        let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
        self.operator.fn_principal_add(name, "human", &classes, None).await.expect("a person");
        let how = fresh_salt();
        let hash = hashed_password(PASSWORD.as_bytes(), how).expect("a hash");
        self.operator.fn_password_set(name, how, &hash, None, None).await.expect("a password");
    }

    pub(crate) async fn try_sign_in(&self, name: &str, password: &str) -> Reply {
        let body = json!({ "name": name, "password": password });
        self.json(Request::post("/v1/session"), &body).await
    }

    pub(crate) async fn sign_in(&self, name: &str) -> Browser {
        Browser::of(&self.try_sign_in(name, PASSWORD).await.is(200))
    }

    /// A token with everything that its principal may.
    pub(crate) async fn whole_token(&self, principal: &str) -> String {
        let query = format!(
            "select distinct c.permission from identity.v_class_permission c join identity.principal p on c.actor_class = any (p.actor_classes)
              where p.name = '{principal}' order by 1"
        );
        let scopes: Vec<String> = self.scene.db.texts(&query).await.into_iter().flatten().collect();
        self.token(principal, &scopes).await
    }

    /// A token that may these things and nothing else.
    pub(crate) async fn token(&self, principal: &str, scopes: &[String]) -> String {
        let secret = format!("chy_{}", Uuid::now_v7().simple());
        let token = NewToken {
            token_id: Uuid::now_v7(),
            principal,
            label: "everything",
            scopes,
            seconds: 3600,
            token_sha256: Sha256::digest(&secret).into(),
            by_token: None,
            acted_by: None,
        };
        self.operator.fn_token_issue(&token).await.expect("a token");
        secret
    }

    pub(crate) async fn sessions(&self) -> i64 {
        self.scene.db.count("identity.session").await
    }
}
