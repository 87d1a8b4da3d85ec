//! SEC-2: signing in with a provider of OpenID Connect that this test plays, honest and lying.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use chancery_server::{Oidc, Options};
use chancery_store::managed::Secret;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;

use crate::web::{Browser, Reply, Web};

const CLIENT: &str = "chancery";
const SECRET: &str = "client secret: +/=";
const SUBJECT: &str = "248289761001";

/// What the provider knows, and how it lies.
struct Provider {
    url: String,
    key: Mutex<Ed25519KeyPair>,
    kid: Mutex<String>,
    /// Codes that were given, with what they were asked with.
    codes: Mutex<HashMap<String, (String, String)>>,
    lie: Mutex<Lie>,
    asked: Mutex<u32>,
}

type Lie = Box<dyn Fn(&mut Value) + Send>;

fn new_key() -> Ed25519KeyPair {
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
    Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).expect("a key")
}

impl Provider {
    async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a place");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let provider = Arc::new(Self {
            url,
            key: Mutex::new(new_key()),
            kid: Mutex::new("first".to_owned()),
            codes: Mutex::default(),
            lie: Mutex::new(Box::new(|_| ())),
            asked: Mutex::new(0),
        });
        let app = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/jwks", get(jwks))
            .route("/token", post(token))
            .with_state(Arc::clone(&provider));
        tokio::spawn(async move { axum::serve(listener, app).await });
        provider
    }

    fn lies(&self, lie: impl Fn(&mut Value) + Send + 'static) {
        *self.lie.lock().expect("a lie") = Box::new(lie);
    }
}

async fn discovery(State(provider): State<Arc<Provider>>) -> String {
    let url = &provider.url;
    *provider.asked.lock().expect("a number") += 1;
    json!({
        "issuer": url, "authorization_endpoint": format!("{url}/authorize?tenant=1"), "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/jwks"), "response_types_supported": ["code"], "subject_types_supported": ["public"],
    })
    .to_string()
}

async fn jwks(State(provider): State<Arc<Provider>>) -> String {
    let key = provider.key.lock().expect("a key");
    let x = BASE64_URL_SAFE_NO_PAD.encode(key.public_key());
    let kid = provider.kid.lock().expect("a name").clone();
    json!({ "keys": [{ "kty": "oct", "k": "AA" }, { "kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": kid, "x": x }] }).to_string()
}

async fn token(
    State(provider): State<Arc<Provider>>,
    headers: HeaderMap,
    body: String,
) -> axum::response::Response {
    let form: HashMap<String, String> = serde_urlencoded::from_str(&body).expect("a form");
    let basic = format!("{CLIENT}:client+secret%3A+%2B%2F%3D");
    let basic = format!("Basic {}", BASE64_STANDARD.encode(basic));
    let known = provider.codes.lock().expect("codes").remove(form["code"].as_str());
    let Some((challenge, nonce)) = known else { return StatusCode::BAD_REQUEST.into_response() };
    let shown = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&form["code_verifier"]));
    if headers["authorization"] != basic
        || shown != challenge
        || form["grant_type"] != "authorization_code"
        || form["redirect_uri"] != "http://127.0.0.1:7420/v1/session/oidc/callback"
    {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let now = Timestamp::now().as_second();
    let mut said = json!({
        "header": { "alg": "EdDSA", "kid": *provider.kid.lock().expect("a name") },
        "claims": { "iss": provider.url, "sub": SUBJECT, "aud": CLIENT, "exp": now + 300, "iat": now, "nonce": nonce, "email": "amy@example.org" },
    });
    (provider.lie.lock().expect("a lie"))(&mut said);
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&said["header"]), part(&said["claims"]));
    let mut signature =
        provider.key.lock().expect("a key").sign(signed.as_bytes()).as_ref().to_vec();
    if said["forged"] == true {
        signature[0] ^= 1;
    }
    let mut token = format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature));
    if said["unsigned"] == true {
        token = format!("{}.{}.", part(&json!({ "alg": "none" })), part(&said["claims"]));
    }
    json!({ "access_token": "a", "token_type": "Bearer", "id_token": token })
        .to_string()
        .into_response()
}

