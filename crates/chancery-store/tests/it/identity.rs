//! SEC-1: principals with actor classes; keys that are registered, rotated and revoked; private halves that stay in files.

mod replacement;
mod secrecy;

use chancery_engine::audit::{self, Report};
use chancery_engine::identity::{Keystore, new_key, rotate_key};
use chancery_engine::run::{self, Actor, Birth, Request};
use chancery_model::refusal::Code::*;
use chancery_store::fsm::{Move, MoveReport, Signed};
use chancery_store::{Error, Role, Store};
use chancery_testkit::{TestDb, keys};
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use crate::support::{birth, check, codes, draft, letters};

fn classes(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// SEC-1: adding a principal again changes nothing, further classes are added, and a name keeps its kind.
#[tokio::test]
async fn a_principal_is_added_once() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    let amy = operator
        .fn_principal_add("amy", "human", &classes(&["reviewer", "reviewer"]), None)
        .await
        .expect("added");
    assert_eq!((amy.kind.as_str(), amy.active, amy.live_keys), ("human", true, 0));
    assert_eq!(amy.actor_classes, ["reviewer"]);
    let before = db.fingerprint().await;
    let again = operator
        .fn_principal_add("amy", "human", &classes(&["reviewer"]), None)
        .await
        .expect("the same again");
    assert_eq!(again, amy);
    let fewer =
        operator.fn_principal_add("amy", "human", &[], None).await.expect("nothing is taken away");
    assert_eq!(fewer, amy);
    assert_eq!(before, db.fingerprint().await);

    let more = operator
        .fn_principal_add("amy", "human", &classes(&["pic_human"]), None)
        .await
        .expect("one more");
    assert_eq!(more.actor_classes, ["pic_human", "reviewer"]);
    let before = db.fingerprint().await;
    for kind in ["agent", "service"] {
        assert_eq!(codes(operator.fn_principal_add("amy", kind, &[], None).await), [RI009]);
    }
    assert_eq!(before, db.fingerprint().await);
}

/// SEC-1: a name that could be mistaken, a kind or a class that is not there: each is refused and leaves nothing behind.
#[tokio::test]
async fn malformed_principals_are_refused() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    let before = db.fingerprint().await;
    let long = "a".repeat(64);
    for name in [
        "",
        " ",
        "Amy",
        "1st",
        "amy b",
        "amy\n",
        "ämy",
        "../amy",
        "amy/b",
        ".amy",
        "-amy",
        "аmy",
        long.as_str(),
    ] {
        assert_eq!(
            codes(operator.fn_principal_add(name, "human", &[], None).await),
            [RI010],
            "{name:?}"
        );
    }
    for kind in ["", "robot", "Human"] {
        assert_eq!(
            codes(operator.fn_principal_add("amy", kind, &[], None).await),
            [RI010],
            "{kind:?}"
        );
    }
    for unknown in ["wizard", "", "REVIEWER"] {
        let answer =
            operator.fn_principal_add("amy", "human", &classes(&["reviewer", unknown]), None).await;
        assert_eq!(codes(answer), [RI011], "{unknown:?}");
    }
    assert_eq!(before, db.fingerprint().await);
    operator.fn_principal_add(&"a".repeat(63), "human", &[], None).await.expect("the longest name");
    operator.fn_principal_add("a.b-c_9", "agent", &[], None).await.expect("every sign");
}

/// SEC-1: a class that was taken away no longer moves anything; what was done with it stays. Repeating changes nothing.
#[tokio::test]
async fn a_revoked_class_moves_nothing() {
    let (db, store) = letters().await;
    let operator = db.store(Role::Migrator);
    let (first, second) = (draft(&store).await, draft(&store).await);
    store.fn_state_transition_apply(&check(first)).await.expect("the reader holds the class");
    let reader = operator
        .fn_principal_revoke("reader", &classes(&["reviewer", "sovereign"]), None)
        .await
        .expect("revoked");
    assert_eq!(reader.actor_classes, ["executor_worker"]);
    assert_eq!(codes(store.fn_state_transition_apply(&check(second)).await), [RI003]);
    let before = db.fingerprint().await;
    operator
        .fn_principal_revoke("reader", &classes(&["reviewer"]), None)
        .await
        .expect("the same again");
    assert_eq!(
        codes(operator.fn_principal_revoke("nobody", &classes(&["reviewer"]), None).await),
        [RI001]
    );
    assert_eq!(before, db.fingerprint().await);
    assert_eq!(audited(&db).await.mismatches, []);
    assert_eq!(store.run(first).await.expect("an answer").expect("a run").state, "checked");
}

