//! Units by themselves: sources, gates, the writer's mark, edits, enactment, and what never changes again.

use chancery_model::refusal::Code;
use chancery_model::refusal::Code::{
    RB001, RI001, RI002, RI003, RI020, RI021, RI022, RI024, RI025, RI026, RI027, RI028, RI029,
    RI030,
};
use chancery_store::iu::{Enactment, NewUnit};
use chancery_store::{Error, Role};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::cutter_world::World;
use crate::hardening::{attempt, sqlstate};
use crate::support::codes;

fn facts<T: std::fmt::Debug>(answer: Result<T, Error>, code: Code) -> Value {
    let error = answer.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    assert_eq!(refusal.code, code, "{refusal:?}");
    json!(refusal.problems[0].facts)
}

/// IU-1: the same bytes are the same version; what is no text, or another document's prefix, is refused and leaves nothing.
#[tokio::test]
async fn a_source_is_text_under_its_own_prefix() {
    let world = World::new().await;
    let add =
        async |name: &str, prefix: Option<&str>, media: &str, body: &[u8], principal: &str| {
            world.app.fn_source_add(name, prefix, media, body, principal).await
        };
    let text = "text/plain";
    let first = add("policy", Some("POL"), text, b"one", "executor").await.expect("stored");
    assert_eq!((first.version_seq, first.replayed), (1, false));
    let before = world.db.fingerprint().await;
    let again = add("policy", None, text, b"one", "executor").await.expect("the same bytes");
    assert_eq!((again.source_version_id, again.replayed), (first.source_version_id, true));
    for (name, prefix, media) in [
        ("Policy", Some("NEW"), text),
        ("", Some("NEW"), text),
        ("new", Some("new"), text),
        ("new", Some("N"), text),
        ("new", None, text),
        ("new", Some("NEW"), "text/html"),
        ("policy", Some("OTHER"), text),
    ] {
        let answer = add(name, prefix, media, b"two", "executor").await;
        assert_eq!(codes(answer), [RI020], "{name} {prefix:?} {media}");
    }
    assert_eq!(
        facts(add("new", Some("POL"), text, b"two", "executor").await, RI021),
        json!({ "document": "new", "prefix": "POL", "taken_by": "policy" })
    );
    for (body, reason) in [
        (b"".as_slice(), "empty"),
        (b"a\0b", "nul_character"),
        (b"a\xffb", "not_utf8"),
        (b"\xed\xa0\x80", "not_utf8"),
    ] {
        let told = facts(add("policy", None, text, body, "executor").await, RI022);
        assert_eq!(told["reason"], json!(reason), "{told}");
    }
    assert_eq!(codes(add("policy", None, text, b"two", "nobody").await), [RI001]);
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");
    let operator = world.db.store(Role::Migrator);
    operator.fn_principal_set_active("executor", false, None).await.expect("inactive");
    assert_eq!(codes(add("policy", None, text, b"two", "executor").await), [RI002]);
    let second = add("policy", Some("POL"), text, b"two", "verifier").await.expect("the next one");
    assert_eq!(second.version_seq, 2);
}

