//! SEC-2: who may ask over HTTP. Passwords, sessions, tokens, identities of providers, and keys that people asked for.

use chancery_engine::registry::install_product_machines;
use chancery_model::refusal::Code::{self, *};
use chancery_store::access::{Argon2id, Bearer, NewSession, NewToken, Opened};
use chancery_store::{Error, Role, Store};
use chancery_testkit::{TestDb, keys};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::support::codes;

const HOW: Argon2id = Argon2id { salt: [7; 16], memory_kib: 19456, passes: 2, lanes: 1 };
const RIGHT: [u8; 32] = [1; 32];
const WRONG: [u8; 32] = [2; 32];
const DAY: i64 = 86_400;

struct House {
    db: TestDb,
    app: Store,
    operator: Store,
}

impl House {
    /// Amy, who reviews, with a password; Bob, a person in charge, without one; a service.
    async fn new() -> Self {
        let db = TestDb::new().await;
        let (app, operator) = (db.store(Role::App), db.store(Role::Migrator));
        install_product_machines(&operator, "test").await.expect("the machines");
        for (name, kind, class) in [
            ("amy", "human", "reviewer"),
            ("bob", "human", "pic_human"),
            ("scanner", "service", "executor_worker"),
        ] {
            let classes = [class.to_owned()];
            operator.fn_principal_add(name, kind, &classes, None).await.expect("a principal");
        }
        operator.fn_password_set("amy", HOW, &RIGHT, None, None).await.expect("a password");
        Self { db, app, operator }
    }

    async fn later(&self, by: &str) {
        let sql = format!(
            "create or replace function internal.now() returns timestamptz language sql as 'select clock_timestamp() + interval ''{by}'''"
        );
        let mut admin = self.db.superuser().await;
        admin.execute(AssertSqlSafe(sql)).await.expect("the clock is one function");
    }

    async fn sign_in(&self, name: &str, hash: &[u8; 32], session: u8) -> Result<Opened, Error> {
        self.app.fn_sign_in(name, hash, fresh(session)).await
    }

    async fn session(&self, session: u8) -> Result<Bearer, Error> {
        self.app.fn_bearer("session", &[session; 32]).await
    }

    async fn token(&self, principal: &str, scopes: &[&str], secret: u8) -> Result<Uuid, Error> {
        let scopes = words(scopes);
        let token = a_token(principal, &scopes, secret);
        self.app.fn_token_issue(&token).await.map(|token| token.token_id)
    }

    async fn bearer(&self, secret: u8) -> Result<Bearer, Error> {
        self.app.fn_bearer("token", &[secret; 32]).await
    }

