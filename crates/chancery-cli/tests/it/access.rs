//! SEC-2: what the operator does for those who come over HTTP: passwords, tokens, links, keys, and TLS.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use chancery_testkit::keys;
use serde_json::{Value, json};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::place::Place;
use crate::serve::{Host, read};

const PASSWORD: &str = "correct horse battery staple";
const CERTIFICATE: &str = include_str!("../../../chancery-server/tests/it/tls/cert.pem");
const KEY: &str = include_str!("../../../chancery-server/tests/it/tls/key.pem");

/// A client that trusts the certificate of this test and no other.
fn agent() -> ureq::Agent {
    let certificate = Certificate::from_pem(CERTIFICATE.as_bytes()).expect("a certificate");
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(vec![certificate])))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    let config = ureq::Agent::config_builder().tls_config(tls).http_status_as_error(false);
    config.timeout_global(Some(Duration::from_secs(40))).build().into()
}

/// SEC-2: from the first password over TLS to an accepted key and a revoked token; bad input on the way is refused by name.
#[test]
fn people_and_programs_are_let_in_and_out() {
    let place = Place::with_database();
    place.done(&["principal", "add", "alice", "--kind", "human", "--class", "reviewer"]);
    place.done(&["principal", "add", "scanner", "--kind", "service", "--class", "executor_worker"]);

    // Passwords.
    let set = ["principal", "password", "alice", "--stdin"];
    let said = place.fed(b"short\n", &set).ends_with(2);
    assert!(said.stderr.contains("12 to 1000"), "{said:?}");
    place.fed(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\n", &set).ends_with(2);
    let said = place.fed(format!("{PASSWORD}\n").as_bytes(), &set).ends_with(0);
    assert!(!format!("{said:?}").contains(PASSWORD), "{said:?}");
    let none = ["principal", "password", "nobody", "--stdin"];
    assert!(place.fed(PASSWORD.as_bytes(), &none).ends_with(3).stderr.contains("RI001"));
    let service = ["principal", "password", "scanner", "--stdin"];
    assert!(place.fed(PASSWORD.as_bytes(), &service).ends_with(3).stderr.contains("RI047"));

    // Links.
    let link = |name, subject| {
        ["principal", "link", name, "--issuer", "https://login.example.org", "--subject", subject]
    };
    assert_eq!(place.json(&link("alice", "248"))["principal"], "alice");
    place.refused("RI049", &link("scanner", "248"));
    place.refused("RI001", &link("nobody", "1"));

    // Tokens.
    let new = ["token", "new", "scanner", "--label", "nightly", "--scope", "self.read"];
    place.refused("RI048", &[&new[..], &["--scope", "birth.revoke"]].concat());
    place.refused("RI048", &[&new[..], &["--expires", "400d"]].concat());
    let life = [&new[..2], &["--for", "90d"], &new[3..]].concat();
    let said = place.run(&life).ends_with(2);
    assert!(said.stderr.contains("--expires"), "a lifetime is no principal: {said:?}");
    let made =
        place.json(&[&new[..2], &["--for", "scanner"], &new[3..], &["--expires", "90d"]].concat());
    assert_eq!(made["token"]["principal"], "scanner");
    let secret = made["secret"].as_str().expect("a token").to_owned();
    let listed = place.done(&["token", "list", "scanner"]);
    assert!(listed.stdout.contains("nightly") && !listed.stdout.contains(&secret), "{listed:?}");
    assert!(place.done(&["token", "permissions"]).stdout.contains("approval.vote"));

    // TLS.
    let (certificate, key) = (place.file("cert.pem", CERTIFICATE), place.file("key.pem", KEY));
    let tls = ["--tls-cert", &certificate, "--tls-key", &key];
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("its mode");
    let said = place.run(&[&["serve"], &tls[..]].concat()).ends_with(2);
    assert!(said.stderr.contains("chmod 600") && !said.stderr.contains("PRIVATE"), "{said:?}");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("its mode");
    for half in [&tls[..2], &tls[2..], &["--oidc-issuer", "https://login.example.org"]] {
        place.run(&[&["serve"], half].concat()).ends_with(2);
    }
    let host = Host::with(&place, &tls, agent());
    assert!(host.url.starts_with("https://127.0.0.1:"), "{}", host.url);
    let url = |path: &str| format!("{}{path}", host.url);
    let sign_in = |password: &str| {
        let body = json!({ "name": "alice", "password": password }).to_string();
        let request =
            host.agent.post(url("/v1/session")).header("content-type", "application/json");
        request.send(body).expect("an answer")
    };
    assert_eq!(read(sign_in("wrong")).0, 401);
    let answer = sign_in(PASSWORD);
    let mut cookies =
        answer.headers().get_all("set-cookie").iter().filter_map(|value| value.to_str().ok());
    let session = cookies.find(|text| text.starts_with("chancery_session=")).expect("a session");
    assert!(session.contains("HttpOnly") && session.ends_with("Secure"), "{session}");
    let cookie = session.split(';').next().expect("a pair").to_owned();
    let (status, signed_in) = read(answer);
    assert_eq!((status, &signed_in["principal"]), (200, &json!("alice")));
    let csrf = signed_in["csrf_token"].as_str().expect("a token").to_owned();

    // A key that a browser made.
    let ask = host.agent.post(url("/v1/key-requests")).header("content-type", "application/json");
    let ask =
        ask.header("cookie", &cookie).header("chancery-csrf", &csrf).header("idempotency-key", "k");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let body = json!({
        "public_key": hex(&keys::public_key("browser")), "possession": hex(&keys::possession("browser", "alice")),
    });
    let (status, asked) = read(ask.send(body.to_string()).expect("an answer"));
    assert_eq!(status, 201, "{asked}");
    let waiting = place.json(&["key", "requests"]);
    assert_eq!(waiting[0]["fingerprint"], asked["fingerprint"]);
    let id = waiting[0]["request_id"].as_str().expect("an id").to_owned();
    assert_eq!(place.json(&["key", "accept", &id])["outcome"], "accepted");
    place.refused("RI050", &["key", "refuse", &id]);
    assert_eq!(place.json(&["key", "requests"]), json!([]));
    assert_eq!(place.json(&["key", "requests", "--all"]).as_array().map(Vec::len), Some(1));
    let me = |name: &str, value: &str| -> (u16, Value) {
        read(host.agent.get(url("/v1/me")).header(name, value).call().expect("an answer"))
    };
    assert_eq!(me("cookie", &cookie).1["keys"].as_array().map(Vec::len), Some(1));

    // Over with the next request.
    let bearer = format!("Bearer {secret}");
    assert_eq!(me("authorization", &bearer).1["principal"], "scanner");
    let id = made["token"]["token_id"].as_str().expect("an id");
    place.json(&["token", "revoke", id, "--reason", "lost"]);
    assert_eq!(me("authorization", &bearer).0, 401);
    place.done(&["principal", "deactivate", "alice"]);
    assert_eq!(me("cookie", &cookie).0, 403);
    host.ends_well();
}