/// IU-2: the vocabularies are rows of the configuration, and the gate asks them: each field of a unit has its refusal.
#[tokio::test]
async fn a_unit_is_born_whole() {
    let world = World::new().await;
    let words: Vec<String> = world
        .one("select array_agg(key order by key collate \"C\") from config.dot_config where key like 'vocab.%'")
        .await;
    let of = |vocabulary: &str| -> Vec<&str> {
        let prefix = format!("vocab.{vocabulary}.");
        words.iter().filter_map(|key| key.strip_prefix(&prefix)).collect()
    };
    assert_eq!(of("unit_kind"), ["design_doc_section", "law_unit"]);
    assert_eq!(of("publication_type"), ["document", "law", "policy"]);
    assert_eq!(
        of("section_type"),
        ["article", "chapter", "clause", "heading", "part", "point", "preamble", "section"]
    );
    let good = world.a_unit("POL/one");
    let elsewhere = world.exec.fn_iu_create(&world.a_unit("ELSE/one")).await.expect("a unit");
    let before = world.db.fingerprint().await;
    let some = |text: &str| Some(text.to_owned());
    let cases = [
        ("canonical_address", NewUnit { canonical_address: "one".to_owned(), ..good.clone() }),
        ("canonical_address", NewUnit { canonical_address: "pol/one".to_owned(), ..good.clone() }),
        ("canonical_address", NewUnit { canonical_address: "POL/One".to_owned(), ..good.clone() }),
        ("title", NewUnit { title: " ".to_owned(), ..good.clone() }),
        ("body", NewUnit { body: String::new(), ..good.clone() }),
        ("owner_ref", NewUnit { owner_ref: some(" "), ..good.clone() }),
        ("unit_kind", NewUnit { unit_kind: some("poem"), ..good.clone() }),
        ("unit_kind", NewUnit { unit_kind: None, ..good.clone() }),
        ("section_type", NewUnit { section_type: some("verse"), ..good.clone() }),
        ("section_type", NewUnit { section_type: None, ..good.clone() }),
        ("publication_type", NewUnit { publication_type: some("poem"), ..good.clone() }),
        ("publication_type", NewUnit { publication_type: None, ..good.clone() }),
        ("parent_or_container_ref", NewUnit { parent_ref: Some(Uuid::now_v7()), ..good.clone() }),
        (
            "parent_or_container_ref",
            NewUnit {
                parent_ref: Some(
                    elsewhere["unit_id"].as_str().expect("an id").parse().expect("a uuid"),
                ),
                ..good.clone()
            },
        ),
    ];
    for (field, unit) in cases {
        let told = facts(world.exec.fn_iu_create(&unit).await, RI024);
        assert_eq!(told["field"], json!(field), "{unit:?}");
        let planned = world.exec.fn_iu_create_plan(&unit).await.expect("a plan");
        assert_eq!(planned["status"], json!("refused"));
        assert_eq!(planned["problems"][0]["field"], json!(field), "plan and deed say the same");
    }
    let foreign = NewUnit { actor: "verifier".to_owned(), ..good.clone() };
    assert_eq!(codes(world.exec.fn_iu_create(&foreign).await), [RI003]);
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");
}

/// IU-3: a plan writes nothing; a unit that stands is answered with, whatever is asked for, and told what it is.
#[tokio::test]
async fn a_unit_is_made_once() {
    let world = World::new().await;
    let unit = world.a_unit("POL/one");
    let before = world.db.fingerprint().await;
    let plan = world.exec.fn_iu_create_plan(&unit).await.expect("a plan");
    assert_eq!(plan["status"], json!("plan_ok"));
    assert_eq!(
        world.app.fn_iu_classify_existing("POL/one").await.expect("an answer"),
        json!({ "status": "not_found" })
    );
    assert_eq!(before, world.db.fingerprint().await, "a plan writes nothing");
    let made = world.exec.fn_iu_create(&unit).await.expect("made");
    assert_eq!(
        (&made["status"], &made["content_hash"]),
        (&json!("created"), &plan["content_hash"])
    );
    let before = world.db.fingerprint().await;
    let other = NewUnit { body: "another text".to_owned(), ..unit.clone() };
    for answer in [
        world.exec.fn_iu_create(&unit).await.expect("an answer"),
        world.exec.fn_iu_create(&other).await.expect("an answer"),
        world.exec.fn_iu_create_plan(&other).await.expect("an answer"),
        world.app.fn_iu_classify_existing("POL/one").await.expect("an answer"),
    ] {
        assert_eq!(answer["status"], json!("exists_complete"), "{answer}");
        assert_eq!(
            (&answer["unit_id"], &answer["content_hash"]),
            (&made["unit_id"], &made["content_hash"])
        );
    }
    assert_eq!(before, world.db.fingerprint().await, "nothing is written twice");
    // What only a hand could do is named when it is met.
    let id = made["unit_id"].as_str().expect("an id");
    for (damage, status) in [
        (
            format!("update iu.information_unit set content_anchor_ref = 'x' where id = '{id}'"),
            "exists_anchor_invalid",
        ),
        (
            format!(
                "update iu.information_unit set content_anchor_ref = version_anchor_ref::text, lifecycle_status = 'superseded' where id = '{id}'"
            ),
            "exists_unknown_state",
        ),
    ] {
        world.tamper("iu.information_unit", &damage).await;
        let found = world.app.fn_iu_classify_existing("POL/one").await.expect("an answer");
        assert_eq!(found["status"], json!(status));
    }
}