/// SEC-1: a principal that was switched off moves nothing until it is switched on again.
#[tokio::test]
async fn an_inactive_principal_moves_nothing() {
    let (db, store) = letters().await;
    let operator = db.store(Role::Migrator);
    let run = draft(&store).await;
    assert!(!operator.fn_principal_set_active("reader", false, None).await.expect("off").active);
    let before = db.fingerprint().await;
    operator.fn_principal_set_active("reader", false, None).await.expect("the same again");
    assert_eq!(codes(store.fn_state_transition_apply(&check(run)).await), [RI002]);
    let preview = store.fn_state_transition_validate(&check(run)).await.expect("a preview");
    assert_eq!(preview.problems.iter().map(|problem| problem.code).collect::<Vec<_>>(), [RI002]);
    assert_eq!(codes(operator.fn_principal_set_active("nobody", false, None).await), [RI001]);
    assert_eq!(before, db.fingerprint().await);
    operator.fn_principal_set_active("writer", false, None).await.expect("off");
    assert_eq!(
        codes(store.fn_run_start(&birth("letter", json!({}))).await),
        [RI002],
        "nor is anything born by it"
    );
    operator.fn_principal_set_active("reader", true, None).await.expect("on");
    store.fn_state_transition_apply(&check(run)).await.expect("as before");
}

/// SEC-1: a key belongs to one principal, under one id, for ever.
#[tokio::test]
async fn a_key_belongs_to_one_principal() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    for name in ["amy", "bob"] {
        operator.fn_principal_add(name, "human", &[], None).await.expect("a person");
    }
    let (id, other_id) = (Uuid::now_v7(), Uuid::now_v7());
    let (bytes, other_bytes) = (keys::public_key("1"), keys::public_key("2"));
    let registered = operator
        .fn_key_register(id, "amy", &bytes, &keys::possession("1", "amy"), None, None)
        .await
        .expect("registered");
    assert_eq!((registered.principal.as_str(), registered.public_key), ("amy", hex::encode(bytes)));
    for revoked in [false, true] {
        if revoked {
            operator.fn_key_revoke(id, "lost", None).await.expect("revoked");
        }
        let before = db.fingerprint().await;
        assert_eq!(
            codes(
                operator
                    .fn_key_register(id, "bob", &bytes, &keys::possession("1", "bob"), None, None)
                    .await
            ),
            [RI007]
        );
        assert_eq!(
            codes(
                operator
                    .fn_key_register(
                        other_id,
                        "bob",
                        &bytes,
                        &keys::possession("1", "bob"),
                        None,
                        None
                    )
                    .await
            ),
            [RI007]
        );
        assert_eq!(
            codes(
                operator
                    .fn_key_register(
                        other_id,
                        "amy",
                        &bytes,
                        &keys::possession("1", "amy"),
                        None,
                        None
                    )
                    .await
            ),
            [RI007]
        );
        assert_eq!(
            codes(
                operator
                    .fn_key_register(
                        id,
                        "amy",
                        &other_bytes,
                        &keys::possession("2", "amy"),
                        None,
                        None
                    )
                    .await
            ),
            [RI007]
        );
        assert_eq!(
            codes(
                operator
                    .fn_key_register(
                        id,
                        "bob",
                        &other_bytes,
                        &keys::possession("2", "bob"),
                        None,
                        None
                    )
                    .await
            ),
            [RI007]
        );
        let again = operator
            .fn_key_register(id, "amy", &bytes, &keys::possession("1", "amy"), None, None)
            .await;
        if revoked {
            assert_eq!(codes(again), [RI006], "a revoked key does not come back");
        } else {
            assert_eq!(again.expect("the same again").key_id, id);
        }
        assert_eq!(before, db.fingerprint().await);
    }
}

