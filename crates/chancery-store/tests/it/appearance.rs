//! What a machine may look like and who may act in it: the database and the checker, which has none, say the same.

use std::collections::BTreeSet;

use chancery_model::machine::{ActorClass, COLOURS, ICONS, Scope};
use chancery_testkit::{TestDb, repo_path};
use sqlx::{AssertSqlSafe, Executor as _};

use crate::hardening::sqlstate;

/// FSM-9: for each class and each kind of run, the checker says who can never act as the database derives it from its logins and grants.
#[tokio::test]
async fn the_checker_knows_who_can_act() {
    let db = TestDb::new().await;
    for scope in Scope::ALL {
        for class in ActorClass::ALL {
            let derived =
                format!("select fsm.can_act('{}', '{}')::text", class.code(), scope.code());
            let derived = db.text(&derived).await == "true";
            assert_eq!(class.can_act(*scope), derived, "{class} in {scope}");
        }
    }
    assert!(
        !ActorClass::Observer.can_act(Scope::Step) && ActorClass::PicHuman.can_act(Scope::Custom)
    );
}

/// UIW-2: the checker, the database and the pages know the same colours and silhouettes.
#[tokio::test]
async fn the_checker_the_database_and_the_pages_know_the_same_tokens() {
    let db = TestDb::new().await;
    let rows = async |query: &str| -> Vec<String> {
        db.texts(query).await.into_iter().flatten().collect()
    };
    let colours = rows("select colour from config.colour order by colour collate \"C\"").await;
    assert_eq!(colours, COLOURS);
    let icons = rows("select icon from config.silhouette order by icon collate \"C\"").await;
    assert_eq!(icons, ICONS);
    let pages = std::fs::read_to_string(repo_path("ui/app/utils/silhouettes.ts"))
        .expect("the pages' outlines");
    let (_, list) = pages.split_once("const OUTLINES").expect("a list");
    let (list, _) = list.split_once("\n}\n").expect("its end");
    let drawn: BTreeSet<String> = list
        .lines()
        .filter_map(|line| line.trim().split_once(':'))
        .filter(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        })
        .map(|(name, _)| format!("icon.{name}"))
        .collect();
    assert_eq!(drawn, icons.into_iter().collect());
}

/// UIW-2: a colour that lacks a theme or a shape is refused at the end of its transaction, whoever writes it; a whole one is taken.
#[tokio::test]
async fn a_colour_without_a_theme_or_a_shape_is_refused() {
    const SHAPE: &str =
        "insert into config.colour (colour, shape) values ('ui.blue', 'icon.waves')";
    const LIGHT: &str = "insert into config.palette select 'ui.blue', 'light', p.bg, p.fg, p.border, p.page, p.least_text, p.least_border
        from config.palette p where p.colour = 'ui.traffic_light.gray' and p.theme = 'light'";
    const OTHERS: &str = "insert into config.palette select 'ui.blue', p.theme, p.bg, p.fg, p.border, p.page, p.least_text, p.least_border
        from config.palette p where p.colour = 'ui.traffic_light.gray' and p.theme <> 'light'";
    let db = TestDb::new().await;
    let before = db.fingerprint().await;
    let mut owner = db.superuser().await;
    for statements in [
        &[SHAPE][..],
        &[SHAPE, LIGHT],
        &[LIGHT, OTHERS],
        &[
            "delete from config.palette where colour = 'ui.traffic_light.red' and theme = 'contrast'",
        ],
        &["delete from config.colour where colour = 'ui.traffic_light.red'"],
    ] {
        owner.execute("begin; set local role chancery_owner").await.expect("the owner");
        for statement in statements {
            owner
                .execute(AssertSqlSafe((*statement).to_owned()))
                .await
                .expect("not judged before the end");
        }
        let refused = owner.execute("commit").await.expect_err("a colour that is not whole");
        assert_eq!(sqlstate(&refused), "RS029", "{statements:?}");
    }
    assert_eq!(before, db.fingerprint().await, "nothing changed");
    owner.execute("begin; set local role chancery_owner").await.expect("the owner");
    for statement in [SHAPE, LIGHT, OTHERS] {
        owner.execute(statement).await.expect("a row");
    }
    owner.execute("commit").await.expect("a whole colour");
}
