//! Permits: one a code, for one intent, for a time; asked for, taken back, failed, and asked for again.

use chancery_model::envelope::{Birth, Move};
use chancery_model::refusal::Code::{
    RA003, RA006, RB001, RB002, RB003, RB009, RB010, RB011, RB012, RI001, RI003, RI004, RI008,
    RI051, RS023,
};
use chancery_store::{Error, LOGINS, Role};
use chancery_testkit::keys;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::approval_world::refusal;
use crate::birth_revocation::{fail, revoke};
use crate::birth_world::{BORN, Policy, RESERVED, Shop};
use crate::governance_world::{clock_ahead, setting};
use crate::support::codes;

const NEW: &str = "insert into shop.film (code, title) values ('F-9', 'Nine')";

async fn film(shop: &Shop, ask: Value) -> Result<Value, Error> {
    shop.ask("shop.film", json!([ask])).await
}

/// ADM-3: the same request finds its permit, whoever repeats it and however often; another intent is refused while the permit lives.
#[tokio::test]
async fn one_permit_a_code_for_one_intent() {
    let shop = Shop::enforced().await;
    let ask = json!({ "code": "F-9", "name": "Nine", "species": "film", "payload": { "title": "Nine", "price": 1.50 } });
    let first = film(&shop, ask.clone()).await.expect("a permit");
    assert_eq!(first["reserved"], 1);
    let before = shop.everything().await;
    let mut same = ask.clone();
    same["role"] = json!("governed");
    same["payload"] = json!({ "price": 1.5, "title": "Nine" });
    for (principal, ask) in [("clerk", &ask), ("cashier", &ask), ("clerk", &same)] {
        let again = shop
            .ask_as(principal, "executor_worker", "shop.film", json!([ask]), None)
            .await
            .expect("the permit");
        assert_eq!(
            (&again["reserved"], &again["permits"]),
            (&json!(0), &first["permits"]),
            "the same in every field"
        );
    }
    for (field, value) in [
        ("name", json!("Ten")),
        ("name", json!(null)),
        ("species", json!("disc")),
        ("role", json!("observed")),
        ("payload", json!({ "title": "Nine" })),
        ("payload", json!({})),
        ("payload", json!(null)),
    ] {
        let mut other = ask.clone();
        other[field] = value;
        let (code, facts) = refusal(film(&shop, other).await);
        let expected = json!({ "collection": "shop.film", "entity_code": "F-9", "permit_id": first["permits"][0]["permit_id"], "permit_status": "RESERVED" });
        assert_eq!((code, facts), (RB009, expected), "another {field}");
    }
    // Fields do not run into each other.
    let (code, _) = refusal(film(&shop, json!({ "code": "F-9", "name": "Ninefilm", "payload": { "title": "Nine", "price": 1.5 } })).await);
    assert_eq!(code, RB009);
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.write(&[NEW]).await.expect("born");
    let born = film(&shop, ask.clone()).await.expect("where it stands");
    assert_eq!(
        (&born["reserved"], &born["permits"][0]["status"]),
        (&json!(0), &json!("FINALIZED"))
    );
    let birth: Uuid =
        shop.one("select birth_id from birth.birth_registry where entity_code = 'F-9'").await;
    assert_eq!(born["permits"][0]["birth_id"], json!(birth));
    assert_eq!(
        refusal(film(&shop, json!({ "code": "F-9" })).await).0,
        RB009,
        "a birth is for ever"
    );
    assert_eq!(shop.film("F-9").await, BORN);
}

