//! FSM-8, RUN-13: what a rule cannot answer refuses. `CHANCERY_TEST_RULES` says how many rules are tried, `CHANCERY_TEST_SEED`
//! repeats them.

mod generate;

use std::collections::BTreeSet;

use chancery_model::machine::{Definition, File, rule};
use chancery_model::refusal::Code::*;
use chancery_store::Role;
use chancery_testkit::{TestDb, slice};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use crate::support::{LETTER, check, codes, draft, letters, post, start};

fn definition(text: &str) -> Definition {
    Definition::from(&File::parse(text).expect("a machine file"))
}

/// Asks each rule of its document, and of the same document without each member that the rule reads: as conditions are asked, as guards are
/// asked one by one, and as guards are asked together.
const ASK: &str = "
  select jsonb_build_object(
           'held', count(distinct n) filter (where d.whole and d.holds),
           'refused', count(distinct n) filter (where d.whole and not d.holds),
           'unknown', count(distinct n) filter (where d.whole and d.answer is null),
           'deletions', count(*) filter (where not d.whole),
           'otherwise', coalesce(jsonb_agg(jsonb_build_object('rule', a.rule, 'document', d.document))
                                 filter (where (d.answer, d.guard, d.together) is distinct from (d.written, d.written, d.written)), '[]'),
           'opened', coalesce(jsonb_agg(jsonb_build_object('rule', a.rule, 'document', a.document, 'without', d.document))
                              filter (where not d.whole and d.holds and not w.holds), '[]'))
    from jsonb_to_recordset($1) a (n integer, rule text, document jsonb, without jsonb)
    cross join lateral (select fsm.strict_rule(a.rule::jsonpath) as guard, fsm.joined_rule(array[a.rule, a.rule]::jsonpath[]) as together,
                               coalesce(workflow.holds(a.rule::jsonpath, a.document), false) as holds offset 0) w
    cross join lateral (
      select x.whole, x.document, x.answer, fsm.answer(x.document, w.guard) as guard, x.document @@ w.together as together,
             jsonb_path_match(x.document, ('strict ' || a.rule)::jsonpath, '{}', true) as written, coalesce(x.answer, false) as holds
        from (select o.whole, o.document, workflow.holds(a.rule::jsonpath, o.document) as answer
                from (select true as whole, a.document union all select false, e from jsonb_array_elements(a.without) e) o offset 0) x) d";

/// FSM-8, RUN-13: whatever member is taken from a document, a rule that refused goes on refusing.
#[expect(clippy::print_stdout, reason = "a run tells what it tried")]
#[tokio::test]
async fn a_missing_member_never_turns_a_refusal_into_a_permission() {
    let rules = slice::amount("CHANCERY_TEST_RULES", 10_000);
    let seed = slice::seed(20_261_118);
    let mut random = StdRng::seed_from_u64(seed);
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let (mut held, mut refused, mut unknown, mut deletions) = (0, 0, 0, 0);
    let mut left = rules;
    while left > 0 {
        let batch = left.min(2_000);
        left -= batch;
        let asked: Vec<Value> = (0..batch)
            .map(|n| {
                let asked = generate::asked(&mut random);
                json!({ "n": n, "rule": asked.rule, "document": asked.document, "without": asked.without })
            })
            .collect();
        let found: Value = sqlx::query_scalar(ASK)
            .bind(json!(asked))
            .fetch_one(&mut admin)
            .await
            .expect("no rule fails, whatever it is asked of");
        let opened = found["opened"].as_array().expect("a list");
        assert!(
            opened.is_empty(),
            "seed {seed}: {} of {batch} rules were opened, the first: {}",
            opened.len(),
            opened[0]
        );
        let otherwise = found["otherwise"].as_array().expect("a list");
        assert!(
            otherwise.is_empty(),
            "seed {seed}: asked in another way the answer differs: {}",
            otherwise[0]
        );
        held += found["held"].as_u64().expect("a count");
        unknown += found["unknown"].as_u64().expect("a count");
        refused += found["refused"].as_u64().expect("a count");
        deletions += found["deletions"].as_u64().expect("a count");
    }
    println!(
        "{rules} rules, seed {seed}: {held} held, {refused} refused, of them {unknown} unanswered, {deletions} members were taken away"
    );
    // Rules that never hold, or read nothing, would prove nothing.
    assert!(
        held * 20 > rules
            && (refused - unknown) * 20 > rules
            && unknown * 20 > rules
            && deletions > rules,
        "{held} {refused} {unknown} {deletions}"
    );
}

