//! Rows that move between partitions, partitions that come and go, and gates that somebody took away.

use chancery_model::refusal::Code::{RB001, RB004, RB007};
use chancery_store::Role;
use serde_json::{Value, json};

use crate::approval_world::refusal;
use crate::birth_world::{BORN, OLD, Policy, Shop, denied};
use crate::support::codes;

async fn rentals() -> Shop {
    let shop = Shop::open().await;
    shop.protect("shop.rental", &Policy::enforced("code")).await.expect("protected");
    shop
}

async fn rental(shop: &Shop, code: &str) -> String {
    shop.standing("shop.rental", "code", code).await.replace("shop.rental", "")
}

async fn place(shop: &Shop, code: &str) -> String {
    shop.db
        .text(&format!("select tableoid::regclass::text from shop.rental where code = '{code}'"))
        .await
}

async fn armed(shop: &Shop, collection: &str) -> String {
    shop.db
        .text(&format!(
            "select armed::text from birth.v_family where collection_name = '{collection}'"
        ))
        .await
}

/// ADM-4: every partition is behind the gate, by whatever name it is written, also one that is made later.
#[tokio::test]
async fn partitions_have_the_gate_of_their_table() {
    let shop = rentals().await;
    let places = [
        "rental",
        "rental_2025",
        "rental_2026",
        "rental_2026_spring",
        "rental_2026_autumn",
        "rental_default",
        "rental_2031",
    ];
    let day = |place: &str| match place {
        "rental_2025" => "2025-06-06",
        "rental" | "rental_2026" | "rental_2026_spring" => "2026-03-03",
        "rental_2026_autumn" => "2026-09-09",
        "rental_2031" => "2031-01-31",
        _ => "2040-01-01",
    };
    shop.own(&["create table shop.rental_2031 partition of shop.rental for values from ('2031-01-01') to ('2032-01-01')"])
        .await
        .expect("the owner makes partitions as ever");
    assert_eq!(armed(&shop, "shop.rental").await, "true");
    let insert = |place: &str| {
        format!("insert into shop.{place} (code, rented_on) values ('N-{place}', '{}')", day(place))
    };
    let before = shop.everything().await;
    for place in places {
        for replication in ["origin", "replica"] {
            let setting = format!("set local session_replication_role = {replication}");
            assert_eq!(
                codes(shop.administer(&[&setting, &insert(place)]).await),
                [RB001],
                "{place} {replication}"
            );
        }
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    for place in places {
        let code = format!("N-{place}");
        shop.permits("shop.rental", &[&code]).await;
        shop.own(&[&insert(place)]).await.expect("born");
        assert_eq!(rental(&shop, &code).await, BORN, "{place}");
    }
    shop.permits("shop.rental", &["W-1"]).await;
    shop.write(&["insert into shop.rental (code, rented_on) values ('W-1', '2026-12-12')"])
        .await
        .expect("the writer writes the table");
    assert_eq!(rental(&shop, "W-1").await, BORN);
    shop.is_sound().await;
}

/// ADM-4: a row that moves is neither born nor gone: one from before, one with a birth, one that was born in the same transaction.
#[tokio::test]
async fn a_row_that_moves_is_not_born_again() {
    let shop = rentals().await;
    let to = |code: &str, day: &str| {
        format!("update shop.rental set rented_on = '{day}' where code = '{code}'")
    };
    for (code, from) in [
        ("R-1", "shop.rental_2025"),
        ("R-2", "shop.rental_2026_spring"),
        ("R-3", "shop.rental_default"),
    ] {
        assert_eq!(place(&shop, code).await, from);
        for (day, place_then) in [
            ("2026-10-10", "shop.rental_2026_autumn"),
            ("2041-01-01", "shop.rental_default"),
            ("2025-02-02", "shop.rental_2025"),
        ] {
            if place(&shop, code).await != place_then {
                shop.own(&[&to(code, day)]).await.expect("moved");
            }
            assert_eq!(place(&shop, code).await, place_then);
            assert_eq!(rental(&shop, code).await, OLD);
        }
    }
    shop.permits("shop.rental", &["N-1"]).await;
    let born = "insert into shop.rental (code, rented_on) values ('N-1', '2025-05-05')";
    shop.own(&[born, &to("N-1", "2026-02-02"), &to("N-1", "2026-08-08"), &to("N-1", "2039-01-01")])
        .await
        .expect("born and moved");
    assert_eq!(
        (rental(&shop, "N-1").await.as_str(), place(&shop, "N-1").await.as_str()),
        (BORN, "shop.rental_default")
    );
    shop.own(&[&to("N-1", "2026-02-02")]).await.expect("moved");
    assert_eq!(
        (rental(&shop, "N-1").await.as_str(), place(&shop, "N-1").await.as_str()),
        (BORN, "shop.rental_2026_spring")
    );
    shop.own(&["update shop.rental set rented_on = rented_on + 180"]).await.expect("all at once");
    assert_eq!(place(&shop, "N-1").await, "shop.rental_2026_autumn");
    // Moved back and forth, and settled in between.
    shop.permits("shop.rental", &["N-2"]).await;
    let second = "insert into shop.rental (code, rented_on) values ('N-2', '2025-05-05')";
    shop.own(&[
        second,
        "set constraints all immediate",
        "set constraints all deferred",
        &to("N-2", "2026-02-02"),
        &to("N-2", "2025-02-02"),
    ])
    .await
    .expect("born and moved");
    assert_eq!(rental(&shop, "N-2").await, BORN);
    shop.is_sound().await;
}

/// ADM-4: moving is no way to another code, nor to a second row.
#[tokio::test]
async fn a_move_is_no_way_to_another_code() {
    let shop = rentals().await;
    let before = shop.everything().await;
    for statements in [
        &["update shop.rental set code = 'R-9' where code = 'R-1'"][..],
        // To another partition: a row that goes, and one that is born.
        &["update shop.rental set code = 'R-9', rented_on = '2026-02-02' where code = 'R-1'"],
        &[
            "delete from shop.rental where code = 'R-1'",
            "insert into shop.rental (code, rented_on) values ('R-1', '2025-01-01'), ('R-1', '2025-01-02')",
        ],
        &[
            "savepoint s",
            "delete from shop.rental where code = 'R-1'",
            "rollback to savepoint s",
            "insert into shop.rental (code, rented_on) values ('R-1', '2025-01-01')",
        ],
    ] {
        let answer = codes(shop.own(statements).await);
        assert!(answer == [RB001] || answer == [RB004], "{statements:?}: {answer:?}");
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    // Nor does what left in one transaction come back in another.
    shop.own(&["delete from shop.rental where code = 'R-1'"]).await.expect("gone");
    assert_eq!(
        codes(
            shop.own(&["insert into shop.rental (code, rented_on) values ('R-1', '2025-01-01')"])
                .await
        ),
        [RB001]
    );
    shop.is_sound().await;
}

/// ADM-4: a row from before for whose code somebody holds a permit moves all the same.
#[tokio::test]
async fn an_old_row_moves_beside_a_permit() {
    let shop = rentals().await;
    shop.permits("shop.rental", &["R-1"]).await;
    shop.own(&["update shop.rental set rented_on = '2026-02-02' where code = 'R-1'"])
        .await
        .expect("moved");
    assert_eq!(place(&shop, "R-1").await, "shop.rental_2026_spring");
    assert_eq!(rental(&shop, "R-1").await, BORN, "its permit made it a birth");
    shop.is_sound().await;
}

/// ADM-5: a table that is attached with its rows brings them along; from then on it is behind the gate.
#[tokio::test]
async fn an_attached_partition_comes_under_the_gate() {
    let shop = rentals().await;
    shop.own(&[
        "create table shop.rental_2032 (like shop.rental including defaults including constraints)",
        "insert into shop.rental_2032 (code, rented_on) values ('A-1', '2032-02-02')",
        "alter table shop.rental attach partition shop.rental_2032 for values from ('2032-01-01') to ('2033-01-01')",
    ])
    .await
    .expect("attached");
    assert_eq!(rental(&shop, "A-1").await, OLD);
    assert_eq!(armed(&shop, "shop.rental").await, "true");
    let before = shop.everything().await;
    for table in ["shop.rental", "shop.rental_2032"] {
        let insert = format!("insert into {table} (code, rented_on) values ('A-2', '2032-03-03')");
        assert_eq!(codes(shop.own(&[&insert]).await), [RB001], "{table}");
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.own(&["update shop.rental set rented_on = '2025-01-01' where code = 'A-1'"])
        .await
        .expect("moved");
    assert_eq!(rental(&shop, "A-1").await, OLD);
    shop.own(&[
        "alter table shop.rental detach partition shop.rental_2032",
        "insert into shop.rental_2032 (code, rented_on) values ('A-3', '2032-03-03')",
    ])
    .await
    .expect("what is detached is a table of its own");
    assert_eq!(rental(&shop, "A-3").await.as_str(), crate::birth_world::NOTHING);
    shop.is_sound().await;
}

async fn watch(shop: &Shop) {
    shop.db.text_as(Role::App, "select birth.fn_permit_watchdog(100, 'chancery')::text").await;
}

/// ADM-4, ADM-6: a gate that the owner took away, or put another in its place, is seen and is a finding until it is back.
#[tokio::test]
async fn a_gate_that_is_gone_is_a_finding() {
    let shop = rentals().await;
    shop.protect("shop.film", &Policy::enforced("code")).await.expect("protected");
    watch(&shop).await;
    assert_eq!(shop.findings().await, Vec::<String>::new());
    let replaced = "create or replace trigger zzz_chancery_birth_gate before insert on shop.film for each row when (false) execute function";
    let number: i32 =
        shop.one("select family_no from birth.family where collection_name = 'shop.film'").await;
    let replaced = format!(
        "{replaced} birth.family_{number}(); alter table shop.film enable always trigger zzz_chancery_birth_gate"
    );
    for (collection, statement) in [
        ("shop.film", "alter table shop.film disable trigger zzz_chancery_birth_gate"),
        ("shop.film", "alter table shop.film enable trigger aaa_chancery_birth_born"),
        ("shop.film", "alter table shop.film disable trigger all"),
        ("shop.film", "drop trigger chancery_birth_finalize on shop.film"),
        ("shop.film", &replaced),
        ("shop.rental", "alter table shop.rental disable trigger aaa_chancery_birth_born"),
        (
            "shop.rental",
            "alter table shop.rental_2026_autumn disable trigger zzz_chancery_birth_gate",
        ),
    ] {
        shop.administer(&[statement]).await.expect("the owner's own table");
        assert_eq!(armed(&shop, collection).await, "false", "{statement}");
        watch(&shop).await;
        assert_eq!(
            shop.findings().await,
            [format!("birth_gate_drift {collection}")],
            "{statement}"
        );
        if collection == "shop.film" {
            shop.administer(&["alter table shop.film enable trigger all"])
                .await
                .expect("the shop's own triggers");
        }
        shop.protect(collection, &Policy::enforced("code")).await.expect("protected again");
        assert_eq!(armed(&shop, collection).await, "true", "{statement}");
        watch(&shop).await;
        assert_eq!(shop.findings().await, Vec::<String>::new(), "{statement}");
    }
}

/// ADM-4: no trigger can take the gate away while a statement runs, nor does the gate work for another table of the same owner.
#[tokio::test]
async fn the_gate_stands_while_a_statement_runs_and_on_its_table_only() {
    let shop = Shop::enforced().await;
    shop.own(&[
        "create function shop.disarm() returns trigger language plpgsql security definer set search_path = pg_catalog as
           $$ begin alter table shop.film disable trigger aaa_chancery_birth_born; return new; end $$",
        "create trigger disarm before insert on shop.film for each row execute function shop.disarm()",
    ])
    .await
    .expect("the owner may");
    shop.permits("shop.film", &["F-9"]).await;
    let before = shop.everything().await;
    let answer =
        denied(shop.write(&["insert into shop.film (code, title) values ('F-9', 'x')"]).await);
    assert!(answer.starts_with("55006 "), "{answer}");
    assert_eq!(
        (before, "true".to_owned()),
        (shop.everything().await, armed(&shop, "shop.film").await),
        "nothing changed"
    );

    let number: i32 =
        shop.one("select family_no from birth.family where collection_name = 'shop.film'").await;
    shop.own(&[
        "drop trigger disarm on shop.film",
        "create table shop.fake (code text, title text)",
    ])
    .await
    .expect("the owner may");
    for (n, trigger) in [
        "before insert on shop.fake for each row",
        "after insert on shop.fake for each row",
        "after delete on shop.fake for each row",
        "before update on shop.fake for each row",
        "after update on shop.fake for each row",
        "after insert on shop.fake for each statement",
        "before truncate on shop.fake for each statement",
    ]
    .into_iter()
    .enumerate()
    {
        shop.own(&[
            "alter table shop.fake disable trigger all",
            "insert into shop.fake values ('F-8', 'x')",
        ])
        .await
        .expect("a row");
        shop.own(&[&format!(
            "create trigger t{n} {trigger} execute function birth.family_{number}()"
        )])
        .await
        .expect("the owner may");
        let before = shop.everything().await;
        let statement = match trigger.split(' ').nth(1) {
            Some("insert") => "insert into shop.fake values ('F-9', 'x')",
            Some("update") => "update shop.fake set code = 'F-9'",
            Some("delete") => "delete from shop.fake",
            _ => "truncate shop.fake",
        };
        let (code, facts) = refusal(shop.own(&[statement]).await.map(|()| Value::Null));
        assert_eq!(
            (code, facts),
            (RB007, json!({ "collection": "shop.film", "table": "shop.fake" })),
            "{trigger}"
        );
        assert_eq!(before, shop.everything().await, "nothing changed");
    }
}
