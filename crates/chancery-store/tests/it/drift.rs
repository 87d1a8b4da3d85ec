//! SEC-3, AUD-1: no rule changes unseen. Every object that a release makes is changed once, and each one is named; every row that is a
//! rule is compared with what was logged of it; and `migrate` puts right what can be.

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

use chancery_store::drift::{Difference, drift_in};
use chancery_store::{Error, Role};
use chancery_testkit::{TestDb, shipped};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use crate::hardening::{lived_in, sqlstate};
use crate::support::{draft, letters};

const ROOMS: &str = "('internal', 'config', 'identity', 'event', 'fsm', 'audit', 'iu', 'cutter_governance', 'approval', 'kb', 'orchestrator', 'queue', 'governance', 'birth', 'workflow')";

/// SEC-3: the binary carries what a database has that this release was just put into. `INSTA_UPDATE=always` renews the file; whatever
/// changes below `sql/` changes it.
#[tokio::test]
async fn the_fingerprints_are_those_of_a_fresh_database() {
    let db = TestDb::new().await;
    let found = db.store(Role::Auditor).fingerprints().await.expect("an answer");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/drift/release.tsv");
    #[expect(
        clippy::disallowed_methods,
        reason = "whether snapshots are renewed is the runner's to say"
    )]
    let mode = env::var("INSTA_UPDATE");
    if mode.is_ok_and(|mode| mode == "always") {
        fs::write(&file, &found).expect("the file can be written");
    }
    let carried = fs::read_to_string(&file).expect("the file");
    let (carried, found): (BTreeSet<&str>, BTreeSet<&str>) =
        (carried.lines().collect(), found.lines().collect());
    let differs: Vec<_> = carried.symmetric_difference(&found).collect();
    assert!(
        differs.is_empty(),
        "renew src/drift/release.tsv: INSTA_UPDATE=always cargo nextest run -p chancery-store the_fingerprints, twice\n{differs:#?}"
    );
    assert!(carried.len() > 2_500, "there are {} lines", carried.len());
}

/// SEC-3: nothing that people and loops do through the doors counts as a difference, whoever looks.
#[tokio::test]
async fn a_database_that_was_worked_in_does_not_differ() {
    let (db, ..) = lived_in().await;
    for machine in shipped() {
        db.definition(&machine).await;
    }
    for role in [Role::Auditor, Role::App, Role::Migrator] {
        // The clock of this test, and the kind of approval that it made up: both by hand.
        let made_up = ["function internal.now()", "row approval.approval_kind note"];
        let found = names(&db.store(role).drift().await.expect("an answer"));
        assert_eq!(found, BTreeSet::from(made_up.map(str::to_owned)), "{role:?}");
    }
    // Settings are the owner's to change, by hand as well: that is on record, and no difference.
    let mut owner = db.connect(Role::Migrator).await;
    owner.execute("set role chancery_owner").await.expect("an owner");
    owner
        .execute(
            "update config.dot_config set value = '7' where key = 'drift.acknowledge.max_hours'",
        )
        .await
        .expect("changed");
    assert_eq!(db.store(Role::Auditor).drift().await.expect("an answer").len(), 2);
    let noted: Vec<(String, String)> = sqlx::query_as(
        "select login_role, via from audit.rule_change where row_key = 'drift.acknowledge.max_hours' order by rule_change_id desc limit 1",
    )
    .fetch_all(&mut owner)
    .await
    .expect("the history");
    assert_eq!(noted, [("chancery_migrator".to_owned(), "hand".to_owned())]);
}

