//! Ways past the doors of births: by hand, and through the rights of whoever happens to insert.

use chancery_model::refusal::Code::{RB013, RB018};
use chancery_store::{Error, LOGINS, Role};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};

use crate::approval_world::refusal;
use crate::birth_world::{BORN, OWNER, Policy, Shop};
use crate::hardening::{attempt, hand_writes, not_refused, without_key_violations};
use crate::support::codes;

const TABLES: [&str; 8] = [
    "birth.family",
    "birth.family_log",
    "birth.birth_admission_permit",
    "birth.birth_registry",
    "birth.departure",
    "birth.break_glass",
    "governance.governance_candidate_state",
    "iu.dot_iu_command_run",
];

/// A row in each table of the room.
async fn at_work() -> Shop {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-9", "F-10"]).await;
    shop.write(&["insert into shop.film (code, title) values ('F-9', 'Nine')"])
        .await
        .expect("born");
    shop.own(&["delete from shop.film where code = 'F-9'"]).await.expect("gone");
    shop.break_glass("shop.film", 5).await;
    shop.db.text_as(Role::App, "select birth.fn_birth_handoff('chancery')::text").await;
    shop.db
        .text_as(Role::App, "select iu.fn_dot_iu_command_log('dot_birth_admit', 'apply', 'REQUESTED', 'ok', sha256('x'), '{}', '{}', 'clerk')::text")
        .await;
    shop
}

/// ADM-4, SEC-3: no login, no owner and no superuser writes permits, births or policies by hand, also with the triggers of a replica.
#[tokio::test]
async fn nothing_of_births_is_written_by_hand() {
    let shop = at_work().await;
    let mut admin = shop.db.superuser().await;
    let tables: Vec<String> = TABLES
        .iter()
        .filter(|&&table| table != "birth.family" && table != "birth.departure")
        .map(|&table| table.to_owned())
        .collect();
    let mut statements = hand_writes(&mut admin, &tables).await;
    assert_eq!(statements.len(), 5 * tables.len(), "each has a row to try it on");
    for change in [
        "status = 'CONSUMED', consumed_at = now(), consumed_xid = pg_current_xact_id(), consumed_by = 'me'",
        "status = 'FINALIZED'",
        "status = 'RESERVED', live = true",
        "live = not live",
        "expires_at = 'infinity'",
        "entity_code = 'F-11'",
        "seq = seq + 1, head_hash = sha256(head_hash)",
        "finalized_birth_id = gen_random_uuid()",
    ] {
        statements.push(format!("update birth.birth_admission_permit set {change}"));
    }
    statements
        .push("update governance.governance_candidate_state set state = 'received'".to_owned());
    let before = shop.everything().await;
    let mut found = Vec::new();
    for &role in LOGINS {
        let mut connection = shop.db.connect(role).await;
        found.extend(not_refused(&mut connection, &statements).await);
    }
    // Whoever became the definer is the administrator, and writes what the doors write: not what the log does not know.
    let forged = "insert into birth.birth_admission_permit (permit_id, collection_name, entity_code, request_hash, status, seq, head_hash, state_machine_id, governance_role,
                    requested_by_dot, started_by, requested_at, expires_at, trace_id, correlation_id, last_transition_at)
                  select gen_random_uuid(), collection_name, 'F-66', sha256('x'), 'RESERVED', seq, head_hash, state_machine_id, governance_role, requested_by_dot, started_by,
                    now(), 'infinity', trace_id, correlation_id, last_transition_at from birth.birth_admission_permit limit 1";
    for owner in ["chancery_owner", "chancery_definer", "chancery_guard", OWNER] {
        admin.execute(AssertSqlSafe(format!("set role {owner}"))).await.expect("a superuser may");
        let definer = owner == "chancery_definer";
        found.extend(not_refused(&mut admin, &statements).await.into_iter().filter(|line| {
            let its_own =
                ["insert into birth.birth_admission_permit", "insert into birth.family_log"];
            !(definer
                && its_own.iter().any(|start| line.starts_with(start))
                && line.ends_with(": 23505"))
        }));
        let expected = if definer { "RS017" } else { "42501" };
        let answer = attempt(&mut admin, forged).await;
        assert!(
            answer.as_deref() == Some(expected) || answer.as_deref() == Some("RS015"),
            "{owner}: {answer:?}"
        );
        admin.execute("reset role").await.expect("back");
    }
    for replication_role in ["origin", "replica", "local"] {
        let setting = AssertSqlSafe(format!("set session_replication_role = {replication_role}"));
        admin.execute(setting).await.expect("a superuser may");
        found.extend(not_refused(&mut admin, &statements).await);
    }
    assert_eq!(without_key_violations(found), Vec::<String>::new());
    // Policies and departures are the doors' to write: nobody else has the right.
    let others = hand_writes(
        &mut shop.db.superuser().await,
        &["birth.family", "birth.departure", "birth.rehearsal"].map(str::to_owned),
    )
    .await;
    let mut found = Vec::new();
    for &role in LOGINS {
        let mut connection = shop.db.connect(role).await;
        found.extend(not_refused(&mut connection, &others).await);
    }
    assert_eq!(without_key_violations(found), Vec::<String>::new());
    assert_eq!(before, shop.everything().await, "nothing changed");
}

