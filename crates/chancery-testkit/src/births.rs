//! A row in each table of births, for tests over all tables.

use chancery_store::Role;
use sqlx::Executor as _;

use crate::{TestDb, shipped};

/// A row in each table of births. The database has units already, which were born by permit.
///
/// # Panics
/// When the database says no.
pub async fn live(db: &TestDb) {
    let machine = shipped().into_iter().find(|machine| machine.machine == "governance_candidate");
    db.definition(&machine.expect("the machine of candidates")).await;
    let handed = "select ((birth.fn_birth_handoff('chancery') ->> 'handed')::int > 0)::text";
    assert_eq!(db.text_as(Role::App, handed).await, "true");
    let step = "select jsonb_array_length(iu.fn_dot_iu_command_log(
        'dot_birth_admit', 'apply', 'REQUESTED', 'ok', sha256('a request'), '{}', '{}', 'chancery'))::text";
    assert_eq!(db.text_as(Role::App, step).await, "1");
    let mut admin = db.superuser().await;
    for statement in [
        "set role chancery_definer",
        "select birth.note_family(f, 'changed', 'chancery') from birth.family f",
        "reset role",
        // By its door it takes two people and an approval.
        "alter table birth.break_glass disable trigger only_by_the_doors",
        "set role chancery_definer",
        "insert into birth.break_glass (break_glass_id, collection_name, reason, approval_id, opened_by, opened_at, expires_at)
         values (internal.uuid_v7(), 'nothing', 'a test', internal.uuid_v7(), 'chancery', now(), now() + interval '1 minute')",
        "reset role",
        "alter table birth.break_glass enable always trigger only_by_the_doors",
    ] {
        admin.execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}