/// What is found after these statements of a superuser; then everything is as it was.
async fn after(admin: &mut PgConnection, statements: &[&str]) -> Vec<Difference> {
    let mut transaction = admin.begin().await.expect("a transaction");
    for statement in statements {
        let done = transaction.execute(AssertSqlSafe((*statement).to_owned())).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let found = drift_in(&mut transaction).await.expect("an answer");
    transaction.rollback().await.expect("as it was");
    found
}

fn names(found: &[Difference]) -> BTreeSet<String> {
    found.iter().map(Difference::object).collect()
}

/// SEC-3: one mutant for each function, trigger, constraint, view, index, table, type, sequence and grant: all are named.
#[tokio::test]
async fn every_object_is_named_when_it_is_changed() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/drift/release.tsv");
    let release = fs::read_to_string(file).expect("the file");
    let released = |kinds: &[&str], with_rights: bool| -> BTreeSet<String> {
        let lines = release.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        lines
            .filter(|line| line.len() == 4 && kinds.contains(&line[0]))
            .filter(|line| !with_rights || !line[3].is_empty())
            .map(|line| format!("{} {}", line[0], line[1]))
            .collect()
    };
    let relation = |kinds: &str, change: &str| {
        format!(
            "update pg_class c set {change} from pg_namespace n where n.oid = c.relnamespace and n.nspname in {ROOMS} and c.relkind in ({kinds})"
        )
    };
    let function = |change: &str| {
        format!(
            "update pg_proc p set {change} from pg_namespace n where n.oid = p.pronamespace and n.nspname in {ROOMS}"
        )
    };
    let trigger = |change: &str| {
        format!("update pg_trigger t set {change} from pg_class c join pg_namespace n on n.oid = c.relnamespace
                  where c.oid = t.tgrelid and n.nspname in {ROOMS} and not t.tgisinternal")
    };
    let grant = |kinds: &str, what: &str| {
        format!("do $$ declare v text; begin
                   for v in select {kinds} and n.nspname in {ROOMS} loop execute format('grant {what} to pg_monitor', v); end loop; end $$")
    };
    let relations = "c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind in";
    let cases: Vec<(&str, String, BTreeSet<String>)> = vec![
        ("function bodies", function("prosrc = prosrc || ' '"), released(&["function"], false)),
        ("who a function runs as", function("prosecdef = not prosecdef"), released(&["function", "family"], false)),
        ("volatility", function("provolatile = case provolatile when 'i' then 's' else 'i' end"), released(&["function", "family"], false)),
        ("search paths", function("proconfig = '{search_path=public}'"), released(&["function", "family"], false)),
        ("triggers switched off", trigger("tgenabled = 'D'"), released(&["trigger"], false)),
        ("triggers at their default", trigger("tgenabled = 'O'"), released(&["trigger"], false)),
        ("triggers on other events", trigger("tgtype = tgtype # 4"), released(&["trigger"], false)),
        ("trigger functions", trigger("tgfoid = 'internal.now()'::regprocedure"), released(&["trigger"], false)),
        ("constraints", "update pg_constraint k set convalidated = not convalidated from pg_namespace n where n.oid = k.connamespace and n.nspname in ROOMS".replace("ROOMS", ROOMS),
         released(&["constraint"], false)),
        ("indexes", format!("update pg_index i set indisready = false from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = i.indexrelid and n.nspname in {ROOMS}"),
         released(&["index"], false)),
        ("view barriers", relation("'v'", "reloptions = null"), released(&["view"], false)),
        ("owners", relation("'r', 'p', 'v', 'S', 'c'", "relowner = 10"), released(&["table", "view", "sequence", "type"], false)),
        ("row security", relation("'r', 'p', 'v', 'S', 'c'", "relforcerowsecurity = true"), released(&["table", "view", "sequence", "type"], false)),
        ("columns", format!("update pg_attribute a set attnotnull = not attnotnull from pg_class c join pg_namespace n on n.oid = c.relnamespace
                              where c.oid = a.attrelid and a.attnum = 1 and c.relkind in ('r', 'p', 'v', 'c') and n.nspname in {ROOMS}"),
         released(&["table", "view", "type"], false)),
        ("domains", "alter domain internal.canonical_object set default '{}'".to_owned(), released(&["domain"], false)),
        ("schemas", format!("update pg_namespace n set nspowner = 10 where n.nspname in {ROOMS}"), released(&["schema"], false)),
        ("rights on functions", grant("p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.proname !~ '^family_[0-9]'", "execute on function %s"),
         released(&["function"], false)),
        ("rights on tables and views", grant(&format!("{relations} ('r', 'p', 'v')"), "select on table %s"), released(&["table", "view"], false)),
        ("rights on sequences", grant(&format!("{relations} ('S')"), "usage on sequence %s"), released(&["sequence"], false)),
        ("rights on schemas", grant("n.nspname from pg_namespace n where true", "create on schema %I"), released(&["schema"], false)),
        ("roles", "update pg_authid set rolbypassrls = true where rolname = any ('{chancery_owner,chancery_definer,chancery_guard,chancery_app,chancery_migrator,chancery_backup,auditor_ro,cutter_exec,cutter_verify,cutter_review,cutter_ro,birth_writer}')".to_owned(),
         released(&["role"], false)),
        ("memberships", "update pg_auth_members set admin_option = true".to_owned(), released(&["membership"], false)),
        ("default rights", "delete from pg_default_acl".to_owned(), released(&["default right"], false)),
        ("settings", "update pg_db_role_setting set setconfig = array(select replace(s, 'search_path=', 'search_path=public') from unnest(setconfig) s)".to_owned(), released(&["setting"], false)),
        ("rights on the database", "update pg_database set datacl = null where datname = current_database()".to_owned(), released(&["database"], false)),
    ];
    for (what, statement, expected) in cases {
        assert!(!expected.is_empty(), "{what}: the release has some");
        let found = names(&after(&mut admin, &[&statement]).await);
        let unseen: Vec<_> = expected.difference(&found).collect();
        assert!(
            unseen.is_empty(),
            "{what}: {} of {} are not named: {unseen:#?}",
            unseen.len(),
            expected.len()
        );
    }
    // A view that reads something else under the same names, and a constraint that asks for less.
    let kinds = released(&["view"], false);
    let found = names(
        &after(&mut admin, &[&format!(
            "do $$ declare v record; begin
               for v in select c.oid::regclass::text as name, pg_get_viewdef(c.oid) as text from pg_class c join pg_namespace n on n.oid = c.relnamespace
                         where c.relkind = 'v' and n.nspname in {ROOMS} loop
                 execute format('create or replace view %s with (security_barrier) as select * from (%s) x where current_user is not null', v.name, rtrim(v.text, ';'));
               end loop; end $$"
        )])
        .await,
    );
    assert_eq!(kinds.difference(&found).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(drift_in(&mut admin).await.expect("an answer"), [], "everything was put back");
}

/// SEC-3: every rule row that this release brings is named when somebody changes or deletes it past its history.
#[tokio::test]
async fn every_rule_row_is_named_when_it_is_changed() {
    let (db, _) = letters().await;
    let mut admin = db.superuser().await;
    let tables: Vec<(String, Vec<String>)> =
        sqlx::query_as("select table_name, key_columns from audit.rule_table order by 1")
            .fetch_all(&mut admin)
            .await
            .expect("the tables");
    let mut changed = 0;
    for (table, keys) in tables {
        let column: String = sqlx::query_scalar(
            "select a.attname::text from pg_attribute a where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
                and a.attname not in ('created_at', 'registered_at')
              order by a.attname = any ($2), a.atttypid in ('text'::regtype, 'integer'::regtype, 'boolean'::regtype, 'smallint'::regtype) desc, a.attnum desc limit 1",
        )
        .bind(&table)
        .bind(&keys)
        .fetch_one(&mut admin)
        .await
        .expect("a column");
        let key = keys.iter().map(|key| format!("coalesce({key}::text, '')")).collect::<Vec<_>>();
        let listed: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!(
            "select 'row {table} ' || {} from {table}",
            key.join(" || ' ' || ")
        )))
        .fetch_all(&mut admin)
        .await
        .expect("its rows");
        // Constraints of the table are not what is tried here.
        let open = format!(
            "do $$ declare v record; begin
               execute 'alter table {table} disable trigger user';
               for v in select conname from pg_constraint where conrelid = '{table}'::regclass and contype = 'c' loop
                 execute format('alter table {table} drop constraint %I cascade', v.conname);
               end loop; end $$"
        );
        let kind: String = sqlx::query_scalar(
            "select format_type(atttypid, atttypmod) from pg_attribute where attrelid = $1::regclass and attname = $2",
        )
        .bind(&table)
        .bind(&column)
        .fetch_one(&mut admin)
        .await
        .expect("its type");
        let value = match kind.as_str() {
            "text" => format!("coalesce({column}, '') || 'x'"),
            "integer" | "smallint" | "bigint" => format!("coalesce({column}, 0) + 1"),
            "boolean" => format!("not coalesce({column}, false)"),
            "jsonb" => "'\"changed\"'".to_owned(),
            "text[]" => format!("{column} || '{{x}}'"),
            "interval" => format!("coalesce({column}, '0') + interval '1 hour'"),
            other => panic!("say how to change {table}.{column}, which is {other}"),
        };
        if keys.contains(&column) {
            // Nothing but a key: it is deleted below.
            let pairs = [
                "identity.login_actor_class",
                "identity.class_permission",
                "identity.machine_permission",
            ];
            assert!(pairs.contains(&table.as_str()), "{table} has columns beside its key");
        } else {
            let update = format!("update {table} set {column} = {value}");
            let replica = "set local session_replication_role = replica";
            let found = names(&after(&mut admin, &[replica, &open, &update]).await);
            let unseen: Vec<_> = listed.iter().filter(|row| !found.contains(*row)).collect();
            assert!(unseen.is_empty(), "{update}: {unseen:#?}");
            changed += listed.len();
        }
        let delete = format!("delete from {table}");
        let replica = "set local session_replication_role = replica";
        let found = names(&after(&mut admin, &[replica, &open, &delete]).await);
        if table != "audit.rule_table" {
            let unseen: Vec<_> = listed.iter().filter(|row| !found.contains(*row)).collect();
            assert!(unseen.is_empty(), "{delete}: {unseen:#?}");
        }
    }
    assert!(changed > 400, "{changed} rows were changed");
}

/// What the reviewers of the product did, each of which passed unseen once, and how it is named.
const TRIED: &[(&str, &str)] = &[
    ("drop trigger transition_log_is_append_only on fsm.transition_log", "trigger fsm.transition_log transition_log_is_append_only"),
    ("create or replace function internal.refuse_direct_write() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp
       as 'begin return new; end'", "function internal.refuse_direct_write()"),
    ("grant update on fsm.run to chancery_app", "table fsm.run"),
    ("grant update (state_code) on fsm.run to chancery_app", "table fsm.run"),
    ("grant chancery_definer to chancery_app", "membership chancery_definer to chancery_app"),
    ("grant pg_write_all_data to chancery_app", "membership pg_write_all_data to chancery_app"),
    ("create function public.helper() returns void language sql security definer as 'delete from fsm.run'; alter function public.helper() owner to chancery_definer",
     "foreign function public.helper()"),
    ("create view public.peek as select * from identity.credential; alter view public.peek owner to chancery_owner", "foreign view public.peek"),
    ("create rule swallow as on insert to fsm.transition_log do instead nothing", "rule fsm.transition_log swallow"),
    ("create policy nobody on fsm.run using (false)", "policy fsm.run nobody"),
    ("create table public.heir () inherits (kb.revision)", "heir kb.revision <- public.heir"),
    ("create trigger a before insert on fsm.run for each row execute function suppress_redundant_updates_trigger()", "trigger fsm.run a"),
    ("create function fsm.fn_free() returns int language sql as 'select 1'", "function fsm.fn_free()"),
    ("alter role chancery_app set synchronous_commit = off", "setting chancery_app synchronous_commit"),
    ("drop index fsm.transition_log_idempotency_idx", "index fsm.transition_log_idempotency_idx"),
    ("create function pg_catalog.lower(integer) returns integer language sql as 'select 1'", "foreign function lower(integer)"),
];

/// SEC-3: each of the ways that strangers found round the rules is named, and only that.
#[tokio::test]
async fn what_strangers_changed_is_named() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let unique: String = sqlx::query_scalar(
        "select i.indexrelid::regclass::text from pg_index i where i.indrelid = 'fsm.transition_log'::regclass and i.indisunique and not i.indisprimary limit 1",
    )
    .fetch_one(&mut admin)
    .await
    .expect("an index");
    for (statement, object) in TRIED {
        let (statement, object) = (
            statement.replace("fsm.transition_log_idempotency_idx", &unique),
            object.replace("fsm.transition_log_idempotency_idx", &unique),
        );
        let preparation = "set local allow_system_table_mods = on";
        let constraint = statement.starts_with("drop index")
            && sqlx::query_scalar::<_, bool>(
                "select exists (select from pg_constraint where conindid = $1::regclass)",
            )
            .bind(&unique)
            .fetch_one(&mut admin)
            .await
            .expect("an answer");
        if constraint {
            continue;
        }
        let found = names(&after(&mut admin, &[preparation, &statement]).await);
        assert_eq!(found, BTreeSet::from([object.clone()]), "{statement}");
    }
    // A plain index of the server's administrator decides nothing.
    assert_eq!(after(&mut admin, &["create index quick on fsm.run (started_by)"]).await, []);
}

/// SEC-3: an altered machine and a lowered quorum are named, also when the triggers kept a history of it.
#[tokio::test]
async fn rules_that_were_changed_by_hand_are_named() {
    let (db, _) = letters().await;
    let mut admin = db.superuser().await;
    for statements in [
        vec![
            "set local role chancery_owner",
            "update approval.quorum_rule set sovereigns = 0 where risk = 'high'",
            "reset role",
        ],
        vec![
            "alter table approval.quorum_rule disable trigger user",
            "update approval.quorum_rule set sovereigns = 0 where risk = 'high'",
            "alter table approval.quorum_rule enable always trigger changes_through_its_door",
            "alter table approval.quorum_rule enable always trigger is_never_emptied",
            "alter table approval.quorum_rule enable always trigger zz_keeps_its_history",
        ],
    ] {
        let found = after(&mut admin, &statements).await;
        assert_eq!(
            names(&found),
            BTreeSet::from(["row approval.quorum_rule high".to_owned()]),
            "{found:?}"
        );
    }
    let found = after(&mut admin, &[
        "set local role chancery_definer",
        "delete from fsm.transition_def where state_machine_id = 'letter@1.0.0' and label = 'post'",
        "reset role",
    ])
    .await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].name.starts_with("fsm.transition_def ") && found[0].difference.contains("by hand"),
        "{found:?}"
    );
}

