//! SEC-2: signing in, sessions, tokens, passwords and keys, as a browser and a program meet them.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use axum::http::Request;
use chancery_server::Options;
use chancery_testkit::keys;
use serde_json::{Value, json};

use crate::web::{Browser, PASSWORD, Web};

fn by_token(method: &str, path: &str, token: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {token}"))
        .header("idempotency-key", "one")
}

/// SEC-2: a session is a cookie that scripts can't read and other sites can't send; signing out ends it.
#[tokio::test]
async fn a_browser_signs_in_and_out() {
    let web = Web::new().await;
    web.person("amy", &["reviewer"]).await;
    let reply = web.try_sign_in("amy", PASSWORD).await.is(200);
    let set: Vec<&str> = reply
        .headers
        .get_all("set-cookie")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    assert!(set[0].starts_with("chancery_session="), "{set:?}");
    assert!(set[0].ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{set:?}");
    assert!(set[1].starts_with("chancery_csrf=") && set[1].ends_with("SameSite=Strict"), "{set:?}");
    assert_eq!(reply.headers["cache-control"], "no-store");
    let amy = Browser::of(&reply);
    assert_eq!(reply.body["csrf_token"], amy.csrf.as_str());
    assert!(!reply.text.contains(&amy.session), "the body does not repeat the cookie");

    let me = web.get(amy.request("GET", "/v1/me")).await.is(200);
    assert_eq!((&me.body["principal"], &me.body["how"]), (&json!("amy"), &json!("session")));
    assert!(me.body["permissions"].as_array().is_some_and(|all| all.contains(&json!("kb.write"))));

    let gone = web.get(amy.request("DELETE", "/v1/session")).await.is(200);
    assert_eq!(gone.cookie("chancery_session").as_deref(), Some(""));
    let over = web.get(amy.request("GET", "/v1/me")).await.says(401, "credential_ended");
    assert_eq!(over.headers["www-authenticate"], "Bearer");
    web.get(amy.request("DELETE", "/v1/session")).await.says(401, "credential_ended");
}

/// SEC-2: wrong name and wrong password look alike; too many of one name, or from one address, are refused.
#[tokio::test]
async fn guessing_does_not_pay() {
    let web = Web::new().await;
    web.person("amy", &["reviewer"]).await;
    let mut known = web.try_sign_in("amy", "wrong").await.says(401, "sign_in_refused").body;
    let mut nobody = web.try_sign_in("eve", "wrong").await.says(401, "sign_in_refused").body;
    for body in [&mut known, &mut nobody] {
        body["request_id"].take();
        body["problems"][0]["name"].take();
    }
    assert_eq!(known, nobody);
    for name in ["", &"n".repeat(64)] {
        web.try_sign_in(name, "wrong").await.says(422, "request_invalid");
    }
    for _ in 0..9 {
        web.try_sign_in("amy", "wrong").await.says(401, "sign_in_refused");
    }
    web.try_sign_in("amy", PASSWORD).await.says(401, "sign_in_locked");
    assert_eq!(web.sessions().await, 0);

    let few = Web::with(Options { sign_ins_a_minute: Some(2), ..Options::default() }).await;
    few.person("amy", &["reviewer"]).await;
    for name in ["eve", "mallory"] {
        few.try_sign_in(name, "wrong").await.says(401, "sign_in_refused");
    }
    let wait = few.try_sign_in("amy", PASSWORD).await.says(429, "too_many_requests");
    let seconds: u64 =
        wait.headers["retry-after"].to_str().expect("text").parse().expect("seconds");
    assert!((1..=60).contains(&seconds), "{seconds}");
    assert_eq!(few.sessions().await, 0);
}

/// SEC-2: one principal that asks too much is told when to come again; another one is served.
#[tokio::test]
async fn one_principal_does_not_use_up_the_others_share() {
    let web = Web::with(Options { requests_a_minute: Some(3), ..Options::default() }).await;
    for name in ["amy", "bob"] {
        web.person(name, &["reviewer"]).await;
    }
    let (amy, bob) = (web.sign_in("amy").await, web.whole_token("bob").await);
    for _ in 0..3 {
        web.get(amy.request("GET", "/v1/me")).await.is(200);
    }
    let wait = web.get(amy.request("GET", "/v1/me")).await.says(429, "too_many_requests");
    assert!(wait.headers.contains_key("retry-after"), "{wait:?}");
    web.get(by_token("GET", "/v1/me", &bob)).await.is(200);
}

/// SEC-2: unknown tokens of one address are looked up so often in a minute, and no more; others at that address go on working.
#[tokio::test]
async fn who_guesses_tokens_is_refused_before_the_database_is_asked() {
    let web = Web::new().await;
    web.person("amy", &["reviewer"]).await;
    let amy = web.whole_token("amy").await;
    let from = |last: u8, token: &str| {
        let peer = SocketAddr::from(([10, 0, 0, last], 40_000));
        by_token("GET", "/v1/me", token).extension(ConnectInfo(peer))
    };
    web.get(from(1, &amy)).await.is(200);
    for n in 0..60 {
        web.get(from(1, &format!("chy_{n}"))).await.says(401, "credential_unknown");
    }
    let wait = web.get(from(1, "chy_60")).await.says(429, "too_many_requests");
    assert!(wait.headers.contains_key("retry-after"), "{wait:?}");
    web.get(from(2, "chy_60")).await.says(401, "credential_unknown");
    web.get(from(1, &amy)).await.is(200);
}

/// SEC-2: a person changes their own password with the old one; every session ends.
#[tokio::test]
async fn a_password_is_changed_with_the_old_one() {
    const NEXT: &str = "another horse, another staple";
    let web = Web::new().await;
    web.person("amy", &["reviewer"]).await;
    let amy = web.sign_in("amy").await;
    let change = async |old: &str, new: &str| {
        let body = json!({ "old_password": old, "new_password": new });
        web.json(amy.request("PUT", "/v1/password"), &body).await
    };
    change("wrong", NEXT).await.says(401, "sign_in_refused");
    change(PASSWORD, "short").await.says(422, "request_invalid");
    web.get(amy.request("GET", "/v1/me")).await.is(200);
    change(PASSWORD, NEXT).await.is(200);
    web.get(amy.request("GET", "/v1/me")).await.says(401, "credential_ended");
    web.try_sign_in("amy", PASSWORD).await.says(401, "sign_in_refused");
    web.try_sign_in("amy", NEXT).await.is(200);
    // Who is no person has none.
    web.operator
        .fn_principal_add("scanner", "service", &["executor_worker".to_owned()], None)
        .await
        .expect("a service");
    let scanner = web.whole_token("scanner").await;
    let body = json!({ "old_password": PASSWORD, "new_password": NEXT });
    web.json(by_token("PUT", "/v1/password", &scanner), &body).await.says(422, "password_unfit");
}

/// SEC-2: a token is told once, has its scopes and no more, makes no stronger one, and is over when it is revoked.
#[tokio::test]
async fn a_token_is_told_once_and_stays_within_its_scopes() {
    let web = Web::new().await;
    web.person("amy", &["reviewer"]).await;
    web.person("bob", &["reviewer"]).await;
    let amy = web.sign_in("amy").await;
    let wanted = |scopes: &[&str]| json!({ "label": "nightly", "scopes": scopes, "expires_in_seconds": 3600 });
    let request = || amy.request("POST", "/v1/tokens").header("idempotency-key", "k");
    // Two keys are none.
    web.json(request(), &wanted(&["self.read"])).await.says(428, "idempotency_key_missing");
    let keyed = || {
        Request::post("/v1/tokens")
            .header("cookie", format!("chancery_session={}", amy.session))
            .header("chancery-csrf", &amy.csrf)
            .header("idempotency-key", "k")
    };
    let made = web.json(keyed(), &wanted(&["self.read", "self.write"])).await.is(201);
    let secret = made.body["secret"].as_str().expect("a secret").to_owned();
    assert!(secret.starts_with("chy_") && secret.len() > 40, "{secret}");
    let again = web.json(keyed(), &wanted(&["self.read", "self.write"])).await;
    assert_eq!(again.says(422, "token_unfit").body["problems"][0]["taken"], true);

    let me = web.get(by_token("GET", "/v1/me", &secret)).await.is(200);
    assert_eq!(me.body["permissions"], json!(["self.read", "self.write"]));
    for stronger in [&["kb.write"][..], &["self.read", "audit.read"]] {
        let refused = web.json(by_token("POST", "/v1/tokens", &secret), &wanted(stronger)).await;
        refused.says(422, "token_unfit");
    }
    let longer = json!({ "label": "l", "scopes": ["self.read"], "expires_in_seconds": 7200 });
    web.json(by_token("POST", "/v1/tokens", &secret), &longer).await.says(422, "token_unfit");
    let child = json!({ "label": "l", "scopes": ["self.read"], "expires_in_seconds": 600 });
    let child = web.json(by_token("POST", "/v1/tokens", &secret), &child).await.is(201);
    let child = child.body["secret"].as_str().expect("a secret").to_owned();
    let refused = web.json(by_token("POST", "/v1/tokens", &child), &wanted(&["self.read"])).await;
    assert_eq!(refused.says(403, "permission_missing").body["code"], "RI040");

    // Pages: the newest first, each once.
    let first = web.get(amy.request("GET", "/v1/tokens?limit=1")).await.is(200);
    assert_eq!(first.body["items"].as_array().map(Vec::len), Some(1));
    assert!(!first.text.contains("chy_"), "{first:?}");
    let next = first.body["next"].as_str().expect("more").to_owned();
    let second = web.get(amy.request("GET", &format!("/v1/tokens?limit=1&after={next}"))).await;
    assert_eq!(second.body["next"], Value::Null);
    assert_ne!(second.body["items"], first.body["items"]);
    for bad in
        ["after=x", "after=", "limit=0", "limit=501", "limit=x", "other=1", "limit=1&limit=2"]
    {
        let reply = web.get(amy.request("GET", &format!("/v1/tokens?{bad}"))).await;
        reply.says(400, "query_invalid");
    }

    let id = made.body["token"]["token_id"].as_str().expect("an id").to_owned();
    let path = format!("/v1/tokens/{id}/revoke");
    let bob = web.sign_in("bob").await;
    let reason = json!({ "reason": "lost" });
    web.json(bob.request("POST", &path), &reason).await.says(404, "not_found");
    web.json(amy.request("POST", &path), &json!({})).await.says(422, "request_invalid");
    web.json(amy.request("POST", "/v1/tokens/key_1/revoke"), &reason)
        .await
        .says(400, "id_malformed");
    web.get(by_token("GET", "/v1/me", &secret)).await.is(200);
    web.json(amy.request("POST", &path), &reason).await.is(200);
    web.get(by_token("GET", "/v1/me", &secret)).await.says(401, "credential_ended");
}

/// SEC-2: a key is asked for over HTTP and is nobody's until the operator accepts it.
#[tokio::test]
async fn a_key_is_asked_for_and_accepted_elsewhere() {
    let web = Web::new().await;
    web.person("amy", &["reviewer"]).await;
    let amy = web.sign_in("amy").await;
    let ask = async |key: &str, signed_for: &str| {
        let possession = hex::encode(keys::possession("amy's", signed_for));
        let body = json!({ "public_key": key, "possession": possession });
        web.json(amy.request("POST", "/v1/key-requests"), &body).await
    };
    for bad in ["", "zz", &"A".repeat(64), &"a".repeat(66)] {
        ask(bad, "amy").await.says(422, "request_invalid");
    }
    let key = hex::encode(keys::public_key("amy's"));
    // Somebody who does not have the private half cannot have it sign for themselves.
    ask(&key, "rob").await.is(422);
    let asked = ask(&key, "amy").await.is(201);
    assert_eq!(asked.body["outcome"], Value::Null);
    let again = ask(&key, "amy").await.is(201);
    assert_eq!(again.body, asked.body, "the same key is the same request");
    let keys = async || web.get(amy.request("GET", "/v1/me")).await.is(200).body["keys"].take();
    assert_eq!(keys().await, json!([]));
    let id = asked.body["request_id"].as_str().expect("an id");
    let uuid = id.strip_prefix("key_").expect("a prefix").parse().expect("a UUID");
    web.operator.fn_key_request_settle(uuid, true, None).await.expect("accepted");
    assert_eq!(keys().await[0]["key_id"], id);
    let listed = web.get(amy.request("GET", "/v1/key-requests")).await.is(200);
    assert_eq!(listed.body["items"][0]["outcome"], "accepted");
}
