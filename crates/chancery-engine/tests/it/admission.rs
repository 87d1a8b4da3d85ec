//! ADM-1, ADM-2, ADM-3, ADM-8: an admission is completed by the same command, wherever the one before it ended.

use chancery_engine::admission::{self, Admission, Advance, End, Object, Standing};
use chancery_engine::identity::{Keystore, new_key};
use chancery_engine::registry;
use chancery_engine::run::Actor;
use chancery_store::birth::{Family, NewFamily, Writer};
use chancery_store::{Role, Store};
use chancery_testkit::TestDb;
use serde_json::{Value, json};

const CLASS: &str = "pic_human";
const STEPS: &str = "REQUESTED VALIDATED RESERVED CONSUMED FINALIZED HANDOFF_ENQ DONE";

/// A shop with one protected table, and Alice, who signs.
struct Shop {
    db: TestDb,
    app: Store,
    writer: Writer,
    alice: Actor,
    film: Family,
}

impl Shop {
    async fn new() -> Self {
        let db = TestDb::new().await;
        let operator = db.store(Role::Migrator);
        registry::install_product_machines(&operator, "test").await.expect("the machines");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keystore = Keystore::below(folder.path());
        operator
            .fn_principal_add("alice", "human", &[CLASS.to_owned()], None)
            .await
            .expect("alice");
        new_key(&operator, &keystore, "alice", None).await.expect("her key");
        db.forge(&[
            "create schema shop",
            "create table shop.film (id serial primary key, code text not null unique, title text, minutes int check (minutes > 0))",
        ])
        .await;
        let family = NewFamily {
            table: "shop.film".to_owned(),
            code_column: Some("code".to_owned()),
            name_column: Some("title".to_owned()),
            enforce: true,
            ..NewFamily::default()
        };
        let film = db.target().fn_family_put(&family, "alice").await.expect("protected").family;
        let app = db.store(Role::App);
        let alice = Actor::open(&app, &keystore, "alice").await.expect("alice");
        let writer = Writer::of(db.target()).expect("the writer's login");
        Self { db, app, writer, alice, film }
    }

    async fn open<'a>(&'a self, object: &'a Object) -> Admission<'a> {
        Admission::open(&self.app, &self.writer, &self.alice, CLASS, &self.film, object, None)
            .await
            .expect("opened")
    }

    async fn admit(&self, object: &Object) -> End {
        let Self { app, writer, alice, film, .. } = self;
        admission::admit(app, writer, alice, CLASS, film, object, None, |_| {})
            .await
            .expect("an end")
    }

    /// What stands under a code: rows, permits by status, births, candidates, and the ledger, attempt by attempt.
    async fn facts(&self, code: &str) -> String {
        self.db
            .text(&format!(
                "select format('%s row, %s, %s born, %s handed, %s',
                   (select count(*) from shop.film f where f.code = '{code}'),
                   (select string_agg(p.status, ' ' order by p.requested_at) from birth.birth_admission_permit p where p.entity_code = '{code}'),
                   (select count(*) from birth.birth_registry b where b.entity_code = '{code}'),
                   (select count(*) from governance.governance_candidate_state c where c.object_ref = '{code}'),
                   (select string_agg(s.steps, ' | ' order by s.attempt)
                      from (select r.attempt, string_agg(r.phase, ' ' order by r.at, r.command_run_id) as steps from iu.dot_iu_command_run r
                             where r.request_hash in (select p.request_hash from birth.birth_admission_permit p where p.entity_code = '{code}')
                             group by r.attempt) s))"
            ))
            .await
    }
}

fn film(code: &str, payload: Value) -> Object {
    Object {
        collection: "shop.film".to_owned(),
        code: code.to_owned(),
        name: Some("The Trial".to_owned()),
        payload: Some(payload),
        ..Object::default()
    }
}

fn born(end: End) -> admission::Admitted {
    match end {
        End::Born(admitted) => admitted,
        End::NotBorn(not_born) => panic!("{not_born:?}"),
    }
}

/// ADM-2, ADM-8: whoever dies after any act, also between the commit of the insert and its line in the log, leaves nothing that the
/// same command does not complete, and nothing is done or logged twice.
#[tokio::test]
async fn a_death_after_any_act_is_completed_by_the_same_command() {
    let shop = Shop::new().await;
    for acts in 0..=10 {
        let object = film(&format!("F-{acts}"), json!({ "minutes": 118 }));
        let mut done = 0;
        {
            let mut dying = shop.open(&object).await;
            while done < acts {
                done += 1;
                if let Advance::End(..) = dying.advance().await.expect("an act") {
                    break;
                }
            }
        }
        assert_eq!(done, acts, "an admission has ten acts");
        let admitted = born(shop.admit(&object).await);
        assert_eq!(admitted.phase, "DONE");
        assert_eq!(
            shop.facts(&object.code).await,
            format!("1 row, FINALIZED, 1 born, 1 handed, {STEPS}"),
            "after {acts} acts"
        );
        let again = born(shop.admit(&object).await);
        assert!(again.replayed);
        assert_eq!(again.birth_id, admitted.birth_id);
    }
    assert_eq!(shop.db.count("shop.film").await, 11);
}