/// What somebody who runs code inside our statement would try. Each is a statement that must not go through.
const TRIES: [&str; 16] = [
    "perform birth.fn_birth_permit_request('shop.film', '[{\"code\": \"F-66\"}]', 'clerk', 'executor_worker')",
    "perform birth.fn_permit_watchdog(1, 'chancery')",
    "perform birth.fn_birth_handoff('chancery')",
    "perform birth.fn_family_release('shop.film'::regclass, 'chancery')",
    "perform birth.admit_without_permit('shop.film', 'F-66', null)",
    "perform birth.settle(gen_random_uuid())",
    "perform birth.reserve('shop.film', '{}', 'clerk', 'executor_worker', 'x', null, null, null)",
    "perform fsm.move(gen_random_uuid(), 'birth_permit', null, 'REVOKED', 'sovereign', 'rpc', 'x', '{}', 'sofia', 'k', null, null, null, null)",
    "perform from birth.birth_admission_permit",
    "perform from birth.v_birth_admission_permit",
    "perform from identity.principal",
    "insert into birth.birth_registry (birth_id, entity_code, collection_name, governance_role, dot_origin, admission, born_at, born_by, xid)
       values (gen_random_uuid(), 'F-66', 'shop.film', 'governed', 'x', 'missing', now(), 'me', '1')",
    "insert into fsm.transition_log (run_id, seq) values (gen_random_uuid(), 1)",
    "update birth.birth_admission_permit set status = 'FINALIZED'",
    "set role chancery_definer",
    "create function birth.evil() returns int language sql as 'select 1'",
];