/// IU-3: a draft's text is applied once, to the text it was written against.
#[tokio::test]
async fn an_edit_belongs_to_its_base() {
    let world = World::new().await;
    world.exec.fn_iu_create(&world.a_unit("POL/one")).await.expect("a unit");
    let draft = async |id: Uuid, address: &str, body: &str| {
        world.exec.fn_iu_edit_draft(id, address, "A title", body, "executor").await
    };
    let apply =
        async |id: Uuid| world.exec.fn_iu_apply_edit_draft(id, "executor", Some("read")).await;
    let [first, second] = [Uuid::now_v7(), Uuid::now_v7()];
    draft(first, "POL/one", "the second text").await.expect("a draft");
    draft(second, "POL/one", "a rival").await.expect("a draft");
    let before = world.db.fingerprint().await;
    draft(first, "POL/one", "the second text").await.expect("the same again");
    assert_eq!(
        facts(draft(first, "POL/one", "another").await, RI029)["reason"],
        json!("another_draft")
    );
    assert_eq!(facts(draft(Uuid::now_v7(), "POL/one", "").await, RI022)["reason"], json!("empty"));
    assert_eq!(codes(draft(Uuid::now_v7(), "POL/none", "x").await), [RI028]);
    assert_eq!(facts(apply(Uuid::now_v7()).await, RI029)["reason"], json!("unknown"));
    assert_eq!(codes(world.exec.fn_iu_apply_edit_draft(first, "verifier", None).await), [RI003]);
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");
    let applied = apply(first).await.expect("applied");
    assert_eq!(applied["replayed"], json!(false));
    let before = world.db.fingerprint().await;
    assert_eq!(apply(first).await.expect("the same again")["replayed"], json!(true));
    assert_eq!(facts(apply(second).await, RI029)["reason"], json!("base_moved"));
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");
    let (texts, kinds): (i64, Vec<String>) = sqlx::query_as(
        "select (select count(*) from iu.unit_version), (select array_agg(change_kind order by seq) from iu.iu_lifecycle_log)",
    )
    .fetch_one(&mut world.db.superuser().await)
    .await
    .expect("the history");
    assert_eq!(
        (texts, kinds),
        (2, vec!["created".to_owned(), "edited".to_owned()]),
        "the first text stays"
    );
}