/// ADM-3: the same command many times at once is one birth.
#[tokio::test]
async fn the_same_command_at_once_is_one_birth() {
    let shop = Shop::new().await;
    let object = film("F-1", json!({ "minutes": 118 }));
    let (a, b, c, d) = tokio::join!(
        shop.admit(&object),
        shop.admit(&object),
        shop.admit(&object),
        shop.admit(&object)
    );
    let births: Vec<_> = [a, b, c, d].into_iter().map(|end| born(end).birth_id).collect();
    assert!(births.iter().all(|birth| *birth == births[0]), "{births:?}");
    assert_eq!(shop.facts("F-1").await, format!("1 row, FINALIZED, 1 born, 1 handed, {STEPS}"));
}

/// ADM-3: a permit that ran out is closed in the ledger, and the same command gets a fresh one.
#[tokio::test]
async fn an_expired_permit_gives_way_to_a_fresh_one() {
    let shop = Shop::new().await;
    let object = film("F-1", json!({ "minutes": 118 }));
    {
        let mut waiting = shop.open(&object).await;
        for _ in 0..4 {
            waiting.advance().await.expect("an act");
        }
    }
    assert_eq!(
        shop.facts("F-1").await,
        "0 row, RESERVED, 0 born, 0 handed, REQUESTED VALIDATED RESERVED"
    );
    shop.db
        .forge(&["create or replace function internal.now() returns timestamptz language sql
                    as 'select clock_timestamp() + interval ''2 hours'''"])
        .await;
    shop.app.fn_permit_watchdog(100, "chancery").await.expect("a pass");
    born(shop.admit(&object).await);
    assert_eq!(
        shop.facts("F-1").await,
        format!(
            "1 row, EXPIRED FINALIZED, 1 born, 1 handed, REQUESTED VALIDATED RESERVED EXPIRED | {STEPS}"
        )
    );
}

/// ADM-2: what the table does not take is FAILED, with a reason that quotes no value of the row; a mended row gets a fresh permit.
#[tokio::test]
async fn a_row_that_the_table_does_not_take_is_failed_and_quotes_nothing() {
    let shop = Shop::new().await;
    let odd = film("F-1", json!({ "minutes": "passw0rd" }));
    let End::NotBorn(not_born) = shop.admit(&odd).await else { panic!("born") };
    assert_eq!(not_born.reason, "22P02 a value does not fit its column");
    let rejected = not_born.rejected.expect("the table's answer");
    assert!(rejected.message.contains("passw0rd"), "whoever asks sees it: {rejected}");
    assert_eq!(
        shop.facts("F-1").await,
        "0 row, FAILED, 0 born, 0 handed, REQUESTED VALIDATED RESERVED FAILED"
    );
    let kept = shop
        .db
        .text(
            "select string_agg(t::text, '') from (
               select l::text from fsm.transition_log l union all select r::text from iu.dot_iu_command_run r
               union all select o::text from event.event_outbox o union all select p::text from birth.birth_admission_permit p) t",
        )
        .await;
    assert!(kept.contains("22P02") && !kept.contains("passw0rd"), "{kept}");

    // A trigger that swallows the row, also one that comes before the gate.
    shop.db
        .forge(&[
            "create function shop.swallow() returns trigger language plpgsql as 'begin return null; end'",
            "create trigger a_swallow before insert on shop.film for each row when (new.code = 'F-2') execute function shop.swallow()",
        ])
        .await;
    let End::NotBorn(not_born) = shop.admit(&film("F-2", json!({}))).await else { panic!("born") };
    assert_eq!(not_born.reason, "the insert left no row under this code");
    assert_eq!(
        shop.facts("F-2").await,
        "0 row, FAILED, 0 born, 0 handed, REQUESTED VALIDATED RESERVED FAILED"
    );
    shop.db.forge(&["drop trigger a_swallow on shop.film"]).await;
    born(shop.admit(&film("F-2", json!({}))).await);
    assert_eq!(
        shop.facts("F-2").await,
        format!(
            "1 row, FAILED FINALIZED, 1 born, 1 handed, REQUESTED VALIDATED RESERVED FAILED | {STEPS}"
        )
    );
}

/// ADM-1: a rehearsal does all of it, deferred constraints included, and leaves the database as it was.
#[tokio::test]
async fn a_rehearsal_tells_and_leaves_no_trace() {
    let shop = Shop::new().await;
    shop.db
        .forge(&[
            "create table shop.label (title text primary key)",
            "insert into shop.label values ('The Trial')",
            "alter table shop.film add constraint has_a_label foreign key (title) references shop.label deferrable initially deferred",
        ])
        .await;
    let rehearse = async |object: &Object| {
        let Shop { app, writer, alice, film, .. } = &shop;
        admission::rehearse(app, writer, alice, CLASS, film, object, false)
            .await
            .expect("rehearsed")
    };
    let before = shop.db.fingerprint().await;
    let fine = rehearse(&film("F-1", json!({ "minutes": 118 }))).await;
    assert_eq!(fine.standing, Standing::WouldBeBorn);
    assert_eq!(fine.row, Some(json!({ "code": "F-1", "title": "The Trial", "minutes": 118 })));

    let unlabelled = Object { name: Some("Nobody".to_owned()), ..film("F-1", json!({})) };
    let late = rehearse(&unlabelled).await;
    assert_eq!(late.standing, Standing::WouldBeRejected);
    let constraint = late.rejected.and_then(|rejected| rejected.constraint);
    assert_eq!(constraint.as_deref(), Some("has_a_label"), "a deferred constraint has its say");

    let odd = rehearse(&film("F-1", json!({ "colour": "red" }))).await;
    assert_eq!(odd.standing, Standing::WouldBeRefused);
    assert_eq!(odd.refused.map(|refusal| refusal.code.as_str()), Some("RB020"));
    assert_eq!(shop.db.fingerprint().await, before);
}