/// ADM-4: code of the table's owner that runs in the middle of an admission has the rights of whoever inserts, or of the owner, and
/// neither has any of ours; also at COMMIT, and also while we settle.
#[tokio::test]
async fn a_trigger_of_the_owner_gains_no_right() {
    let shop = Shop::enforced().await;
    shop.own(&[
        "create table shop.loot (n integer, how text, what text)",
        "grant insert on shop.loot to birth_writer",
    ])
    .await
    .expect("the owner may");
    for (n, statement) in TRIES.iter().enumerate() {
        for security in ["invoker", "definer"] {
            // What is refused is caught, so that the birth goes on; what went through would be on record.
            let function = format!(
                "create or replace function shop.try_{n}_{security}() returns trigger language plpgsql security {security} as $f$ begin
                   begin {statement}; insert into shop.loot values ({n}, '{security} ' || tg_when || tg_op, current_user);
                   exception when insufficient_privilege or invalid_schema_name or undefined_function then null; end;
                   return coalesce(new, old); end $f$"
            );
            shop.own(&[&function]).await.expect("the owner may");
            for (kind, name) in [
                ("trigger zz_before_{} before insert", ""),
                ("trigger b_after_{} after insert", ""),
                ("constraint trigger c_end_{} after insert", "deferrable initially deferred"),
            ] {
                let trigger = format!(
                    "create {} on shop.film {name} for each row execute function shop.try_{n}_{security}()",
                    kind.replace("{}", &format!("{n}_{security}"))
                );
                shop.own(&[&trigger]).await.expect("the owner may");
            }
        }
    }
    shop.permits("shop.film", &["F-9"]).await;
    shop.write(&["insert into shop.film (code, title) values ('F-9', 'Nine')"])
        .await
        .expect("born");
    assert_eq!(shop.film("F-9").await, BORN);
    let loot =
        shop.db.texts("select n || ' ' || how || ' as ' || what from shop.loot order by 1").await;
    assert_eq!(loot, Vec::<Option<String>>::new(), "nothing was got");
    assert_eq!(shop.film("F-66").await, crate::birth_world::NOTHING);
    shop.is_sound().await;
}

/// ADM-4: the rehearsal is the one door of the writer's login. Whoever opens it inside an admission only undoes the admission.
#[tokio::test]
async fn a_rehearsal_inside_an_admission_only_undoes_it() {
    let shop = Shop::enforced().await;
    shop.own(&[
        "create function shop.rehearse() returns trigger language plpgsql as $$ begin
           perform birth.fn_birth_rehearse('shop.film', '[{\"code\": \"F-66\"}]', 'clerk', 'executor_worker');
           insert into shop.film (code, title) values ('F-66', 'Smuggled');
           return null; end $$",
        "create trigger rehearse after insert on shop.film for each row when (new.code = 'F-9') execute function shop.rehearse()",
    ])
    .await
    .expect("the owner may");
    shop.permits("shop.film", &["F-9"]).await;
    let before = shop.everything().await;
    assert_eq!(
        codes(shop.write(&["insert into shop.film (code, title) values ('F-9', 'Nine')"]).await),
        [RB013]
    );
    assert_eq!(before, shop.everything().await, "nothing changed");
}

/// ADM-4: a column of the owner's own type is not read with our rights, not even one that became such behind our back.
#[tokio::test]
async fn a_cast_of_the_owner_never_runs_with_our_rights() {
    let shop = Shop::enforced().await;
    shop.own(&[
        "create table shop.loot (what text)",
        "create type shop.evil as (v text)",
        "create function shop.leak(e shop.evil) returns text language plpgsql as
           $$ begin insert into shop.loot values (current_user); return (e).v; end $$",
        "create cast (shop.evil as text) with function shop.leak(shop.evil) as implicit",
        "create function shop.as_evil(t text) returns shop.evil language sql as 'select row(t)::shop.evil'",
        "grant insert on shop.loot to public",
        "grant execute on function shop.leak(shop.evil) to public",
        "grant usage on schema shop to public",
        "create domain shop.label as text",
        "create table shop.odd (evil shop.evil not null, code text not null, label shop.label not null, body jsonb not null, kind \"char\" not null)",
    ])
    .await
    .expect("the owner may");
    let before = shop.everything().await;
    for column in ["evil", "label", "body", "kind"] {
        for policy in
            [Policy::enforced(column), Policy { name: Some(column), ..Policy::reported("code") }]
        {
            let (code, facts) = refusal(shop.protect("shop.odd", &policy).await);
            assert_eq!((code, &facts["table"]), (RB018, &json!("shop.odd")), "{column}: {facts}");
        }
    }
    assert_eq!(before, shop.everything().await, "nothing changed");

    // The type is changed once the table is protected: our trigger that names the column has to go for it, which its owner can do.
    shop.permits("shop.film", &["F-9"]).await;
    shop.own(&[
        "drop trigger aaa_chancery_birth_code on shop.film",
        "drop trigger note on shop.film",
        "alter table shop.inventory drop constraint inventory_film_code_fkey",
        "alter table shop.film drop constraint film_pkey",
        "alter table shop.film alter column code type shop.evil using shop.as_evil(code)",
    ])
    .await
    .expect("the owner may");
    for statement in [
        "insert into shop.film (code, title) values (row('F-9'), 'x')",
        "delete from shop.film where title = 'Alien'",
    ] {
        let (code, facts) = refusal(shop.own(&[statement]).await.map(|()| Value::Null));
        assert_eq!(
            (code, facts),
            (
                RB018,
                json!({ "table": "shop.film", "why": "type_of_the_code", "column": "code", "type": "shop.evil" })
            ),
            "{statement}"
        );
    }
    assert_eq!(
        shop.db.texts("select what from shop.loot").await,
        Vec::<Option<String>>::new(),
        "nobody's rights were lent"
    );
    // And the name's.
    shop.protect("shop.disc", &Policy { name: Some("film_code"), ..Policy::reported("label") })
        .await
        .expect("protected");
    shop.own(&[
        "alter table shop.disc drop constraint disc_pkey",
        "alter table shop.disc alter column film_code type shop.evil using shop.as_evil(film_code)",
    ])
    .await
    .expect("the owner may");
    let insert = "insert into shop.disc (film_code, disc_no, label) values (row('F-1'), 9, 'D-9')";
    assert_eq!(codes(shop.own(&[insert]).await), [RB018]);
    assert_eq!(
        shop.db.texts("select what from shop.loot").await,
        Vec::<Option<String>>::new(),
        "nobody's rights were lent"
    );
}

