//! A host over a database of its own.

use std::io::Read as _;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::Response;
use chancery_engine::loops::{Board, LOOPS};
use chancery_engine::registry::install_product_machines;
use chancery_server::{Host, router};
use chancery_store::access::NewToken;
use chancery_store::managed::{Env, Home, Secret, secrets};
use chancery_store::{Role, Store};
use chancery_testkit::TestDb;
use flate2::read::GzDecoder;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tower::ServiceExt as _;
use uuid::Uuid;

pub(crate) struct Scene {
    pub(crate) db: TestDb,
    pub(crate) store: Store,
    pub(crate) host: Host,
    pub(crate) board: Arc<Board>,
    pub(crate) token: String,
    secret: Secret,
    pub(crate) stop: watch::Sender<bool>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let db = TestDb::new().await;
        // As in every database that was migrated: what people may follows from the machines.
        let machines = install_product_machines(&db.store(Role::Migrator), "test").await;
        machines.expect("the machines of the product");
        let folder = tempfile::tempdir().expect("a folder");
        let home =
            Home::resolve(Some(folder.path().join("home")), &Env::default()).expect("a home");
        let secret = secrets::ensure_token(&home).expect("a token");
        assert_eq!(secrets::ensure_token(&home).expect("the token"), secret, "it is kept");
        let store = db.store(Role::App);
        let board = Arc::new(Board::new(LOOPS.iter().map(|one| one.name)));
        let (stop, asked) = watch::channel(false);
        let host = Host::new(store.clone(), Arc::clone(&board), secret.clone(), asked);
        let token = secret.expose().to_owned();
        Self { db, store, host, board, token, secret, stop }
    }

    /// The same with other loops.
    pub(crate) fn with_loops(self, board: Arc<Board>, asked: watch::Receiver<bool>) -> Self {
        let host = Host::new(self.store.clone(), board, self.secret.clone(), asked);
        Self { host, ..self }
    }

    /// A service that works, and the token it shows.
    pub(crate) async fn worker_token(&self, name: &str) -> String {
        self.db.service(name, &["executor_worker"]).await;
        let token = format!("chy_{}", Uuid::now_v7().simple());
        let issued = NewToken {
            token_id: Uuid::now_v7(),
            principal: name,
            label: "works",
            scopes: &["queue.enqueue", "queue.work"].map(str::to_owned),
            seconds: 3600,
            token_sha256: Sha256::digest(token.as_bytes()).into(),
            acted_by: None,
            by_token: None,
        };
        self.db.store(Role::Migrator).fn_token_issue(&issued).await.expect("a token");
        token
    }

    /// A request with exactly these headers.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        read(router(self.host.clone()).oneshot(request).await.expect("an answer")).await
    }

    pub(crate) fn request(&self, path: &str, body: impl Into<Body>) -> Request<Body> {
        Request::post(path)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(body.into())
            .expect("a request")
    }

    /// A request as a worker makes it.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request(path, body.to_string())).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).expect("a request")).await
    }
}

async fn read(response: Response) -> Answer {
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.expect("a body");
    let bytes = match parts.headers.get("content-encoding") {
        Some(how) => {
            assert_eq!(how, "gzip");
            let mut plain = Vec::new();
            GzDecoder::new(&*bytes).read_to_end(&mut plain).expect("a compressed body is whole");
            plain.into()
        }
        None => bytes,
    };
    // An answer without a body says that the client has it already.
    let body = match &*bytes {
        [] => Value::Null,
        bytes => serde_json::from_slice(bytes).expect("every answer is JSON"),
    };
    Answer { status: parts.status, headers: parts.headers, body }
}

impl Answer {
    /// A problem document, whole.
    #[track_caller]
    pub(crate) fn is_problem(&self, status: u16, problem: &str) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        assert_eq!(self.body["status"], status, "{self:?}");
        assert_eq!(self.body["problem"], problem, "{self:?}");
        assert!(self.body["title"].is_string() && self.body["type"].is_string(), "{self:?}");
        self
    }

    /// A refusal in a problem document.
    #[track_caller]
    pub(crate) fn is_refusal(&self, status: u16, code: &str) -> &Self {
        let problem = self.body["problem"].as_str().unwrap_or_default();
        self.is_problem(status, problem);
        assert_eq!(self.body["code"], code, "{self:?}");
        assert_eq!(self.body["problems"][0]["code"], code, "{self:?}");
        assert!(self.body["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        self
    }
}

/// The server, at its address.
pub(crate) async fn listening(scene: &Scene) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a place");
    let address = listener.local_addr().expect("its address");
    let routes = router(scene.host.clone());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    format!("http://{address}")
}
