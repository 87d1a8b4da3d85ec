//! Tables that come under admission, change their policy and leave again; and what is only reported.

use chancery_model::refusal::Code::{RB001, RB002, RB018, RI001};
use chancery_store::{Error, LOGINS, Role};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};

use crate::approval_world::refusal;
use crate::birth_world::{BORN, NOTHING, OLD, OWNER, Policy, Shop};
use crate::governance_world::clock_ahead;
use crate::support::codes;

async fn log(shop: &Shop, collection: &str) -> String {
    shop.db.text(&format!("select string_agg(action, ',' order by at, family_log_id) from birth.family_log where collection_name = '{collection}'")).await
}

async fn mode(shop: &Shop, collection: &str) -> String {
    shop.db
        .text(&format!(
            "select mode || ' ' || armed from birth.v_family where collection_name = '{collection}'"
        ))
        .await
}

/// ADM-5: what is no table of one's own with a code in it cannot be protected, and the refusal says why.
#[tokio::test]
async fn an_unfit_table_is_not_protected() {
    let shop = Shop::open().await;
    shop.own(&[
        "create view shop.titles as select code, title from shop.film",
        "create materialized view shop.shelves as select code, shelf from shop.film",
        "create table shop.parent (code text not null)",
        "create table shop.child () inherits (shop.parent)",
        "create unlogged table shop.fleeting (code text not null)",
        "create table shop.loose (code text, name text, tags text[] not null, at timestamptz not null)",
    ])
    .await
    .expect("the owner may");
    let code = Policy::enforced("code");
    let before = shop.everything().await;
    for (table, policy, why) in [
        ("shop.titles", code.clone(), "no_table"),
        ("shop.shelves", code.clone(), "no_table"),
        ("shop.film_no", code.clone(), "no_table"),
        ("shop.film_pkey", code.clone(), "no_table"),
        ("shop.rental_2025", code.clone(), "a_partition"),
        ("shop.rental_2026", code.clone(), "a_partition"),
        ("shop.parent", code.clone(), "inheritance"),
        ("shop.child", code.clone(), "inheritance"),
        ("shop.fleeting", code.clone(), "not_permanent"),
        ("fsm.run", Policy::reported("run_id"), "not_yours"),
        ("birth.birth_registry", Policy::reported("entity_code"), "not_yours"),
        ("iu.information_unit", Policy::reported("id"), "not_yours"),
        ("pg_catalog.pg_class", Policy::reported("relname"), "not_yours"),
        ("shop.film", Policy::enforced("nothing"), "no_such_column"),
        ("shop.film", Policy::enforced("ctid"), "no_such_column"),
        ("shop.film", Policy::enforced("price"), "type_of_the_code"),
        ("shop.loose", Policy::reported("tags"), "type_of_the_code"),
        ("shop.loose", Policy::reported("at"), "type_of_the_code"),
        ("shop.loose", code.clone(), "code_may_be_null"),
        (
            "shop.loose",
            Policy { enforced_from: Some("'infinity'"), ..code.clone() },
            "code_may_be_null",
        ),
        ("shop.film", Policy { name: Some("nothing"), ..code.clone() }, "no_such_column"),
        ("shop.film", Policy { rule: Some("(["), ..code.clone() }, "rule"),
        ("shop.film", Policy { ttl: Some(0), ..code.clone() }, "ttl"),
        ("shop.film", Policy { ttl: Some(604_801), ..code.clone() }, "ttl"),
        ("shop.film", Policy { role: Some("king"), ..code.clone() }, "role"),
    ] {
        let (refused, facts) = refusal(shop.protect(table, &policy).await);
        assert_eq!((refused, &facts["why"]), (RB018, &json!(why)), "{table} {policy:?}");
        assert_eq!(facts["table"], json!(table.trim_start_matches("pg_catalog.")), "{facts}");
    }
    let (refused, facts) = refusal(shop.protect_number(4_000_000_000, &code).await);
    assert_eq!((refused, &facts["why"]), (RB018, &json!("unknown")));
    let mut admin = shop.db.superuser().await;
    admin.execute("create temporary table passing (code text not null)").await.expect("a table");
    admin.execute("set role chancery_definer").await.expect("a superuser may");
    let put = "select birth.fn_family_put((select oid from pg_class where relname = 'passing'), 'code', null, null, null, null, false, null, 'chancery')";
    let answer =
        sqlx::query_scalar::<_, Value>(put).fetch_one(&mut admin).await.map_err(Error::from);
    let (refused, facts) = refusal(answer);
    assert_eq!((refused, &facts["why"]), (RB018, &json!("not_permanent")));
    let nobody = put.replace("'chancery'", "'nobody'").replace("passing", "film");
    let answer = sqlx::query_scalar::<_, Value>(AssertSqlSafe(nobody))
        .fetch_one(&mut admin)
        .await
        .map_err(Error::from);
    assert_eq!(refusal(answer).0, RI001);
    assert_eq!(before, shop.everything().await, "nothing changed");
}