/// IU-3: an enactment needs its own decision on a verified cut that made this very unit; it happens once.
#[tokio::test]
async fn an_enactment_rests_on_its_decision() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.verified(&document, "k").await;
    let cut_decision: Uuid =
        world.one("select review_decision_id from cutter_governance.review_decision").await;
    let decision = world.a_lifecycle_review(entry, "approve").await;
    world.review.fn_lifecycle_review(&decision).await.expect("decided");
    let allowed = decision.review_decision_id;
    world.exec.fn_iu_create(&world.a_unit("POL/loose")).await.expect("a unit nobody decided on");
    let draft = Uuid::now_v7();
    world
        .exec
        .fn_iu_edit_draft(draft, "POL/two", "Two", "edited", "executor")
        .await
        .expect("a draft");
    world.exec.fn_iu_apply_edit_draft(draft, "executor", None).await.expect("edited");
    let before = world.db.fingerprint().await;
    let enactment = |address: &str, decision: Uuid| Enactment {
        canonical_address: address.to_owned(),
        actor: "executor".to_owned(),
        review_decision_id: decision,
        reason: None,
        tool_revision: None,
        dry_run: false,
    };
    for (address, decision, reason) in [
        ("POL/one", Uuid::now_v7(), "decision_unknown"),
        ("POL/one", cut_decision, "decision_does_not_allow"),
        ("POL/loose", allowed, "unit_not_in_manifest"),
        ("POL/two", allowed, "unit_changed_since"),
    ] {
        let told = facts(world.exec.fn_iu_enact(&enactment(address, decision)).await, RI030);
        assert_eq!((&told["reason"], &told["address"]), (&json!(reason), &json!(address)));
    }
    assert_eq!(codes(world.enact("POL/none", allowed).await), [RI028]);
    let foreign = Enactment { actor: "verifier".to_owned(), ..enactment("POL/one", allowed) };
    assert_eq!(codes(world.exec.fn_iu_enact(&foreign).await), [RI003]);
    let dry = Enactment { dry_run: true, ..enactment("POL/one", allowed) };
    assert_eq!(
        world.exec.fn_iu_enact(&dry).await.expect("an answer")["status"],
        json!("would_enact")
    );
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");

    assert_eq!(world.enact("POL/one", allowed).await.expect("enacted")["replayed"], json!(false));
    let before = world.db.fingerprint().await;
    assert_eq!(world.enact("POL/one", allowed).await.expect("again")["replayed"], json!(true));
    assert_eq!(codes(world.enact("POL/one", cut_decision).await), [RI027], "by another decision");
    let draft =
        world.exec.fn_iu_edit_draft(Uuid::now_v7(), "POL/one", "One", "x", "executor").await;
    assert_eq!(codes(draft).as_slice(), [RI027]);
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");

    // A decision that was superseded, or an entry that was given up, allows nothing any more.
    let reject = world.a_lifecycle_review(entry, "reject").await;
    world.review.fn_lifecycle_review(&reject).await.expect("decided anew");
    let told = facts(world.enact("POL/one-one-a", allowed).await, RI030);
    assert_eq!(told["superseded_by"], json!(reject.review_decision_id));
    let approve = world.a_lifecycle_review(entry, "approve").await;
    world.review.fn_lifecycle_review(&approve).await.expect("and again");
    world.app.fn_abandon(&world.an_abandonment(entry)).await.expect("given up");
    let told = facts(world.enact("POL/one-one-a", approve.review_decision_id).await, RI030);
    assert_eq!(told["reason"], json!("cut_not_verified"));
}

/// IU-3: enacted rows are closed by triggers of their own, which fire always: also for the role of the doors, behind the very
/// login and with the mark of the writer that may write drafts.
#[tokio::test]
async fn what_is_enacted_never_changes() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.verified(&document, "k").await;
    world.enacted(&document, entry).await;
    let armed: i64 = world
        .one("select count(*) from pg_trigger where tgname in ('trg_iu_enacted_immut', 'trg_uv_enacted_immut') and tgenabled = 'A'")
        .await;
    assert_eq!(armed, 2);
    let before = world.db.fingerprint().await;
    let mut admin = world.db.superuser().await;
    for (mark, replication) in [("fn_iu_enact", "origin"), ("fn_iu_create", "replica")] {
        for statement in [
            "update iu.information_unit set lifecycle_status = 'draft'",
            "update iu.information_unit set updated_by = 'forged'",
            "update iu.unit_version set lifecycle_status = 'draft', enacted_at = null",
        ] {
            let setting = format!("set local session_replication_role = {replication}");
            let answer = as_a_door(&mut admin, &setting, mark, statement).await;
            assert_eq!(answer.as_deref(), Some(RI027.as_str()), "{statement}");
        }
    }
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");
}

