//! A release is there or it is not: migrations, rules and the stamp are one transaction, repeatable, and never half done.

use chancery_store::{Error, LOGINS, Release, Role};
use chancery_testkit::{TestDb, slice};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};

const ROOMS: &str = "('internal', 'config', 'identity', 'event', 'fsm', 'audit', 'iu', 'cutter_governance', 'approval', 'kb', 'orchestrator', 'queue', 'governance', 'birth', 'workflow')";

/// A database with nothing of ours in it.
async fn bare() -> TestDb {
    let db = TestDb::new().await;
    db.superuser()
        .await
        .execute("drop schema internal, config, identity, event, fsm, audit, iu, cutter_governance, approval, kb, orchestrator, queue, governance, birth, workflow cascade")
        .await
        .expect("emptied");
    assert_eq!(schemas(&db).await, Vec::<String>::new());
    db
}

async fn schemas(db: &TestDb) -> Vec<String> {
    sqlx::query_scalar(AssertSqlSafe(format!(
        "select nspname::text from pg_namespace where nspname in {ROOMS} order by 1"
    )))
    .fetch_all(&mut db.superuser().await)
    .await
    .expect("schemas")
}

/// Everything that a release makes, as the catalogue tells it: one line an object, with owner and rights. Daily partitions
/// are left out: they depend on the day.
async fn catalogue(db: &TestDb) -> Vec<String> {
    let queries = [
        "select format('schema %s %s %s', nspname, nspowner::regrole, nspacl) from pg_namespace n where nspname in ROOMS",
        "select format('function %s %s %s %s', p.oid::regprocedure, p.proowner::regrole, p.proacl,
                       -- A family's function names its table by number.
                       case when p.proname like 'family_%' then regexp_replace(pg_get_functiondef(p.oid), '[0-9]{4,}', 'OID', 'g') else pg_get_functiondef(p.oid) end)
           from pg_proc p join pg_namespace n on n.oid = p.pronamespace where nspname in ROOMS",
        "select format('relation %s %s %s %s %s', c.oid::regclass, c.relkind, c.relowner::regrole, c.relacl, c.reloptions)
           from pg_class c join pg_namespace n on n.oid = c.relnamespace where nspname in ROOMS and not c.relispartition and c.relkind <> 'i'",
        "select format('column %s %s %s %s %s %s', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attacl,
                       pg_get_expr(d.adbin, d.adrelid))
           from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
           left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
          where nspname in ROOMS and a.attnum > 0 and not a.attisdropped and not c.relispartition and c.relkind <> 'i'",
        "select format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(k.oid))
           from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
          where nspname in ROOMS and not c.relispartition and k.conparentid = 0",
        "select format('index %s', pg_get_indexdef(i.indexrelid))
           from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
          where nspname in ROOMS and not c.relispartition",
        "select format('trigger %s %s', t.tgenabled, pg_get_triggerdef(t.oid))
           from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
          where nspname in ROOMS and not c.relispartition and not t.tgisinternal",
        "select format('view %s %s', c.oid::regclass, pg_get_viewdef(c.oid))
           from pg_class c join pg_namespace n on n.oid = c.relnamespace where nspname in ROOMS and c.relkind = 'v'",
        "select format('comment %s %s %s', d.classoid::regclass, pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description)
           from pg_description d join pg_class c on c.oid = d.objoid and d.classoid = 'pg_class'::regclass
           join pg_namespace n on n.oid = c.relnamespace where nspname in ROOMS",
        "select format('default %s %s', defaclrole::regrole, defaclacl) from pg_default_acl",
        "select format('database %s', (select array_agg(a::text order by a::text) from unnest(datacl) a)) from pg_database where datname = current_database()",
    ];
    let mut admin = db.superuser().await;
    let mut lines = Vec::new();
    for query in queries {
        let found: Vec<String> = sqlx::query_scalar(AssertSqlSafe(query.replace("ROOMS", ROOMS)))
            .fetch_all(&mut admin)
            .await
            .expect("the catalogue");
        assert!(!found.is_empty(), "{query}");
        lines.extend(found);
    }
    lines.sort();
    lines
}

/// What differs, instead of two long lists.
#[track_caller]
fn assert_same(left: &[String], right: &[String], why: &str) {
    let only = |a: &[String], b: &[String]| {
        a.iter().filter(|line| !b.contains(line)).cloned().collect::<Vec<_>>()
    };
    assert_eq!((only(left, right), only(right, left)), (vec![], vec![]), "{why}");
}