/// A browser on its way.
struct Underway {
    cookie: String,
    code: String,
    state: String,
}

struct World {
    web: Web,
    provider: Arc<Provider>,
}

impl World {
    async fn new() -> Self {
        let provider = Provider::start().await;
        let oidc = Oidc {
            issuer: provider.url.clone(),
            client_id: CLIENT.to_owned(),
            client_secret: Some(Secret::new(SECRET)),
        };
        let options = Options {
            public_url: Some("http://127.0.0.1:7420".to_owned()),
            oidc: Some(oidc),
            sign_ins_a_minute: Some(1000),
            ..Options::default()
        };
        let web = Web::with(options).await;
        web.person("amy", &["reviewer"]).await;
        Self { web, provider }
    }

    async fn link(&self) {
        let url = &self.provider.url;
        self.web.operator.fn_oidc_link(url, SUBJECT, "amy", None).await.expect("linked");
    }

    /// As far as the provider, where the person signs in.
    async fn begin(&self) -> Underway {
        let sent = self.web.get(Request::get("/v1/session/oidc")).await.is(303);
        let url = sent.headers["location"].to_str().expect("a URL").to_owned();
        let start = format!("{}/authorize?tenant=1&", self.provider.url);
        let query = url.strip_prefix(&start).unwrap_or_else(|| panic!("{url}"));
        let asked: HashMap<String, String> = serde_urlencoded::from_str(query).expect("a query");
        assert_eq!(asked["response_type"], "code");
        assert_eq!(asked["scope"], "openid");
        assert_eq!(asked["client_id"], CLIENT);
        assert_eq!(asked["code_challenge_method"], "S256");
        assert_eq!(asked["redirect_uri"], "http://127.0.0.1:7420/v1/session/oidc/callback");
        let cookie = sent.cookie("chancery_oidc").expect("what it brings back");
        let code = format!("code {}", asked["state"]);
        let with = (asked["code_challenge"].clone(), asked["nonce"].clone());
        self.provider.codes.lock().expect("codes").insert(code.clone(), with);
        Underway { cookie, code, state: asked["state"].clone() }
    }

    async fn finish(&self, underway: &Underway) -> Reply {
        self.come_back(
            Some(&underway.cookie),
            &[("code", &underway.code), ("state", &underway.state)],
        )
        .await
    }

    async fn come_back(&self, cookie: Option<&str>, query: &[(&str, &str)]) -> Reply {
        let query = serde_urlencoded::to_string(query).expect("a query");
        let mut request = Request::get(format!("/v1/session/oidc/callback?{query}"));
        if let Some(cookie) = cookie {
            request = request.header("cookie", format!("chancery_oidc={cookie}"));
        }
        self.web.get(request).await
    }

    async fn refused(&self, reply: Reply, what: &str) {
        assert_eq!((reply.status, reply.word()), (401, "proof_unfit"), "{what}: {reply:?}");
        assert_eq!(reply.headers.get("set-cookie"), None, "{what}");
        assert_eq!(self.web.sessions().await, 0, "{what}");
    }
}

/// SEC-2: whom the provider vouches for is signed in as the principal that the operator linked, and as nobody before.
#[tokio::test]
async fn a_provider_vouches_for_a_linked_principal() {
    let world = World::new().await;
    let unlinked = world.finish(&world.begin().await).await.says(403, "identity_not_linked");
    assert_eq!(unlinked.body["problems"][0]["subject"], SUBJECT);
    assert_eq!(world.web.sessions().await, 0, "not even with the address of amy");
    world.link().await;
    let underway = world.begin().await;
    let extra = [
        ("code", underway.code.as_str()),
        ("state", &underway.state),
        ("iss", &world.provider.url),
        ("session_state", "what providers add"),
    ];
    let reply = world.come_back(Some(&underway.cookie), &extra).await.is(200);
    assert!(reply.headers["content-type"].to_str().is_ok_and(|kind| kind.starts_with("text/html")));
    assert!(!reply.text.contains("<script"), "{}", reply.text);
    assert_eq!(reply.cookie("chancery_oidc").as_deref(), Some(""), "it is used up");
    let amy = Browser::of(&reply);
    let me = world.web.get(amy.request("GET", "/v1/me")).await.is(200);
    assert_eq!(me.body["principal"], "amy");
    world.web.get(amy.request("DELETE", "/v1/session")).await.is(200);

    // The same answer again, with the cookie that was kept.
    let again = world.finish(&underway).await;
    assert_eq!(again.word(), "proof_unfit", "{again:?}");
    assert_eq!(world.web.sessions().await, 1);
    assert_eq!(*world.provider.asked.lock().expect("a number"), 1, "it is asked about itself once");
}