/// ADM-3: what is over admits nothing any more, and makes way for a new request, of whatever intent.
#[tokio::test]
async fn what_is_over_makes_way() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy { ttl: Some(60), ..Policy::enforced("code") })
        .await
        .expect("protected");
    let mut ahead = 0;
    for (n, way) in ["aged", "swept", "revoked", "failed"].into_iter().enumerate() {
        let code = format!("O-{n}");
        let insert = format!("insert into shop.film (code, title) values ('{code}', 'x')");
        let ask = json!({ "code": code, "name": "first" });
        let first = film(&shop, ask.clone()).await.expect("a permit")["permits"][0].clone();
        let permit = shop.permit_of("shop.film", &code).await;
        let why = match way {
            "revoked" => {
                revoke(&shop, permit, "chief", "reviewer", "no longer wanted")
                    .await
                    .expect("revoked");
                "revoked"
            }
            "failed" => {
                fail(&shop, permit, "clerk", "the table said no").await.expect("failed");
                "failed"
            }
            _ => {
                ahead += 2;
                clock_ahead(&shop.db, &format!("{ahead} minutes")).await;
                if way == "swept" {
                    shop.db
                        .text_as(Role::App, "select birth.fn_permit_watchdog(10, 'chancery')::text")
                        .await;
                }
                "expired"
            }
        };
        let before = shop.everything().await;
        let (code_refused, facts) = refusal(shop.write(&[&insert]).await.map(|()| Value::Null));
        let expected = json!({ "collection": "shop.film", "entity_code": code, "why": why, "permit_id": permit, "login": "birth_writer" });
        assert_eq!((code_refused, facts), (RB001, expected), "{way}");
        assert_eq!(before, shop.everything().await, "nothing changed");
        let again = film(&shop, ask).await.expect("a fresh permit");
        assert_eq!(again["reserved"], 1, "{way}");
        assert_ne!(again["permits"][0]["permit_id"], first["permit_id"], "{way}");
        assert_eq!(again["permits"][0]["request_hash"], first["request_hash"], "the same key");
        ahead += 2;
        clock_ahead(&shop.db, &format!("{ahead} minutes")).await;
        film(&shop, json!({ "code": code, "name": "another" })).await.expect("and another intent");
        shop.write(&[&insert]).await.expect("born");
        let permits = shop.film(&code).await;
        assert!(
            permits.contains(&format!("permits {},EXPIRED,FINALIZED", why.to_uppercase())),
            "{permits}"
        );
    }
    shop.is_sound().await;
}

/// ADM-3: the time of a permit ends at its instant.
#[tokio::test]
async fn a_permit_ends_at_its_instant() {
    let shop = Shop::open().await;
    let start = shop.now().await;
    shop.stop_the_clock(start).await;
    shop.protect("shop.film", &Policy { ttl: Some(60), ..Policy::enforced("code") })
        .await
        .expect("protected");
    shop.permits("shop.film", &["F-9"]).await;
    shop.stop_the_clock(start + 60_000_000).await;
    let before = shop.everything().await;
    assert_eq!(codes(shop.write(&[NEW]).await), [RB001]);
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.stop_the_clock(start + 59_999_999).await;
    shop.write(&[NEW]).await.expect("born");
    assert_eq!(shop.film("F-9").await, BORN);
}

