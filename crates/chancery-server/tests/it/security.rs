//! Attempts on the API, over every route there is: forged requests, injected SQL, paths that climb, and secrets in logs. The list of
//! routes is the product's own, so a new route is tried without a line here.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, StatusCode};
use chancery_api::openapi::path_names;
use chancery_api::{Access, Method, Route, Shape, routes};
use chancery_server::{Options, router};
use chancery_testkit::slice;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use tracing_subscriber::fmt::MakeWriter;

use crate::web::{PASSWORD, Reply, Web};

/// What a name that nobody has looks like.
const HARMLESS: &str = "nobody-has-this";

const SQL: &[&str] = &[
    "'",
    "''",
    "\"",
    "\\",
    "\\'",
    "`",
    "';",
    "' --",
    "' #",
    "'/*",
    "*/",
    "' or '1'='1",
    "' or 1=1 --",
    "' or ''='",
    "\" or \"\"=\"",
    "') or ('1'='1",
    "')) or (('1'='1",
    "1 or 1=1",
    "1) or (1=1",
    "' || 'x",
    "' || (select 1) || '",
    "x' and 1=0 union select null --",
    "' union select null, null --",
    "' union all select 1, 2, 3 --",
    "' union select version() --",
    "' union select rolpassword from pg_authid --",
    "' union select encode(hash, 'hex') from identity.credential --",
    "'; drop table public.canary; --",
    "'; drop table public.canary cascade; select '",
    "'; delete from public.canary; --",
    "'; truncate public.canary; --",
    "'; update public.canary set n = 2; --",
    "'; insert into public.canary values (2); --",
    "'; commit; delete from public.canary; --",
    "'; copy public.canary to program 'id'; --",
    "'; select pg_sleep(5); --",
    "' or pg_sleep(5) is null --",
    "1; select pg_sleep(5)",
    "' and (select count(*) from generate_series(1, 100000000)) > 0 --",
    "'; set role chancery_owner; --",
    "'; alter role chancery_app superuser; --",
    "'; select lo_export(1, '/tmp/x'); --",
    "' and 1=cast((select current_user) as int) --",
    "' and extractvalue(1, concat(0x7e, version())) --",
    "'; exec xp_cmdshell('id'); --",
    "$$; drop table public.canary; $$",
    "$1",
    "$1::int",
    ":name",
    "%s%n",
    "{0}",
    "%",
    "_",
    "%' or '%'='",
    "\u{ff07} or 1=1 --",
    "\u{2019}; drop table public.canary; --",
    "char(39)",
    "0x27",
    "' collate \"C",
    "' limit 1 offset 1 --",
    "' order by 99 --",
    "' for update --",
    "[' or 1=1]",
    "{\"$ne\": null}",
    "null",
    "NaN",
    "-1",
    "9223372036854775808",
];

/// Already encoded, as they stand in a path.
const CLIMBING: &[&str] = &[
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%5c..%5cwindows%5cwin.ini",
    "%2fetc%2fpasswd",
    "....%2f%2f....%2f%2fetc%2fpasswd",
    "..%252f..%252fetc%252fpasswd",
    "%c0%ae%c0%ae%c0%af",
    "%00",
    "a%00.txt",
    "%0d%0aInjected:%20yes",
    "%ff",
    "file:%2f%2f%2fetc%2fpasswd",
    "~root",
    "con",
    "%2e",
    "%2e%2e",
    "%f0%9f%92%a9",
    "%e2%80%ae",
];

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|b| {
            if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02x}") }
        })
        .collect()
}

/// A route with one place for a text.
struct Place {
    route: &'static Route,
    /// In the path or in the query.
    name: String,
    /// The address with the place marked by `\0`.
    address: String,
}

/// The texts of a route that a caller chooses, from the document that describes it.
fn places(document: &Value) -> Vec<Place> {
    let mut places = Vec::new();
    for route in routes().into_iter().filter(|route| route.method == Method::Get) {
        let with = |marked: &str| {
            let parts = route.path.split('/').map(|part| match part.strip_prefix('{') {
                Some(name) if name.strip_suffix('}') == Some(marked) => "\0",
                Some(_) => HARMLESS,
                None => part,
            });
            parts.collect::<Vec<_>>().join("/")
        };
        for name in path_names(route.path) {
            places.push(Place { route, name: name.to_owned(), address: with(name) });
        }
        let operation = &document["paths"][route.path]["get"];
        let queries = operation["parameters"].as_array().into_iter().flatten();
        for query in queries.filter(|parameter| parameter["in"] == "query") {
            let name = query["name"].as_str().expect("a name").to_owned();
            places.push(Place { route, address: format!("{}?{name}=\0", with("")), name });
        }
    }
    places
}