/// Makes the next migrate believe that the rules of another release are installed.
async fn forget_the_release(db: &TestDb) {
    let done = db
        .superuser()
        .await
        .execute("update internal.release set bundle_sha256 = 'another'")
        .await
        .expect("the superuser may");
    assert_eq!(done.rows_affected(), 1);
}

fn schema_error<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    match answer.expect_err("refused") {
        Error::Schema(message) => message,
        other => panic!("another schema, not {other:?}"),
    }
}

/// SEC-3: installing what is installed changes nothing, not even a time stamp.
#[tokio::test]
async fn installing_twice_changes_nothing() {
    let db = TestDb::new().await;
    let (rows, objects) = (db.fingerprint().await, catalogue(&db).await);
    let again = db.target().migrate().await.expect("nothing to do");
    assert_eq!((again.applied, again.rules_applied), (vec![], false));
    assert_eq!(rows, db.fingerprint().await);
    assert_same(&objects, &catalogue(&db).await, "installed twice");
    assert_eq!(db.store(Role::App).release().await.expect("a stamp"), Release::of_this_binary());
}

/// SEC-3: applying the rules again gives the same rules, whatever was there before.
#[tokio::test]
async fn rules_applied_again_are_the_same_rules() {
    let db = TestDb::new().await;
    let objects = catalogue(&db).await;
    forget_the_release(&db).await;
    let again = db.target().migrate().await.expect("applied again");
    assert_eq!((again.applied, again.rules_applied), (vec![], true));
    assert_same(&objects, &catalogue(&db).await, "applied again");
    assert_eq!(db.store(Role::App).release().await.expect("a stamp"), Release::of_this_binary());
}

/// SEC-3: rights that somebody gave by hand do not outlive a release.
#[tokio::test]
async fn rights_given_by_hand_are_taken_back() {
    let db = TestDb::new().await;
    let objects = catalogue(&db).await;
    let mut admin = db.superuser().await;
    for grant in [
        "grant insert, update on fsm.run to chancery_app",
        "grant select on identity.signing_key to cutter_ro",
        "grant execute on function fsm.fn_machine_apply(jsonb, text, text, boolean, boolean) to public",
    ] {
        admin.execute(grant).await.expect("the superuser may");
    }
    forget_the_release(&db).await;
    db.target().migrate().await.expect("applied again");
    assert_same(&objects, &catalogue(&db).await, "rights");
    let held: bool = sqlx::query_scalar(
        "select has_table_privilege('chancery_app', 'fsm.run', 'insert')
             or has_table_privilege('cutter_ro', 'identity.signing_key', 'select')
             or has_function_privilege('public', 'fsm.fn_machine_apply(jsonb, text, text, boolean, boolean)', 'execute')",
    )
    .fetch_one(&mut admin)
    .await
    .expect("an answer");
    assert!(!held, "all three are gone");
}

/// SEC-3: whoever migrates at the same time waits; one does the work, and the outcome is that of one.
#[tokio::test]
async fn migrations_at_once_converge() {
    let whole = TestDb::new().await;
    let db = bare().await;
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let target = db.target().clone();
            tokio::spawn(async move { target.migrate().await })
        })
        .collect();
    let mut busy = 0;
    for task in tasks {
        let migrated = task.await.expect("no panic").expect("migrated");
        assert_eq!(migrated.schema_version, Release::of_this_binary().schema_version);
        assert_eq!(migrated.applied.is_empty(), !migrated.rules_applied);
        busy += usize::from(migrated.rules_applied);
    }
    assert_eq!(busy, 1, "one of them did it");
    assert_same(&catalogue(&whole).await, &catalogue(&db).await, "a database of its own");
}

/// SEC-3: a database of a newer release is left alone by an older binary.
#[tokio::test]
async fn a_newer_schema_is_refused() {
    let db = TestDb::new().await;
    forget_the_release(&db).await;
    let mut admin = db.superuser().await;
    admin
        .execute("insert into internal.migration (version, name, sha256) values (9999, '9999_flying_cars', 'x')")
        .await
        .expect("the superuser may");
    let (rows, objects) = (db.fingerprint().await, catalogue(&db).await);
    let message = schema_error(db.target().migrate().await);
    assert!(message.contains("9999_flying_cars"), "{message}");
    assert_eq!(rows, db.fingerprint().await);
    assert_same(&objects, &catalogue(&db).await, "left alone");
}