/// ADM-4, SEC-3: the owner of a protected table has the gate's name and nothing else of ours.
#[tokio::test]
async fn the_owner_of_a_table_calls_nothing() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-9"]).await;
    let mut owner = shop.db.superuser().await;
    let doors: Vec<String> = sqlx::query_scalar(
        "select format('select %s(%s)', p.oid::regproc, (select string_agg('null::' || format_type(t, null), ', ') from unnest(p.proargtypes) t))
           from pg_proc p join pg_namespace n on n.oid = p.pronamespace
          where n.nspname in ('birth', 'iu', 'fsm', 'governance', 'approval', 'identity', 'internal', 'event', 'queue') and p.prokind = 'f'",
    )
    .fetch_all(&mut owner)
    .await
    .expect("functions");
    assert!(doors.len() > 100, "{}", doors.len());
    owner.execute("set role birth_shop_owner").await.expect("a superuser may");
    let before = shop.everything().await;
    for door in doors {
        let answer =
            attempt(&mut owner, &door).await.unwrap_or_else(|| panic!("{door} went through"));
        // The trigger function: it can be named, and be called by nothing but a trigger.
        let expected = if door.contains("family_")
            && door.ends_with("()")
            && door != "select birth.generate_families()"
        {
            &["0A000", "42501"][..]
        } else {
            &["42501"]
        };
        assert!(expected.contains(&answer.as_str()), "{door}: {answer}");
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
}