struct Attack {
    web: Web,
    token: String,
}

impl Attack {
    /// Somebody with every class, so that no permission is in the way, and a table that the server's login may do anything with.
    async fn new() -> Self {
        let options = Options {
            requests_a_minute: Some(u32::MAX),
            sign_ins_a_minute: Some(u32::MAX),
            ..Options::default()
        };
        let web = Web::with(options).await;
        let classes = web.scene.db.texts("select code from identity.actor_class order by 1").await;
        let classes: Vec<String> = classes.into_iter().flatten().collect();
        let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
        web.person("amy", &classes).await;
        let token = web.whole_token("amy").await;
        web.scene
            .db
            .forge(&[
                "create table public.canary (n int)",
                "insert into public.canary values (1)",
                "grant usage on schema public to chancery_app",
                "grant all on public.canary to chancery_app",
            ])
            .await;
        Self { web, token }
    }

    /// An answer within a moment, or its head where it does not end.
    async fn ask(&self, place: &Place, value: &str) -> Reply {
        let address = place.address.replace('\0', value);
        let request =
            Request::get(&address).header("authorization", format!("Bearer {}", self.token));
        let begun = Instant::now();
        let reply = if place.route.shape == Shape::Events {
            let request = request.body(Body::empty()).expect("a request");
            let answer = router(self.web.host.clone()).oneshot(request).await.expect("an answer");
            let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
            Reply { status, headers, text: String::new(), body: Value::Null }
        } else {
            self.web.get(request).await
        };
        assert!(begun.elapsed() < Duration::from_secs(4), "{address} took {:?}", begun.elapsed());
        let safe = StatusCode::from_u16(reply.status).is_ok_and(|status| !status.is_server_error());
        // Without a provider there is nobody to ask; that is no defect.
        assert!(safe || reply.word() == "provider_away", "{address}: {reply:?}");
        assert!(!reply.headers.contains_key("injected"), "{address}: {reply:?}");
        for leak in ["root:", "pg_authid", "SQLSTATE", "syntax error", "relation \"", "PANIC"] {
            // A name that was asked for may be said again; nothing else is.
            let said = reply.text.contains(leak) && !value.contains(&encoded(leak));
            assert!(!said, "{address} says {leak}: {reply:?}");
        }
        reply
    }
}

/// What of an answer does not depend on the name that was asked for.
fn outcome(reply: &Reply) -> (u16, String, Option<usize>) {
    let items = reply.body["items"].as_array().map(Vec::len);
    (reply.status, reply.word().to_owned(), items)
}

/// RELIABILITY S4, S9: no text that a caller chooses is read as SQL or as a path, in any question. Each place is asked with a fifth of
/// the texts, drawn from the seed; with all of them where `CHANCERY_TEST_TEXTS=all`.
#[tokio::test]
async fn no_text_is_read_as_sql_or_as_a_path() {
    let attack = Attack::new().await;
    let document = chancery_api::openapi::document("0");
    let before = attack.web.scene.db.fingerprint().await;
    let (mut asked, places) = (0, places(&document));
    let all = slice::asked("CHANCERY_TEST_TEXTS").is_some_and(|texts| texts == "all");
    let share = if all { 1 } else { 5 };
    let drawn = usize::try_from(slice::seed(0) % 5).expect("a small number") % share;
    assert!(places.len() >= 4, "there are routes to try");
    for (n, place) in places.iter().enumerate() {
        let first = (drawn + n) % share;
        let harmless = attack.ask(place, HARMLESS).await;
        let expected = outcome(&harmless);
        // Where only ids or numbers are read, a few say as much as all of them.
        let is_text = !matches!(harmless.word(), "id_malformed" | "query_invalid");
        let step = if is_text { 1 } else { 9 };
        for payload in SQL.iter().skip(first).step_by(step * share) {
            let reply = attack.ask(place, &encoded(payload)).await;
            let no = (400..500).contains(&reply.status) && !reply.word().is_empty();
            let found = outcome(&reply);
            assert!(
                no || found == expected,
                "{} {}: {payload:?} {reply:?}",
                place.address,
                place.name
            );
            asked += 1;
        }
        for payload in CLIMBING.iter().skip(first % CLIMBING.len()).step_by(step.min(2) * share) {
            let reply = attack.ask(place, payload).await;
            let no = (400..500).contains(&reply.status) && !reply.word().is_empty();
            assert!(no || outcome(&reply) == expected, "{}: {payload} {reply:?}", place.address);
            asked += 1;
        }
    }
    assert!(asked > 50, "{asked}");
    assert_eq!(
        attack.web.scene.db.text("select string_agg(n::text, ',') from public.canary").await,
        "1"
    );
    assert_eq!(before, attack.web.scene.db.fingerprint().await, "questions change nothing");
}