/// SEC-1: what is no key, or no reason, or nobody's, is refused and leaves nothing behind.
#[tokio::test]
async fn malformed_keys_are_refused() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    for name in ["amy", "bob"] {
        operator.fn_principal_add(name, "human", &[], None).await.expect("a person");
    }
    let amys = Uuid::now_v7();
    operator
        .fn_key_register(
            amys,
            "amy",
            &keys::public_key("1"),
            &keys::possession("1", "amy"),
            None,
            None,
        )
        .await
        .expect("registered");
    let before = db.fingerprint().await;
    for length in [0, 31, 33, 64] {
        let answer = operator
            .fn_key_register(Uuid::now_v7(), "amy", &vec![7; length], &[0; 64], None, None)
            .await;
        assert_eq!(codes(answer), [RI012], "{length} bytes");
    }
    assert_eq!(
        codes(
            operator
                .fn_key_register(
                    Uuid::now_v7(),
                    "nobody",
                    &keys::public_key("7"),
                    &keys::possession("7", "nobody"),
                    None,
                    None
                )
                .await
        ),
        [RI001]
    );
    // A rotation replaces a key of one's own.
    for supersedes in [amys, Uuid::now_v7()] {
        let answer = operator
            .fn_key_register(
                Uuid::now_v7(),
                "bob",
                &keys::public_key("7"),
                &keys::possession("7", "bob"),
                Some(supersedes),
                None,
            )
            .await;
        assert_eq!(codes(answer), [RI005]);
    }
    for reason in ["", "  "] {
        assert_eq!(codes(operator.fn_key_revoke(amys, reason, None).await), [RI013]);
    }
    assert_eq!(codes(operator.fn_key_revoke(Uuid::now_v7(), "lost", None).await), [RI005]);
    assert_eq!(before, db.fingerprint().await);

    let revoked = operator.fn_key_revoke(amys, "lost", None).await.expect("revoked");
    let before = db.fingerprint().await;
    let again =
        operator.fn_key_revoke(amys, "found again", None).await.expect("nothing more happens");
    assert_eq!(again, revoked, "the first reason and the first time stay");
    assert_eq!(before, db.fingerprint().await);
}

/// Two people with keys, an agent and the letter machine.
struct People {
    db: TestDb,
    store: Store,
    operator: Store,
    folder: TempDir,
    keystore: Keystore,
}

impl People {
    async fn new() -> Self {
        let (db, store) = letters().await;
        let operator = db.store(Role::Migrator);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keystore = Keystore::below(folder.path());
        for (name, kind) in [("amy", "human"), ("bob", "human"), ("robin", "agent")] {
            let held = classes(&["reviewer", "executor_worker"]);
            operator.fn_principal_add(name, kind, &held, None).await.expect("a principal");
            new_key(&operator, &keystore, name, None).await.expect("a key");
        }
        Self { db, store, operator, folder, keystore }
    }

    async fn actor(&self, name: &str) -> Actor {
        Actor::open(&self.store, &self.keystore, name).await.expect("the actor's own key")
    }

    async fn begin(&self, actor: &Actor) -> Result<MoveReport, chancery_engine::Error> {
        let request =
            Request { actor_class: Some("executor_worker".to_owned()), ..Request::default() };
        let birth = Birth { data: Some(json!({ "words": 3 })), request, ..Birth::default() };
        run::start(&self.store, actor, "letter", &birth).await
    }

    async fn check(
        &self,
        actor: &Actor,
        run_id: Uuid,
    ) -> Result<MoveReport, chancery_engine::Error> {
        let request = Request { actor_class: Some("reviewer".to_owned()), ..Request::default() };
        run::make_move(&self.store, actor, run_id, "checked", &request).await
    }

    async fn live_key(&self, name: &str) -> Uuid {
        let keys = self.operator.signing_keys().await.expect("keys");
        keys.into_iter()
            .find(|key| key.principal == name && key.revoked_at.is_none())
            .expect("a live key")
            .key_id
    }
}

async fn audited(db: &TestDb) -> Report {
    audit::verify_log(&db.store(Role::Auditor), |_| ()).await.expect("an audit")
}

/// The database's part of an answer of the engine.
fn of_the_database<T>(answer: Result<T, chancery_engine::Error>) -> Result<T, Error> {
    answer.map_err(|error| match error {
        chancery_engine::Error::Store(error) => error,
        other => panic!("an answer of the database, not {other}"),
    })
}

