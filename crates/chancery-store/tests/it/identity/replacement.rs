//! SEC-1: whose word makes a new key somebody's.

use chancery_model::envelope::Statement;
use chancery_model::refusal::Code::{RI005, RI006, RI051, RI053};
use chancery_store::Role;
use chancery_store::fsm::Signed;
use chancery_testkit::{TestDb, keys};
use uuid::Uuid;

use crate::support::codes;

/// SEC-1: a new key is a person's by its own word and by that of an old one, or of the operator. Neither word does without the other.
#[tokio::test]
async fn a_new_key_needs_the_old_one_or_the_operator() {
    let db = TestDb::new().await;
    let (operator, app) = (db.store(Role::Migrator), db.store(Role::App));
    let mut ids = Vec::new();
    for name in ["amy", "bob"] {
        operator.fn_principal_add(name, "human", &[], None).await.expect("a person");
        ids.push(keys::register(&operator, name).await);
    }
    let [amys, bobs] = ids[..] else { panic!("two keys") };
    let replaces = |new: &str, whose: &str, old_key_id: Uuid, signer: &str| {
        let statement =
            Statement::replacement(whose, &keys::signing_key(new).verifying_key(), old_key_id);
        Signed { key_id: old_key_id, signature: keys::sign(signer, &statement) }
    };
    let ask = async |new: &str, possession: [u8; 64], old: Option<Signed>| {
        let key = keys::public_key(new);
        app.fn_key_request(Uuid::now_v7(), "amy", &key, &possession, old.as_ref()).await
    };
    let own = |new: &str| keys::possession(new, "amy");

    let before = db.fingerprint().await;
    // The old key's word without the new one's, and the words of others.
    let word = replaces("new", "amy", amys, "amy");
    assert_eq!(codes(ask("new", [0; 64], Some(word.clone())).await), [RI053]);
    for (old, code) in [
        (replaces("new", "amy", bobs, "bob"), RI005),
        (replaces("new", "amy", Uuid::nil(), "amy"), RI005),
        (replaces("new", "amy", amys, "bob"), RI051),
        (replaces("new", "bob", amys, "amy"), RI051),
        (replaces("another", "amy", amys, "amy"), RI051),
        (replaces("new", "amy", bobs, "amy"), RI005),
        (Signed { key_id: amys, signature: vec![0; 64] }, RI051),
        (Signed { key_id: amys, signature: own("new").to_vec() }, RI051),
    ] {
        assert_eq!(codes(ask("new", own("new"), Some(old.clone())).await), [code], "{old:?}");
    }
    assert_eq!(before, db.fingerprint().await);

    // With both words it is hers at once, the old one is revoked, and nobody was asked.
    let made = ask("new", own("new"), Some(word.clone())).await.expect("a key");
    assert_eq!(made.outcome.as_deref(), Some("accepted"));
    let told = "select concat_ws(' ', k.principal, k.revoked_at is null, s.revoked_at is null) from identity.signing_key k
                  join identity.signing_key s on s.key_id = k.supersedes where k.key_id = ";
    assert_eq!(db.text(&format!("{told}'{}'", made.request_id)).await, "amy t f");
    let before = db.fingerprint().await;
    let again = ask("new", own("new"), Some(word)).await.expect("the same again");
    assert_eq!(again.request_id, made.request_id);
    // A revoked key has no word, not even about another key.
    let late = replaces("third", "amy", amys, "amy");
    assert_eq!(codes(ask("third", own("third"), Some(late)).await), [RI006]);
    assert_eq!(before, db.fingerprint().await);

    // Without an old key it waits for the operator, who says yes, or registers one by their own word; never without the key's.
    let asked = ask("third", own("third"), None).await.expect("asked");
    assert_eq!(asked.outcome, None);
    let live = "identity.signing_key where principal = 'amy' and revoked_at is null";
    assert_eq!(db.count(live).await, 1);
    operator.fn_key_request_settle(asked.request_id, true, None).await.expect("accepted");
    let fourth = keys::public_key("fourth");
    let id = Uuid::now_v7();
    assert_eq!(
        codes(operator.fn_key_register(id, "amy", &fourth, &[0; 64], None, None).await),
        [RI053]
    );
    operator.fn_key_register(id, "amy", &fourth, &own("fourth"), None, None).await.expect("a key");
    assert_eq!(db.count(live).await, 3);
}

/// SEC-1: of two replacements of one key at once, one is made.
#[tokio::test]
async fn one_key_is_replaced_once() {
    let db = TestDb::new().await;
    let (operator, app) = (db.store(Role::Migrator), db.store(Role::App));
    operator.fn_principal_add("amy", "human", &[], None).await.expect("a person");
    let old = keys::register(&operator, "amy").await;
    let mut racers = tokio::task::JoinSet::new();
    for n in 0..4 {
        let app = app.clone();
        racers.spawn(async move {
            let new = format!("new {n}");
            let key = keys::signing_key(&new).verifying_key();
            let signature = keys::sign("amy", &Statement::replacement("amy", &key, old));
            let word = Signed { key_id: old, signature };
            let possession = keys::possession(&new, "amy");
            let id = Uuid::now_v7();
            app.fn_key_request(id, "amy", key.as_bytes(), &possession, Some(&word)).await
        });
    }
    let told = racers.join_all().await;
    assert_eq!(told.iter().filter(|answer| answer.is_ok()).count(), 1);
    for answer in told.into_iter().filter(Result::is_err) {
        assert_eq!(codes(answer), [RI006]);
    }
    assert_eq!(
        db.count("identity.signing_key where principal = 'amy' and revoked_at is null").await,
        1
    );
    assert_eq!(db.count("identity.key_request").await, 1);
}