/// SEC-2: what the browser brings back must be what it went with.
#[tokio::test]
async fn an_answer_to_another_sign_in_is_refused() {
    let world = World::new().await;
    world.link().await;
    let (mine, theirs) = (world.begin().await, world.begin().await);
    let with = |code: &str, state: &str| [("code", code.to_owned()), ("state", state.to_owned())];
    let ask = async |cookie: Option<&str>, query: &[(&str, String)]| {
        let query: Vec<(&str, &str)> =
            query.iter().map(|(name, value)| (*name, value.as_str())).collect();
        world.come_back(cookie, &query).await
    };
    let good = with(&mine.code, &mine.state);
    let mut broken = mine.cookie.clone();
    let last = if broken.pop() == Some('A') { 'B' } else { 'A' };
    broken.push(last);
    let (text, tag) = mine.cookie.split_once('.').expect("two parts");
    let swapped = format!("{}.{tag}", theirs.cookie.split_once('.').expect("two parts").0);
    for (what, cookie) in [
        ("no cookie", None),
        ("an empty cookie", Some(String::new())),
        ("another cookie", Some(theirs.cookie.clone())),
        ("a broken tag", Some(broken)),
        ("a cookie without a tag", Some(text.to_owned())),
        ("another text under the tag", Some(swapped)),
        ("two cookies", Some(format!("{0}; chancery_oidc={0}", mine.cookie))),
    ] {
        world.refused(ask(cookie.as_deref(), &good).await, what).await;
    }
    world
        .refused(ask(Some(&mine.cookie), &with(&mine.code, &theirs.state)).await, "another state")
        .await;
    world.refused(ask(Some(&mine.cookie), &good[..1]).await, "no state").await;
    // Each of these uses its own sign-in up.
    for (what, change) in [
        ("no code", ("code", None)),
        ("another issuer", ("iss", Some("https://evil.example.org"))),
        ("a no", ("error", Some("access_denied"))),
        ("a code of somebody else", ("code", Some(theirs.code.as_str()))),
        ("a code that was never given", ("code", Some("x"))),
    ] {
        let underway = world.begin().await;
        let mut query = vec![("code", underway.code.clone()), ("state", underway.state.clone())];
        query.retain(|(name, _)| *name != change.0);
        query.extend(change.1.map(|value| (change.0, value.to_owned())));
        world.refused(ask(Some(&underway.cookie), &query).await, what).await;
        world.refused(world.finish(&underway).await, "a state that was used").await;
    }
    world.finish(&mine).await.is(200);
}