/// SEC-1: people and agents sign what they do, and the audit counts and checks each signature; services need none.
#[tokio::test]
async fn people_and_agents_sign_their_moves() {
    let people = People::new().await;
    let (amy, bob, robin) =
        (people.actor("amy").await, people.actor("bob").await, people.actor("robin").await);
    let before = people.db.fingerprint().await;
    for name in ["bob", "robin"] {
        let unsigned = Actor::new(name.to_owned(), None);
        assert_eq!(codes(of_the_database(people.begin(&unsigned).await)), [RI008], "{name}");
    }
    assert_eq!(before, people.db.fingerprint().await);

    let run = people.begin(&bob).await.expect("signed").run_id;
    let unsigned = Actor::new("amy".to_owned(), None);
    assert_eq!(codes(of_the_database(people.check(&unsigned, run).await)), [RI008]);
    people.check(&amy, run).await.expect("signed");
    people.begin(&robin).await.expect("signed");
    let unsigned_by_service = draft(&people.store).await;
    let report = audited(&people.db).await;
    assert_eq!((report.rows, report.signatures, report.mismatches), (4, 3, vec![]));
    let signed: Vec<bool> = people
        .store
        .history(unsigned_by_service)
        .await
        .expect("a history")
        .iter()
        .map(|row| row.signed)
        .collect();
    assert_eq!(signed, [false]);
}

/// SEC-1: half a signature is none, and a key stands for nobody but its owner.
#[tokio::test]
async fn a_signature_comes_with_the_key_of_its_maker() {
    let people = People::new().await;
    let (amy, bob) = (people.actor("amy").await, people.actor("bob").await);
    let run = people.begin(&bob).await.expect("signed").run_id;
    let before = people.db.fingerprint().await;
    let borrowed = Actor::new("bob".to_owned(), amy.key);
    assert_eq!(codes(of_the_database(people.begin(&borrowed).await)), [RI005]);
    let as_amy = Move { principal: "amy".to_owned(), ..check(run) };
    let unknown = Signed { key_id: Uuid::now_v7(), signature: vec![7; 64] };
    let with_unknown = Move { signed: Some(unknown), ..as_amy.clone() };
    assert_eq!(codes(people.store.fn_state_transition_apply(&with_unknown).await), [RI005]);

    // The store never sends one half; a caller of the door could.
    let mut app = people.db.connect(Role::App).await;
    let key_id = people.live_key("amy").await;
    for (key_id, signature, code) in
        [(Some(key_id), None, RI008), (None, Some(vec![7_u8; 64]), RI005)]
    {
        let answer = sqlx::query(
            "select fsm.fn_state_transition_apply($1, 'custom', null, 'checked', 'reviewer', 'rpc', 'letter_check', '{}', 'amy', 'half',
                                                  null, null, $2, $3)",
        )
        .bind(run)
        .bind(key_id)
        .bind(signature)
        .execute(&mut app)
        .await;
        assert_eq!(codes(answer.map_err(Error::from)), [code]);
    }
    assert_eq!(before, people.db.fingerprint().await);
}

/// SEC-1: 64 bytes that nobody's key made are no signature, whoever's key they come with.
#[tokio::test]
async fn a_made_up_signature_is_refused() {
    let people = People::new().await;
    let run = people.begin(&people.actor("bob").await).await.expect("signed").run_id;
    let before = people.db.fingerprint().await;
    let made_up = Signed { key_id: people.live_key("amy").await, signature: vec![7; 64] };
    let forged = Move { principal: "amy".to_owned(), signed: Some(made_up), ..check(run) };
    assert_eq!(codes(people.store.fn_state_transition_apply(&forged).await), [RI051]);
    assert_eq!(before, people.db.fingerprint().await);
}

