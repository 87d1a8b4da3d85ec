//! What becomes of a row on its way in, and afterwards: conflicts, triggers that come later, codes that change, rows that go again.

use chancery_model::refusal::Code::{RB001, RB004, RB005, RB006};
use chancery_store::{Error, Role};
use serde_json::{Value, json};
use sqlx::Executor as _;

use crate::approval_world::refusal;
use crate::birth_world::{BORN, OLD, Policy, RESERVED, SPENT, Shop, denied};
use crate::support::codes;

const NEW: &str = "insert into shop.film (code, title) values ('F-9', 'Nine')";

/// ADM-4: where the row is there already, ON CONFLICT leaves it alone: a permit is spent, nobody is born, and without a permit it is
/// nothing at all.
#[tokio::test]
async fn a_conflict_is_no_birth() {
    let shop = Shop::enforced().await;
    let row = "select f::text from shop.film f where code = 'F-1'";
    let first = shop.db.text(row).await;
    let before = shop.everything().await;
    let nothing =
        "insert into shop.film (code, title) values ('F-1', 'Other') on conflict do nothing";
    shop.own(&[nothing]).await.expect("nothing to do");
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.permits("shop.film", &["F-1"]).await;
    shop.own(&[nothing]).await.expect("nothing to do");
    assert_eq!(shop.film("F-1").await, SPENT.replace("rows 0", "rows 1"));
    assert_eq!(first, shop.db.text(row).await, "the row is untouched");

    let update = "insert into shop.film (code, title) values ('F-2', 'Other') on conflict (code) do update set title = excluded.title";
    shop.own(&[update]).await.expect("an update");
    assert_eq!(shop.film("F-2").await, OLD);
    shop.permits("shop.film", &["F-2"]).await;
    shop.own(&[update]).await.expect("an update");
    assert_eq!(shop.film("F-2").await, SPENT.replace("rows 0", "rows 1"));
    assert_eq!(shop.db.text("select title from shop.film where code = 'F-2'").await, "Other");
    let reason = "select evidence::jsonb ->> 'failure_reason' from fsm.transition_log where to_state = 'FAILED' limit 1";
    assert_eq!(shop.db.text(reason).await, "the insert left no row under this code");

    let before = shop.everything().await;
    let renaming = "insert into shop.film (code, title) values ('F-2', 'x') on conflict (code) do update set code = 'F-3'";
    assert_eq!(codes(shop.own(&[renaming]).await), [RB004]);
    let born_anyway = "insert into shop.film (code, title) values ('F-3', 'x') on conflict (code) do update set title = 'y'";
    assert_eq!(codes(shop.own(&[born_anyway]).await), [RB001]);
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.permits("shop.film", &["F-3"]).await;
    shop.own(&[born_anyway]).await.expect("born");
    assert_eq!(shop.film("F-3").await, BORN);
    shop.is_sound().await;
}

/// A trigger of the owner's that comes behind the gate.
async fn later(shop: &Shop, body: &str) {
    let function = format!(
        "create or replace function shop.later() returns trigger language plpgsql as $$ begin {body} end $$"
    );
    shop.own(&[
        &function,
        "create or replace trigger zzzz_later before insert on shop.film for each row execute function shop.later()",
    ])
    .await
    .expect("the owner may");
}

/// ADM-4: a trigger behind the gate that drops the row spends the permit; one that rewrites the code is met without a permit for it.
#[tokio::test]
async fn a_later_trigger_cannot_smuggle() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-9"]).await;
    later(&shop, "return null;").await;
    shop.write(&[NEW]).await.expect("no row, no harm");
    assert_eq!(shop.film("F-9").await, SPENT);

    shop.permits("shop.film", &["F-9", "F-10"]).await;
    let (asked, other) = (shop.film("F-9").await, shop.film("F-10").await);
    later(&shop, "new.code := 'F-11'; return new;").await;
    let before = shop.everything().await;
    let (code, facts) = refusal(shop.write(&[NEW]).await.map(|()| Value::Null));
    assert_eq!(
        (code, &facts["entity_code"], &facts["why"]),
        (RB001, &json!("F-11"), &json!("no_permit"))
    );
    later(&shop, "new.code := 'F-10'; return new;").await;
    let (code, facts) = refusal(shop.write(&[NEW]).await.map(|()| Value::Null));
    assert_eq!(
        (code, &facts["entity_code"], &facts["why"]),
        (RB001, &json!("F-10"), &json!("reserved")),
        "the gate saw another code"
    );
    assert_eq!(before, shop.everything().await, "nothing changed");
    assert_eq!((asked, other), (shop.film("F-9").await, shop.film("F-10").await));

    // One that comes before the gate is a part of the insert: what it makes of the code is what counts.
    shop.own(&["drop trigger zzzz_later on shop.film", "create trigger early before insert on shop.film for each row execute function shop.later()"])
        .await
        .expect("the owner may");
    shop.write(&[NEW]).await.expect("born as what it became");
    assert_eq!(shop.film("F-10").await, BORN);
    assert_eq!(
        shop.film("F-9").await,
        "rows 0 | permits FAILED,RESERVED | births - | log RESERVED>CONSUMED>FAILED>RESERVED | told reserved,consumed,failed,reserved"
    );
    shop.is_sound().await;
}

