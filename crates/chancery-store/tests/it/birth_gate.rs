//! Who writes by hand meets the gate: without a permit nothing is born, with one it is, whatever statement and whoever it is.

use chancery_model::refusal::Code::{RB001, RB003};
use chancery_store::{Error, LOGINS, Role};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::approval_world::refusal;
use crate::birth_world::{BORN, NOTHING, OLD, Policy, Shop, transaction};
use crate::support::codes;

/// The ways to write a row by hand; `{}` is its code.
const WAYS: [&str; 6] = [
    "insert into shop.film (code, title) values ('{}', 'A film')",
    "insert into shop.film (code, title) select v, 'A film' from unnest(array['{}']) v",
    "with made as (insert into shop.film (code, title) values ('{}', 'A film') returning code) select code from made",
    "merge into shop.film f using (select '{}' as code) n on f.code = n.code when not matched then insert (code, title) values (n.code, 'A film')",
    "do $$ begin insert into shop.film (code, title) values ('{}', 'A film'); end $$",
    "copy shop.film (code, title) from stdin",
];

/// One way, in a transaction of its own.
async fn try_way(connection: &mut PgConnection, way: &str, code: &str) -> Result<(), Error> {
    if !way.starts_with("copy") {
        return transaction(connection, &[&way.replace("{}", code)]).await;
    }
    let mut copy = connection.copy_in_raw(way).await?;
    copy.send(format!("{code}\tA film\n").as_bytes()).await?;
    copy.finish().await?;
    Ok(())
}

/// Every login may write the table by the shop's rights; the product has nothing to do with that.
async fn open_to_all(shop: &Shop) {
    for role in LOGINS {
        let name = role.name();
        let grant = format!(
            "grant usage on schema shop to {name}; grant select, insert, update, delete on shop.film to {name}; grant usage on shop.film_no to {name}"
        );
        shop.own(&[&grant]).await.expect("the owner may");
    }
}