/// SEC-3: `migrate` of the same release puts back what can be put back without a choice, and names the rest.
#[tokio::test]
async fn migrate_mends_what_was_changed() {
    let (db, store) = letters().await;
    draft(&store).await;
    let mut admin = db.superuser().await;
    for statement in [
        "drop trigger transition_log_is_append_only on fsm.transition_log",
        "create or replace function internal.refuse_direct_write() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as 'begin return new; end'",
        "grant update on fsm.run to chancery_app",
        "grant select on fsm.run to pg_monitor",
        "create function public.helper() returns void language sql security definer as 'delete from fsm.run'",
        "alter function public.helper() owner to chancery_definer",
        "create rule swallow as on insert to kb.revision do instead nothing",
        "create view fsm.v_more as select 1 as one",
        "create or replace view approval.v_quorum_rule with (security_barrier) as select t.risk, 0 as sovereigns, t.reviewers, t.approvals, t.rejects_allowed, t.description from approval.quorum_rule t",
        "set role chancery_owner",
        "update approval.quorum_rule set sovereigns = 0 where risk = 'high'",
        "update fsm.transition_def set guard_ids = '{}' where state_machine_id = 'letter@1.0.0'",
        "reset role",
        "create trigger a before insert on fsm.run for each row execute function suppress_redundant_updates_trigger()",
        "alter table fsm.run add column more text",
    ] {
        admin.execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    assert!(db.store(Role::App).drift().await.expect("an answer").len() >= 10);
    let migrated = db.target().migrate().await.expect("the same release");
    assert!(migrated.rules_applied && migrated.applied.is_empty());
    let left: Vec<String> = migrated.differences.iter().map(Difference::object).collect();
    assert_eq!(
        left,
        ["table fsm.run", "view fsm.v_more"],
        "a column has data in it, and whose view it is nobody knows"
    );
    assert_eq!(names(&db.store(Role::App).drift().await.expect("an answer")).len(), 2);
    let error = admin.execute("delete from fsm.transition_log").await.expect_err("guarded again");
    assert_eq!(sqlstate(&error), "RS016");
    let sovereigns: i32 = sqlx::query_scalar(
        "select sovereigns::integer from approval.quorum_rule where risk = 'high'",
    )
    .fetch_one(&mut admin)
    .await
    .expect("the rule");
    assert_eq!(sovereigns, 1);
}

/// SEC-3: an operator answers for one difference, by name, with a reason and for a time; a change of the same thing is another one.
#[tokio::test]
async fn a_difference_is_acknowledged_for_a_time() {
    let (db, store) = letters().await;
    let mut admin = db.superuser().await;
    admin.execute("grant select on fsm.run to chancery_app").await.expect("granted");
    let found = store.drift().await.expect("an answer");
    assert_eq!(names(&found), BTreeSet::from(["table fsm.run".to_owned()]));
    assert_eq!(found[0].difference, "rights that this release does not give: chancery_app select");
    let operator = db.store(Role::Migrator);
    let (object, digest) = (found[0].object(), found[0].found.clone());
    for (hours, reason, why) in
        [(0, "known", "hours"), (169, "known", "hours"), (1, " ", "no_reason")]
    {
        let refused =
            operator.fn_drift_acknowledge(&object, &digest, hours, reason, "writer").await;
        let error = refused.expect_err("refused");
        let refusal = error.refusal().expect("a refusal");
        assert_eq!(
            (refusal.code.to_string().as_str(), refusal.problems[0].facts["why"].as_str()),
            ("RI057", Some(why))
        );
    }
    let denied = store.fn_drift_acknowledge(&object, &digest, 1, "known", "writer").await;
    assert!(matches!(denied, Err(Error::Denied(_))), "no service may: {denied:?}");
    let written: i64 = sqlx::query_scalar("select count(*) from audit.drift_acknowledgement")
        .fetch_one(&mut admin)
        .await
        .expect("a count");
    assert_eq!(written, 0, "a refusal writes nothing");
    operator
        .fn_drift_acknowledge(&object, &digest, 1, "a report until Friday", "writer")
        .await
        .expect("on record");
    let found = store.drift().await.expect("an answer");
    let acknowledged = found[0].acknowledged.as_ref().expect("acknowledged");
    assert_eq!(
        (acknowledged.acknowledged_by.as_str(), acknowledged.reason.as_str()),
        ("writer", "a report until Friday")
    );
    admin.execute("grant update on fsm.run to chancery_app").await.expect("granted");
    assert_eq!(
        store.drift().await.expect("an answer")[0].acknowledged,
        None,
        "that is another difference"
    );
    admin.execute("revoke update on fsm.run from chancery_app").await.expect("revoked");
    assert!(store.drift().await.expect("an answer")[0].acknowledged.is_some());
    admin
        .execute("alter table audit.drift_acknowledgement disable trigger user; update audit.drift_acknowledgement set acknowledged_at = acknowledged_at - interval '2 hours', expires_at = expires_at - interval '2 hours';
                  alter table audit.drift_acknowledgement enable always trigger only_by_the_doors; alter table audit.drift_acknowledgement enable always trigger is_append_only;
                  alter table audit.drift_acknowledgement enable always trigger is_never_emptied; alter table audit.drift_acknowledgement enable always trigger changes_through_its_door")
        .await
        .expect("two hours later");
    assert_eq!(store.drift().await.expect("an answer")[0].acknowledged, None, "its time is over");
}