/// ADM-1: a rehearsal does what an admission would do, fires what is deferred, cannot be committed, and leaves nothing.
#[tokio::test]
async fn a_rehearsal_shows_everything_and_leaves_nothing() {
    let shop = Shop::enforced().await;
    shop.protect("shop.inventory", &Policy::enforced("code")).await.expect("protected");
    let rehearse = |collection: &str, code: &str| {
        format!(
            "select birth.fn_birth_rehearse('{collection}', '[{{\"code\": \"{code}\"}}]', 'clerk', 'executor_worker')"
        )
    };
    let insert = "insert into shop.film (code, title) values ('F-9', 'Nine')";
    let before = shop.everything().await;
    assert_eq!(
        codes(shop.write(&[&rehearse("shop.film", "F-9"), insert]).await),
        [RB013],
        "not even at COMMIT"
    );
    assert_eq!(codes(shop.write(&[&rehearse("shop.film", "F-9")]).await), [RB013]);
    assert_eq!(
        codes(
            shop.write(&["savepoint s", &rehearse("shop.film", "F-9"), "release savepoint s"])
                .await
        ),
        [RB013]
    );
    shop.write(&["savepoint s", &rehearse("shop.film", "F-9"), insert, "rollback to savepoint s"])
        .await
        .expect("nothing happened");
    assert_eq!(before, shop.everything().await, "nothing changed");

    // As the command does it: rehearse, insert, let everything speak, look, roll back.
    let item = "00000000-0000-4000-8000-000000000009";
    for (collection, code, statement, outcome) in [
        ("shop.film", "F-9", insert.to_owned(), None),
        (
            "shop.film",
            "F-1",
            "insert into shop.film (code, title) values ('F-1', 'There')".to_owned(),
            Some("23505"),
        ),
        (
            "shop.inventory",
            item,
            format!("insert into shop.inventory (code, film_code) values ('{item}', 'F-0')"),
            Some("23503"),
        ),
    ] {
        let mut writer = shop.db.connect(Role::BirthWriter).await;
        writer.execute("begin").await.expect("a transaction");
        let answer: Value = sqlx::query_scalar(AssertSqlSafe(rehearse(collection, code)))
            .fetch_one(&mut writer)
            .await
            .expect("a rehearsal");
        assert_eq!(answer["permits"][0]["status"], "RESERVED");
        let constraints = answer["constraints"].as_str().expect("a statement").to_owned();
        let mut done = writer.execute(AssertSqlSafe(statement)).await.map(drop);
        if done.is_ok() {
            done = writer.execute(AssertSqlSafe(constraints)).await.map(drop);
        }
        match outcome {
            None => {
                done.expect("it would be born");
                let check = format!(
                    "select birth.fn_pre_birth_check('{collection}', '{code}', null, 'dot_birth_admit')"
                );
                let check: Value = sqlx::query_scalar(AssertSqlSafe(check))
                    .fetch_one(&mut writer)
                    .await
                    .expect("an answer");
                assert_eq!(
                    check["checks"][3],
                    json!({ "check": "code_is_not_born", "ok": false, "why": "the code was born before" })
                );
            }
            Some(state) => {
                let error = Error::from(done.expect_err("the table says no"));
                assert!(
                    matches!(&error, Error::Bug { sqlstate, .. } if sqlstate == state),
                    "{error:?}"
                );
            }
        }
        writer.execute("rollback").await.expect("the end");
        assert_eq!(before, shop.everything().await, "nothing changed");
    }
}

/// ADM-1: a permit that ran out and was not swept is in nobody's way, not even in a rehearsal's.
#[tokio::test]
async fn a_rehearsal_passes_an_expired_permit() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy { ttl: Some(60), ..Policy::enforced("code") })
        .await
        .expect("protected");
    shop.ask("shop.film", json!([{ "code": "F-9", "name": "another intent" }]))
        .await
        .expect("a permit");
    crate::governance_world::clock_ahead(&shop.db, "2 minutes").await;
    let before = shop.everything().await;
    let mut writer = shop.db.connect(Role::BirthWriter).await;
    writer.execute("begin").await.expect("a transaction");
    let answer: Value = sqlx::query_scalar("select birth.fn_birth_rehearse('shop.film', '[{\"code\": \"F-9\"}]', 'clerk', 'executor_worker')")
        .fetch_one(&mut writer)
        .await
        .expect("a rehearsal");
    writer
        .execute("insert into shop.film (code, title) values ('F-9', 'Nine')")
        .await
        .expect("it would be born");
    writer
        .execute(AssertSqlSafe(answer["constraints"].as_str().expect("a statement").to_owned()))
        .await
        .expect("everything is well");
    writer.execute("rollback").await.expect("the end");
    assert_eq!(before, shop.everything().await, "nothing changed");
}
