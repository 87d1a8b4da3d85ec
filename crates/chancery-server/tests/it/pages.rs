//! The pages inside the binary: what a browser gets, what a program gets, and what keeps a page from running anything else.

use axum::body::Body;
use axum::http::Request;
use axum::http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, ETAG, IF_NONE_MATCH};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;

use crate::scene::Scene;

struct Got {
    status: u16,
    headers: axum::http::HeaderMap,
    text: Vec<u8>,
}

impl Got {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

async fn get(scene: &Scene, path: &str, headers: &[(axum::http::HeaderName, &str)]) -> Got {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    let request = request.body(Body::empty()).expect("a request");
    let answer = chancery_server::router(scene.host.clone()).oneshot(request).await;
    let (head, body) = answer.expect("an answer").into_parts();
    let text = axum::body::to_bytes(body, usize::MAX).await.expect("a body").to_vec();
    Got { status: head.status.as_u16(), headers: head.headers, text }
}

const BROWSER: (axum::http::HeaderName, &str) = (ACCEPT, "text/html,application/xhtml+xml");

/// UIW-1: every address of the UI opens the page; an address of the API never does, and a program is told that there is nothing.
#[tokio::test]
async fn a_browser_gets_the_page_and_a_program_a_problem() {
    let scene = Scene::new().await;
    for path in ["/", "/governance/problems", "/runs/wfr_1?view=outline", "/kb/notes/one.md"] {
        let got = get(&scene, path, &[BROWSER]).await;
        assert_eq!(got.status, 200, "{path}: bin/ui makes the pages before the tests");
        assert_eq!(got.header("content-type"), "text/html; charset=utf-8", "{path}");
        assert_eq!(got.header("cache-control"), "no-cache", "{path}");
        let again = get(&scene, path, &[BROWSER, (IF_NONE_MATCH, got.header("etag"))]).await;
        assert_eq!((again.status, again.text.len()), (304, 0), "{path}");
        assert_eq!(get(&scene, path, &[]).await.status, 404, "{path} by a program");
    }
    for path in ["/v1/nothing", "/docs/nothing", "/v1"] {
        let got = get(&scene, path, &[BROWSER]).await;
        assert_eq!(
            (got.status, got.header("content-type")),
            (404, "application/problem+json"),
            "{path}"
        );
    }
    let outside = get(&scene, "/../Cargo.toml", &[]).await;
    assert_eq!(outside.status, 404);
    let outside = get(&scene, "/%2e%2e/%2e%2e/nuxt.config.ts", &[]).await;
    assert_eq!(outside.status, 404);
}

/// A page runs its own scripts and no others: those in its text are named by digest, and nothing comes from elsewhere.
#[tokio::test]
async fn a_page_runs_nothing_but_its_own() {
    let scene = Scene::new().await;
    let got = get(&scene, "/", &[BROWSER]).await;
    let policy = got.header("content-security-policy").to_owned();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let page = String::from_utf8(got.text).expect("text");
    let inline: Vec<&str> = page
        .split("<script>")
        .skip(1)
        .filter_map(|rest| rest.split_once("</script>").map(|(script, _)| script))
        .filter(|script| !script.is_empty())
        .collect();
    for script in &inline {
        let digest = STANDARD.encode(Sha256::digest(script));
        assert!(policy.contains(&format!("'sha256-{digest}'")), "{script}");
    }
    assert!(
        !page.contains("https://") && !page.contains("src=\"//"),
        "something from elsewhere: {page}"
    );
    assert!(!page.contains("<style"), "styles in the page are not let through");
}

/// Files with a digest in their name are kept for ever, and what is large is sent compressed to who takes it so.
#[tokio::test]
async fn files_are_kept_and_sent_small() {
    let scene = Scene::new().await;
    let page = String::from_utf8(get(&scene, "/", &[BROWSER]).await.text).expect("text");
    let script = page.split('"').find(|part| part.starts_with("/_nuxt/") && part.ends_with(".js"));
    let script = script.expect("a script of the page");
    let plain = get(&scene, script, &[]).await;
    assert_eq!(
        (plain.status, plain.header("content-type")),
        (200, "text/javascript; charset=utf-8")
    );
    assert_eq!(plain.header("cache-control"), "public, max-age=31536000, immutable");
    assert!(plain.headers.contains_key(ETAG));
    let small = get(&scene, script, &[(ACCEPT_ENCODING, "gzip")]).await;
    assert_eq!(small.headers.get(CONTENT_ENCODING).map(|name| name.as_bytes()), Some(&b"gzip"[..]));
    assert!(
        small.text.len() * 2 < plain.text.len(),
        "{} of {}",
        small.text.len(),
        plain.text.len()
    );
    let described = get(&scene, "/v1/openapi.json", &[(ACCEPT_ENCODING, "gzip")]).await;
    assert_eq!(described.header("content-encoding"), "gzip");
}