/// ADM-4: no login of the product brings a row into being without a permit, by any statement; with one each of them does.
#[tokio::test]
async fn every_login_meets_the_gate_in_every_statement() {
    let shop = Shop::enforced().await;
    open_to_all(&shop).await;
    let before = shop.everything().await;
    for role in LOGINS {
        let mut connection = shop.db.connect(*role).await;
        for way in WAYS {
            let (code, facts) =
                refusal(try_way(&mut connection, way, "F-9").await.map(|()| Value::Null));
            let expected = json!({ "collection": "shop.film", "entity_code": "F-9", "why": "no_permit", "login": role.name() });
            assert_eq!((code, facts), (RB001, expected), "{role:?}: {way}");
        }
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    for role in LOGINS {
        let mut connection = shop.db.connect(*role).await;
        for (n, way) in WAYS.iter().enumerate() {
            let code = format!("{}-{n}", role.name());
            shop.permits("shop.film", &[&code]).await;
            try_way(&mut connection, way, &code)
                .await
                .unwrap_or_else(|error| panic!("{role:?}: {way}: {error}"));
            assert_eq!(shop.film(&code).await, BORN, "{role:?}: {way}");
        }
    }
    shop.is_sound().await;
}

/// ADM-4: nor does the administrator, as himself, as the owner or as anybody else, nor with the triggers of a replica.
#[tokio::test]
async fn the_administrator_meets_the_gate_under_every_role() {
    let shop = Shop::enforced().await;
    open_to_all(&shop).await;
    let roles = ["none", "birth_shop_owner", "chancery_app", "birth_writer"];
    let settings = ["origin", "replica", "local"];
    let mut admin = shop.db.superuser().await;
    let before = shop.everything().await;
    for role in roles {
        for setting in settings {
            let as_whom = format!("set session_replication_role = {setting}; set role {role}");
            admin.execute(AssertSqlSafe(as_whom)).await.expect("a superuser may");
            for way in WAYS {
                let answer = try_way(&mut admin, way, "F-9").await;
                assert_eq!(codes(answer), [RB001], "{role} {setting}: {way}");
            }
            admin.execute("reset role").await.expect("back");
        }
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    for role in roles {
        for setting in settings {
            let code = format!("{role}-{setting}");
            shop.permits("shop.film", &[&code]).await;
            let as_whom = format!("set session_replication_role = {setting}; set role {role}");
            admin.execute(AssertSqlSafe(as_whom)).await.expect("a superuser may");
            try_way(&mut admin, WAYS[0], &code).await.expect("born");
            admin.execute("reset role").await.expect("back");
            assert_eq!(shop.film(&code).await, BORN, "{role} {setting}");
        }
    }
    let by: Vec<Option<String>> = shop
        .db
        .texts("select distinct born_by::text from birth.birth_registry where collection_name = 'shop.film'")
        .await;
    assert_eq!(by, [Some("chancery_admin".to_owned())], "who logged in is who did it");
    shop.is_sound().await;
}

/// ADM-4: a statement of many rows is admitted whole or not at all.
#[tokio::test]
async fn many_rows_are_admitted_whole_or_not_at_all() {
    let shop = Shop::enforced().await;
    let codes_of =
        |range: std::ops::Range<usize>| range.map(|n| format!("X-{n:03}")).collect::<Vec<_>>();
    let all = codes_of(0..200);
    let most: Vec<&str> = all.iter().map(String::as_str).filter(|&code| code != "X-117").collect();
    shop.permits("shop.film", &most).await;
    let before = shop.everything().await;
    let many = "insert into shop.film (code, title) select 'X-' || to_char(n, 'FM000'), 'Many' from generate_series(0, 199) n";
    let (code, facts) = refusal(shop.write(&[many]).await.map(|()| Value::Null));
    assert_eq!((code, &facts["entity_code"]), (RB001, &json!("X-117")));
    assert_eq!(before, shop.everything().await, "nothing changed");

    let mut writer = shop.db.connect(Role::BirthWriter).await;
    let mut copy =
        writer.copy_in_raw("copy shop.film (code, title) from stdin").await.expect("a copy");
    let text: String = all.iter().map(|code| format!("{code}\tMany\n")).collect();
    copy.send(text.as_bytes()).await.expect("sent");
    let answer = copy.finish().await.map(|_| ()).map_err(Error::from);
    assert_eq!(codes(answer), [RB001], "COPY as well");
    assert_eq!(before, shop.everything().await, "nothing changed");

    shop.permits("shop.film", &["X-117"]).await;
    shop.write(&[many]).await.expect("all of them have a permit");
    assert_eq!(
        shop.db
            .count(
                "birth.birth_registry where collection_name = 'shop.film' and admission = 'permit'"
            )
            .await,
        200
    );
    for code in ["X-000", "X-117", "X-199"] {
        assert_eq!(shop.film(code).await, BORN);
    }
    let one = "select count(distinct at)::text || ' ' || count(*) from fsm.transition_log where run_kind = 'birth_permit' and to_state = 'FINALIZED'";
    assert_eq!(shop.db.text(one).await, "1 200", "settled in one statement");
    shop.is_sound().await;
}

/// ADM-4: the shop's own triggers, defaults, checks and foreign keys hold as before, and what they refuse leaves the permit free.
#[tokio::test]
async fn what_the_table_refuses_leaves_the_permit_free() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-9"]).await;
    let before = shop.everything().await;
    for statement in [
        "insert into shop.film (code, title) values ('F-9', null)",
        "insert into shop.film (code, title, price) values ('F-9', 'A film', -1)",
        "insert into shop.film (code, title) values ('F-9', 'A film'), ('F-1', 'There already')",
    ] {
        let error = shop.write(&[statement]).await.expect_err("refused");
        assert!(matches!(error, Error::Bug { .. }), "by the table's own constraint: {error:?}");
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.write(&["insert into shop.film (code, title) values ('F-9', '  Dune ')"])
        .await
        .expect("born");
    assert_eq!(shop.film("F-9").await, BORN);
    let row = shop
        .db
        .text(
            "select concat_ws(' ', title, price, shelf, film_no) from shop.film where code = 'F-9'",
        )
        .await;
    assert!(row.starts_with("Dune 1 D "), "its own triggers and defaults made {row}");
    assert_eq!(shop.db.count("shop.ledger where what = 'INSERT F-9'").await, 1);

    // A foreign key that is looked at when the transaction ends, beside the permit that is settled there.
    shop.protect("shop.inventory", &Policy::enforced("code")).await.expect("protected");
    let item = "00000000-0000-4000-8000-000000000002";
    shop.permits("shop.inventory", &[item]).await;
    shop.permits("shop.film", &["F-10"]).await;
    let put_in = format!("insert into shop.inventory (code, film_code) values ('{item}', 'F-10')");
    let before = shop.everything().await;
    let error = shop.write(&[&put_in]).await.expect_err("no such film");
    assert!(matches!(&error, Error::Bug { sqlstate, .. } if sqlstate == "23503"), "{error:?}");
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.write(&[&put_in, "insert into shop.film (code, title) values ('F-10', 'Solaris')"])
        .await
        .expect("both");
    assert_eq!(shop.film("F-10").await, BORN);
    assert_eq!(shop.standing("shop.inventory", "code", item).await, BORN);
    shop.is_sound().await;
}

/// ADM-4: numbers, composite keys, other collations and row-level security: the code is what stands in its column, as text.
#[tokio::test]
async fn a_code_is_what_stands_in_its_column() {
    let shop = Shop::open().await;
    shop.protect("shop.ticket", &Policy::enforced("code")).await.expect("protected");
    shop.protect("shop.disc", &Policy::enforced("label")).await.expect("protected");
    shop.protect("shop.member", &Policy { name: Some("name"), ..Policy::enforced("code") })
        .await
        .expect("protected");
    let before = shop.everything().await;
    for statement in [
        "insert into shop.ticket (code) values (7)",
        "insert into shop.disc (film_code, disc_no, label) values ('F-1', 7, 'D-7')",
        "insert into shop.member (code, name) values ('M-7', 'Bea')",
    ] {
        assert_eq!(codes(shop.write(&[statement]).await), [RB001], "{statement}");
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.permits("shop.ticket", &["7"]).await;
    shop.permits("shop.disc", &["D-7"]).await;
    shop.permits("shop.member", &["M-7", "M-8"]).await;
    shop.write(&["insert into shop.ticket (code) values (007)"]).await.expect("born");
    assert_eq!(shop.standing("shop.ticket", "code", "7").await, BORN);
    shop.write(&["insert into shop.disc (film_code, disc_no, label) values ('F-1', 7, 'D-7')"])
        .await
        .expect("born");
    assert_eq!(shop.standing("shop.disc", "label", "D-7").await, BORN);
    let nobody = shop
        .write(&["insert into shop.member (code) values ('M-7')"])
        .await
        .expect_err("the policy of the table");
    assert!(matches!(nobody, Error::Denied(_)), "{nobody:?}");
    shop.write(&["insert into shop.member (code, name) values ('M-7', 'Bea')"])
        .await
        .expect("born");
    assert_eq!(shop.standing("shop.member", "code", "M-7").await, BORN);
    shop.own(&[
        "delete from shop.member where code = 'M-1'",
        "insert into shop.member (code, name) values ('M-8', 'Cleo')",
    ])
    .await
    .expect("both");
    assert_eq!(shop.standing("shop.member", "code", "M-8").await, BORN);
    shop.is_sound().await;
}

/// ADM-4: two rows with one code are one birth too many.
#[tokio::test]
async fn a_code_is_born_once() {
    let shop = Shop::open().await;
    shop.protect("shop.disc", &Policy::enforced("label")).await.expect("protected");
    // The code was unique when the table was protected; its owner can change that later.
    shop.own(&["alter table shop.disc drop constraint disc_label_key"])
        .await
        .expect("the owner may");
    shop.permits("shop.disc", &["D-7"]).await;
    let before = shop.everything().await;
    let disc = |n: i32| {
        format!("insert into shop.disc (film_code, disc_no, label) values ('F-1', {n}, 'D-7')")
    };
    let twice = "insert into shop.disc (film_code, disc_no, label) values ('F-1', 7, 'D-7'), ('F-1', 8, 'D-7')";
    for statements in [vec![twice.to_owned()], vec![disc(7), disc(8)]] {
        let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
        let (code, facts) = refusal(shop.write(&statements).await.map(|()| Value::Null));
        assert_eq!((code, &facts["why"]), (RB001, &json!("born_before")));
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.write(&[&disc(7)]).await.expect("born");
    let born = shop.everything().await;
    let (code, facts) = refusal(shop.write(&[&disc(8)]).await.map(|()| Value::Null));
    assert_eq!((code, &facts["why"]), (RB001, &json!("born_before")));
    shop.own(&["delete from shop.disc where label = 'D-7'"]).await.expect("rows may go");
    assert_eq!(codes(shop.write(&[&disc(9)]).await), [RB001], "and do not come back");
    assert_ne!(born, shop.everything().await, "a departure is on record");
    assert_eq!(shop.standing("shop.disc", "label", "D-7").await, BORN.replace("rows 1", "rows 0"));
}

/// ADM-5: rows from before are as they were; what is done to them needs no permit, unless it is a birth.
#[tokio::test]
async fn rows_from_before_are_grandfathered() {
    let shop = Shop::enforced().await;
    shop.own(&["update shop.film set title = 'Aliens', price = 2 where code = 'F-1'"])
        .await
        .expect("changed");
    assert_eq!(shop.film("F-1").await, OLD);
    shop.own(&["delete from shop.film where code = 'F-2'"]).await.expect("gone");
    assert_eq!(shop.film("F-2").await, NOTHING);
    assert_eq!(
        codes(shop.own(&["insert into shop.film (code, title) values ('F-2', 'Brazil')"]).await),
        [RB001]
    );
    assert_eq!(shop.film("F-2").await, NOTHING);
    for empty in ["''", "'  '"] {
        let insert = format!("insert into shop.film (code, title) values ({empty}, 'x')");
        assert_eq!(codes(shop.own(&[&insert]).await), [RB003], "{insert}");
    }
    shop.is_sound().await;
}