/// ADM-3: a batch is reserved whole or not at all; what it has in common with an earlier one it shares.
#[tokio::test]
async fn a_batch_is_reserved_whole_or_not_at_all() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy { rule: Some("^B-[0-9]+$"), ..Policy::enforced("code") })
        .await
        .expect("protected");
    let batch = |n: std::ops::Range<i32>| {
        Value::Array(n.map(|n| json!({ "code": format!("B-{n}") })).collect())
    };
    let first = shop.ask("shop.film", batch(0..300)).await.expect("permits");
    assert_eq!(first["reserved"], 300);
    let second = shop.ask("shop.film", batch(200..500)).await.expect("permits");
    assert_eq!((&second["reserved"], &second["permits"][0]), (&json!(200), &first["permits"][200]));
    let order: Vec<&str> = second["permits"]
        .as_array()
        .expect("permits")
        .iter()
        .filter_map(|permit| permit["code"].as_str())
        .collect();
    assert_eq!(
        (order.len(), order[0], order[299]),
        (300, "B-200", "B-499"),
        "in the order of the request"
    );
    let before = shop.everything().await;
    let with = |other: Value| {
        let mut asks = batch(500..520);
        asks.as_array_mut().expect("a list").insert(7, other);
        asks
    };
    for (other, code, why) in [
        (json!({ "code": "B-519" }), RB003, Some("named_twice")),
        (json!({ "code": "C-1" }), RB003, Some("against_the_rule")),
        (json!({ "code": null }), RB003, Some("no_code")),
        (json!({}), RB003, Some("no_code")),
        (json!({ "code": "B-3", "name": "another intent" }), RB009, None),
        (json!({ "code": "B-600", "payload": [] }), RB012, None),
    ] {
        let (refused, facts) = refusal(shop.ask("shop.film", with(other.clone())).await);
        assert_eq!((refused, facts["why"].as_str()), (code, why), "{other}");
    }
    let (code, facts) = refusal(shop.ask("shop.film", batch(0..20_001)).await);
    assert_eq!(
        (code, facts),
        (
            RB003,
            json!({ "collection": "shop.film", "why": "too_many", "codes": 20_001, "most": 20_000 })
        )
    );
    let (code, facts) = refusal(shop.ask("shop.film", json!([])).await);
    assert_eq!((code, &facts["why"]), (RB003, &json!("no_code")));
    assert_eq!(before, shop.everything().await, "nothing changed");
    setting(&shop.db, "birth.permit.max_batch", "300").await;
    assert_eq!(
        shop.ask("shop.film", batch(600..900)).await.expect("as many as may be")["reserved"],
        300
    );
    assert_eq!(refusal(shop.ask("shop.film", batch(900..1201)).await).0, RB003);
    shop.is_sound().await;
}