/// SEC-2: a token that is not of this provider, for this host, for this sign-in, now, is no proof.
#[tokio::test]
async fn a_token_with_anything_wrong_is_refused() {
    let world = World::new().await;
    world.link().await;
    let now = Timestamp::now().as_second();
    let lies: [(&str, Lie); 23] = [
        ("another nonce", Box::new(|said| said["claims"]["nonce"] = "x".into())),
        ("no nonce", Box::new(|said| said["claims"]["nonce"] = Value::Null)),
        ("another audience", Box::new(|said| said["claims"]["aud"] = "other".into())),
        ("no audience", Box::new(|said| said["claims"]["aud"] = json!([]))),
        ("several audiences", Box::new(|said| said["claims"]["aud"] = json!([CLIENT, "other"]))),
        ("another party", Box::new(|said| said["claims"]["azp"] = "other".into())),
        ("expired", Box::new(move |said| said["claims"]["exp"] = (now - 120).into())),
        ("an expiry that is a text", Box::new(|said| said["claims"]["exp"] = "9999999999".into())),
        ("no expiry", Box::new(|said| said["claims"]["exp"] = Value::Null)),
        ("of the future", Box::new(move |said| said["claims"]["iat"] = (now + 600).into())),
        ("not good yet", Box::new(move |said| said["claims"]["nbf"] = (now + 600).into())),
        (
            "another issuer",
            Box::new(|said| said["claims"]["iss"] = "https://evil.example.org".into()),
        ),
        ("nobody", Box::new(|said| said["claims"]["sub"] = "".into())),
        ("no subject", Box::new(|said| said["claims"]["sub"] = Value::Null)),
        ("a long subject", Box::new(|said| said["claims"]["sub"] = "s".repeat(256).into())),
        ("a subject with U+0000", Box::new(|said| said["claims"]["sub"] = "2482\089".into())),
        ("a subject with a line feed", Box::new(|said| said["claims"]["sub"] = "2482\n89".into())),
        ("forged", Box::new(|said| said["forged"] = true.into())),
        ("unsigned", Box::new(|said| said["unsigned"] = true.into())),
        ("a shared secret", Box::new(|said| said["header"]["alg"] = "HS256".into())),
        ("another algorithm", Box::new(|said| said["header"]["alg"] = "RS256".into())),
        ("another key", Box::new(|said| said["header"]["kid"] = "second".into())),
        ("something critical", Box::new(|said| said["header"]["crit"] = json!(["exp"]))),
    ];
    for (what, lie) in lies {
        *world.provider.lie.lock().expect("a lie") = lie;
        world.refused(world.finish(&world.begin().await).await, what).await;
    }
    world.provider.lies(|said| said["claims"]["aud"] = json!([CLIENT]));
    world.finish(&world.begin().await).await.is(200);
}

/// SEC-2: a provider that is away, or is not who it should be, signs nobody in, and a host without one says so.
#[tokio::test]
async fn without_the_provider_nobody_is_signed_in() {
    let world = World::new().await;
    let elsewhere = |issuer: &str| Options {
        public_url: Some("http://127.0.0.1:7420".to_owned()),
        oidc: Some(Oidc {
            issuer: issuer.to_owned(),
            client_id: CLIENT.to_owned(),
            client_secret: None,
        }),
        ..Options::default()
    };
    // Another spelling of itself, nobody there, and no TLS.
    let slash = format!("{}/", world.provider.url);
    for issuer in [slash.as_str(), "http://127.0.0.1:1", "http://login.example.org"] {
        let web = Web::with(elsewhere(issuer)).await;
        let away = web.get(Request::get("/v1/session/oidc")).await.says(503, "provider_away");
        assert!(away.headers.contains_key("retry-after"), "{away:?}");
    }
    let web = Web::new().await;
    for path in ["/v1/session/oidc", "/v1/session/oidc/callback?code=a&state=b"] {
        web.get(Request::get(path)).await.says(404, "not_found");
    }
}

/// SEC-2: a provider that takes connections and says nothing is asked by one request at a time, and no sign-in waits until it gives up.
#[tokio::test]
async fn a_provider_that_hangs_does_not_hold_sign_ins() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a place");
    let issuer = format!("http://{}", listener.local_addr().expect("an address"));
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            held.push(stream);
        }
    });
    let oidc = Oidc { issuer, client_id: CLIENT.to_owned(), client_secret: None };
    let options = Options {
        public_url: Some("http://127.0.0.1:7420".to_owned()),
        oidc: Some(oidc),
        ..Options::default()
    };
    let web = Web::with(options).await;
    let begun = Instant::now();
    let sign_in = || async {
        web.get(Request::get("/v1/session/oidc")).await.says(503, "provider_away");
    };
    tokio::join!(sign_in(), sign_in(), sign_in(), sign_in(), sign_in());
    let waited = begun.elapsed();
    assert!(waited < Duration::from_secs(8), "the provider's own time-out is 10 s: {waited:?}");
    assert_eq!(connections.load(Ordering::SeqCst), 1, "one question at a time");
}