/// SEC-2, RELIABILITY S7: what a browser changes shows the token of its own session, on every route; nothing changes without it.
#[tokio::test]
async fn a_forged_request_changes_nothing() {
    let attack = Attack::new().await;
    let web = &attack.web;
    web.person("bob", &["sovereign", "pic_human", "reviewer"]).await;
    let (amy, bob) = (web.sign_in("amy").await, web.sign_in("bob").await);
    let before = web.scene.db.fingerprint().await;
    let mut tried = 0;
    for route in routes().into_iter().filter(|route| {
        route.method != Method::Get && matches!(route.access, Access::Permission(_))
    }) {
        let path =
            route.path.split('/').map(|part| if part.starts_with('{') { HARMLESS } else { part });
        let path = path.collect::<Vec<_>>().join("/");
        for csrf in
            [None, Some(""), Some("forged"), Some(bob.csrf.as_str()), Some(amy.session.as_str())]
        {
            let mut request = Request::builder()
                .method(route.method.as_str())
                .uri(&path)
                .header(
                    "cookie",
                    format!("chancery_session={}; chancery_csrf={}", amy.session, amy.csrf),
                )
                .header("idempotency-key", "k");
            if let Some(csrf) = csrf {
                request = request.header("chancery-csrf", csrf);
            }
            web.json(request, &json!({})).await.says(403, "csrf_missing");
            tried += 1;
        }
    }
    assert!(tried >= 25, "{tried}");
    // Two sessions are none, whichever comes first; a cookie and a wrong token are no session.
    let twice = [
        format!("chancery_session={}; chancery_session={}", amy.session, amy.session),
        format!("chancery_session={}; a=b; chancery_session={}", amy.session, bob.session),
    ];
    for cookie in twice {
        let request = Request::get("/v1/me").header("cookie", cookie);
        web.get(request).await.says(401, "unauthorized");
    }
    let both = Request::get("/v1/me")
        .header("cookie", format!("chancery_session={}", amy.session))
        .header("cookie", format!("chancery_session={}", bob.session));
    web.get(both).await.says(401, "unauthorized");
    let wrong = amy.request("GET", "/v1/me").header("authorization", "Bearer chy_wrong");
    web.get(wrong).await.says(401, "credential_unknown");
    // The cookie is no token, nor is a token a cookie.
    let as_token =
        Request::get("/v1/me").header("authorization", format!("Bearer {}", amy.session));
    web.get(as_token).await.says(401, "credential_unknown");
    let as_cookie =
        Request::get("/v1/me").header("cookie", format!("chancery_session={}", attack.token));
    web.get(as_cookie).await.says(401, "credential_unknown");
    assert_eq!(before, web.scene.db.fingerprint().await, "nothing changed");
}