/// ADM-3: what is no code, or against the family's rule, gets no permit, and the refusal says which and why.
#[tokio::test]
async fn an_unfit_code_gets_no_permit() {
    let shop = Shop::open().await;
    shop.protect(
        "shop.film",
        &Policy { rule: Some("^[A-Z]-[0-9]{1,3}$|^đ"), ..Policy::enforced("code") },
    )
    .await
    .expect("protected");
    shop.protect("shop.disc", &Policy::enforced("label")).await.expect("protected");
    let before = shop.everything().await;
    for (code, why) in [
        ("", "no_code"),
        ("   ", "no_code"),
        ("f-1", "against_the_rule"),
        ("F-1\nF-2", "against_the_rule"),
        ("F-1 ", "against_the_rule"),
        ("Đ-1", "against_the_rule"),
    ] {
        let (refused, facts) = refusal(film(&shop, json!({ "code": code })).await);
        let expected = json!({ "collection": "shop.film", "entity_code": code, "why": why, "rule": "^[A-Z]-[0-9]{1,3}$|^đ" });
        assert_eq!((refused, facts), (RB003, expected));
    }
    for code in ["x".repeat(201), "ệ".repeat(67)] {
        let (refused, facts) = refusal(shop.ask("shop.disc", json!([{ "code": code }])).await);
        assert_eq!((refused, &facts["why"]), (RB003, &json!("too_long")));
    }
    for (ask, why) in [
        (json!({ "code": "F-9", "name": "n".repeat(1001) }), "name_too_long"),
        (json!({ "code": "F-9", "species": "s".repeat(101) }), "name_too_long"),
        (json!({ "code": "F-9", "role": "king" }), "role_unknown"),
    ] {
        let (refused, facts) = refusal(film(&shop, ask).await);
        assert_eq!((refused, &facts["why"]), (RB003, &json!(why)));
    }
    for (collection, code) in [
        ("shop.nothing", RB002),
        ("", RB002),
        ("film", RB002),
        ("shop.film; drop", RB002),
        ("shop.ticket", RB002),
    ] {
        let (refused, facts) = refusal(shop.ask(collection, json!([{ "code": "F-9" }])).await);
        assert_eq!((refused, facts), (code, json!({ "collection": collection })));
    }
    let large = json!({ "text": "x".repeat(262_144) });
    for (asks, field) in [
        (json!({ "code": "F-9" }), "asks"),
        (json!("F-9"), "asks"),
        (json!(null), "asks"),
        (json!(["F-9"]), "asks"),
        (json!([{ "code": "F-9", "colour": "red" }]), "colour"),
        (json!([{ "code": "F-9", "payload": "{}" }]), "payload"),
        (json!([{ "code": "F-9", "payload": large }]), "payload"),
        (json!([{ "code": "F-9", "permit_id": "x" }]), "permit_id"),
        (json!([{ "code": "F-9", "signature": "x" }]), "signature"),
    ] {
        let (refused, facts) = refusal(shop.ask("shop.film", asks.clone()).await);
        assert_eq!((refused, &facts["field"]), (RB012, &json!(field)), "{asks}");
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    // What is unusual and fits is a code like any other.
    let long = "y".repeat(200);
    for code in ["đặc biệt", "a'b\"c", "%s", "😀", long.as_str()] {
        let collection = if code.starts_with('đ') { "shop.film" } else { "shop.disc" };
        shop.permits(collection, &[code]).await;
    }
    shop.write(&["insert into shop.film (code, title) values ('đặc biệt', 'x')"])
        .await
        .expect("born");
    shop.write(&["insert into shop.disc (film_code, disc_no, label) values ('a', 1, 'a''b\"c'), ('a', 2, '%s'), ('a', 3, '😀')"]).await.expect("born");
    assert_eq!(shop.film("đặc biệt").await, BORN);
    shop.is_sound().await;
}

/// ADM-3: where the policy asks for an approval, one is needed for exactly this request, and serves no other.
#[tokio::test]
async fn an_approval_serves_one_request() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy { approval: true, ..Policy::enforced("code") })
        .await
        .expect("protected");
    let hash = |code: &str, name: &str| {
        format!(
            "select birth.request_hash('shop.film', '{code}', '{name}', null, 'governed', null)"
        )
    };
    let mut ask = shop.an_ask("birth_admission", "low", "shop.film/F-9").await;
    ask.subject_digest = Some(shop.one(&hash("F-9", "Nine")).await);
    shop.sign_ask(&mut ask).await;
    crate::approval_world::Panel::ask(&shop, &ask).await.expect("a request");
    let approval = ask.approval_id;
    let request = async |asks: Value, approval: Option<Uuid>| {
        shop.ask_as("clerk", "executor_worker", "shop.film", asks, approval).await
    };
    let nine = json!([{ "code": "F-9", "name": "Nine" }]);
    let before = shop.everything().await;
    assert_eq!(refusal(request(nine.clone(), None).await).0, RB011);
    assert_eq!(refusal(request(nine.clone(), Some(approval)).await).0, RA006, "nobody voted");
    assert_eq!(
        refusal(
            request(json!([{ "code": "F-9", "name": "Nine" }, { "code": "F-10" }]), Some(approval))
                .await
        )
        .0,
        RB011,
        "one at a time"
    );
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.votes(approval, "rita", "approve").await.expect("a vote");
    let before = shop.everything().await;
    assert_eq!(
        refusal(request(json!([{ "code": "F-10", "name": "Nine" }]), Some(approval)).await).0,
        RA003,
        "another code"
    );
    assert_eq!(
        refusal(request(json!([{ "code": "F-9", "name": "Ten" }]), Some(approval)).await).0,
        RA003,
        "another intent"
    );
    assert_eq!(before, shop.everything().await, "nothing changed");
    assert_eq!(request(nine.clone(), Some(approval)).await.expect("a permit")["reserved"], 1);
    let after = shop.everything().await;
    assert_eq!(request(nine.clone(), Some(approval)).await.expect("the same")["reserved"], 0);
    assert_eq!(
        refusal(request(json!([{ "code": "F-9", "name": "Ten" }]), Some(approval)).await).0,
        RA003
    );
    assert_eq!(after, shop.everything().await, "used once");
    shop.write(&[NEW]).await.expect("born");
    assert_eq!(shop.film("F-9").await, BORN);
    assert_eq!(
        shop.one::<Uuid>(
            "select approval_id from birth.birth_admission_permit where entity_code = 'F-9'"
        )
        .await,
        approval
    );
}