/// SEC-1: a key is registered by who has its private half, for themselves, and only one that somebody can have.
#[tokio::test]
async fn a_key_says_whose_it_is() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    let app = db.store(Role::App);
    for name in ["amy", "bob"] {
        operator.fn_principal_add(name, "human", &[], None).await.expect("a person");
    }
    let before = db.fingerprint().await;
    let key = keys::public_key("amy's");
    let weak: [u8; 32] = std::array::from_fn(|n| u8::from(n == 0));
    for (key, possession, code) in [
        (key, keys::possession("amy's", "bob"), RI053),
        (key, keys::possession("another", "amy"), RI053),
        (key, [0; 64], RI053),
        (weak, keys::possession("amy's", "amy"), RI052),
        // What a verifier that takes this key would find good: R is the key, s is 0.
        (weak, std::array::from_fn(|n| u8::from(n == 0)), RI052),
        ([0xff; 32], keys::possession("amy's", "amy"), RI052),
    ] {
        let id = Uuid::now_v7();
        let registered = operator.fn_key_register(id, "amy", &key, &possession, None, None).await;
        assert_eq!(codes(registered), [code]);
        assert_eq!(codes(app.fn_key_request(id, "amy", &key, &possession, None).await), [code]);
    }
    assert_eq!(before, db.fingerprint().await);
    let good = keys::possession("amy's", "amy");
    app.fn_key_request(Uuid::now_v7(), "amy", &key, &good, None).await.expect("asked");
    operator.fn_key_register(Uuid::now_v7(), "amy", &key, &good, None, None).await.expect("a key");
}

/// SEC-1: a request for a key from an older release, which does not show that its maker has it, is not accepted.
#[tokio::test]
async fn a_key_that_says_nothing_is_not_accepted() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    operator.fn_principal_add("amy", "human", &[], None).await.expect("a person");
    let id = Uuid::now_v7();
    let key = keys::public_key("amy's");
    let good = keys::possession("amy's", "amy");
    db.store(Role::App).fn_key_request(id, "amy", &key, &good, None).await.expect("asked");
    db.forge(&["update identity.key_request set possession = null"]).await;
    let before = db.fingerprint().await;
    assert_eq!(codes(operator.fn_key_request_settle(id, true, None).await), [RI053]);
    assert_eq!(before, db.fingerprint().await);
    operator.fn_key_request_settle(id, false, None).await.expect("refused");
}

/// SEC-1: a revoked key signs nothing more, and what it signed before stays good.
#[tokio::test]
async fn a_revoked_key_signs_nothing_more() {
    let people = People::new().await;
    let (amy, bob) = (people.actor("amy").await, people.actor("bob").await);
    let (first, second) = (
        people.begin(&bob).await.expect("signed").run_id,
        people.begin(&bob).await.expect("signed").run_id,
    );
    people.check(&amy, first).await.expect("signed");
    people
        .operator
        .fn_key_revoke(people.live_key("amy").await, "the laptop was lost", None)
        .await
        .expect("revoked");
    let before = people.db.fingerprint().await;
    let refused = of_the_database(people.check(&amy, second).await).expect_err("revoked");
    let problem = &refused.refusal().expect("a refusal").problems[0];
    assert_eq!(
        (problem.code, problem.facts.get("reason")),
        (RI006, Some(&json!("the laptop was lost")))
    );
    // A keystore that has no other key says the same, instead of leaving the move unsigned.
    assert_eq!(
        codes(of_the_database(people.check(&people.actor("amy").await, second).await)),
        [RI006]
    );
    assert_eq!(before, people.db.fingerprint().await);
    let report = audited(&people.db).await;
    assert_eq!((report.signatures, report.mismatches), (3, vec![]));
}