/// Rules that may be written, with what they read, and rules that may not.
const WRITTEN: [(&str, Option<&[&str]>); 44] = [
    ("$.a == 1", Some(&["$.a"])),
    (
        "!($.run.movers.\"G-1\" == $.actor.principal)",
        Some(&["$.actor.principal", "$.run.movers.\"G-1\""]),
    ),
    ("$.l.size() == 2 && $.l[last] > -1", Some(&["$.l", "$.l[last]"])),
    ("($.a == 1 || $.b <> 2) && !(($.c.d <= .5))", Some(&["$.a", "$.b", "$.c.d"])),
    ("$.a like_regex \"^x\" flag \"i\"", Some(&["$.a"])),
    ("$.a starts with \"x\"", Some(&["$.a"])),
    ("-$.a * ($.b - 1.5e3) / 2 % 7 >= +3", Some(&["$.a", "$.b"])),
    ("$.a.type() == \"is unknown\"", Some(&["$.a"])),
    ("\"$.x ? (\" == $.s", Some(&["$.s"])),
    ("$.a.abs().double() == $.type", Some(&["$.a", "$.type"])),
    ("$.a[0].b == null", Some(&["$.a[0].b"])),
    ("true == $.a", Some(&["$.a"])),
    ("$.\"a\\\"b\" == \"\\u00e9\\\\\"", Some(&["$.\"a\\\"b\""])),
    ("$.lý_do != \"\"", Some(&["$.\"lý_do\""])),
    ("$.a==1&&$.b==2", Some(&["$.a", "$.b"])),
    ("", None),
    ("$.a", None),
    ("true", None),
    ("$.a >", None),
    ("a.b == 1", None),
    ("$.a == \"x", None),
    ("$.a = 1", None),
    ("($.a == 1", None),
    ("$.a == 1)", None),
    ("($.a == 1) == true", None),
    ("!$.a == 1", None),
    ("$.a && $.b == 1", None),
    ("$.a like_regex \"(\"", None),
    ("$.a.nothing() == 1", None),
    ("lax $.a == 1", None),
    ("strict $.a == 1", None),
    ("$.a ? (@ > 1) == 2", None),
    ("strict !($.a[*] ? (@.typo == 1).by == \"x\")", None),
    ("exists($.a)", None),
    ("!exists($.a)", None),
    ("($.a == 1) is unknown", None),
    ("$.a.* == 1", None),
    ("$.**.a == 1", None),
    ("$.a[0 to 1] == 1", None),
    ("$.a[$.b] == 1", None),
    ("$.a.keyvalue().key == \"x\"", None),
    ("$.a.datetime() > \"2026-01-01\".datetime()", None),
    ("($.a + 1).b == 2", None),
    ("$x == 1 && $.a /* why */ == 2", None),
];

/// FSM-8, FSM-9: the checker of the command line and the database accept the same rules and find the same places in them. (What is no regular
/// expression only the database knows.)
#[tokio::test]
async fn checker_and_database_read_rules_alike() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    for (rule, reads) in WRITTEN {
        let (problems, found): (Vec<String>, Vec<String>) = sqlx::query_as(
            "select fsm.rule_form_problems($1),
                    case when fsm.is_jsonpath($1) then array(select p.shown from fsm.rule_paths($1) p order by 1) else '{}' end",
        )
        .bind(rule)
        .fetch_one(&mut admin)
        .await
        .expect("an answer");
        let parsed = rule::parse(rule);
        assert_eq!(problems.is_empty(), reads.is_some(), "{rule}: {problems:?}");
        if !rule.contains("\"(\"") {
            assert_eq!(parsed.is_ok(), reads.is_some(), "{rule}: {parsed:?}");
        }
        let (Ok(parsed), Some(reads)) = (parsed, reads) else { continue };
        let places: BTreeSet<String> = parsed.paths.iter().map(ToString::to_string).collect();
        let reads: BTreeSet<String> = reads.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(places, reads, "{rule}");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), reads, "{rule}");
    }
}