/// ADM-4: also what the owner's triggers insert on their way needs a permit; a birth in a birth, and one at COMMIT, are births.
#[tokio::test]
async fn a_birth_inside_a_birth_needs_its_own_permit() {
    let shop = Shop::enforced().await;
    shop.own(&[
        "create function shop.sequel() returns trigger language plpgsql security definer set search_path = pg_catalog as
           $$ begin if new.code not like '%-II' then insert into shop.film (code, title) values (new.code || '-II', new.title); end if; return null; end $$",
        "create trigger sequel after insert on shop.film for each row execute function shop.sequel()",
    ])
    .await
    .expect("the owner may");
    for at_commit in [false, true] {
        if at_commit {
            shop.own(&[
                "drop trigger sequel on shop.film",
                "create constraint trigger sequel after insert on shop.film deferrable initially deferred for each row execute function shop.sequel()",
            ])
            .await
            .expect("the owner may");
        }
        let (one, two) = if at_commit { ("C-1", "C-1-II") } else { ("B-1", "B-1-II") };
        let insert = format!("insert into shop.film (code, title) values ('{one}', 'x')");
        shop.permits("shop.film", &[one]).await;
        let before = shop.everything().await;
        let (code, facts) = refusal(shop.write(&[&insert]).await.map(|()| Value::Null));
        assert_eq!((code, &facts["entity_code"]), (RB001, &json!(two)));
        assert_eq!(before, shop.everything().await, "nothing changed");
        shop.permits("shop.film", &[two]).await;
        shop.write(&[&insert]).await.expect("both are born");
        assert_eq!((shop.film(one).await.as_str(), shop.film(two).await.as_str()), (BORN, BORN));
    }
    shop.is_sound().await;
}

/// ADM-4: a code stays what it was born with, or stood in before; also when a trigger changes it.
#[tokio::test]
async fn a_code_does_not_change() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-9", "F-10"]).await;
    shop.write(&[NEW]).await.expect("born");
    let before = shop.everything().await;
    for statement in [
        "update shop.film set code = 'F-10' where code = 'F-9'",
        "update shop.film set code = 'F-10' where code = 'F-1'",
        "update shop.film set code = code || 'x'",
        "update shop.film set code = 'f-9' where code = 'F-9'",
        "merge into shop.film f using (select 1) n on f.code = 'F-9' when matched then update set code = 'F-11'",
        "with n as (update shop.film set code = 'F-11' where code = 'F-9' returning 1) select * from n",
    ] {
        let (code, facts) = refusal(shop.own(&[statement]).await.map(|()| Value::Null));
        assert_eq!(code, RB004, "{statement}");
        assert_eq!(facts["login"], "chancery_admin");
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.own(&["update shop.film set code = code, title = 'Neuf' where code = 'F-9'"])
        .await
        .expect("the same code is none other");
    shop.own(&[
        "create function shop.recode() returns trigger language plpgsql as $$ begin new.code := 'F-12'; return new; end $$",
        "create trigger recode before update on shop.film for each row execute function shop.recode()",
    ])
    .await
    .expect("the owner may");
    let before = shop.everything().await;
    assert_eq!(
        codes(shop.own(&["update shop.film set title = 'x' where code = 'F-9'"]).await),
        [RB004]
    );
    assert_eq!(codes(shop.own(&["insert into shop.film (code, title) values ('F-9', 'x') on conflict (code) do update set title = 'y'"]).await), [RB004]);
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.is_sound().await;
}

