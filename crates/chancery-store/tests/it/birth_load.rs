//! A shop whose items are an enforced family, and what must hold of it at any moment that somebody can see.

use chancery_engine::audit::{self, Pins};
use chancery_store::Store;
use serde_json::Value;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};

/// Makes the table and puts it under admission. Its owner is the superuser who is asked here.
pub(crate) async fn protect(owner: &mut PgConnection, ttl_seconds: u32) {
    for statement in [
        "create schema shop",
        "create table shop.item (code text primary key, slot integer not null unique)",
    ] {
        owner.execute(statement).await.expect("a shop");
    }
    let policy: Value = sqlx::query_scalar(AssertSqlSafe(format!(
        "select birth.fn_family_put('shop.item'::regclass, 'code', null, '^item-[0-9]+$', {ttl_seconds}, internal.now(), false, 'governed', 'chancery')"
    )))
    .fetch_one(&mut *owner)
    .await
    .expect("a family");
    for statement in texts(&policy["statements"]).chain(texts(&policy["grants"])) {
        owner.execute(AssertSqlSafe(statement)).await.expect("the owner may");
    }
    owner.execute("grant select, delete on shop.item to birth_writer").await.expect("a grant");
}

fn texts(list: &Value) -> impl Iterator<Item = String> {
    let list = list.as_array().expect("a list").clone();
    list.into_iter().map(|text| text.as_str().expect("a text").to_owned())
}

/// What there must be none of.
const NEVER: [(&str, &str); 7] = [
    (
        "permits that are used and not settled",
        "birth.birth_admission_permit where status = 'CONSUMED'",
    ),
    (
        "births without a finalized permit of their own",
        "birth.birth_registry b left join birth.birth_admission_permit p on p.permit_id = b.permit_id and p.finalized_birth_id = b.birth_id
            and p.entity_code = b.entity_code and p.collection_name = b.collection_name
          where b.admission <> 'permit' or p.status is distinct from 'FINALIZED'",
    ),
    (
        "finalized permits without their birth, or births of permits that are not",
        "birth.birth_admission_permit p left join birth.birth_registry b on b.birth_id = p.finalized_birth_id and b.permit_id = p.permit_id
          where (p.status = 'FINALIZED') <> (b.birth_id is not null)",
    ),
    (
        "rows without a birth, or births without a row",
        "shop.item i full join (select * from birth.birth_registry where collection_name = 'shop.item') b on b.entity_code = i.code
          where i.code is null or b.birth_id is null",
    ),
    ("violations", "birth.v_birth_admission_violation"),
    (
        "permits that stand elsewhere than their log says",
        "birth.birth_admission_permit p
          cross join lateral (select l.to_state, l.seq, l.hash from fsm.transition_log l where l.run_id = p.permit_id order by l.seq desc limit 1) l
          where (p.status, p.seq, p.head_hash) is distinct from (l.to_state, l.seq, l.hash)",
    ),
    (
        "permits without a log, log rows without their event, or events without a log row",
        "(select p.permit_id as run_id, 1::bigint as seq from birth.birth_admission_permit p
          union select l.run_id, l.seq from fsm.transition_log l where l.run_kind = 'birth_permit' and l.event_type is not null) l
           full join (select o.subject_id, o.subject_seq from event.event_outbox o where o.subject_kind = 'birth_permit') o
             on o.subject_id = l.run_id and o.subject_seq = l.seq
          where l.run_id is null or o.subject_id is null",
    ),
];

/// ADM-3, ADM-4: no birth without its permit, no permit without its birth, and both as the log says.
pub(crate) async fn assert_whole(admin: &mut PgConnection) {
    for (what, rows) in NEVER {
        let count: i64 = sqlx::query_scalar(AssertSqlSafe(format!("select count(*) from {rows}")))
            .fetch_one(&mut *admin)
            .await
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(count, 0, "{what}");
    }
}

/// AUD-1: every chain is whole from its first row.
pub(crate) async fn assert_chained(auditor: &Store) {
    let report = audit::verify(auditor, Pins::default(), |_| ()).await.expect("an audit");
    assert_eq!(report.mismatches, [], "the chains are whole");
}