/// FSM-8, FSM-9: who walks past the checker is told by the database, and nothing is stored.
#[tokio::test]
async fn a_rule_that_reads_what_is_not_there_is_not_stored() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    let before = db.fingerprint().await;
    let not_there = |path: &str| json!({ "rules_that_read_what_is_not_there": [{ "guard": "reader_is_not_writer", "transition": "check", "path": path }] });
    let open = |why: &[&str]| {
        let found: Vec<Value> =
            why.iter().map(|why| json!({ "guard": "reader_is_not_writer", "why": why })).collect();
        json!({ "rules_that_could_hold_unanswered": found })
    };
    for (rule, facts) in [
        ("!($.actor.principal == $.run.startedby)", not_there("$.run.startedby")),
        ("!($.actor.principal == $.run.movers.begin)", not_there("$.run.movers.begin")),
        ("!($.run.children.open > 0)", not_there("$.run.children.open")),
        ("$.run.data.wrds > 0", not_there("$.run.data.wrds")),
        ("$.evidence.reason != \"\"", not_there("$.evidence.reason")),
        ("$.actor.id == \"x\"", not_there("$.actor.id")),
        ("$.run.data.words < $.config.most", not_there("$.config.most")),
        ("$.evidence.until > $.now", not_there("$.evidence.until")),
        ("!($.run.data.list ? (@.typo == 1).by == $.actor.principal)", open(&["filter"])),
        ("($.run.data.words > 0) is unknown", open(&["is_unknown"])),
        ("$.evidence.until.datetime() > $.now.datetime()", open(&["datetime"])),
    ] {
        let mut document = serde_json::to_value(definition(LETTER)).expect("plain data");
        for guard in document["guards"].as_array_mut().expect("guards") {
            if guard["name"] == "reader_is_not_writer" {
                guard["rule"] = json!(rule);
            }
        }
        let refused =
            operator.fn_machine_apply(&document, "0", "test", true).await.expect_err(rule);
        let refusal = refused.refusal().unwrap_or_else(|| panic!("{rule}: {refused:?}"));
        assert_eq!(refusal.code, RS020, "{rule}");
        let mut found = refusal.problems[0].facts.clone();
        found.remove("machine");
        // The text of the time is not there either; one of the two is what the case is about.
        if let Some(list) =
            found.get_mut("rules_that_read_what_is_not_there").and_then(Value::as_array_mut)
        {
            list.retain(|one| one["path"] != "$.now");
        }
        assert_eq!(json!(found), facts, "{rule}");
    }
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}

/// FSM-8: a machine that was applied before with a misspelt rule refuses as well: rules are asked strictly, whatever they were stored as.
#[tokio::test]
async fn an_old_misspelt_rule_refuses() {
    let (db, store) = letters().await;
    let run = draft(&store).await;
    for (rule, unanswered) in [
        ("!($.actor.principal == $.run.startedby)", json!(["$.run.startedby"])),
        ("!($.actor.principal == $.run.movers.sumbit)", json!(["$.run.movers.sumbit"])),
        ("!($.run.children.open > 0)", json!(["$.run.children.open"])),
        (
            "!($.evidence.list.size() > 0) || $.evidence.reason like_regex \"x\"",
            json!(["$.evidence.list", "$.evidence.reason"]),
        ),
        ("!($someone == 1)", json!([])),
        ("$.evidence.until.datetime() > $.now.datetime()", json!(["$.evidence.until"])),
    ] {
        let stored = format!(
            "update fsm.guard_def set rule = '{rule}' where guard_name = 'reader_is_not_writer'"
        );
        assert_eq!(db.forge(&[&stored, "select fsm.compile_transitions()"]).await, 2, "{rule}");
        let refused = store.fn_state_transition_apply(&check(run)).await.expect_err(rule);
        let refusal = refused.refusal().unwrap_or_else(|| panic!("{rule}: {refused:?}"));
        assert_eq!((refusal.code, refusal.problems.len()), (RS006, 1), "{rule}");
        assert_eq!(refusal.problems[0].facts["unanswered"], unanswered, "{rule}");
    }
}