/// ADM-3: an id that the caller chose is a new one, or the permit's own. (It once was asked for for ever.)
#[tokio::test]
async fn a_chosen_id_is_nobody_elses() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy { ttl: Some(60), ..Policy::enforced("code") })
        .await
        .expect("protected");
    let id = Uuid::now_v7();
    let chosen = |code: &str| json!([{ "code": code, "permit_id": id }]);
    let first = shop.ask("shop.film", chosen("F-9")).await.expect("a permit");
    assert_eq!(first["permits"][0]["permit_id"], json!(id));
    assert_eq!(shop.ask("shop.film", chosen("F-9")).await.expect("the same")["reserved"], 0);
    let before = shop.everything().await;
    let taken = |asks: Value| async { refusal(shop.ask("shop.film", asks).await) };
    assert_eq!(
        taken(chosen("F-10")).await,
        (RS023, json!({ "run_id": id, "machine": "birth_permit@1.1.0" }))
    );
    let twice = Uuid::now_v7();
    let both =
        json!([{ "code": "F-11", "permit_id": twice }, { "code": "F-12", "permit_id": twice }]);
    let expected =
        json!({ "collection": "shop.film", "field": "permit_id", "expected": "each id once" });
    assert_eq!(taken(both).await, (RB012, expected));
    assert_eq!(before, shop.everything().await, "nothing changed");
    clock_ahead(&shop.db, "2 minutes").await;
    let before = shop.everything().await;
    assert_eq!(taken(chosen("F-9")).await.0, RS023, "a fresh permit has an id of its own");
    assert_eq!(before, shop.everything().await, "nothing changed");
    assert_eq!(
        shop.ask("shop.film", json!([{ "code": "F-9" }])).await.expect("a fresh one")["reserved"],
        1
    );
}

/// ADM-3: of two requests at once for one code the second waits for the first and then sees its permit.
#[tokio::test]
async fn two_requests_at_once_share_the_permit() {
    let shop = Shop::enforced().await;
    for (code, name, same) in [("F-9", "Nine", true), ("F-10", "Other", false)] {
        let request = |name: &str| {
            format!(
                "select birth.fn_birth_permit_request('shop.film', '[{{\"code\": \"{code}\", \"name\": \"{name}\"}}]', 'clerk', 'executor_worker')"
            )
        };
        let mut first = shop.db.connect(Role::App).await;
        first.execute("begin").await.expect("a transaction");
        let one: Value = sqlx::query_scalar(AssertSqlSafe(request("Nine")))
            .fetch_one(&mut first)
            .await
            .expect("a permit");
        let mut second = shop.db.connect(Role::App).await;
        let pid: i32 = sqlx::query_scalar("select pg_backend_pid()")
            .fetch_one(&mut second)
            .await
            .expect("a number");
        let statement = request(name);
        let waiting = tokio::spawn(async move {
            sqlx::query_scalar::<_, Value>(AssertSqlSafe(statement))
                .fetch_one(&mut second)
                .await
                .map_err(Error::from)
        });
        chancery_testkit::until("the second waits", async || {
            shop.one::<bool>(&format!("select cardinality(pg_blocking_pids({pid})) > 0")).await
        })
        .await;
        first.execute("commit").await.expect("reserved");
        let answer = waiting.await.expect("no panic");
        if same {
            assert_eq!(answer.expect("the same permit")["permits"], one["permits"]);
        } else {
            assert_eq!(refusal(answer).0, RB009);
        }
        assert_eq!(shop.film(code).await, RESERVED);
    }
}

