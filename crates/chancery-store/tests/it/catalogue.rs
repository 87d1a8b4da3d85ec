//! Lists that fail when they are incomplete: what the database's own catalogue says about guards and grants.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use chancery_model::machine::{
    ActorClass, GuardKind, Lane, Scope, SemanticClass, Stream, TriggerKind,
};
use chancery_store::{LOGINS, Role};
use chancery_testkit::TestDb;
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use crate::source::{declared_owner, function_files};
use crate::support::letters;
use crate::tables::{
    APPENDED_BY_RIGHT_ALONE, FACTS, HISTORY, NOTES, RULES, all_tables, with_partitions,
};

const ROOMS: &str = "('internal', 'config', 'identity', 'event', 'fsm', 'audit', 'iu', 'cutter_governance', 'approval', 'kb', 'orchestrator', 'queue', 'governance', 'birth', 'workflow')";

/// Made by `internal.generate_dispatchers` and `birth.generate_families`, so there is no file of theirs.
const GENERATED: [&str; 20] = [
    "birth.family_1",
    "fsm.ask_predicate",
    "fsm.assert_log_birth_permit",
    "fsm.assert_log_custom",
    "fsm.assert_log_cut_request",
    "fsm.assert_log_dlq_replay",
    "fsm.assert_log_finding",
    "fsm.assert_log_governance_candidate",
    "fsm.assert_log_job",
    "fsm.assert_log_orchestrator_run",
    "fsm.assert_log_proposal",
    "fsm.assert_log_step",
    "fsm.assert_log_task",
    "fsm.assert_log_workflow_change",
    "fsm.assert_log_workflow_run",
    "fsm.is_run_kind",
    "fsm.lock_room_reads",
    "fsm.run_cas",
    "fsm.run_lock",
    "fsm.run_peek",
];

struct Function {
    name: String,
    signature: String,
    owner: String,
    security_definer: bool,
    settings: Vec<String>,
    open_to_public: bool,
}

async fn functions(connection: &mut PgConnection) -> Vec<Function> {
    let rows: Vec<(String, String, String, bool, Vec<String>, bool)> = sqlx::query_as(AssertSqlSafe(format!(
        "select n.nspname || '.' || p.proname, p.oid::regprocedure::text, p.proowner::regrole::text, p.prosecdef,
                coalesce(p.proconfig, '{{}}'),
                exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
                         where a.grantee = 0 and a.privilege_type = 'EXECUTE')
           from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname in {ROOMS} order by 1, 2"
    )))
    .fetch_all(connection)
    .await
    .expect("the functions");
    rows.into_iter()
        .map(|(name, signature, owner, security_definer, settings, open_to_public)| Function {
            name,
            signature,
            owner,
            security_definer,
            settings,
            open_to_public,
        })
        .collect()
}

/// SEC-3, E4, E5: no function is open to PUBLIC; one that lends its owner's rights pins its path, the temporary schema last.
#[tokio::test]
async fn functions_are_closed_and_pinned() {
    let db = TestDb::new().await;
    let functions = functions(&mut db.superuser().await).await;
    let open: Vec<&str> =
        functions.iter().filter(|f| f.open_to_public).map(|f| f.signature.as_str()).collect();
    assert_eq!(open, Vec::<&str>::new(), "executable by PUBLIC");
    let loose: Vec<&str> = functions
        .iter()
        .filter(|f| f.security_definer)
        .filter(|f| {
            !f.settings.iter().any(|s| s.starts_with("search_path=") && s.ends_with("pg_temp"))
        })
        .map(|f| f.signature.as_str())
        .collect();
    assert_eq!(loose, Vec::<&str>::new(), "without a pinned search path");
}

/// SEC-3: a function belongs to the role that its file names, and to chancery_definer when it names none.
#[tokio::test]
async fn functions_belong_to_whom_their_files_say() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let installed: BTreeMap<String, String> =
        functions(&mut admin).await.into_iter().map(|f| (f.name, f.owner)).collect();
    let mut expected: BTreeMap<String, String> = function_files()
        .into_iter()
        .map(|file| (file.name(), declared_owner(&file.text).to_owned()))
        .collect();
    expected.extend(GENERATED.map(|name| (name.to_owned(), "chancery_definer".to_owned())));
    // Made by internal.generate_digests, one for each table of evidence.
    let stamps: Vec<String> = sqlx::query_scalar(
        "select 'audit.stamp_' || replace(table_name, '.', '_') from audit.evidence_def",
    )
    .fetch_all(&mut admin)
    .await
    .expect("the tables of evidence");
    expected.extend(stamps.into_iter().map(|name| (name, "chancery_definer".to_owned())));
    assert_eq!(installed, expected);
}