/// ADM-5, SEC-3: policies are the administrator's; no login opens that door.
#[tokio::test]
async fn no_login_changes_a_policy() {
    let shop = Shop::enforced().await;
    let film = shop.relation("shop.film").await;
    let before = shop.everything().await;
    for door in [
        format!(
            "select birth.fn_family_put({film}::oid, 'code', null, null, null, null, false, null, 'chancery')"
        ),
        format!("select birth.fn_family_release({film}::oid, 'chancery')"),
        "select birth.generate_families()".to_owned(),
        "select birth.arm('shop.film')".to_owned(),
    ] {
        for role in LOGINS {
            let answer = shop.run(*role, &[&door]).await.expect_err("not its door");
            assert!(matches!(answer, Error::Denied(_)), "{role:?} {door}: {answer:?}");
        }
        let answer = shop.own(&[&door]).await.expect_err("not the owner's either");
        assert!(matches!(answer, Error::Denied(_)), "{door}: {answer:?}");
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
}

/// ADM-5: a table is protected, its policy changes, it is released and protected again; each is on record, and the same again is nothing.
#[tokio::test]
async fn a_family_comes_changes_and_leaves() {
    let shop = Shop::open().await;
    let film = shop.relation("shop.film").await;
    let by_hand =
        |code: &str| format!("insert into shop.film (code, title) values ('{code}', 'x')");
    assert_eq!(refusal(shop.release(film).await).0, RB002);
    let reported = Policy { name: Some("title"), ..Policy::reported("code") };
    let answer = shop.protect("shop.film", &reported).await.expect("protected");
    assert_eq!(
        (&answer["collection_name"], &answer["ttl_seconds"], &answer["owner"]),
        (&json!("shop.film"), &json!(3600), &json!(OWNER))
    );
    assert_eq!(mode(&shop, "shop.film").await, "report_only true");
    let before = shop.everything().await;
    shop.protect("shop.film", &reported).await.expect("the same");
    assert_eq!(before, shop.everything().await, "the same policy changes nothing");
    shop.write(&[&by_hand("F-3")]).await.expect("only reported");
    assert_eq!(shop.film("F-3").await, OLD.replace("births -", "births missing"));

    let enforced = Policy { rule: Some("^F-"), ttl: Some(60), ..Policy::enforced("code") };
    shop.protect("shop.film", &enforced).await.expect("changed");
    assert_eq!(mode(&shop, "shop.film").await, "enforced true");
    let from: String = shop
        .one("select enforced_from::text from birth.family where collection_name = 'shop.film'")
        .await;
    assert_eq!(codes(shop.write(&[&by_hand("F-4")]).await), [RB001]);
    // Enforced again changes nothing: the cutoff is the first one.
    let before = shop.everything().await;
    shop.protect("shop.film", &enforced).await.expect("the same");
    assert_eq!(before, shop.everything().await, "nothing changed");
    assert_eq!(
        from,
        shop.one::<String>(
            "select enforced_from::text from birth.family where collection_name = 'shop.film'"
        )
        .await
    );
    shop.permits("shop.film", &["F-5"]).await;
    shop.write(&[&by_hand("F-5")]).await.expect("born");
    assert_eq!(log(&shop, "shop.film").await, "protected,changed");

    let answer = shop.release(film).await.expect("released");
    assert_eq!(answer["statements"].as_array().map(Vec::len), Some(6), "five triggers and a right");
    assert_eq!(mode(&shop, "shop.film").await, "released false");
    assert_eq!(
        shop.db
            .count("pg_trigger where tgname like '%chancery%' and tgrelid = 'shop.film'::regclass")
            .await,
        0
    );
    let before = shop.everything().await;
    shop.release(film).await.expect("released before");
    assert_eq!(before, shop.everything().await, "nothing changed");
    let writer = shop.write(&[&by_hand("anything")]).await.expect_err("the writer's right went");
    assert!(matches!(writer, Error::Denied(_)), "{writer:?}");
    shop.own(&[&by_hand("anything")]).await.expect("free");
    assert_eq!(shop.film("anything").await, OLD);
    assert_eq!(shop.film("F-5").await, BORN, "what was born stays on record");
    assert_eq!(refusal(shop.ask("shop.film", json!([{ "code": "F-6" }])).await).0, RB002);

    shop.protect("shop.film", &enforced).await.expect("protected again");
    assert_eq!(log(&shop, "shop.film").await, "protected,changed,released,protected");
    assert_eq!(codes(shop.write(&[&by_hand("F-6")]).await), [RB001]);
    assert_eq!(shop.film("anything").await, OLD, "grandfathered");
    let units = shop.relation("iu.information_unit").await;
    let (refused, facts) = refusal(shop.release(units).await);
    assert_eq!(
        (refused, &facts["why"]),
        (RB018, &json!("not_yours")),
        "units are always under admission"
    );
    shop.is_sound().await;
}

/// ADM-5: triggers that stay behind after a release keep nobody out.
#[tokio::test]
async fn triggers_that_stay_behind_keep_nobody_out() {
    let shop = Shop::enforced().await;
    let film = shop.relation("shop.film").await;
    shop.administer(&[
        "set local role chancery_definer",
        &format!("select birth.fn_family_release({film}::oid, 'chancery')"),
    ])
    .await
    .expect("released");
    assert_eq!(mode(&shop, "shop.film").await, "released false");
    for statement in [
        "insert into shop.film (code, title) values ('F-9', 'Nine')",
        "update shop.film set code = 'F-10' where code = 'F-9'",
        "delete from shop.film where code = 'F-10'",
    ] {
        shop.own(&[statement]).await.expect("free");
    }
    assert_eq!(shop.film("F-9").await, NOTHING);
    shop.is_sound().await;
}

/// ADM-4, ADM-5: report-only breaks nothing that worked before: it only says what happened without a permit.
#[tokio::test]
async fn report_only_breaks_nothing() {
    let shop = Shop::open().await;
    shop.own(&[
        "create table shop.note_book (code text, n integer)",
        "create unique index on shop.note_book (n)",
    ])
    .await
    .expect("the owner may");
    shop.protect(
        "shop.film",
        &Policy { name: Some("title"), rule: Some("^F-[0-9]$"), ..Policy::reported("code") },
    )
    .await
    .expect("protected");
    shop.protect("shop.note_book", &Policy::reported("code"))
        .await
        .expect("a code that may be null");
    shop.protect("shop.rental", &Policy::reported("code")).await.expect("protected");
    let long = "x".repeat(100_000);
    let very_long = format!(
        "insert into shop.note_book values ((select string_agg(md5(n::text), '') from generate_series(1, 400) n), 9), ('{long}', 10)"
    );
    for statements in [
        &["insert into shop.film (code, title) values ('against the rule', 'x')"][..],
        &[
            "insert into shop.film (code, title) values ('F-3', 'x')",
            "delete from shop.film where code = 'F-3'",
        ],
        &[
            "insert into shop.film (code, title) values ('F-4', 'x')",
            "update shop.film set code = 'F-5' where code = 'F-4'",
        ],
        &["update shop.film set code = 'F-6' where code = 'F-5'"],
        &["update shop.film set code = 'F-5' where code = 'F-6'"],
        &[
            "insert into shop.film (code, title) values ('F-7', 'x')",
            "set constraints all immediate",
            "delete from shop.film where code = 'F-7'",
        ],
        &[
            "set constraints all immediate",
            "insert into shop.film (code, title) values ('F-8', 'x')",
        ],
        &["delete from shop.film where code = 'F-8'"],
        &["insert into shop.film (code, title) values ('F-8', 'again')"],
        &["insert into shop.film (code, title) values ('F-8', 'x') on conflict do nothing"],
        &["insert into shop.note_book values (null, 1), (null, 2), ('', 3), ('a', 4), ('a', 5)"],
        &["update shop.note_book set code = 'b' where n = 1"],
        &["update shop.note_book set code = null where n = 4"],
        &["delete from shop.note_book where n in (2, 5)"],
        &[&very_long],
        &["update shop.note_book set code = code || 'y' where n >= 9"],
        &["delete from shop.note_book"],
        &[
            "insert into shop.rental (code, rented_on) values ('N-1', '2025-05-05')",
            "update shop.rental set rented_on = '2026-05-05' where code = 'N-1'",
        ],
        &["truncate shop.note_book"],
    ] {
        shop.own(statements).await.unwrap_or_else(|error| panic!("{statements:?}: {error}"));
    }
    let missing = "select string_agg(entity_code, ',' order by entity_code collate \"C\") from birth.birth_registry where collection_name = 'shop.film' and admission = 'missing'";
    assert_eq!(shop.db.text(missing).await, "F-3,F-4,F-5,F-6,F-7,F-8,against the rule");
    assert_eq!(
        shop.standing("shop.rental", "code", "N-1").await,
        OLD.replace("births -", "births missing")
    );
    let longest: i32 =
        shop.one("select max(octet_length(entity_code)) from birth.birth_registry").await;
    assert!(longest <= 200, "{longest}");
    // A code that was taken meanwhile by a row that was renamed: its permit is spent, and nobody is kept out.
    shop.permits("shop.film", &["F-0"]).await;
    for statement in [
        "update shop.film set code = 'F-0' where code = 'F-5'",
        "delete from shop.film where code = 'F-0'",
        "insert into shop.film (code, title) values ('F-0', 'x')",
    ] {
        shop.own(&[statement]).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let spent = shop.film("F-0").await;
    assert!(spent.starts_with("rows 1 | permits FAILED | births missing"), "{spent}");
    // A permit is used where there is one, also here.
    shop.permits("shop.film", &["F-9"]).await;
    shop.write(&["insert into shop.film (code, title) values ('F-9', 'Nine')"])
        .await
        .expect("born");
    assert_eq!(shop.film("F-9").await, BORN);
    shop.is_sound().await;
    let by_kind =
        "select string_agg(distinct violation, ',') from birth.v_birth_admission_violation";
    assert_eq!(shop.db.text(by_kind).await, "permit_missing");
}

/// ADM-5: rows with codes that are no codes of ours were there before; they move and go as ever.
#[tokio::test]
async fn an_old_code_that_is_too_long_moves_and_goes() {
    let shop = Shop::open().await;
    let long = "(select string_agg(md5(n::text), '') from generate_series(1, 60) n)";
    shop.own(&[&format!(
        "insert into shop.rental (code, rented_on) values ({long}, '2025-05-05')"
    )])
    .await
    .expect("a row");
    shop.protect("shop.rental", &Policy::enforced("code")).await.expect("protected");
    shop.own(&["update shop.rental set rented_on = '2026-05-05' where length(code) > 1000"])
        .await
        .expect("moved");
    shop.own(&["delete from shop.rental where length(code) > 1000"]).await.expect("gone");
    let again = format!("insert into shop.rental (code, rented_on) values ({long}, '2025-05-05')");
    assert_eq!(codes(shop.own(&[&again]).await), [RB001]);
    shop.is_sound().await;
}

/// ADM-5: a cutoff in the future: until then it is reported, from then on it is refused.
#[tokio::test]
async fn a_cutoff_comes_into_force_by_itself() {
    let shop = Shop::open().await;
    shop.protect(
        "shop.film",
        &Policy {
            enforced_from: Some("internal.now() + interval '1 hour'"),
            ..Policy::enforced("code")
        },
    )
    .await
    .expect("protected");
    assert_eq!(mode(&shop, "shop.film").await, "report_only true");
    shop.write(&["insert into shop.film (code, title) values ('F-3', 'x')"])
        .await
        .expect("only reported");
    clock_ahead(&shop.db, "61 minutes").await;
    assert_eq!(mode(&shop, "shop.film").await, "enforced true");
    let before = shop.everything().await;
    assert_eq!(
        codes(shop.write(&["insert into shop.film (code, title) values ('F-4', 'x')"]).await),
        [RB001]
    );
    assert_eq!(before, shop.everything().await, "nothing changed");
    assert_eq!(shop.film("F-3").await, OLD.replace("births -", "births missing"));
    // A later cutoff does not undo one that is in force; report-only does, and is on record.
    shop.protect(
        "shop.film",
        &Policy {
            enforced_from: Some("internal.now() + interval '1 day'"),
            ..Policy::enforced("code")
        },
    )
    .await
    .expect("the same");
    assert_eq!(mode(&shop, "shop.film").await, "enforced true");
    shop.protect("shop.film", &Policy::reported("code")).await.expect("changed");
    assert_eq!(
        (mode(&shop, "shop.film").await.as_str(), log(&shop, "shop.film").await.as_str()),
        ("report_only true", "protected,changed")
    );
}

/// ADM-5: a renamed table keeps its family, and its old name is not given to another; a dropped one is let go by its number.
#[tokio::test]
async fn a_renamed_table_keeps_its_family() {
    let shop = Shop::enforced().await;
    let film = shop.relation("shop.film").await;
    shop.own(&[
        "alter table shop.inventory drop constraint inventory_film_code_fkey",
        "alter table shop.film rename to movie",
    ])
    .await
    .expect("the owner may");
    let movie = |code: &str| format!("insert into shop.movie (code, title) values ('{code}', 'x')");
    assert_eq!(codes(shop.own(&[&movie("F-9")]).await), [RB001]);
    shop.permits("shop.film", &["F-9"]).await;
    shop.own(&[&movie("F-9")]).await.expect("born");
    let answer = shop
        .protect("shop.movie", &Policy { ttl: Some(60), ..Policy::enforced("code") })
        .await
        .expect("changed");
    assert_eq!(
        (&answer["collection_name"], &answer["table"]),
        (&json!("shop.film"), &json!("shop.movie"))
    );

    shop.own(&["create table shop.film (code text primary key, title text)"])
        .await
        .expect("another table");
    let before = shop.db.fingerprint().await;
    let (refused, facts) = refusal(shop.protect("shop.film", &Policy::enforced("code")).await);
    assert_eq!(
        (refused, facts),
        (RB018, json!({ "table": "shop.film", "why": "name_taken", "by": "shop.movie" }))
    );
    assert_eq!(before, shop.db.fingerprint().await, "nothing changed");
    assert_eq!(codes(shop.own(&[&movie("F-10")]).await), [RB001], "the first is still protected");

    shop.own(&["drop table shop.movie"]).await.expect("the owner may");
    assert_eq!(mode(&shop, "shop.film").await, "enforced false");
    shop.db.text_as(Role::App, "select birth.fn_permit_watchdog(10, 'chancery')::text").await;
    assert_eq!(shop.findings().await, ["birth_gate_drift shop.film"]);
    let answer = shop.release(film).await.expect("released by its number");
    assert_eq!(answer["statements"], json!([]));
    shop.db.text_as(Role::App, "select birth.fn_permit_watchdog(10, 'chancery')::text").await;
    assert_eq!(shop.findings().await, Vec::<String>::new());
    // The name is free, and the births that stand under it are remembered.
    shop.protect("shop.film", &Policy::enforced("code")).await.expect("protected");
    assert_eq!(
        refusal(shop.ask("shop.film", json!([{ "code": "F-9", "name": "another" }])).await).0,
        chancery_model::refusal::Code::RB009
    );
    shop.permits("shop.film", &["F-11"]).await;
    shop.own(&["insert into shop.film (code, title) values ('F-11', 'x')"]).await.expect("born");
}

/// ADM-5: a table that was renamed to and fro and protected in between has one family at a time.
#[tokio::test]
async fn a_table_has_one_family_at_a_time() {
    let shop = Shop::open().await;
    let ticket = shop.relation("shop.ticket").await;
    shop.protect("shop.ticket", &Policy::enforced("code")).await.expect("protected");
    shop.release(ticket).await.expect("released");
    shop.own(&["alter table shop.ticket rename to stub"]).await.expect("the owner may");
    shop.protect("shop.stub", &Policy::enforced("code")).await.expect("protected");
    shop.own(&["alter table shop.stub rename to ticket"]).await.expect("the owner may");
    let answer = shop
        .protect("shop.ticket", &Policy { ttl: Some(60), ..Policy::enforced("code") })
        .await
        .expect("changed");
    assert_eq!(answer["collection_name"], "shop.stub");
    assert_eq!(codes(shop.own(&["insert into shop.ticket (code) values (2)"]).await), [RB001]);
    shop.permits("shop.stub", &["2"]).await;
    shop.own(&["insert into shop.ticket (code) values (2)"]).await.expect("born");
}

/// ADM-5: names are names, however they are written.
#[tokio::test]
async fn odd_names_are_names() {
    let shop = Shop::open().await;
    shop.own(&[r#"create table shop."Ödd 'Film' %s" ("The ""Code""" varchar(20) primary key, "Náme $body$" text)"#]).await.expect("the owner may");
    let table = r#"shop."Ödd 'Film' %s""#;
    let mut admin = shop.db.superuser().await;
    let relation: i64 = sqlx::query_scalar("select oid::bigint from pg_class where relname = $1")
        .bind("Ödd 'Film' %s")
        .fetch_one(&mut admin)
        .await
        .expect("a number");
    let policy = Policy { name: Some("Náme $body$"), ..Policy::enforced("The \"Code\"") };
    let answer = shop.protect_number(relation, &policy).await.expect("protected");
    assert_eq!(answer["collection_name"], table);
    let insert =
        format!(r#"insert into {table} ("The ""Code""", "Náme $body$") values ('O-1', 'x')"#);
    assert_eq!(codes(shop.write(&[&insert]).await), [RB001]);
    shop.permits(table, &["O-1"]).await;
    shop.write(&[&insert]).await.expect("born");
    assert_eq!(
        shop.db
            .count("birth.birth_registry where entity_code = 'O-1' and admission = 'permit'")
            .await,
        1
    );
    shop.release(relation).await.expect("released");
    shop.is_sound().await;
}

/// ADM-4: a table that comes to inherit from a protected one, made so or attached later, has none of its triggers: the gate is not in place
/// while it does, and the finding names it.
#[tokio::test]
async fn a_table_that_inherits_past_the_gate_is_named() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy::enforced("code")).await.expect("protected");
    let heirs = async || {
        let heirs = "select armed || ' ' || heirs::text from birth.v_family where collection_name = 'shop.film'";
        shop.db.text(heirs).await
    };
    let watch = async || {
        shop.db.text_as(Role::App, "select birth.fn_permit_watchdog(10, 'chancery')::text").await
    };
    assert_eq!(heirs().await, "true {}");
    for (made, ended) in [
        ("create table shop.heir () inherits (shop.film)", "drop table shop.heir"),
        (
            "create table shop.heir (like shop.film including all); alter table shop.heir inherit shop.film",
            "alter table shop.heir no inherit shop.film; drop table shop.heir",
        ),
    ] {
        shop.own(&[made]).await.expect("the owner may");
        assert_eq!(heirs().await, "false {shop.heir}", "{made}");
        watch().await;
        assert_eq!(shop.findings().await, ["birth_gate_drift shop.film"], "{made}");
        let title = "select title from governance.system_issues where issue_type = 'birth_gate_drift' order by first_seen_at desc limit 1";
        assert!(shop.db.text(title).await.ends_with("inherit from it: shop.heir"), "{made}");
        shop.own(&[ended]).await.expect("the owner may");
        assert_eq!(heirs().await, "true {}", "{ended}");
        watch().await;
        assert_eq!(shop.findings().await, Vec::<String>::new(), "{ended}");
    }
}

/// ORC-6, ADM-5: what is under admission is in the backup, with its schema, its partitions and the sequences of its defaults.
#[tokio::test]
async fn a_backup_can_read_what_is_under_admission() {
    let shop = Shop::open().await;
    for table in ["shop.film", "shop.rental", "shop.ticket"] {
        let answer = shop.protect(table, &Policy::enforced("code")).await.expect("protected");
        let grants = answer["grants"].as_array().expect("grants").clone();
        let to_backup: Vec<&str> = grants
            .iter()
            .filter_map(serde_json::Value::as_str)
            .filter(|grant| grant.ends_with(" to chancery_backup"))
            .collect();
        assert!(to_backup.contains(&"grant usage on schema shop to chancery_backup"), "{grants:?}");
        assert!(
            to_backup.contains(&format!("grant select on {table} to chancery_backup").as_str())
        );
        let autumn = "grant select on shop.rental_2026_autumn to chancery_backup";
        assert_eq!(to_backup.contains(&autumn), table == "shop.rental", "{grants:?}");
        let sequence = "grant select on sequence shop.film_no to chancery_backup";
        assert_eq!(to_backup.contains(&sequence), table == "shop.film", "{grants:?}");
    }
}