/// SEC-1: after a rotation the new key signs, the old one does not, and the histories of both verify.
#[tokio::test]
async fn a_rotation_replaces_the_key_and_not_its_work() {
    let people = People::new().await;
    let (amy, bob) = (people.actor("amy").await, people.actor("bob").await);
    let (first, second) = (
        people.begin(&bob).await.expect("signed").run_id,
        people.begin(&bob).await.expect("signed").run_id,
    );
    people.check(&amy, first).await.expect("signed with the old key");
    let old = people.live_key("amy").await;
    let new =
        rotate_key(&people.operator, &people.keystore, "amy", Some("bob")).await.expect("rotated");
    assert_eq!(new.supersedes, Some(old));
    assert_eq!(people.live_key("amy").await, new.key_id);
    assert_eq!(codes(of_the_database(people.check(&amy, second).await)), [RI006]);
    let renewed = people.actor("amy").await;
    assert_eq!(
        renewed.key.as_ref().map(|own| own.key_id),
        Some(new.key_id),
        "the keystore picks the live one"
    );
    people.check(&renewed, second).await.expect("signed with the new key");
    let report = audited(&people.db).await;
    assert_eq!((report.signatures, report.mismatches), (4, vec![]));

    let keys = people.operator.signing_keys().await.expect("keys");
    let old = keys.iter().find(|key| key.key_id == old).expect("it is kept");
    assert_eq!(
        old.revoke_reason.as_deref(),
        Some(format!("superseded by {}", new.key_id).as_str())
    );
    people.operator.fn_principal_add("carol", "human", &[], None).await.expect("a person");
    let nothing = rotate_key(&people.operator, &people.keystore, "carol", None)
        .await
        .expect_err("no key to rotate");
    assert!(matches!(nothing, chancery_engine::Error::Key(_)), "{nothing}");
    assert_eq!(
        people.keystore.list("carol").expect("a list"),
        Vec::<Uuid>::new(),
        "no file is left behind"
    );
}

/// SEC-1: every change to principals, classes and keys is told once, with who asked; a refused one and a repeated one are not.
#[tokio::test]
async fn the_identity_log_tells_every_change() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    let (first, second) = (Uuid::now_v7(), Uuid::now_v7());
    let by = Some("root-operator");
    for _ in 0..2 {
        operator
            .fn_principal_add("amy", "human", &classes(&["reviewer", "pic_human"]), by)
            .await
            .expect("added");
    }
    operator.fn_principal_add("amy", "agent", &[], by).await.expect_err("another kind");
    operator
        .fn_key_register(
            first,
            "amy",
            &keys::public_key("1"),
            &keys::possession("1", "amy"),
            None,
            by,
        )
        .await
        .expect("registered");
    operator
        .fn_key_register(
            second,
            "amy",
            &keys::public_key("2"),
            &keys::possession("2", "amy"),
            Some(first),
            by,
        )
        .await
        .expect("rotated");
    operator
        .fn_key_register(
            Uuid::now_v7(),
            "amy",
            &keys::public_key("2"),
            &keys::possession("2", "amy"),
            None,
            by,
        )
        .await
        .expect_err("taken");
    for _ in 0..2 {
        operator.fn_key_revoke(second, "lost", None).await.expect("revoked");
        operator.fn_principal_revoke("amy", &classes(&["pic_human"]), by).await.expect("revoked");
        operator.fn_principal_set_active("amy", false, by).await.expect("off");
    }
    operator.fn_principal_set_active("amy", true, by).await.expect("on");

    let rows: Vec<(String, String, Option<String>, String, Value)> = sqlx::query_as(
        "select action, principal, acted_by, login_role, facts from identity.v_identity_log where principal <> 'chancery' order by identity_log_id",
    )
    .fetch_all(&mut db.connect(Role::Auditor).await)
    .await
    .expect("the log");
    assert!(rows.iter().all(|row| row.1 == "amy" && row.3 == "chancery_migrator"), "{rows:?}");
    let told: Vec<(&str, Option<&str>, &Value)> =
        rows.iter().map(|row| (row.0.as_str(), row.2.as_deref(), &row.4)).collect();
    let expected = [
        ("principal_added", by, json!({ "kind": "human" })),
        ("classes_granted", by, json!({ "classes": ["pic_human", "reviewer"] })),
        (
            "key_registered",
            by,
            json!({ "key_id": first, "public_key": hex::encode(keys::public_key("1")), "supersedes": null }),
        ),
        (
            "key_registered",
            by,
            json!({ "key_id": second, "public_key": hex::encode(keys::public_key("2")), "supersedes": first }),
        ),
        (
            "key_revoked",
            by,
            json!({ "key_id": first, "reason": format!("superseded by {second}") }),
        ),
        ("key_revoked", None, json!({ "key_id": second, "reason": "lost" })),
        ("classes_revoked", by, json!({ "classes": ["pic_human"] })),
        ("principal_deactivated", by, json!({})),
        ("principal_activated", by, json!({})),
    ];
    let expected: Vec<(&str, Option<&str>, &Value)> =
        expected.iter().map(|(action, by, facts)| (*action, *by, facts)).collect();
    assert_eq!(told, expected);
}
