//! The host at a socket: TLS, slow clients, and bodies without an end. Each costs its own connection and nobody else's.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_server::{Options, Patience, Tls, TlsError, bind, serve};
use chancery_store::Role;
use chancery_store::managed::Secret;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::scene::Scene;

/// Longer than any patience here, and short for a person.
const SOON: Duration = Duration::from_secs(8);

struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    running: JoinHandle<std::io::Result<()>>,
    scene: Scene,
}

impl Server {
    async fn start(options: Options) -> Self {
        let scene = Scene::new().await;
        let bound = bind("127.0.0.1:0".parse().expect("an address")).await.expect("a place");
        let address = bound.address();
        let (stop, asked) = watch::channel(false);
        let token = Secret::new(scene.token.clone());
        let (requests, loops) = (scene.db.store(Role::App), scene.db.store(Role::App));
        let running = tokio::spawn(async move {
            let served =
                serve(bound, requests.clone(), &loops, "test", token, asked, options).await;
            requests.close().await;
            loops.close().await;
            served
        });
        Self { address, stop, running, scene }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("a connection")
    }

    /// It still serves others, and soon: one of three in two seconds, since a busy machine may keep any one of them waiting.
    async fn serves_others(&self) {
        let mut took = Vec::new();
        while took.len() < 3 && took.iter().all(|one| *one >= Duration::from_secs(2)) {
            let begun = Instant::now();
            let said = exchange(
                self.connect().await,
                "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
            )
            .await;
            assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
            took.push(begun.elapsed());
        }
        assert!(took.iter().any(|one| *one < Duration::from_secs(2)), "{took:?}");
    }

    async fn end(self) {
        self.stop.send_replace(true);
        tokio::time::timeout(SOON, self.running)
            .await
            .expect("in good order")
            .expect("no panic")
            .expect("served");
        drop(self.scene);
    }
}

async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.expect("sent");
    read(&mut stream).await
}

/// Everything until the other side closes, which has to be soon.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    // A reset after the answer is an end as well.
    let _ = tokio::time::timeout(SOON, stream.read_to_end(&mut bytes)).await.expect("an end");
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hasty() -> Options {
    let patience = Patience { head: Duration::from_millis(500), body: Duration::from_millis(500) };
    Options { patience, ..Options::default() }
}

fn sign_in(more: &str) -> String {
    format!(
        "POST /v1/session HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{more}\r\n"
    )
}

/// RELIABILITY S10: a head or a body that drips is cut off in time, and others are served meanwhile.
#[tokio::test]
async fn a_slow_client_is_cut_off_while_others_are_served() {
    let server = Server::start(hasty()).await;
    let (mut silent, mut head, mut body) =
        (server.connect().await, server.connect().await, server.connect().await);
    head.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-a: ").await.expect("sent");
    body.write_all(sign_in("content-length: 1000\r\n").as_bytes()).await.expect("sent");
    let drip = async |stream: &mut TcpStream| {
        let (mut from, mut to) = stream.split();
        let dripping = async {
            let mut drops = tokio::time::interval(Duration::from_millis(50));
            while to.write_all(b"x").await.is_ok() {
                drops.tick().await;
            }
        };
        let mut said = String::new();
        tokio::select! {
            text = read(&mut from) => said = text,
            () = dripping => {}
        }
        said
    };
    let begun = Instant::now();
    let (_, head, body, ()) =
        tokio::join!(read(&mut silent), drip(&mut head), drip(&mut body), server.serves_others());
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert!(head.is_empty() || head.starts_with("HTTP/1.1 408 "), "{head}");
    assert!(body.starts_with("HTTP/1.1 408 ") && body.contains("body_too_slow"), "{body}");
    server.end().await;
}