/// IU-3, IU-2: without the mark of a known writer nothing is written; with it, the gates still ask for anchor, hash and history.
#[tokio::test]
async fn the_gates_stand_behind_the_mark() {
    let world = World::new().await;
    world.exec.fn_iu_create(&world.a_unit("POL/one")).await.expect("a unit");
    let before = world.db.fingerprint().await;
    let mut admin = world.db.superuser().await;
    let forged =
        "'id', '0199a3f0-7d3f-7b58-9a26-c80e4f51d37b'::uuid, 'canonical_address', 'POL/forged'";
    let unit = |changes: &str| {
        format!(
            "insert into iu.information_unit select (jsonb_populate_record(u, jsonb_build_object({forged}{changes}))).* from iu.information_unit u"
        )
    };
    let cases = [
        ("", "update iu.information_unit set updated_by = 'x'", Some(RI025)),
        ("fn_anything", "update iu.information_unit set updated_by = 'x'", Some(RI025)),
        ("fn_iu_create", &unit(", 'lifecycle_status', 'enacted'"), Some(RI024)),
        ("fn_iu_create", &unit(", 'conformance_status', 'closed'"), Some(RI024)),
        ("fn_iu_create", &unit(", 'section_type', 'verse'"), Some(RI024)),
        ("fn_iu_create", &unit(", 'section_type', 'clause'"), Some(RI024)),
        ("fn_iu_create", &unit(", 'owner_ref', 'somebody'"), Some(RI024)),
        ("fn_iu_create", &unit(", 'identity_profile', '{}'"), Some(RI024)),
        ("fn_iu_create", &unit(""), Some(RB001)),
        ("fn_iu_create", "update iu.information_unit set updated_by = 'x'", Some(RI026)),
        ("fn_iu_enact", "update iu.information_unit set lifecycle_status = 'enacted'", Some(RI026)),
        ("fn_iu_create", "update iu.information_unit set content_anchor_ref = 'x'", Some(RI026)),
    ];
    let mut found = Vec::new();
    for (mark, statement, expected) in cases {
        let answer = as_a_door(&mut admin, "", mark, statement).await;
        if answer.as_deref() != expected.map(Code::as_str) {
            found.push(format!("{mark:?} {statement}: {answer:?} instead of {expected:?}"));
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");
}

/// Tries a statement as a door would run it: behind the executor's login, as the doors' role, with a writer's mark. Only a
/// superuser can build that, and only in a transaction that gives the role away and is rolled back.
async fn as_a_door(
    admin: &mut PgConnection,
    setting: &str,
    mark: &str,
    statement: &str,
) -> Option<String> {
    let script = format!(
        "begin; {setting}; grant chancery_definer to cutter_exec; set local session authorization cutter_exec;
         set local role chancery_definer; set local app.canonical_writer = '{mark}'; {statement}; set constraints all immediate"
    );
    let answer = sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut *admin).await;
    admin.execute("rollback").await.expect("a rollback");
    answer.err().map(|error| sqlstate(&error))
}

/// SEC-3: the mark alone opens nothing: it is a word that anybody can say.
#[tokio::test]
async fn the_mark_alone_opens_nothing() {
    let world = World::new().await;
    world.exec.fn_iu_create(&world.a_unit("POL/one")).await.expect("a unit");
    for role in [Role::CutterExec, Role::CutterVerify, Role::App, Role::Migrator] {
        let mut connection = world.db.connect(role).await;
        connection.execute("set app.canonical_writer = 'fn_iu_create'").await.expect("anybody may");
        let answer =
            attempt(&mut connection, "update iu.information_unit set updated_by = 'x'").await;
        assert_eq!(answer.as_deref(), Some("42501"), "{}", role.name());
    }
    let mut admin = world.db.superuser().await;
    admin.execute("set app.canonical_writer = 'fn_iu_create'").await.expect("anybody may");
    for role in ["none", "chancery_definer"] {
        admin.execute(AssertSqlSafe(format!("set role {role}"))).await.expect("a superuser may");
        let answer = attempt(&mut admin, "update iu.information_unit set updated_by = 'x'").await;
        assert_eq!(answer.as_deref(), Some(RI025.as_str()), "superuser as {role}");
    }
}