/// SEC-3: an edited migration is refused: what was released is never edited. A run edits a fifth of them.
#[tokio::test]
async fn an_edited_migration_is_refused() {
    let db = TestDb::new().await;
    let names: Vec<(i32, String)> =
        sqlx::query_as("select version, name from internal.migration order by version")
            .fetch_all(&mut db.superuser().await)
            .await
            .expect("migrations");
    assert!(names.len() >= 5);
    let (rows, objects) = (db.fingerprint().await, catalogue(&db).await);
    let all = slice::asked("CHANCERY_TEST_WAYS").is_some_and(|ways| ways == "all");
    let (share, first) = if all { (1, 0) } else { (5, slice::seed(0) % 5) };
    let first = usize::try_from(first).expect("a small number");
    for (version, name) in names.into_iter().skip(first).step_by(share) {
        let mut admin = db.superuser().await;
        let edit = "update internal.migration set sha256 = reverse(sha256) where version = $1";
        sqlx::query(edit).bind(version).execute(&mut admin).await.expect("the superuser may");
        let message = schema_error(db.target().migrate().await);
        assert!(message.contains(&name), "{message}");
        sqlx::query(edit).bind(version).execute(&mut admin).await.expect("the superuser may");
        assert_eq!(rows, db.fingerprint().await);
        assert_same(&objects, &catalogue(&db).await, "left alone");
    }
}

/// Whatever is made under this name fails, as a full disk or a conflicting object would make it fail.
async fn obstruct(admin: &mut PgConnection, tag: &str, object: &str) {
    for statement in [
        format!(
            "create function public.obstacle() returns event_trigger language plpgsql as $body$
             begin
               if exists (select from pg_event_trigger_ddl_commands() c where c.object_identity like '{object}%') then
                 raise exception 'an obstacle at %', '{object}';
               end if;
             end $body$"
        ),
        // Whoever makes an object runs the function.
        "grant execute on function public.obstacle() to public".to_owned(),
        format!("create event trigger obstacle on ddl_command_end when tag in ('{tag}') execute function public.obstacle()"),
    ] {
        admin.execute(AssertSqlSafe(statement)).await.expect("the superuser may");
    }
}

/// SEC-3: whatever fails, at whichever point, leaves nothing behind; without the obstacle the same call installs.
#[tokio::test]
async fn a_failed_installation_leaves_nothing() {
    let whole = TestDb::new().await;
    let db = bare().await;
    let mut admin = db.superuser().await;
    let obstacles = [
        ("CREATE TABLE", "identity.identity_log", "0003_identity"),
        ("CREATE TABLE", "fsm.transition_log", "0005_fsm"),
        ("CREATE FUNCTION", "fsm.move(", "fsm/functions/move.sql"),
        ("CREATE TRIGGER", "run_is_never_deleted on fsm.run", "fsm/triggers.sql"),
    ];
    for (tag, object, piece) in obstacles {
        obstruct(&mut admin, tag, object).await;
        match db.target().migrate().await.expect_err("obstructed") {
            Error::Bug { message, .. } => {
                assert!(
                    message.contains(piece) && message.contains("an obstacle"),
                    "{piece}: {message}"
                );
            }
            other => panic!("{piece}: {other:?}"),
        }
        assert_eq!(schemas(&db).await, Vec::<String>::new(), "{piece}");
        admin
            .execute("drop event trigger obstacle; drop function public.obstacle()")
            .await
            .expect("out of the way");
    }
    // A schema of somebody else's is not taken over.
    admin.execute("create schema fsm").await.expect("the superuser may");
    let taken = db.target().migrate().await.expect_err("the name is taken");
    assert!(taken.to_string().contains("0001_schemas"), "{taken}");
    assert_eq!(schemas(&db).await, ["fsm"]);
    admin.execute("drop schema fsm").await.expect("out of the way");

    let installed = db.target().migrate().await.expect("nothing in the way");
    assert!(installed.rules_applied && installed.applied.len() >= 5);
    assert_same(&catalogue(&whole).await, &catalogue(&db).await, "a database of its own");
}