/// RELIABILITY S10: the head of a request has the limits that the documentation says, to the byte.
#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    const LIMIT: usize = 64 * 1024;
    let server = Server::start(Options::default()).await;
    let head = |bytes: usize| {
        let start = "GET /v1/api HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-a: ";
        let end = "\r\n\r\n";
        format!("{start}{}{end}", "a".repeat(bytes - start.len() - end.len()))
    };
    let fields = |count: usize| {
        let more: String = (2..count).map(|n| format!("x-{n}: 1\r\n")).collect();
        format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{more}\r\n")
    };
    let status = async |request: &str| {
        let answer = exchange(server.connect().await, request).await;
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    let answer = exchange(server.connect().await, &head(LIMIT)).await;
    assert!(!answer.starts_with("HTTP/1.1 431 "), "{answer}");
    for bytes in [LIMIT + 1, LIMIT + 4096, 3 * LIMIT] {
        assert_eq!(status(&head(bytes)).await, "431", "{bytes}");
    }
    assert_eq!(status(&fields(100)).await, "200");
    assert_eq!(status(&fields(101)).await, "431");
    server.serves_others().await;
    server.end().await;
}

/// SEC-2: a name that a stranger's page could point at this machine opens nothing; probes tell nothing and may ask under any name.
#[tokio::test]
async fn a_host_name_that_nobody_configured_is_refused() {
    let host_names = vec!["chancery.internal".to_owned()];
    let server = Server::start(Options { host_names, ..Options::default() }).await;
    let asked = async |line: &str, host: &str| {
        let request = format!("GET {line} HTTP/1.1\r\n{host}connection: close\r\n\r\n");
        exchange(server.connect().await, &request).await
    };
    for (line, host) in [
        ("/v1/me", "host: evil.example\r\n"),
        ("/", "host: evil.example:7420\r\n"),
        ("/v1/me", "host: localhost\r\nhost: evil.example\r\n"),
        ("http://evil.example/v1/me", "host: localhost\r\n"),
    ] {
        let answer = asked(line, host).await;
        assert!(answer.starts_with("HTTP/1.1 421 "), "{line} {host}: {answer}");
        assert!(answer.contains("\"host_unknown\""), "{answer}");
    }
    for host in ["host: localhost:1\r\n", "host: [::1]\r\n", "host: Chancery.Internal\r\n", ""] {
        let answer = asked("/v1/me", host).await;
        assert!(answer.starts_with("HTTP/1.1 401 "), "{host}: {answer}");
    }
    let probe = asked("/healthz", "host: evil.example\r\n").await;
    assert!(probe.starts_with("HTTP/1.1 200 "), "{probe}");
    server.end().await;
}

/// RELIABILITY S10: a body of a gibibyte is refused when its first mebibyte is there, and memory stays where it was.
#[tokio::test]
async fn a_body_without_an_end_is_refused_early() {
    fn peak_kib() -> u64 {
        let status = fs::read_to_string("/proc/self/status").expect("the kernel says");
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
        line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
    }
    let server = Server::start(Options::default()).await;
    server.serves_others().await;
    let before = peak_kib();
    // It says how long it is, and is not read at all.
    let said = exchange(server.connect().await, &sign_in("content-length: 1073741824\r\n")).await;
    assert!(said.starts_with("HTTP/1.1 413 ") && said.contains("body_too_large"), "{said}");
    // It does not say, so it is read as far as the bound.
    let mut stream = server.connect().await;
    stream.write_all(sign_in("transfer-encoding: chunked\r\n").as_bytes()).await.expect("sent");
    let chunk = format!("{:x}\r\n{}\r\n", 64 * 1024, "[".repeat(64 * 1024));
    let (mut from, mut to) = stream.split();
    let mut sent = 0_usize;
    let sending = async {
        while sent < 1024 * 1024 * 1024 && to.write_all(chunk.as_bytes()).await.is_ok() {
            sent += chunk.len();
        }
        // What the socket holds back must not look like an end of ours.
        std::future::pending::<()>().await;
    };
    let said = tokio::select! {
        said = read(&mut from) => said,
        () = sending => unreachable!("it waits"),
    };
    assert!(said.starts_with("HTTP/1.1 413 "), "{said:.300}");
    assert!(sent < 64 * 1024 * 1024, "{sent} bytes were taken");
    let grown = peak_kib().saturating_sub(before);
    assert!(grown < 64 * 1024, "{grown} KiB more");

    // Ten thousand levels are refused by the parser, which does not climb them.
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let head = sign_in(&format!("content-length: {}\r\nconnection: close\r\n", deep.len()));
    let said = exchange(server.connect().await, &(head + &deep)).await;
    assert!(said.starts_with("HTTP/1.1 400 ") && said.contains("body_malformed"), "{said}");
    server.serves_others().await;
    server.end().await;
}