/// ADM-3, SEC-3: who asks is known, active, of the class, behind the product's login, and signs if a person. A code that was born
/// without a permit has its birth, and needs no other.
#[tokio::test]
async fn who_asks_may() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy::reported("code")).await.expect("protected");
    shop.write(&["insert into shop.film (code, title) values ('F-8', 'By hand')"])
        .await
        .expect("only reported");
    let before = shop.everything().await;
    let ask = json!([{ "code": "F-9" }]);
    for (principal, class, code) in [
        ("nobody", "executor_worker", RI001),
        ("guest", "executor_worker", RI003),
        ("guest", "observer", RI004),
        ("petra", "pic_human", RI008),
    ] {
        let answer = codes(shop.ask_as(principal, class, "shop.film", ask.clone(), None).await);
        assert!(answer.contains(&code), "{principal} {class}: {answer:?}");
    }
    assert_eq!(refusal(film(&shop, json!({ "code": "F-8" })).await).0, RB010);
    let request = "select birth.fn_birth_permit_request('shop.film', '[{\"code\": \"F-9\"}]', 'clerk', 'executor_worker')";
    for role in LOGINS.iter().filter(|role| **role != Role::App) {
        let answer = shop.run(*role, &[request]).await.expect_err("not its door");
        assert!(matches!(answer, Error::Denied(_)), "{role:?}: {answer:?}");
    }
    let permit_id = Uuid::now_v7();
    let hash = shop
        .db
        .text(
            "select encode(birth.request_hash('shop.film', 'F-9', null, null, f.governance_role, null), 'hex')
               from birth.family f where f.collection_name = 'shop.film'",
        )
        .await;
    let reservation = |permit_id, hash: &str| {
        Move {
            run_kind: "birth_permit",
            run_id: permit_id,
            to: "RESERVED",
            principal: "petra",
            actor_class: "pic_human",
            trigger_kind: "rpc",
            trigger_ref: "permit_request",
            evidence: &json!({ "request_hash": hash }),
            reason: None,
            idempotency_key: "reserve",
            birth: Some(Birth { machine: "birth_permit", data: &Value::Null }),
        }
        .statement()
    };
    let mut app = shop.db.connect(Role::App).await;
    let mut ask_signed = async |permit_id: Option<Uuid>,
                                signature: Vec<u8>|
           -> Result<Value, Error> {
        let signature = hex::encode(signature);
        let asks = json!([{ "code": "F-9", "permit_id": permit_id, "signature": signature }]);
        Ok(sqlx::query_scalar("select birth.fn_birth_permit_request('shop.film', $1, 'petra', 'pic_human', 'dot_birth_admit', null, null, $2)")
            .bind(asks)
            .bind(shop.key("petra"))
            .fetch_one(&mut app)
            .await?)
    };
    // What petra signed is for this permit and this object, and she signed it herself.
    let good = keys::sign("petra", &reservation(permit_id, &hash));
    for (permit_id, signature) in [
        (Some(permit_id), vec![0; 64]),
        (Some(permit_id), keys::sign("rita", &reservation(permit_id, &hash))),
        (Some(permit_id), keys::sign("petra", &reservation(Uuid::nil(), &hash))),
        (Some(permit_id), keys::sign("petra", &reservation(permit_id, &"0".repeat(64)))),
        (Some(Uuid::now_v7()), good.clone()),
        (None, good.clone()),
    ] {
        assert_eq!(codes(ask_signed(permit_id, signature).await), [RI051]);
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    let answer = ask_signed(Some(permit_id), good).await.expect("a permit");
    assert_eq!(answer["permits"][0]["requested_by"], "petra");
    shop.write(&[NEW]).await.expect("born");
    assert_eq!(shop.film("F-9").await, BORN);
}
