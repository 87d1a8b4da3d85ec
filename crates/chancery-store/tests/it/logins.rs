//! What the logins are, and what they cannot become.

use chancery_store::{LOGINS, Role};
use chancery_testkit::TestDb;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::hardening::sqlstate;

const OWNERS: [&str; 3] = ["chancery_owner", "chancery_definer", "chancery_guard"];
const DENIED: &str = "42501";

fn names() -> Vec<String> {
    LOGINS.iter().map(|role| role.name().to_owned()).collect()
}

/// SEC-3: a login is a login and nothing more; an owner cannot log in.
#[tokio::test]
async fn a_login_has_no_power_of_its_own() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let attributes: Vec<(String, bool, bool)> = sqlx::query_as(
        "select rolname::text, rolcanlogin, rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls
           from pg_roles where rolname = any($1) or rolname = any($2) order by 1",
    )
    .bind(names())
    .bind(OWNERS.map(str::to_owned).as_slice())
    .fetch_all(&mut admin)
    .await
    .expect("the roles");
    assert_eq!(attributes.len(), LOGINS.len() + OWNERS.len());
    for (name, can_log_in, has_power) in attributes {
        assert_eq!(can_log_in, !OWNERS.contains(&name.as_str()), "{name}");
        assert!(!has_power, "{name} rises above its duty");
    }

    let memberships: Vec<(String, String)> = sqlx::query_as(
        "select m.member::regrole::text, m.roleid::regrole::text from pg_auth_members m
          where m.member::regrole::text = any($1 || $2) or m.roleid::regrole::text = any($1 || $2) order by 1, 2",
    )
    .bind(names())
    .bind(OWNERS.map(str::to_owned).as_slice())
    .fetch_all(&mut admin)
    .await
    .expect("memberships");
    let owners = ["chancery_definer", "chancery_guard", "chancery_owner"];
    let migrator = owners.map(|owner| ("chancery_migrator".to_owned(), owner.to_owned()));
    // In a private cluster the backup reads whatever tables users put beside ours.
    let mut expected = vec![("chancery_backup".to_owned(), "pg_read_all_data".to_owned())];
    expected.extend(migrator);
    assert_eq!(
        memberships, expected,
        "the migrator becomes the owners, the backup reads, and nobody becomes anybody else"
    );

    let owned: i64 = sqlx::query_scalar(
        "select count(*) from pg_shdepend where deptype = 'o' and refclassid = 'pg_authid'::regclass
            and refobjid in (select oid from pg_roles where rolname = any($1))",
    )
    .bind(names())
    .fetch_one(&mut admin)
    .await
    .expect("a count");
    assert_eq!(owned, 0, "no login owns anything");
    let parameters: i64 = sqlx::query_scalar("select count(*) from pg_parameter_acl")
        .fetch_one(&mut admin)
        .await
        .expect("a count");
    assert_eq!(parameters, 0, "no login was given a superuser's setting");
}

/// SEC-3: no login becomes another, and none turns the triggers off for its session.
#[tokio::test]
async fn a_login_stays_who_it_is() {
    let db = TestDb::new().await;
    for &role in LOGINS {
        let mut connection = db.connect(role).await;
        let others = LOGINS.iter().filter(|&&other| other != role).map(|other| other.name());
        let owners = OWNERS.into_iter().filter(|_| role != Role::Migrator);
        let mut attempts: Vec<String> =
            others.chain(owners).map(|name| format!("set role {name}")).collect();
        attempts.push("set session authorization chancery_owner".to_owned());
        attempts.push("set session_replication_role = replica".to_owned());
        attempts.push("set role pg_write_all_data".to_owned());
        attempts.push("create role another".to_owned());
        attempts.push("alter role chancery_app superuser".to_owned());
        attempts.push("create temp table run (state_code text)".to_owned());
        attempts.push(
            "create function pg_temp.now() returns int language sql as 'select 1'".to_owned(),
        );
        attempts.push("create table public.run (state_code text)".to_owned());
        if role != Role::Migrator {
            attempts.push("create schema elsewhere".to_owned());
            attempts.push("create table fsm.elsewhere ()".to_owned());
            attempts.push("alter table fsm.transition_log disable trigger all".to_owned());
        }
        for attempt in attempts {
            let error = connection
                .execute(AssertSqlSafe(attempt.clone()))
                .await
                .expect_err(&format!("{}: {attempt}", role.name()));
            assert_eq!(sqlstate(&error), DENIED, "{}: {attempt}", role.name());
        }
    }
}

/// E4: whoever of the owners makes a function, it is closed until somebody opens it.
#[tokio::test]
async fn a_new_function_is_closed_to_everyone() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    admin.execute("grant create on schema fsm to chancery_guard").await.expect("the superuser may");
    for owner in OWNERS {
        let mut migrator = db.connect(Role::Migrator).await;
        for statement in [
            format!("set role {owner}"),
            format!(
                "create function fsm.new_of_{owner}() returns int language sql security definer as 'select 1'"
            ),
        ] {
            migrator.execute(AssertSqlSafe(statement)).await.expect("the migrator may");
        }
        for &role in LOGINS {
            if role == Role::Migrator {
                continue;
            }
            let mut connection = db.connect(role).await;
            let error = connection
                .execute(AssertSqlSafe(format!("select fsm.new_of_{owner}()")))
                .await
                .expect_err("nobody was given the right");
            assert_eq!(sqlstate(&error), DENIED, "{} calls a new function of {owner}", role.name());
        }
    }
}