/// ADM-4: a collation that takes different codes for one changes nothing: a code is its letters.
#[tokio::test]
async fn a_collation_makes_no_codes_equal() {
    let shop = Shop::open().await;
    shop.own(&[
        "create collation shop.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "create table shop.prop (n integer, code text collate shop.loose not null, name text collate shop.loose)",
    ])
    .await
    .expect("the owner may");
    shop.own(&["create unique index on shop.prop (code collate \"C\")"])
        .await
        .expect("one row each");
    shop.protect("shop.prop", &Policy { name: Some("name"), ..Policy::enforced("code") })
        .await
        .expect("protected");
    shop.permits("shop.prop", &["Hat"]).await;
    let before = shop.everything().await;
    assert_eq!(codes(shop.write(&["insert into shop.prop (code) values ('HAT')"]).await), [RB001]);
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.write(&["insert into shop.prop (code) values ('Hat')"]).await.expect("born");
    let before = shop.everything().await;
    assert_eq!(codes(shop.own(&["update shop.prop set code = 'hAT'"]).await), [RB004]);
    assert_eq!(
        codes(
            shop.own(&["delete from shop.prop", "insert into shop.prop (code) values ('hat')"])
                .await
        ),
        [RB001]
    );
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.own(&["delete from shop.prop", "insert into shop.prop (code) values ('Hat')"])
        .await
        .expect("it came back");
    shop.is_sound().await;
}

/// ADM-4: what is born in a transaction is still there at its end, whatever was settled in between.
#[tokio::test]
async fn a_birth_does_not_vanish_in_its_own_transaction() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-9"]).await;
    let before = shop.everything().await;
    let gone = "delete from shop.film where code = 'F-9'";
    let now = "set constraints all immediate";
    for statements in [
        &[NEW, gone][..],
        &[NEW, gone, NEW, gone],
        &[NEW, gone, now],
        &[NEW, now, gone],
        &[NEW, now, gone, now],
    ] {
        let (code, facts) = refusal(shop.administer(statements).await.map(|()| Value::Null));
        assert_eq!(
            (code, facts),
            (RB005, json!({ "collection": "shop.film", "entity_code": "F-9" })),
            "{statements:?}"
        );
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.administer(&[NEW, gone, NEW]).await.expect("it is there at the end");
    assert_eq!(shop.film("F-9").await, BORN);
    shop.administer(&[gone]).await.expect("later it may go");
    let before = shop.everything().await;
    assert_eq!(codes(shop.administer(&[NEW]).await), [RB001]);
    assert_eq!(before, shop.everything().await, "and does not come back");
    shop.is_sound().await;
}

/// ADM-4: a row from before that is replaced by one with a permit is born by it.
#[tokio::test]
async fn an_old_row_is_replaced_by_a_birth() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-2"]).await;
    shop.administer(&[
        "delete from shop.film where code = 'F-2'",
        "insert into shop.film (code, title) values ('F-2', 'Brazil, again')",
    ])
    .await
    .expect("born");
    assert_eq!(shop.film("F-2").await, BORN);
    shop.is_sound().await;
}

/// ADM-4: what is rolled back was never there: the permit is free again, and is used afterwards.
#[tokio::test]
async fn a_savepoint_gives_the_permit_back() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-9"]).await;
    let before = shop.everything().await;
    shop.write(&["savepoint s", NEW, "rollback to savepoint s"]).await.expect("nothing");
    shop.write(&["savepoint s", NEW, "set constraints all immediate", "rollback to savepoint s"])
        .await
        .expect("nothing");
    let caught = "do $$ begin begin insert into shop.film (code, title) values ('F-9', 'x'); raise 'no'; exception when raise_exception then null; end; end $$";
    shop.write(&[caught]).await.expect("nothing");
    let refused = "do $$ begin begin insert into shop.film (code, title) values ('F-10', 'x'); exception when sqlstate 'RB001' then null; end; end $$";
    shop.write(&[refused]).await.expect("nothing");
    assert_eq!(shop.film("F-9").await, RESERVED);
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.write(&["savepoint s", NEW, "rollback to savepoint s", NEW, "release savepoint s"])
        .await
        .expect("born");
    assert_eq!(shop.film("F-9").await, BORN);
    shop.is_sound().await;
}

