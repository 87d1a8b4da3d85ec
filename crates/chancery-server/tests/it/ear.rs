//! A served host, and clients that listen to it over real sockets.

use std::collections::VecDeque;
use std::net::SocketAddr;

use chancery_store::access::NewToken;
use chancery_store::managed::{Env, Home, secrets};
use chancery_store::{Role, Store};
use chancery_testkit::TestDb;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

/// A host that is served, with all its loops.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) host_token: String,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

impl Served {
    pub(crate) async fn new(db: &TestDb) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home =
            Home::resolve(Some(folder.path().join("home")), &Env::default()).expect("a home");
        let token = secrets::ensure_token(&home).expect("a token");
        let host_token = token.expose().to_owned();
        let (stop, asked) = watch::channel(false);
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let bound = chancery_server::bind(local).await.expect("a place to listen");
        let address = bound.address();
        let open = |n| Store::with_connections(db.target(), Role::App, n).expect("a store");
        let (requests, loops) = (open(12), open(6));
        let serving = tokio::spawn(async move {
            let options = chancery_server::Options::default();
            chancery_server::serve(bound, requests, &loops, "host", token, asked, options)
                .await
                .expect("it serves");
        });
        Self { address, host_token, stop, serving }
    }

    /// Ends it in good order.
    pub(crate) async fn end(self) {
        self.stop.send_replace(true);
        self.serving.await.expect("an end in good order");
    }

    /// A figure of the process.
    pub(crate) async fn figure(&self, sample: &str) -> f64 {
        let page = Ear::ask(self.address, "/metrics", &self.host_token, None).await;
        let text = page.expect("the figures").text().await;
        let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {sample} in {text}")).parse().expect("a number")
    }
}

/// A token of a principal with everything that it may; gives its id as well.
pub(crate) async fn token(db: &TestDb, principal: &str, scopes: &[&str]) -> (Uuid, String) {
    let (token_id, text) = (Uuid::now_v7(), format!("chy_{}", Uuid::now_v7().simple()));
    let scopes: Vec<String> = scopes.iter().map(|&scope| scope.to_owned()).collect();
    let token = NewToken {
        token_id,
        principal,
        label: "a test",
        scopes: &scopes,
        seconds: 3600,
        token_sha256: Sha256::digest(text.as_bytes()).into(),
        acted_by: None,
        by_token: None,
    };
    db.store(Role::Migrator).fn_token_issue(&token).await.expect("a token");
    (token_id, text)
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heard {
    pub(crate) id: Option<i64>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

/// An answer as it comes in.
#[derive(Debug)]
pub(crate) struct Ear {
    pub(crate) status: u16,
    pub(crate) head: String,
    stream: BufReader<TcpStream>,
    chunked: bool,
    length: usize,
    text: String,
    heard: VecDeque<Heard>,
    /// Comments.
    pub(crate) beats: usize,
}

impl Ear {
    /// Asks; nothing when the connection was refused or cut.
    pub(crate) async fn ask(
        address: SocketAddr,
        path: &str,
        token: &str,
        after: Option<i64>,
    ) -> Option<Self> {
        let socket = TcpSocket::new_v4().expect("a socket");
        // Small, so that who does not read is noticed soon.
        socket.set_recv_buffer_size(16 * 1024).expect("a small buffer");
        let mut stream = socket.connect(address).await.ok()?;
        let after = after.map_or_else(String::new, |n| format!("Last-Event-ID: {n}\r\n"));
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{after}\r\n"
        );
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await.ok()? == 0 {
                return None;
            }
        }
        head.make_ascii_lowercase();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let chunked = head.contains("transfer-encoding: chunked");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
            .unwrap_or(0);
        let (text, heard) = (String::new(), VecDeque::new());
        Some(Self { status, head, stream, chunked, length, text, heard, beats: 0 })
    }

    pub(crate) async fn listen(
        address: SocketAddr,
        topics: &str,
        token: &str,
        after: Option<i64>,
    ) -> Self {
        let path = format!("/v1/events?topics={topics}");
        let ear = Self::ask(address, &path, token, after).await.expect("an answer");
        assert_eq!(ear.status, 200, "{}", ear.head);
        assert!(ear.head.contains("content-type: text/event-stream"), "{}", ear.head);
        ear
    }

    /// A piece of the body; nothing at its end.
    async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = if self.chunked {
            let mut line = String::new();
            self.stream.read_line(&mut line).await.ok()?;
            usize::from_str_radix(line.trim(), 16).ok()?
        } else {
            std::mem::take(&mut self.length)
        };
        let mut bytes = vec![0; size];
        self.stream.read_exact(&mut bytes).await.ok()?;
        if self.chunked {
            let mut line = String::new();
            self.stream.read_line(&mut line).await.ok()?;
        }
        (size > 0).then_some(bytes)
    }

    /// The whole body.
    pub(crate) async fn text(mut self) -> String {
        let mut text = String::new();
        while let Some(chunk) = self.chunk().await {
            text.push_str(&String::from_utf8(chunk).expect("UTF-8"));
        }
        text
    }

    /// The next event; nothing when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return Some(heard);
            }
            let chunk = self.chunk().await?;
            self.text.push_str(std::str::from_utf8(&chunk).expect("a chunk is whole events"));
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let heard = heard(event);
                self.text = rest.to_owned();
                match heard {
                    Some(heard) => self.heard.push_back(heard),
                    None => self.beats += 1,
                }
            }
        }
    }

    /// The next event, which has to be of this type.
    pub(crate) async fn expect(&mut self, event: &str) -> Heard {
        let waits = tokio::time::timeout(std::time::Duration::from_secs(20), self.next());
        let heard = waits.await.expect("in time").expect("the stream goes on");
        assert_eq!(heard.event, event, "{heard:?}");
        heard
    }
}

fn heard(text: &str) -> Option<Heard> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    Some(Heard {
        id: field("id: ").map(|id| id.parse().expect("a position")),
        event: field("event: ")?.to_owned(),
        data: serde_json::from_str(field("data: ")?).expect("JSON"),
    })
}
