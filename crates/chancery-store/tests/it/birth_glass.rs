//! Breaking the glass: births without permits for a while, on another person's word.

use chancery_model::refusal::Code::{RA002, RA003, RA006, RB001, RB002, RB004, RB017};
use serde_json::json;
use uuid::Uuid;

use crate::approval_world::refusal;
use crate::birth_world::{BORN, OLD, Policy, Shop};
use crate::governance_world::clock_ahead;
use crate::support::codes;

fn film(code: &str) -> String {
    format!("insert into shop.film (code, title) values ('{code}', 'x')")
}

/// ADM-5: the glass is broken for a reason, on an approval of somebody else that names the time and the reason, and once.
#[tokio::test]
async fn the_glass_is_broken_on_anothers_word() {
    let shop = Shop::enforced().await;
    shop.protect("shop.ticket", &Policy::enforced("code")).await.expect("protected");
    let approval = shop.glass_approval("shop.film", 5, "a flood").await;
    let before = shop.everything().await;
    let broken = async |collection: &str, approval: Option<Uuid>, reason: &str, minutes: i32| {
        refusal(shop.break_with(collection, approval, reason, minutes).await)
    };
    assert_eq!(broken("shop.film", Some(approval), "a flood", 5).await.0, RA006, "nobody voted");
    assert!(shop.votes(approval, "petra", "approve").await.is_err(), "who asks does not vote");
    assert_eq!(broken("shop.film", Some(approval), "a flood", 5).await.0, RA006);
    assert_eq!(broken("shop.film", None, "a flood", 5).await.0, RB017);
    assert_eq!(broken("shop.film", Some(approval), "  ", 5).await.0, RB017);
    for minutes in [0, -1, 1441] {
        let (code, facts) = broken("shop.film", Some(approval), "a flood", minutes).await;
        assert_eq!(
            (code, facts),
            (
                RB017,
                json!({ "collection": "shop.film", "minutes": minutes, "most": 1440, "reason": "a flood" })
            )
        );
    }
    assert_eq!(broken("shop.nothing", Some(approval), "a flood", 5).await.0, RB002);
    assert_eq!(broken("shop.film", Some(Uuid::now_v7()), "a flood", 5).await.0, RA002);
    assert_eq!(before, shop.everything().await, "nothing changed");
    shop.votes(approval, "sofia", "approve").await.expect("a vote");
    let before = shop.everything().await;
    assert_eq!(
        broken("shop.film", Some(approval), "a flood", 6).await.0,
        RA003,
        "for so long and no longer"
    );
    assert_eq!(broken("shop.film", Some(approval), "a whim", 5).await.0, RA003, "for this reason");
    assert_eq!(
        broken("shop.ticket", Some(approval), "a flood", 5).await.0,
        RA003,
        "for this family"
    );
    assert_eq!(codes(shop.write(&[&film("F-9")]).await), [RB001]);
    assert_eq!(before, shop.everything().await, "nothing changed");
    let first = shop.break_with("shop.film", Some(approval), "a flood", 5).await.expect("broken");
    let after = shop.everything().await;
    assert_eq!(
        shop.break_with("shop.film", Some(approval), "a flood", 5).await.expect("the same"),
        first
    );
    assert_eq!(after, shop.everything().await, "once");
    assert_eq!(
        codes(shop.write(&["insert into shop.ticket (code) values (9)"]).await),
        [RB001],
        "one family's glass"
    );
}

/// ADM-5, ADM-6: while it is broken births say so; it ends by itself, is a finding, and is on record.
#[tokio::test]
async fn a_broken_glass_ends_by_itself() {
    let shop = Shop::enforced().await;
    shop.break_glass("shop.film", 5).await;
    assert_eq!(
        shop.db.text("select mode from birth.v_family where collection_name = 'shop.film'").await,
        "glass_broken"
    );
    assert_eq!(shop.findings().await, ["birth_break_glass shop.film"]);
    assert_eq!(shop.db.text("select severity from governance.system_issues").await, "critical");
    shop.write(&[&film("F-9")]).await.expect("admitted");
    assert_eq!(shop.film("F-9").await, OLD.replace("births -", "births break_glass"));
    shop.own(&["update shop.film set code = 'F-10' where code = 'F-2'"])
        .await
        .expect("also renamed");
    assert_eq!(shop.film("F-10").await, OLD.replace("births -", "births break_glass"));
    shop.own(&[&film("F-11"), "delete from shop.film where code = 'F-11'"])
        .await
        .expect("comes and goes");
    shop.permits("shop.film", &["F-12"]).await;
    shop.write(&[&film("F-12")]).await.expect("with a permit as ever");
    assert_eq!(shop.film("F-12").await, BORN);
    clock_ahead(&shop.db, "5 minutes").await;
    assert_eq!(
        shop.db.text("select mode from birth.v_family where collection_name = 'shop.film'").await,
        "enforced"
    );
    let before = shop.everything().await;
    assert_eq!(codes(shop.write(&[&film("F-13")]).await), [RB001]);
    assert_eq!(
        codes(shop.own(&["update shop.film set code = 'F-13' where code = 'F-9'"]).await),
        [RB004]
    );
    assert_eq!(before, shop.everything().await, "nothing changed");
    let violations = shop.db.text("select string_agg(entity_code || ' ' || violation, ',' order by entity_code) from birth.v_birth_admission_violation").await;
    assert_eq!(violations, "F-10 glass_broken,F-11 glass_broken,F-9 glass_broken");
    let record = shop
        .db
        .text(
            "select string_agg(action || ' ' || principal, ',' order by at) from birth.family_log",
        )
        .await;
    assert_eq!(record, "protected chancery,broke_glass petra");
    shop.is_sound().await;
}