/// ADM-4: constraints that are made immediate settle what is there, and refuse what nobody can judge yet.
#[tokio::test]
async fn immediate_constraints_leave_no_half_state() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-9", "F-10"]).await;
    let before = shop.everything().await;
    let now = "set constraints all immediate";
    let (code, facts) = refusal(shop.write(&[now, NEW]).await.map(|()| Value::Null));
    assert_eq!((code, facts), (RB006, json!({ "collection": "shop.film", "entity_code": "F-9" })));
    let ours = "set constraints birth.permit_equals_log, shop.chancery_birth_finalize immediate";
    assert_eq!(codes(shop.write(&[ours, NEW]).await), [RB006]);
    let ten = "insert into shop.film (code, title) values ('F-10', 'Ten')";
    assert_eq!(codes(shop.write(&[NEW, now, ten]).await), [RB006]);
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.write(&[NEW, now, "set constraints all deferred", ten]).await.expect("both are born");
    assert_eq!((shop.film("F-9").await.as_str(), shop.film("F-10").await.as_str()), (BORN, BORN));
    // The finalizing constraint alone has nothing to say before the permit's own.
    shop.permits("shop.film", &["F-11"]).await;
    let eleven = "insert into shop.film (code, title) values ('F-11', 'Eleven')";
    shop.write(&["set constraints shop.chancery_birth_finalize immediate", eleven])
        .await
        .expect("born");
    assert_eq!(shop.film("F-11").await, BORN);
    shop.is_sound().await;
}

/// ADM-4: of two transactions that insert one code at once one is born; the other waited and is refused, or takes the permit that the
/// first gave back.
#[tokio::test]
async fn two_inserts_at_once_share_one_permit() {
    let shop = Shop::open().await;
    shop.protect("shop.disc", &Policy::enforced("label")).await.expect("protected");
    // The code was unique when the table was protected; its owner can change that later.
    shop.own(&["alter table shop.disc drop constraint disc_label_key"])
        .await
        .expect("the owner may");
    for (label, first_commits) in [("D-8", true), ("D-9", false)] {
        shop.permits("shop.disc", &[label]).await;
        let disc = |n: i32| {
            format!(
                "insert into shop.disc (film_code, disc_no, label) values ('{label}', {n}, '{label}')"
            )
        };
        let mut first = shop.db.connect(Role::BirthWriter).await;
        first.execute("begin").await.expect("a transaction");
        first.execute(sqlx::AssertSqlSafe(disc(1))).await.expect("inserted");
        let mut second = shop.db.connect(Role::BirthWriter).await;
        let pid: i32 = sqlx::query_scalar("select pg_backend_pid()")
            .fetch_one(&mut second)
            .await
            .expect("a number");
        let statement = disc(2);
        let waiting = tokio::spawn(async move {
            crate::birth_world::transaction(&mut second, &[&statement]).await
        });
        chancery_testkit::until("the second waits for the first", async || {
            shop.one::<bool>(&format!("select cardinality(pg_blocking_pids({pid})) > 0")).await
        })
        .await;
        first.execute(if first_commits { "commit" } else { "rollback" }).await.expect("the end");
        let answer = waiting.await.expect("no panic");
        assert_eq!(answer.is_ok(), !first_commits, "{answer:?}");
        if first_commits {
            assert_eq!(codes(answer), [RB001]);
        }
        assert_eq!(shop.standing("shop.disc", "label", label).await, BORN);
    }
    shop.is_sound().await;
}

/// ADM-4: an older snapshot sees what it sees and leaves no half state; the permit of before is enough at every level.
#[tokio::test]
async fn a_birth_at_every_isolation_level() {
    let shop = Shop::enforced().await;
    for (n, level) in ["read committed", "repeatable read", "serializable"].into_iter().enumerate()
    {
        let code = format!("I-{n}");
        shop.permits("shop.film", &[&code]).await;
        let insert = format!("insert into shop.film (code, title) values ('{code}', 'x')");
        shop.write(&[&format!("set transaction isolation level {level}"), &insert])
            .await
            .expect("born");
        assert_eq!(shop.film(&code).await, BORN, "{level}");
    }
    let mut old = shop.db.connect(Role::BirthWriter).await;
    old.execute("begin isolation level repeatable read").await.expect("a transaction");
    old.execute("select 1 from pg_catalog.pg_class limit 1").await.expect("its snapshot");
    shop.permits("shop.film", &["F-9"]).await;
    let before = shop.everything().await;
    let answer = old.execute(NEW).await.map(|_| ()).map_err(Error::from);
    assert_eq!(codes(answer), [RB001], "the permit is younger than the snapshot");
    old.execute("rollback").await.expect("the end");
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.is_sound().await;
}

/// ADM-4: prepared transactions are off where we run; where they are on, PREPARE settles like COMMIT. Held here: they are off.
#[tokio::test]
async fn a_prepared_transaction_is_no_way_round() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-9"]).await;
    let before = shop.everything().await;
    let answer = denied(shop.write(&[NEW, "prepare transaction 'p'"]).await);
    assert!(answer.starts_with("55000 "), "{answer}");
    assert_eq!(before, shop.everything().await, "nothing changed");
}