/// SEC-3, E1: every trigger of ours fires always, whatever the session's replication role.
#[tokio::test]
async fn every_trigger_fires_always() {
    let db = TestDb::new().await;
    let others: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!(
        "select t.tgname || ' on ' || c.oid::regclass || ' is ' || t.tgenabled::text
           from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
          where n.nspname in {ROOMS} and not t.tgisinternal and t.tgenabled <> 'A'"
    )))
    .fetch_all(&mut db.superuser().await)
    .await
    .expect("triggers");
    assert_eq!(others, Vec::<String>::new());
}

/// SEC-3: every table stands in exactly one of the lists in tables.rs.
#[tokio::test]
async fn every_table_has_its_kind() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let listed = with_partitions(&mut admin, &[HISTORY, FACTS, RULES, NOTES]).await;
    assert_eq!(all_tables(&mut admin).await, listed);
    let distinct: BTreeSet<&str> = [HISTORY, FACTS, RULES, NOTES].concat().into_iter().collect();
    assert_eq!(
        distinct.len(),
        HISTORY.len() + FACTS.len() + RULES.len() + NOTES.len(),
        "one kind each"
    );
}

/// SEC-3, E2: every table and partition has its row guard against each way of writing, and one against TRUNCATE.
#[tokio::test]
async fn every_table_has_its_guards() {
    const ROW: i16 = 1;
    const BEFORE: i16 = 2;
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let mut missing = Vec::new();
    let guarded = with_partitions(&mut admin, &[HISTORY, FACTS, RULES]).await;
    let history = with_partitions(&mut admin, &[HISTORY]).await;
    for table in &guarded {
        // The log's guard against INSERT and the queue's against everything ask once a statement, before the first row, and names its logins itself: a clause
        // would be parsed anew in every move (docs/decisions/0012-a-short-way-through-the-engine.md). They count as row guards, as does what closes a partition to whoever names it.
        let triggers: Vec<(i16, bool)> = sqlx::query_as(
            "select case when t.tgfoid in ('internal.refuse_other_logins'::regproc, 'queue.only_by_the_doors'::regproc) or t.tgname = 'is_written_through_its_table' then (t.tgtype | 1)::int2
                         else t.tgtype end, t.tgqual is null
               from pg_trigger t
              where t.tgrelid = $1::regclass and not t.tgisinternal
                and (t.tgfoid in ('internal.refuse_direct_write'::regproc, 'iu.fn_iu_gateway_write_guard'::regproc, 'iu.only_by_the_doors'::regproc,
                                  'birth.only_by_the_gate'::regproc, 'birth.only_by_a_birth'::regproc)
                     or (t.tgfoid in ('internal.refuse_other_logins'::regproc, 'queue.only_by_the_doors'::regproc) and t.tgqual is null
                         and (t.tgrelid, t.tgtype) in (('fsm.transition_log'::regclass, 6), ('queue.job_queue'::regclass, 30), ('queue.job_finished'::regclass, 6))))",
        )
        .bind(table)
        .fetch_all(&mut admin)
        .await
        .expect("triggers");
        for (way, bit, level) in
            [("INSERT", 4, ROW), ("DELETE", 8, ROW), ("UPDATE", 16, ROW), ("TRUNCATE", 32, 0)]
        {
            // History is closed to the role of the doors too: no condition lets anyone through.
            let closed_to_all = way == "TRUNCATE" || (way != "INSERT" && history.contains(table));
            // What a run was born with is held after the write, which is undone: a trigger before it would lock every row that is
            // moved (docs/decisions/0012-a-short-way-through-the-engine.md).
            let after = way == "UPDATE" && table == "fsm.run";
            let is_guard = |&(kind, unconditional): &(i16, bool)| {
                kind & bit != 0
                    && (kind & BEFORE != 0 || after)
                    && kind & ROW == level
                    && (unconditional || !closed_to_all)
            };
            let by_right_alone = way == "INSERT" && table.starts_with(APPENDED_BY_RIGHT_ALONE);
            if !triggers.iter().any(is_guard) && !by_right_alone {
                missing.push(format!("{way} on {table}"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

/// SEC-3: who may call which door. The migrator calls the others as their owner, whom it can become.
#[tokio::test]
async fn the_matrix_of_doors() {
    let db = TestDb::new().await;
    let rows: Vec<(String, Vec<String>)> = sqlx::query_as(AssertSqlSafe(format!(
        "select p.oid::regprocedure::text,
                array(select a.grantee::regrole::text from aclexplode(p.proacl) a where a.privilege_type = 'EXECUTE' and a.grantee <> p.proowner)
           from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname in {ROOMS} order by 1"
    )))
    .fetch_all(&mut db.superuser().await)
    .await
    .expect("grants");
    let doors: Vec<_> = rows
        .into_iter()
        .filter(|(signature, grantees)| signature.contains(".fn_") || !grantees.is_empty())
        .collect();
    insta::assert_snapshot!(matrix(&doors));
}

/// SEC-3: who may read which table or view, and with which other rights.
#[tokio::test]
async fn the_matrix_of_views() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let query = "select c.oid::regclass::text,
                array(select distinct a.grantee::regrole::text from aclexplode(c.relacl) a
                       where a.privilege_type = 'SELECT' and a.grantee::regrole::text = any($1))
           from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where n.nspname in ROOMS and c.relkind in ('r', 'p', 'v') order by c.relkind = 'v', 1";
    let logins: Vec<String> = LOGINS.iter().map(|role| role.name().to_owned()).collect();
    let rows: Vec<(String, Vec<String>)> =
        sqlx::query_as(AssertSqlSafe(query.replace("ROOMS", ROOMS)))
            .bind(&logins)
            .fetch_all(&mut admin)
            .await
            .expect("grants");
    // Partitions are reached through their table, and a dump names them by themselves.
    let whole: Vec<_> = rows
        .into_iter()
        .filter(|(name, _)| {
            !name.ends_with(|c: char| c.is_ascii_digit()) && !name.ends_with("_default")
        })
        .collect();
    insta::assert_snapshot!(matrix(&whole));

    let writes: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!(
        "select a.grantee::regrole || ' may ' || a.privilege_type || ' ' || c.oid::regclass
           from pg_class c join pg_namespace n on n.oid = c.relnamespace, aclexplode(c.relacl) a
          where n.nspname in {ROOMS} and a.privilege_type <> 'SELECT' and a.grantee::regrole::text = any($1)
         union all
         select a.grantee::regrole || ' may ' || a.privilege_type || ' ' || c.oid::regclass || '.' || t.attname
           from pg_attribute t join pg_class c on c.oid = t.attrelid join pg_namespace n on n.oid = c.relnamespace, aclexplode(t.attacl) a
          where n.nspname in {ROOMS} and a.grantee::regrole::text = any($1)"
    )))
    .bind(&logins)
    .fetch_all(&mut admin)
    .await
    .expect("grants");
    assert_eq!(writes, Vec::<String>::new(), "a login was given more than SELECT");
    let unread: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!(
        "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where n.nspname in {ROOMS} and c.relkind in ('r', 'p', 'S') and not has_table_privilege('chancery_backup', c.oid, 'SELECT')"
    )))
    .fetch_all(&mut admin)
    .await
    .expect("grants");
    assert_eq!(unread, Vec::<String>::new(), "a dump would miss these");
}

fn matrix(rows: &[(String, Vec<String>)]) -> String {
    let mut text = String::new();
    let names: Vec<&str> = LOGINS.iter().map(|role| role.name()).collect();
    let _ = writeln!(text, "| | {} |", names.join(" | "));
    let _ = writeln!(text, "|---|{}", ":-:|".repeat(names.len()));
    for (name, grantees) in rows {
        let cells: Vec<&str> = names
            .iter()
            .map(|name| if grantees.iter().any(|g| g == name) { "✓" } else { "" })
            .collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    text
}

/// FSM-5: what a move reads from transition_def is what the registries say.
#[tokio::test]
async fn compiled_rules_say_what_the_registries_say() {
    let (db, _store) = letters().await;
    for definition in chancery_testkit::shipped() {
        let operator = db.store(Role::Migrator);
        chancery_engine::registry::apply_definition(&operator, &definition, "test", false)
            .await
            .expect("stored");
    }
    let mut admin = db.superuser().await;
    let columns: Vec<String> = sqlx::query_scalar(
        "select attname::text from pg_attribute where attrelid = 'fsm.v_compiled_transition'::regclass and attnum > 0 and attname <> 'transition_id'",
    )
    .fetch_all(&mut admin)
    .await
    .expect("columns");
    assert!(columns.len() >= 4, "{columns:?}");
    for column in columns {
        let differing: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!(
            "select t.transition_id from fsm.transition_def t join fsm.v_compiled_transition c using (transition_id)
              where t.{column}::text is distinct from c.{column}::text"
        )))
        .fetch_all(&mut admin)
        .await
        .expect("a comparison");
        assert_eq!(differing, Vec::<String>::new(), "{column}");
    }
}