/// RELIABILITY S7: every answer, also one that is no, keeps a browser safe and has the id of its request.
#[tokio::test]
async fn every_answer_is_safe_to_show() {
    let web = Web::new().await;
    web.person("amy", &["reviewer"]).await;
    let amy = web.sign_in("amy").await;
    for (path, status) in [
        ("/healthz", 200),
        ("/v1/me", 200),
        ("/v1/tokens?x=1", 400),
        ("/nowhere", 404),
        ("/v1/session", 405),
    ] {
        let foreign = amy.request("GET", path).header("origin", "https://evil.example.org");
        let reply = web.get(foreign).await.is(status);
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ] {
            assert_eq!(reply.headers[name], value, "{path}");
        }
        let cors = reply.headers.keys().find(|name| name.as_str().starts_with("access-control"));
        assert_eq!(cors, None, "{path}: nobody else's page may read it");
        assert!(!reply.headers.contains_key("strict-transport-security"), "without TLS");
        let id = reply.headers["x-request-id"].to_str().expect("text").to_owned();
        assert_eq!(id.len(), 32, "{id}");
        if status >= 400 {
            assert_eq!(reply.body["request_id"], id, "{path}");
        }
    }
    let given = amy.request("GET", "/v1/tokens?x=1").header("x-request-id", "trace-0001.a_b");
    let reply = web.get(given).await;
    assert_eq!(
        (&reply.headers["x-request-id"], &reply.body["request_id"]),
        (&"trace-0001.a_b".parse().expect("a value"), &json!("trace-0001.a_b"))
    );
    for bad in [
        "short",
        "with a space",
        "<script>alert(1)</script>",
        "a;b=c,d{e}",
        &"x".repeat(129),
        "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
    ] {
        let reply = web.get(amy.request("GET", "/v1/me").header("x-request-id", bad)).await.is(200);
        assert_eq!(reply.headers["x-request-id"].len(), 32, "{bad}");
    }
    let tls =
        Options { public_url: Some("https://c.example.org".to_owned()), ..Options::default() };
    let web = Web::with(tls).await;
    web.person("amy", &["reviewer"]).await;
    let reply = web.try_sign_in("amy", PASSWORD).await.is(200);
    assert_eq!(reply.headers["strict-transport-security"], "max-age=31536000");
    for cookie in reply.headers.get_all("set-cookie") {
        assert!(cookie.to_str().is_ok_and(|text| text.ends_with("; Secure")), "{cookie:?}");
    }
}

/// Everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("the log").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// RELIABILITY S11: one line a request, with who asked and what came of it; no secret in any line or answer, at any level.
#[tokio::test]
async fn no_secret_is_logged_or_said_again() {
    let log = Log::default();
    tracing_subscriber::fmt()
        .with_env_filter("trace,sqlx=trace")
        .with_ansi(false)
        .with_writer(log.clone())
        .init();
    let web = Web::new().await;
    web.person("amy", &["reviewer"]).await;
    let amy = web.sign_in("amy").await;
    let (guess, next) = ("a wrong password of hers", "a new password of hers");
    let mut said = String::new();
    said += &web.try_sign_in("amy", guess).await.is(401).text;
    let body = json!({ "label": "l", "scopes": ["self.read"], "expires_in_seconds": 600 });
    let made = web.json(amy.request("POST", "/v1/tokens"), &body).await.is(201);
    let token = made.body["secret"].as_str().expect("a secret").to_owned();
    let shown = Request::get("/v1/me?password=in-the-query")
        .header("authorization", format!("Bearer {token}"));
    said += &web.get(shown).await.is(400).text;
    let unknown = Request::get("/v1/me").header("authorization", "Bearer chy_a-token-of-nobody");
    said += &web.get(unknown).await.is(401).text;
    said +=
        &web.get(Request::get("/v1/session/oidc/callback?code=a-code-of-hers&state=s")).await.text;
    let change = json!({ "old_password": guess, "new_password": next });
    said += &web.json(amy.request("PUT", "/v1/password"), &change).await.is(401).text;
    let typo = json!({ "name": "amy", "passwort": "a mistyped member" });
    said += &web.json(Request::post("/v1/session"), &typo).await.is(422).text;
    let nul = "{\"name\": \"amy\", \"password\": \"cut short";
    let broken = Request::post("/v1/session").header("content-type", "application/json");
    said += &web.send(broken.body(Body::from(nul)).expect("a request")).await.is(400).text;
    web.scene.store.close().await;
    said += &web.get(amy.request("GET", "/v1/me")).await.is(503).text;

    let logged = String::from_utf8(log.0.lock().expect("the log").clone()).expect("text");
    let lines: Vec<&str> =
        logged.lines().filter(|line| line.contains("chancery::request")).collect();
    assert_eq!(lines.len(), 10, "one line a request: {lines:#?}");
    let line = lines.iter().find(|line| line.contains("/v1/tokens")).expect("the token's line");
    for word in [
        "method=POST",
        "route=\"/v1/tokens\"",
        "status=201",
        "principal=\"amy\"",
        "duration_ms=",
        "id=",
    ] {
        assert!(line.contains(word), "{word}: {line}");
    }
    for secret in [
        PASSWORD,
        guess,
        next,
        &amy.session,
        &amy.csrf,
        &token,
        "in-the-query",
        "a-token-of-nobody",
        "a-code-of-hers",
        "a mistyped member",
        "cut short",
        &web.scene.token,
    ] {
        let found = logged.lines().find(|line| line.contains(secret));
        assert_eq!(found, None, "{secret} is in the log");
        assert!(!said.contains(secret), "{secret} is said again");
    }
}
