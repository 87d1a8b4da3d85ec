//! The command log: each step once, in order, on facts that the step before it left; and what every door says to a missing argument.

use chancery_model::refusal::Code::{RB012, RB014, RB015, RB020, RI001};
use chancery_store::{Error, LOGINS, Role};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::approval_world::refusal;
use crate::birth_world::{Policy, Shop};
use crate::governance_world::clock_ahead;
use crate::hardening::attempt;

const STEPS: [&str; 7] =
    ["REQUESTED", "VALIDATED", "RESERVED", "CONSUMED", "FINALIZED", "HANDOFF_ENQ", "DONE"];

const NEW: &str = "insert into shop.film (code, title) values ('F-9', 'Nine')";

async fn hash(shop: &Shop) -> Vec<u8> {
    shop.one("select birth.request_hash('shop.film', 'F-9', null, null, 'governed', null)").await
}

async fn step(shop: &Shop, phase: &str) -> Result<Value, Error> {
    let mut app = shop.db.connect(Role::App).await;
    let answer = sqlx::query_scalar("select iu.fn_dot_iu_command_log('dot_birth_admit', 'apply', $1, 'ok', $2, '{}', '{\"n\": 1}', 'clerk')")
        .bind(phase)
        .bind(hash(shop).await)
        .fetch_one(&mut app)
        .await?;
    Ok(answer)
}

fn phases(steps: &Value) -> Vec<&str> {
    steps.as_array().expect("steps").iter().filter_map(|step| step["phase"].as_str()).collect()
}

/// What makes the next step true.
async fn fact(shop: &Shop, phase: &str) {
    match phase {
        "RESERVED" => shop.permits("shop.film", &["F-9"]).await,
        "CONSUMED" => shop.write(&[NEW]).await.expect("born"),
        "HANDOFF_ENQ" => drop(
            shop.db.text_as(Role::App, "select birth.fn_birth_handoff('chancery')::text").await,
        ),
        _ => {}
    }
}

/// ADM-2, ADM-8: no step stands in the log before the fact that it says, nor before the step in front of it; each of them once.
#[tokio::test]
async fn steps_follow_their_facts() {
    let shop = Shop::enforced().await;
    for (n, phase) in STEPS.into_iter().enumerate() {
        let before = shop.everything().await;
        for later in &STEPS[n + 1..] {
            let (code, facts) = refusal(step(&shop, later).await);
            assert_eq!((code, &facts["phase"]), (RB014, &json!(later)), "before {phase}");
        }
        if ["RESERVED", "CONSUMED", "HANDOFF_ENQ"].contains(&phase) {
            let (code, facts) = refusal(step(&shop, phase).await);
            assert_eq!(code, RB014, "{phase} is not true yet: {facts}");
        }
        assert_eq!(before, shop.everything().await, "nothing changed");
        fact(&shop, phase).await;
        assert_eq!(phases(&step(&shop, phase).await.expect("logged")), &STEPS[..=n]);
        let after = shop.everything().await;
        assert_eq!(
            phases(&step(&shop, phase).await.expect("logged before")),
            &STEPS[..=n],
            "twice is once"
        );
        assert_eq!(after, shop.everything().await, "nothing changed");
    }
    for end in ["FAILED", "EXPIRED", "REVOKED"] {
        assert_eq!(refusal(step(&shop, end).await).0, RB014, "{end} did not happen");
    }
}

/// ADM-2, ADM-8: an end is logged when it is one, and a request behind it begins a new attempt.
#[tokio::test]
async fn a_new_attempt_begins_behind_an_end() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy { ttl: Some(60), ..Policy::enforced("code") })
        .await
        .expect("protected");
    for phase in &STEPS[..3] {
        fact(&shop, phase).await;
        step(&shop, phase).await.expect("logged");
    }
    assert_eq!(refusal(step(&shop, "EXPIRED").await).0, RB014, "its time is not over");
    assert_eq!(phases(&step(&shop, "REQUESTED").await.expect("the same attempt")), &STEPS[..3]);
    clock_ahead(&shop.db, "2 minutes").await;
    shop.db.text_as(Role::App, "select birth.fn_permit_watchdog(10, 'chancery')::text").await;
    assert_eq!(refusal(step(&shop, "REVOKED").await).0, RB014, "nobody revoked it");
    assert_eq!(
        phases(&step(&shop, "EXPIRED").await.expect("logged")),
        ["REQUESTED", "VALIDATED", "RESERVED", "EXPIRED"]
    );
    for (n, phase) in STEPS.iter().enumerate() {
        fact(&shop, phase).await;
        let steps = step(&shop, phase).await.expect("logged");
        assert_eq!(phases(&steps), &STEPS[..=n], "the second attempt");
        assert!(
            steps.as_array().expect("steps").iter().all(|step| step["attempt"] == json!(2)),
            "{steps}"
        );
    }
    assert_eq!(shop.db.count("iu.dot_iu_command_run").await, 4 + 7);
}