/// FSM-1: each closed word of a machine file is a word of the database, and the other way round.
#[tokio::test]
async fn the_words_are_the_same_on_both_sides() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let classes: BTreeSet<String> = sqlx::query_scalar("select code from identity.actor_class")
        .fetch_all(&mut admin)
        .await
        .expect("classes")
        .into_iter()
        .collect();
    assert_eq!(classes, words(ActorClass::ALL, |w| w.code()));
    let checks = [
        ("machine_scope_is_known", words(Scope::ALL, |w| w.code())),
        ("trigger_kind_is_known", words(TriggerKind::ALL, |w| w.code())),
        ("state_class_is_known", words(SemanticClass::ALL, |w| w.code())),
        ("guard_kind_is_known", words(GuardKind::ALL, |w| w.code())),
        ("event_stream_is_known", words(Stream::ALL, |w| w.code())),
        ("delivery_lane_is_known", words(Lane::ALL, |w| w.code())),
    ];
    for (constraint, expected) in checks {
        let text: String = sqlx::query_scalar(
            "select pg_get_constraintdef(oid) from pg_constraint where conname = $1",
        )
        .bind(constraint)
        .fetch_one(&mut admin)
        .await
        .expect("a constraint");
        let known: BTreeSet<String> =
            text.split('\'').skip(1).step_by(2).map(str::to_owned).collect();
        assert_eq!(known, expected, "{constraint}");
    }
}