/// A letter that is posted with a reason, and until a time.
fn with_times(rule: &str) -> String {
    LETTER
        .replace("description: The reader does not post it. }", &format!("description: The reader does not post it. }}\n  - {{ name: in_time, kind: config, rule: '{rule}', description: In time. }}"))
        .replace("guards: [poster_is_not_reader],", "guards: [poster_is_not_reader, in_time], evidence: { type: object, properties: { until: { type: string, format: date-time }, reason: { type: string, minLength: 3 } } },")
}

/// FSM-8, OWN-3: times are instants: seconds that compare whatever zone a text names, and a text without an instant is none.
#[tokio::test]
async fn times_in_rules_are_instants() {
    let db = TestDb::new().await;
    db.service("writer", &["executor_worker", "pic_human"]).await;
    db.service("reader", &["reviewer", "executor_worker"]).await;
    db.service("poster", &["executor_worker"]).await;
    db.machine(&with_times("$.evidence.until_s > $.now_s && $.now_s - $.run.since_s < 86400 && $.run.since_s <= $.now_s")).await;
    let store = db.store(Role::App);
    let now = db
        .text("select to_char(internal.now() at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS')")
        .await;
    let at = |hours: i32, zone: i32| {
        let query = format!(
            "select to_char('{now}'::timestamp + interval '1 hour' * {}, 'YYYY-MM-DD\"T\"HH24:MI:SS') || '+{zone:02}:00'",
            hours + zone
        );
        let db = &db;
        async move { db.text(&query).await }
    };
    for (until, good) in [
        (at(2, 0).await, true),
        (at(2, 7).await, true),
        (at(-2, 0).await, false),
        (at(-2, 7).await, false),
    ] {
        let run = draft(&store).await;
        store.fn_state_transition_apply(&check(run)).await.expect("checked");
        let mut asked = post(run);
        asked.evidence["until"] = json!(until);
        let answer = store.fn_state_transition_apply(&asked).await;
        assert_eq!(answer.is_ok(), good, "{until}: {answer:?}");
    }
    let run = draft(&store).await;
    store.fn_state_transition_apply(&check(run)).await.expect("checked");
    for (until, codes_of) in [
        (json!("2099-01-01"), vec![RS006, RS027]),
        (json!(99), vec![RS006, RS027]),
        (Value::Null, vec![RS006, RS027]),
    ] {
        let mut asked = post(run);
        asked.evidence["until"] = until.clone();
        // Seconds are the database's to say.
        asked.evidence["until_s"] = json!(99_999_999_999_u64);
        assert_eq!(codes(store.fn_state_transition_apply(&asked).await), codes_of, "{until}");
    }
}

/// FSM-4, FSM-8: a move brings what its transition declares, a start what its machine declares; a preview says the same, and a batch.
#[tokio::test]
async fn what_is_brought_has_the_declared_shape() {
    let db = TestDb::new().await;
    db.service("writer", &["executor_worker", "pic_human"]).await;
    db.service("reader", &["reviewer", "executor_worker"]).await;
    db.service("poster", &["executor_worker"]).await;
    db.machine(
        &with_times("$.evidence.reason like_regex \"[^ ]\"")
            .replace("words: {}", "words: { type: number }"),
    )
    .await;
    let store = db.store(Role::App);
    let refused =
        start(&store, "letter", json!({ "words": "three" })).await.expect_err("no number");
    let facts = &refused.refusal().expect("a refusal").problems[0].facts;
    assert_eq!(
        (refused.refusal().expect("a refusal").code, &facts["document"], &facts["breaks"][0]["at"]),
        (RS027, &json!("data"), &json!("/words"))
    );
    let run = draft(&store).await;
    store.fn_state_transition_apply(&check(run)).await.expect("checked");
    for (reason, expected) in [
        (json!("ok"), vec![RS027]),
        (json!(5), vec![RS006, RS027]),
        (json!("   "), vec![RS006, RS027]),
    ] {
        let mut asked = post(run);
        asked.evidence["reason"] = reason.clone();
        assert_eq!(codes(store.fn_state_transition_apply(&asked).await), expected, "{reason}");
        let previewed = store.fn_state_transition_validate(&asked).await.expect("a preview");
        let found: Vec<_> = previewed.problems.iter().map(|problem| problem.code).collect();
        assert_eq!(found, expected, "{reason}");
    }
    let mut asked = post(run);
    asked.evidence["reason"] = json!("it is ready");
    store.fn_state_transition_apply(&asked).await.expect("posted");
}