/// SEC-3: whatever somebody changed by hand in functions, views, triggers and words is as the release says afterwards.
#[tokio::test]
async fn a_release_undoes_what_was_changed_by_hand() {
    let db = TestDb::new().await;
    let objects = catalogue(&db).await;
    let words = "select md5(string_agg(r::text, '' order by r.code)) from config.refusal r";
    let mut admin = db.superuser().await;
    let before: String = sqlx::query_scalar(words).fetch_one(&mut admin).await.expect("words");
    for statement in [
        "create or replace function fsm.floor_state() returns table (code text, semantic_class text, ui_color_token text)
           language sql immutable as $body$ values ('anything', 'goes', 'here') $body$",
        "create or replace function internal.refuse_direct_write() returns trigger language plpgsql as $body$ begin return new; end $body$",
        "alter function fsm.fn_machine_apply(jsonb, text, text, boolean, boolean) security invoker",
        "create or replace view identity.v_identity_log as
           select l.identity_log_id, l.at, l.login_role, l.acted_by, l.action, l.principal, '{}'::jsonb as facts from identity.identity_log l",
        "alter table fsm.run disable trigger run_is_never_deleted",
        "drop trigger transition_log_is_append_only on fsm.transition_log",
        "alter table identity.identity_log enable replica trigger identity_log_is_append_only",
        "set role chancery_owner",
        "update config.refusal set title = 'Go away.', hint = 'Never come back.'",
    ] {
        admin.execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    assert_ne!(objects, catalogue(&db).await);
    forget_the_release(&db).await;
    db.target().migrate().await.expect("applied again");
    assert_same(&objects, &catalogue(&db).await, "as released");
    let after: String =
        sqlx::query_scalar(words).fetch_one(&mut db.superuser().await).await.expect("words");
    assert_eq!(before, after);
}

/// SEC-3: owners cannot log in, logins own nothing and cannot rise, and only the operator may become an owner.
#[tokio::test]
async fn roles_have_the_promised_attributes() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let owners = ["chancery_definer", "chancery_guard", "chancery_owner"];
    for name in owners.into_iter().chain(LOGINS.iter().map(|role| role.name())) {
        let (can_log_in, rises): (bool, bool) = sqlx::query_as(
            "select rolcanlogin, rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls from pg_roles where rolname = $1",
        )
        .bind(name)
        .fetch_one(&mut admin)
        .await
        .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((can_log_in, rises), (!owners.contains(&name), false), "{name}");
    }
    let ours: Vec<String> = owners
        .into_iter()
        .chain(LOGINS.iter().map(|role| role.name()))
        .map(str::to_owned)
        .collect();
    let members: Vec<(String, String)> = sqlx::query_as(
        "select member::regrole::text, roleid::regrole::text from pg_auth_members
          where member::regrole::text = any($1) or roleid::regrole::text = any($1) order by 1, 2",
    )
    .bind(&ours)
    .fetch_all(&mut admin)
    .await
    .expect("memberships");
    // The cluster is ours alone, so a backup may read what users have beside us.
    let expected = [("chancery_backup", "pg_read_all_data")]
        .into_iter()
        .chain(owners.map(|owner| ("chancery_migrator", owner)))
        .map(|(member, role)| (member.to_owned(), role.to_owned()));
    assert_eq!(members, expected.collect::<Vec<_>>());
    let inherits: bool =
        sqlx::query_scalar("select rolinherit from pg_roles where rolname = 'chancery_migrator'")
            .fetch_one(&mut admin)
            .await
            .expect("the operator");
    assert!(!inherits, "the operator has an owner's rights only while it acts as one");
    for role in LOGINS {
        let mut settings: Vec<String> =
            sqlx::query_scalar("select unnest(rolconfig) from pg_roles where rolname = $1")
                .bind(role.name())
                .fetch_all(&mut admin)
                .await
                .expect("settings");
        settings.sort();
        let mut expected = vec![
            "idle_in_transaction_session_timeout=60s",
            "jit=off",
            "lock_timeout=10s",
            "search_path=\"\"",
        ];
        // Those that only read, or write for somebody's program, are not held open for ever.
        if matches!(role, Role::Auditor | Role::CutterReadOnly | Role::BirthWriter) {
            expected.insert(1, "idle_session_timeout=30min");
        }
        if *role == Role::App {
            expected.insert(3, "max_parallel_workers_per_gather=0");
        }
        match role {
            // Dumps and migrations take as long as they take.
            Role::Migrator | Role::Auditor | Role::Backup => {}
            Role::CutterExec | Role::CutterVerify | Role::CutterReview => {
                expected.push("statement_timeout=15min");
            }
            Role::App | Role::CutterReadOnly | Role::BirthWriter => {
                expected.push("statement_timeout=60s")
            }
        }
        assert_eq!(settings, expected, "{role:?}");
    }
}

/// SEC-3: a database without a release says so, to whoever asks, and not that a table is missing.
#[tokio::test]
async fn nothing_installed_is_said_plainly() {
    let db = bare().await;
    for role in [Role::App, Role::Migrator, Role::Auditor] {
        schema_error(db.store(role).release().await);
    }
}