/// RELIABILITY S7: what could be read as two requests, or adds a header, is refused at the door.
#[tokio::test]
async fn a_request_that_could_be_read_in_two_ways_is_refused() {
    let server = Server::start(hasty()).await;
    let long =
        format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-a: {}\r\n\r\n", "a".repeat(400_000));
    let many =
        format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x-a: 1\r\n".repeat(200));
    for (request, status) in [
        (
            "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-request-id: abcdefgh\r\n injected: 1\r\n\r\n",
            "400",
        ),
        ("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx\0a: 1\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nhost: localhost\r\nbad name: 1\r\n\r\n", "400"),
        (
            "POST /v1/session HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
            "400",
        ),
        ("POST /v1/session HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n", "400"),
        (
            "POST /v1/session HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked, identity\r\n\r\n",
            "400",
        ),
        ("GET /\r\n/healthz HTTP/1.1\r\nhost: localhost\r\n\r\n", "400"),
        (&long, "431"),
        (&many, "431"),
    ] {
        let said = exchange(server.connect().await, request).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{request:.80}: {said:.200}");
    }
    server.serves_others().await;
    server.end().await;
}

fn tls_files() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    fs::write(&certificate, include_str!("tls/cert.pem")).expect("a file");
    fs::write(&key, include_str!("tls/key.pem")).expect("a file");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("its mode");
    (folder, certificate, key)
}

/// SEC-2: the host speaks TLS itself, and nothing else at that place.
#[tokio::test]
async fn tls_is_spoken_with_the_certificate_that_was_given() {
    let (_folder, certificate, key) = tls_files();
    let tls = Tls::from_files(&certificate, &key).expect("they belong together");
    let server = Server::start(Options { tls: Some(tls), ..hasty() }).await;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&certificate).expect("a certificate")).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    // A handshake that does not go on keeps nobody waiting.
    let mut idle = server.connect().await;
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = connector.connect(name, server.connect().await).await.expect("a handshake");
    let said =
        exchange(stream, "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .await;
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    assert!(said.contains("strict-transport-security: max-age="), "{said}");
    let other = ServerName::try_from("example.org").expect("a name");
    connector.connect(other, server.connect().await).await.expect_err("another name");
    let plain =
        exchange(server.connect().await, "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(!plain.contains("HTTP/1.1 200"), "{plain}");
    assert_eq!(read(&mut idle).await, "");
    server.end().await;
}

/// SEC-2: files that can't be used are named, and a key that everybody can read is not taken.
#[test]
fn a_certificate_that_cannot_be_used_is_named() {
    let (folder, certificate, key) = tls_files();
    let nowhere = folder.path().join("nowhere.pem");
    for (certificate, key) in
        [(&nowhere, &key), (&certificate, &nowhere), (&key, &key), (&certificate, &certificate)]
    {
        let said = Tls::from_files(certificate, key).expect_err("no");
        let text = said.to_string();
        assert!(matches!(said, TlsError::File(..) | TlsError::KeyOpen(_)), "{text}");
        assert!(!text.contains("PRIVATE"), "{text}");
    }
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("its mode");
    assert!(matches!(Tls::from_files(&certificate, &key), Err(TlsError::KeyOpen(_))));
}