/// ADM-8: a command that is not in the catalogue writes nothing, and neither does what cannot be read.
#[tokio::test]
async fn a_command_outside_the_catalogue_is_refused() {
    let shop = Shop::enforced().await;
    let before = shop.everything().await;
    let good = [
        "'dot_birth_admit'",
        "'apply'",
        "'REQUESTED'",
        "'ok'",
        "sha256('x')",
        "'{}'",
        "'{}'",
        "'clerk'",
    ];
    for (n, value, code) in [
        (0, "'dot_birth_undo'", RB015),
        (0, "''", RB015),
        (0, "null", RB015),
        (1, "'try'", RB012),
        (1, "null", RB012),
        (2, "'BORN'", RB014),
        (2, "null", RB014),
        (3, "'fine'", RB012),
        (3, "null", RB012),
        (4, "'x'", RB012),
        (4, "null", RB012),
        (5, "'[]'", RB012),
        (6, "'1'", RB012),
        (7, "'nobody'", RI001),
        (7, "null", RI001),
    ] {
        let mut arguments = good;
        arguments[n] = value;
        let call = format!("select iu.fn_dot_iu_command_log({})", arguments.join(", "));
        let answer = shop.run(Role::App, &[&call]).await.map(|()| Value::Null);
        assert_eq!(refusal(answer).0, code, "{call}");
    }
    let call = format!("select iu.fn_dot_iu_command_log({})", good.join(", "));
    for role in LOGINS.iter().filter(|role| **role != Role::App) {
        let answer = shop.run(*role, &[&call]).await.expect_err("not its door");
        assert!(matches!(answer, Error::Denied(_)), "{role:?}: {answer:?}");
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.run(Role::App, &[&call]).await.expect("logged");
}

/// ADM-1: the statement of an admission names what is given and no more; what is no column, or is the code, is refused.
#[tokio::test]
async fn the_statement_fits_the_table() {
    let shop = Shop::enforced().await;
    let statement = async |payload: Value| -> Result<Value, Error> {
        let mut app = shop.db.connect(Role::App).await;
        Ok(sqlx::query_scalar("select birth.fn_birth_statement('shop.film', 'F-9', 'Nine', $1)")
            .bind(payload)
            .fetch_one(&mut app)
            .await?)
    };
    for (payload, member) in [
        (json!({ "colour": "red" }), Some("colour")),
        (json!({ "code": "F-10" }), Some("code")),
        (json!({ "shelf": "N" }), Some("shelf")),
        (json!({ "ctid": "(0,1)" }), Some("ctid")),
        (json!([]), None),
        (json!("x"), None),
    ] {
        let (code, facts) = refusal(statement(payload.clone()).await);
        assert_eq!((code, facts["member"].as_str()), (RB020, member), "{payload}");
    }
    shop.permits("shop.film", &["F-9"]).await;
    let made = statement(json!({ "price": 2.5 })).await.expect("a statement");
    assert_eq!(made["document"], json!({ "code": "F-9", "title": "Nine", "price": 2.5 }));
    let mut writer = shop.db.connect(Role::BirthWriter).await;
    let text = made["statement"].as_str().expect("a statement").to_owned();
    sqlx::query(AssertSqlSafe(text))
        .bind(&made["document"])
        .execute(&mut writer)
        .await
        .expect("born");
    assert_eq!(
        shop.db
            .text("select concat_ws(' ', title, price, shelf) from shop.film where code = 'F-9'")
            .await,
        "Nine 2.5 N"
    );
    assert_eq!(shop.film("F-9").await, crate::birth_world::BORN);
}

/// FSM-5 for the room: what is missing is refused by code, never by an error that only a programmer can read.
#[tokio::test]
async fn a_missing_argument_is_refused_by_code() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-9", "F-10"]).await;
    let (nine, ten) =
        (shop.permit_of("shop.film", "F-9").await, shop.permit_of("shop.film", "F-10").await);
    let approval = shop.glass_approval("shop.film", 5, "a flood").await;
    shop.votes(approval, "sofia", "approve").await.expect("a vote");
    let quoted = |words: &[&str]| words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>();
    let (nine, ten, approval) = (nine.to_string(), ten.to_string(), approval.to_string());
    let asks = r#"[{"code": "F-11"}]"#;
    let calls = [
        (
            "birth.fn_birth_permit_request",
            quoted(&["shop.film", asks, "clerk", "executor_worker", "dot_birth_admit"]),
            Role::App,
        ),
        (
            "birth.fn_birth_permit_fail",
            quoted(&[&nine, "why", "clerk", "executor_worker"]),
            Role::App,
        ),
        (
            "birth.fn_birth_permit_revoke",
            quoted(&[&ten, "why", "reviewer", "chief", "k"]),
            Role::App,
        ),
        (
            "birth.fn_break_glass",
            quoted(&["shop.film", &approval, "a flood", "5", "pic_human", "petra"]),
            Role::App,
        ),
        ("birth.fn_permit_watchdog", quoted(&["5", "chancery"]), Role::App),
        ("birth.fn_birth_handoff", quoted(&["chancery"]), Role::App),
        ("birth.fn_birth_statement", quoted(&["shop.film", "F-11", "x", "{}"]), Role::App),
        (
            "birth.fn_pre_birth_check",
            quoted(&["shop.film", "F-11", "x", "dot_birth_admit"]),
            Role::App,
        ),
        (
            "birth.fn_birth_rehearse",
            quoted(&["shop.film", asks, "clerk", "executor_worker", "dot_birth_admit"]),
            Role::BirthWriter,
        ),
    ];
    let before = shop.everything().await;
    let mut found = Vec::new();
    for (door, arguments, role) in calls {
        let mut connection = shop.db.connect(role).await;
        let whole = format!("select {door}({})", arguments.join(", "));
        // A rehearsal is refused for what it is, and only when everything else was well.
        let well = (door == "birth.fn_birth_rehearse").then(|| "RB013".to_owned());
        assert_eq!(attempt(&mut connection, &whole).await, well, "{whole}");
        for n in 0..arguments.len() {
            let mut arguments = arguments.clone();
            arguments[n] = "null".to_owned();
            match attempt(&mut connection, &format!("select {door}({})", arguments.join(", ")))
                .await
            {
                Some(state) if !state.starts_with('R') => {
                    found.push(format!("{door} without argument {}: {state}", n + 1))
                }
                _ => {}
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(before, shop.everything().await, "everything was undone");
}

/// ADM-1: every check has a name, and says why it fails.
#[tokio::test]
async fn a_check_says_what_is_wrong() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy { rule: Some("^F-"), ..Policy::enforced("code") })
        .await
        .expect("protected");
    shop.permits("shop.film", &["F-9", "F-10"]).await;
    shop.write(&[NEW]).await.expect("born");
    let failing = async |collection: &str, code: Option<&str>, dot: &str| -> String {
        let mut app = shop.db.connect(Role::App).await;
        let answer: Value = sqlx::query_scalar("select birth.fn_pre_birth_check($1, $2, null, $3)")
            .bind(collection)
            .bind(code)
            .bind(dot)
            .fetch_one(&mut app)
            .await
            .expect("an answer");
        let failed: Vec<&str> = answer["checks"]
            .as_array()
            .expect("checks")
            .iter()
            .filter(|check| check["ok"] == json!(false))
            .filter_map(|check| check["check"].as_str())
            .collect();
        assert_eq!(answer["ok"], json!(failed.is_empty()));
        assert!(
            answer["checks"]
                .as_array()
                .expect("checks")
                .iter()
                .all(|check| check["ok"].is_boolean()
                    && (check["ok"] == json!(true)) == check["why"].is_null()),
            "{answer}"
        );
        failed.join(",")
    };
    assert_eq!(failing("shop.film", Some("F-11"), "dot_birth_admit").await, "");
    assert_eq!(failing("shop.film", Some("F-9"), "dot_birth_admit").await, "code_is_not_born");
    assert_eq!(failing("shop.film", Some("F-10"), "dot_birth_admit").await, "no_permit_is_live");
    assert_eq!(failing("shop.film", Some("G-1"), "dot_birth_admit").await, "code_keeps_the_rule");
    assert_eq!(failing("shop.film", Some("F-11"), "dot_else").await, "origin_is_in_the_catalogue");
    assert_eq!(
        failing("shop.nothing", Some("F-11"), "dot_birth_admit").await,
        "family_is_protected"
    );
    assert_eq!(failing("shop.film", Some(" "), "dot_birth_admit").await, "code_is_there");
    assert_eq!(failing("shop.film", None, "dot_birth_admit").await, "code_is_there");
}