    async fn refuses_unchanged<T: std::fmt::Debug>(
        &self,
        what: impl Future<Output = Result<T, Error>>,
        code: Code,
    ) {
        let before = self.db.fingerprint().await;
        assert_eq!(codes(what.await), [code]);
        assert_eq!(before, self.db.fingerprint().await, "{code} changed something");
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn fresh(session: u8) -> NewSession {
    NewSession {
        session_id: Uuid::from_bytes([session; 16]),
        token_sha256: [session; 32],
        csrf_sha256: [session.wrapping_add(100); 32],
    }
}

fn a_token<'a>(principal: &'a str, scopes: &'a [String], secret: u8) -> NewToken<'a> {
    NewToken {
        token_id: Uuid::from_bytes([secret; 16]),
        principal,
        label: "nightly",
        scopes,
        seconds: DAY,
        token_sha256: [secret; 32],
        by_token: None,
        acted_by: Some(principal),
    }
}

/// SEC-2: the right password opens a session that is good until it is ended, runs out, or its owner is switched off.
#[tokio::test]
async fn a_session_is_good_until_it_ends() {
    let house = House::new().await;
    let opened = house.sign_in("amy", &RIGHT, 1).await.expect("signed in");
    assert_eq!(opened.principal, "amy");
    let bearer = house.session(1).await.expect("amy");
    assert_eq!((bearer.principal.as_str(), bearer.how.as_str()), ("amy", "session"));
    assert_eq!(bearer.csrf_sha256, Some(hex::encode([101_u8; 32])));
    assert!(bearer.may("approval.vote") && bearer.may("self.write"), "{bearer:?}");
    assert!(!bearer.may("summary.write"), "{bearer:?}");
    house.refuses_unchanged(house.session(9), RI041).await;
    house.refuses_unchanged(house.app.fn_bearer("token", &[1; 32]), RI041).await;

    // Switched off, and on again.
    house.operator.fn_principal_set_active("amy", false, None).await.expect("off");
    house.refuses_unchanged(house.session(1), RI002).await;
    house.operator.fn_principal_set_active("amy", true, None).await.expect("on");
    house.session(1).await.expect("amy again");

    house.sign_in("amy", &RIGHT, 2).await.expect("another browser");
    house.app.fn_session_end(opened.session_id).await.expect("ended");
    house.refuses_unchanged(house.session(1), RI043).await;
    let before = house.db.fingerprint().await;
    house.app.fn_session_end(opened.session_id).await.expect("the same again");
    house.app.fn_session_end(Uuid::now_v7()).await.expect("nobody's");
    assert_eq!(before, house.db.fingerprint().await);
    house.session(2).await.expect("the other one is good");
    house.later("13 hours").await;
    house.refuses_unchanged(house.session(2), RI042).await;
}

/// SEC-2: wrong passwords are counted though nothing is raised; then the right one is refused too, until the window is over. A name that
/// nobody has behaves the same.
#[tokio::test]
async fn guesses_are_counted_for_every_name() {
    let house = House::new().await;
    let most = 10;
    for name in ["amy", "bob", "scanner", "nobody", "", "x'; drop table identity.principal; --"] {
        let salt = house.app.fn_sign_in_salt(name).await.expect("a salt");
        assert_eq!(salt, house.app.fn_sign_in_salt(name).await.expect("the same"), "{name}");
        assert_eq!((salt.memory_kib, salt.passes, salt.lanes), (19456, 2, 1));
        for guess in 0..most {
            assert_eq!(codes(house.sign_in(name, &WRONG, 3).await), [RI044], "{name} {guess}");
        }
        assert_eq!(codes(house.sign_in(name, &WRONG, 3).await), [RI045], "{name}");
        assert_eq!(codes(house.sign_in(name, &RIGHT, 3).await), [RI045], "{name}");
    }
    assert_eq!(house.db.count("identity.session").await, 0);
    // What somebody typed as a name is in no table.
    assert_eq!(house.db.count("identity.identity_log where action = 'sign_in_failed'").await, most);
    assert_eq!(house.db.count("identity.sign_in_attempt").await, 6);

    house.later("14 minutes").await;
    assert_eq!(codes(house.sign_in("amy", &RIGHT, 3).await), [RI045]);
    house.later("16 minutes").await;
    assert_eq!(codes(house.sign_in("amy", &WRONG, 3).await), [RI044], "counted from one again");
    assert_eq!(house.db.count("identity.sign_in_attempt").await, 1, "the rest is forgotten");
    house.sign_in("amy", &RIGHT, 3).await.expect("the window is over");
    assert_eq!(house.db.count("identity.sign_in_attempt").await, 0, "a right one forgets");

    // Somebody who was switched off is told no more than a stranger.
    house.operator.fn_principal_set_active("amy", false, None).await.expect("off");
    assert_eq!(codes(house.sign_in("amy", &RIGHT, 4).await), [RI044]);
}

/// SEC-2: guesses of one name from many connections at once are counted one by one.
#[tokio::test]
async fn a_crowd_of_guesses_is_counted_one_by_one() {
    let house = House::new().await;
    let guesses: Vec<_> = (0..30)
        .map(|_| {
            let app = house.app.clone();
            tokio::spawn(async move { codes(app.fn_sign_in("amy", &WRONG, fresh(3)).await) })
        })
        .collect();
    let mut wrong = 0;
    for guess in guesses {
        wrong += usize::from(guess.await.expect("no panic") == [RI044]);
    }
    assert_eq!(wrong, 10);
    assert_eq!(codes(house.sign_in("amy", &RIGHT, 3).await), [RI045]);
}

/// SEC-2: a new password ends every session; a person shows the old one, and wrong old ones are counted; only people have one.
#[tokio::test]
async fn a_password_is_the_persons_own() {
    let house = House::new().await;
    let (app, operator) = (&house.app, &house.operator);
    let next = Argon2id { salt: [8; 16], ..HOW };
    house.sign_in("amy", &RIGHT, 1).await.expect("signed in");
    for old in [None, Some(&WRONG)] {
        let answer = app.fn_password_set("amy", next, &[3; 32], old, Some("amy")).await;
        assert_eq!(codes(answer), [RI044]);
    }
    // Who has none can't give himself one.
    assert_eq!(
        codes(app.fn_password_set("bob", next, &[3; 32], Some(&WRONG), Some("bob")).await),
        [RI044]
    );
    house.session(1).await.expect("still signed in");
    app.fn_password_set("amy", next, &[3; 32], Some(&RIGHT), Some("amy")).await.expect("changed");
    house.refuses_unchanged(house.session(1), RI043).await;
    assert_eq!(app.fn_sign_in_salt("amy").await.expect("a salt"), next);
    assert_eq!(codes(house.sign_in("amy", &RIGHT, 2).await), [RI044]);
    house.sign_in("amy", &[3; 32], 2).await.expect("the new one");
    for _ in 0..10 {
        drop(app.fn_password_set("amy", next, &RIGHT, Some(&WRONG), Some("amy")).await);
    }
    let locked = app.fn_password_set("amy", next, &RIGHT, Some(&[3; 32]), Some("amy")).await;
    assert_eq!(codes(locked), [RI045]);
    operator.fn_password_set("amy", HOW, &RIGHT, None, None).await.expect("the operator may");
    house.sign_in("amy", &RIGHT, 4).await.expect("and it opens the name again");

    let set =
        |name: &'static str, how: Argon2id| operator.fn_password_set(name, how, &RIGHT, None, None);
    house.refuses_unchanged(set("nobody", HOW), RI001).await;
    house.refuses_unchanged(set("scanner", HOW), RI047).await;
    for cheap in [
        Argon2id { memory_kib: 19455, ..HOW },
        Argon2id { passes: 1, ..HOW },
        Argon2id { lanes: 5, ..HOW },
        Argon2id { memory_kib: u32::MAX, ..HOW },
    ] {
        house.refuses_unchanged(set("amy", cheap), RI047).await;
    }
}

/// SEC-2: a token has its scopes and never more than the classes of its principal, which are asked each time.
#[tokio::test]
async fn a_token_never_has_more_than_its_principal() {
    let house = House::new().await;
    let scopes = ["approval.vote", "kb.read", "kb.read"];
    house.token("amy", &scopes, 1).await.expect("a token");
    let bearer = house.bearer(1).await.expect("amy's");
    assert_eq!((bearer.principal.as_str(), bearer.how.as_str()), ("amy", "token"));
    assert_eq!(bearer.permissions, ["approval.vote", "kb.read"]);
    assert_eq!(bearer.csrf_sha256, None);
    house.refuses_unchanged(house.session(1), RI041).await;

    // Taken away at once, and back at once.
    house.operator.fn_principal_revoke("amy", &words(&["reviewer"]), None).await.expect("taken");
    assert_eq!(house.bearer(1).await.expect("amy's").permissions, Vec::<String>::new());
    let observer = words(&["observer"]);
    house.operator.fn_principal_add("amy", "human", &observer, None).await.expect("given");
    assert_eq!(house.bearer(1).await.expect("amy's").permissions, ["kb.read"]);
    house.operator.fn_principal_set_active("amy", false, None).await.expect("off");
    house.refuses_unchanged(house.bearer(1), RI002).await;
    house.refuses_unchanged(house.token("amy", &["kb.read"], 2), RI002).await;
    house.operator.fn_principal_set_active("amy", true, None).await.expect("on");

    // What can't be made.
    let kb = words(&["kb.read"]);
    let good = a_token("amy", &kb, 3);
    let long = "l".repeat(201);
    let (none, foreign, unheard) = (words(&[]), words(&["kb.read", "kb.write"]), words(&["all"]));
    for bad in [
        NewToken { scopes: &none, ..good },
        NewToken { scopes: &foreign, ..good },
        NewToken { scopes: &unheard, ..good },
        NewToken { label: " ", ..good },
        NewToken { label: &long, ..good },
        NewToken { seconds: 59, ..good },
        NewToken { seconds: -DAY, ..good },
        NewToken { seconds: 367 * DAY, ..good },
        NewToken { seconds: i64::MAX, ..good },
        NewToken { acted_by: Some("bob"), ..good },
        NewToken { acted_by: None, ..good },
        NewToken { token_id: Uuid::from_bytes([1; 16]), ..good },
        NewToken { token_sha256: [1; 32], ..good },
    ] {
        house.refuses_unchanged(house.app.fn_token_issue(&bad), RI048).await;
    }
    let nobody = NewToken { principal: "nobody", acted_by: Some("nobody"), ..good };
    house.refuses_unchanged(house.app.fn_token_issue(&nobody), RI001).await;

    // The operator makes them for programs.
    let work = words(&["queue.work"]);
    let scanner = NewToken { acted_by: None, ..a_token("scanner", &work, 4) };
    let made = house.operator.fn_token_issue(&scanner).await.expect("a token");
    assert_eq!(
        (made.principal.as_str(), made.issued_by.as_str()),
        ("scanner", "chancery_migrator")
    );
    let before = house.db.fingerprint().await;
    assert_eq!(house.operator.fn_token_issue(&scanner).await.expect("the same again"), made);
    assert_eq!(before, house.db.fingerprint().await);
    assert_eq!(house.app.api_tokens(Some("scanner")).await.expect("tokens"), [made]);
}

/// SEC-2: a token that makes another one gives no more than it has, and no longer than it lives.
#[tokio::test]
async fn a_token_does_not_rise_by_making_another() {
    let house = House::new().await;
    let first = house.token("amy", &["self.write", "kb.read"], 1).await.expect("a token");
    let bobs = house.token("bob", &["self.write", "kb.read"], 2).await.expect("a token");
    let (less, more) = (words(&["kb.read"]), words(&["kb.read", "approval.vote"]));
    let child = NewToken { by_token: Some(first), seconds: 3600, ..a_token("amy", &less, 3) };
    for bad in [
        NewToken { scopes: &more, ..child },
        NewToken { seconds: DAY + 1, ..child },
        NewToken { by_token: Some(bobs), ..child },
        NewToken { by_token: Some(Uuid::now_v7()), ..child },
        NewToken { by_token: Some(Uuid::nil()), ..child },
    ] {
        house.refuses_unchanged(house.app.fn_token_issue(&bad), RI048).await;
    }
    house.app.fn_token_issue(&child).await.expect("within its own");
    assert_eq!(house.bearer(3).await.expect("amy's").permissions, ["kb.read"]);
}

/// SEC-2: a revoked token and one that ran out are good for nothing; only its owner or the operator revokes it, with a reason.
#[tokio::test]
async fn a_token_ends() {
    let house = House::new().await;
    let (first, second) = (
        house.token("amy", &["kb.read"], 1).await.expect("a token"),
        house.token("amy", &["kb.read"], 2).await.expect("a token"),
    );
    let revoke = |id: Uuid, reason: &'static str, by: Option<&'static str>| {
        house.app.fn_token_revoke(id, reason, by)
    };
    for by in [Some("bob"), None, Some("nobody")] {
        house.refuses_unchanged(revoke(first, "lost", by), RI041).await;
    }
    house.refuses_unchanged(revoke(Uuid::now_v7(), "lost", Some("amy")), RI041).await;
    house.refuses_unchanged(revoke(first, " ", Some("amy")), RI013).await;
    let revoked = revoke(first, "lost", Some("amy")).await.expect("revoked");
    assert_eq!(revoked.revoke_reason.as_deref(), Some("lost"));
    let before = house.db.fingerprint().await;
    assert_eq!(revoke(first, "found", Some("amy")).await.expect("the first reason stays"), revoked);
    assert_eq!(before, house.db.fingerprint().await);
    house.refuses_unchanged(house.bearer(1), RI043).await;
    house.bearer(2).await.expect("the other one is good");
    house.later("25 hours").await;
    house.refuses_unchanged(house.bearer(2), RI042).await;
    house.operator.fn_token_revoke(second, "tidy", None).await.expect("the operator may");
    house.refuses_unchanged(house.bearer(2), RI043).await;
}

/// SEC-2: whom a provider vouches for is who the operator says, and nobody else.
#[tokio::test]
async fn an_identity_of_a_provider_is_whom_the_operator_linked() {
    const ISSUER: &str = "https://login.example.org";
    let house = House::new().await;
    let operator = &house.operator;
    let sign_in = |issuer: &'static str, subject: &'static str, session: u8| {
        house.app.fn_sign_in_oidc(issuer, subject, fresh(session))
    };
    house.refuses_unchanged(sign_in(ISSUER, "amy", 1), RI046).await;
    operator.fn_oidc_link(ISSUER, "248", "amy", None).await.expect("linked");
    let before = house.db.fingerprint().await;
    operator.fn_oidc_link(ISSUER, "248", "amy", None).await.expect("the same again");
    assert_eq!(before, house.db.fingerprint().await);
    assert_eq!(sign_in(ISSUER, "248", 1).await.expect("signed in").principal, "amy");
    assert_eq!(house.session(1).await.expect("amy").principal, "amy");
    for (issuer, subject) in
        [("https://login.example.org/", "248"), ("https://evil.example.org", "248"), (ISSUER, "24")]
    {
        house.refuses_unchanged(sign_in(issuer, subject, 2), RI046).await;
    }
    operator.fn_principal_set_active("amy", false, None).await.expect("off");
    house.refuses_unchanged(sign_in(ISSUER, "248", 2), RI002).await;

    let long = "s".repeat(256);
    house.refuses_unchanged(operator.fn_oidc_link(ISSUER, "248", "bob", None), RI049).await;
    house.refuses_unchanged(operator.fn_oidc_link(ISSUER, "9", "nobody", None), RI001).await;
    for (issuer, subject) in
        [("login", "1"), ("ftp://login.example", "1"), (ISSUER, ""), (ISSUER, &long)]
    {
        house.refuses_unchanged(operator.fn_oidc_link(issuer, subject, "bob", None), RI049).await;
    }
    let denied = house.app.fn_oidc_link(ISSUER, "9", "bob", Some("bob")).await;
    assert!(matches!(denied, Err(Error::Denied(_))), "{denied:?}");
}

/// SEC-2: the server can ask for a key, and never accept one.
#[tokio::test]
async fn a_key_is_accepted_by_the_operator_alone() {
    let house = House::new().await;
    let (app, operator) = (&house.app, &house.operator);
    let (first, second) = (Uuid::now_v7(), Uuid::now_v7());
    let asked = app
        .fn_key_request(first, "amy", &keys::public_key("1"), &keys::possession("1", "amy"), None)
        .await
        .expect("asked");
    assert_eq!(
        (asked.outcome.as_deref(), asked.public_key),
        (None, hex::encode(keys::public_key("1")))
    );
    let before = house.db.fingerprint().await;
    app.fn_key_request(first, "amy", &keys::public_key("1"), &keys::possession("1", "amy"), None)
        .await
        .expect("the same again");
    let again = app
        .fn_key_request(second, "amy", &keys::public_key("1"), &keys::possession("1", "amy"), None)
        .await
        .expect("the same key again");
    assert_eq!(again.request_id, first);
    assert_eq!(before, house.db.fingerprint().await);
    house
        .refuses_unchanged(
            app.fn_key_request(
                second,
                "bob",
                &keys::public_key("1"),
                &keys::possession("1", "bob"),
                None,
            ),
            RI007,
        )
        .await;
    house
        .refuses_unchanged(
            app.fn_key_request(
                first,
                "amy",
                &keys::public_key("2"),
                &keys::possession("2", "amy"),
                None,
            ),
            RI007,
        )
        .await;
    house
        .refuses_unchanged(app.fn_key_request(second, "amy", &[2; 31], &[0; 64], None), RI012)
        .await;
    house
        .refuses_unchanged(
            app.fn_key_request(
                second,
                "nobody",
                &keys::public_key("2"),
                &keys::possession("2", "nobody"),
                None,
            ),
            RI001,
        )
        .await;

    for accept in [true, false] {
        let denied = app.fn_key_request_settle(first, accept, Some("amy")).await;
        assert!(matches!(denied, Err(Error::Denied(_))), "{denied:?}");
    }
    assert_eq!(app.signing_keys_of("amy").await.expect("keys"), []);
    let settled = operator.fn_key_request_settle(first, true, None).await.expect("accepted");
    assert_eq!(settled.outcome.as_deref(), Some("accepted"));
    let keys = app.signing_keys_of("amy").await.expect("keys");
    assert_eq!(keys.iter().map(|key| key.key_id).collect::<Vec<_>>(), [first]);
    let before = house.db.fingerprint().await;
    operator.fn_key_request_settle(first, true, None).await.expect("the same again");
    assert_eq!(before, house.db.fingerprint().await);
    house.refuses_unchanged(operator.fn_key_request_settle(first, false, None), RI050).await;
    house.refuses_unchanged(operator.fn_key_request_settle(second, true, None), RI050).await;
    house
        .refuses_unchanged(
            app.fn_key_request(
                second,
                "amy",
                &keys::public_key("1"),
                &keys::possession("1", "amy"),
                None,
            ),
            RI007,
        )
        .await;

    app.fn_key_request(second, "amy", &keys::public_key("2"), &keys::possession("2", "amy"), None)
        .await
        .expect("asked");
    operator.fn_key_request_settle(second, false, None).await.expect("refused");
    assert_eq!(app.signing_keys_of("amy").await.expect("keys").len(), 1);
    assert_eq!(app.key_requests(Some("amy")).await.expect("requests").len(), 2);
    assert_eq!(app.key_requests(Some("bob")).await.expect("requests"), []);
}

/// SEC-2, SEC-3: what a session, token or password is recognised by leaves the database through nothing that a login may read.
#[tokio::test]
async fn no_login_reads_what_credentials_are_recognised_by() {
    let house = House::new().await;
    house.sign_in("amy", &RIGHT, 1).await.expect("signed in");
    house.token("amy", &["kb.read"], 2).await.expect("a token");
    let secrets = [RIGHT, [1; 32], [101; 32], [2; 32]].map(hex::encode);
    for role in [Role::App, Role::Migrator, Role::Auditor] {
        for view in ["v_session", "v_api_token", "v_identity_log", "v_principal"] {
            if role == Role::App && view == "v_identity_log" {
                continue;
            }
            let rows = format!("select string_agg(v::text, ' ') from identity.{view} v");
            let text = house.db.text_as(role, &rows).await;
            assert!(text.contains("amy"), "{view}: {text}");
            assert!(!secrets.iter().any(|secret| text.contains(secret)), "{view}: {text}");
        }
        let mut connection = house.db.connect(role).await;
        for table in ["credential", "session", "api_token", "decoy", "sign_in_attempt"] {
            let select = format!("select * from identity.{table}");
            let denied = connection.execute(AssertSqlSafe(select)).await.expect_err("no right");
            assert_eq!(crate::hardening::sqlstate(&denied), "42501", "{role:?} {table}");
        }
    }
}

/// SEC-2: every permission has classes, or follows from machines, and every class may see who it is. What RI040 says names who could.
#[tokio::test]
async fn every_permission_is_somebodys() {
    let house = House::new().await;
    let nobodys = "identity.permission p where not exists (select from identity.v_class_permission c where c.permission = p.permission and c.actor_class is not null)
                     and not exists (select from identity.permission_source s where s.permission = p.permission)";
    assert_eq!(house.db.count(nobodys).await, 0);
    let blind = "identity.actor_class a where not exists (select from identity.v_class_permission c where c.actor_class = a.code and c.permission = 'self.read')";
    assert_eq!(house.db.count(blind).await, 0);
    let may = |who: &str, what: &str| {
        format!("do $$ begin perform identity.require_permission('{who}', '{what}'); end $$")
    };
    let mut admin = house.db.superuser().await;
    admin.execute("set role chancery_definer").await.expect("a superuser may");
    admin.execute(AssertSqlSafe(may("amy", "approval.vote"))).await.expect("a reviewer votes");
    for (who, what, code) in
        [("bob", "approval.vote", RI040), ("nobody", "kb.read", RI001), ("amy", "all", RI040)]
    {
        let refused = admin.execute(AssertSqlSafe(may(who, what))).await.expect_err("a refusal");
        assert_eq!(crate::hardening::sqlstate(&refused), code.as_str(), "{who} {what}");
    }
}