fn words<T: Copy>(all: &[T], code: impl Fn(T) -> &'static str) -> BTreeSet<String> {
    all.iter().map(|&word| code(word).to_owned()).collect()
}

/// FSM-6, CUT-1: one function writes the states of a kind: the engine itself or, for the kinds of the rooms, what is generated for it. A batch
/// of plain moves has a statement of its own for the kind that everybody has.
#[tokio::test]
async fn one_function_writes_the_states_of_a_kind() {
    let db = TestDb::new().await;
    // The general door has the engine's own text, so it is not a second writer.
    for (table, expected) in [
        ("fsm\\.run", &["fsm.fn_state_transition_apply", "fsm.move", "fsm.move_together"][..]),
        ("cutter_governance\\.decision_backlog_entry", &["fsm.run_cas"]),
        ("orchestrator\\.run", &["fsm.run_cas"]),
        ("governance\\.system_issues", &["fsm.run_cas"]),
    ] {
        let writers: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!(
            "select n.nspname || '.' || p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
              where n.nspname in {ROOMS} and p.prosrc ~* 'update\\s+(only\\s+)?{table}\\M' order by 1"
        )))
        .fetch_all(&mut db.superuser().await)
        .await
        .expect("functions");
        assert_eq!(writers, expected, "{table}");
    }
}

/// FSM-6: the general door and the engine behind the batches are one text, so that they cannot differ; the door only raises.
#[tokio::test]
async fn the_general_door_is_the_engine() {
    let db = TestDb::new().await;
    let (door, engine): (String, String) = sqlx::query_as(
        "select d.prosrc, m.prosrc from pg_proc d, pg_proc m
          where d.oid = 'fsm.fn_state_transition_apply'::regproc and m.oid = 'fsm.move'::regproc",
    )
    .fetch_one(&mut db.superuser().await)
    .await
    .expect("both functions");
    assert!(engine.contains("p_door"), "the engine knows when it is the door");
    assert_eq!(door, engine.replace("p_door", "true").replace("p_verified", "null::bytea"));
}

/// AUD-1: every table of evidence can be read whole: its raw view has all its columns, so that a digest can be computed again
/// by somebody else.
#[tokio::test]
async fn every_table_of_evidence_can_be_read_whole() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let tables: Vec<String> =
        sqlx::query_scalar("select table_name from audit.evidence_def order by 1")
            .fetch_all(&mut admin)
            .await
            .expect("the tables of evidence");
    assert_eq!(tables.len(), 42);
    for table in tables {
        let (room, name) = table.split_once('.').expect("room.table");
        let columns = async |admin: &mut PgConnection, relation: String| -> BTreeSet<String> {
            sqlx::query_scalar(
                "select attname::text from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped",
            )
            .bind(relation)
            .fetch_all(admin)
            .await
            .expect("columns")
            .into_iter()
            .collect()
        };
        let stored = columns(&mut admin, table.clone()).await;
        assert_eq!(stored, columns(&mut admin, format!("{room}.v_{name}")).await, "{table}");
        assert!(stored.contains("row_digest"), "{table} carries no digest");
    }
}
