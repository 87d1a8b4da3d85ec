//! Permits that end without a birth because somebody says so: who took them back, and who says that they failed.

use chancery_model::refusal::Code::{RB001, RB011, RB012, RB016, RB019, RI003, RI008, RS004};
use chancery_store::{Error, Role};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::approval_world::Panel;
use crate::approval_world::refusal;
use crate::birth_world::{BORN, Policy, Shop};
use crate::support::codes;

const NEW: &str = "insert into shop.film (code, title) values ('F-9', 'Nine')";

pub(crate) async fn revoke(
    shop: &Shop,
    permit: Uuid,
    principal: &str,
    class: &str,
    reason: &str,
) -> Result<Value, Error> {
    let mut app = shop.db.connect(Role::App).await;
    let answer =
        sqlx::query_scalar("select birth.fn_birth_permit_revoke($1, $2, $3, $4, 'revoke')")
            .bind(permit)
            .bind(reason)
            .bind(class)
            .bind(principal)
            .fetch_one(&mut app)
            .await?;
    Ok(answer)
}

pub(crate) async fn fail(
    shop: &Shop,
    permit: Uuid,
    principal: &str,
    reason: &str,
) -> Result<Value, Error> {
    let mut app = shop.db.connect(Role::App).await;
    let answer =
        sqlx::query_scalar("select birth.fn_birth_permit_fail($1, $2, $3, 'executor_worker')")
            .bind(permit)
            .bind(reason)
            .bind(principal)
            .fetch_one(&mut app)
            .await?;
    Ok(answer)
}

/// ADM-3: a permit is taken back by somebody else, for a reason, while nobody used it.
#[tokio::test]
async fn a_permit_is_revoked_by_another() {
    let shop = Shop::enforced().await;
    shop.db.service("both", &["executor_worker", "reviewer"]).await;
    shop.ask_as("both", "executor_worker", "shop.film", json!([{ "code": "F-9" }]), None)
        .await
        .expect("a permit");
    let permit = shop.permit_of("shop.film", "F-9").await;
    let before = shop.everything().await;
    let own = refusal(revoke(&shop, permit, "both", "reviewer", "why").await);
    assert_eq!(own, (RB016, json!({ "permit_id": permit, "principal": "both" })));
    let nobody = Uuid::now_v7();
    assert_eq!(
        refusal(revoke(&shop, nobody, "chief", "reviewer", "why").await),
        (RB019, json!({ "permit_id": nobody, "principal": "chief" }))
    );
    assert_eq!(
        refusal(revoke(&shop, permit, "clerk", "executor_worker", "why").await).0,
        RS004,
        "not that class's"
    );
    assert_eq!(refusal(revoke(&shop, permit, "clerk", "reviewer", "why").await).0, RI003);
    assert_eq!(
        refusal(revoke(&shop, permit, "rita", "reviewer", "why").await).0,
        RI008,
        "a person signs"
    );
    assert_eq!(before, shop.everything().await, "nothing changed");
    let first =
        revoke(&shop, permit, "chief", "reviewer", "no longer wanted").await.expect("revoked");
    assert_eq!((&first["status"], &first["replayed"]), (&json!("REVOKED"), &json!(false)));
    let after = shop.everything().await;
    let again = revoke(&shop, permit, "chief", "reviewer", "no longer wanted")
        .await
        .expect("the first answer");
    assert_eq!(again["replayed"], true);
    assert_eq!(after, shop.everything().await, "once");
    assert_eq!(codes(shop.write(&[NEW]).await), [RB001]);

    shop.permits("shop.film", &["F-10"]).await;
    shop.write(&["insert into shop.film (code, title) values ('F-10', 'Ten')"])
        .await
        .expect("born");
    let used = shop.permit_of("shop.film", "F-10").await;
    let before = shop.everything().await;
    let refused = codes(revoke(&shop, used, "chief", "reviewer", "too late").await);
    assert!(refused.iter().all(|code| code.as_str().starts_with("RS")), "{refused:?}");
    assert_eq!(before, shop.everything().await, "a birth stands");
    shop.is_sound().await;
}

/// ADM-3: a permit that is being used is not revoked meanwhile: whoever comes second waits, and finds out.
#[tokio::test]
async fn a_permit_in_use_is_not_revoked() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-9"]).await;
    let permit = shop.permit_of("shop.film", "F-9").await;
    let mut writer = shop.db.connect(Role::BirthWriter).await;
    writer.execute("begin").await.expect("a transaction");
    writer.execute(NEW).await.expect("inserted");
    let mut app = shop.db.connect(Role::App).await;
    let pid: i32 =
        sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut app).await.expect("a number");
    let statement =
        format!("select birth.fn_birth_permit_revoke('{permit}', 'why', 'reviewer', 'chief', 'k')");
    let revoking = tokio::spawn(async move {
        app.execute(AssertSqlSafe(statement)).await.map(drop).map_err(Error::from)
    });
    chancery_testkit::until("the revocation waits", async || {
        shop.one::<bool>(&format!("select cardinality(pg_blocking_pids({pid})) > 0")).await
    })
    .await;
    writer.execute("commit").await.expect("born");
    let refused = codes(revoking.await.expect("no panic"));
    assert!(refused.iter().all(|code| code.as_str().starts_with("RS")), "{refused:?}");
    assert_eq!(shop.film("F-9").await, BORN);
    shop.is_sound().await;
}

/// ADM-2, ADM-3: who asked says that it failed, and why; nobody else does, and what was used did not fail.
#[tokio::test]
async fn a_failure_is_told_by_who_asked() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["F-9", "F-10"]).await;
    let permit = shop.permit_of("shop.film", "F-9").await;
    let before = shop.everything().await;
    assert_eq!(
        refusal(fail(&shop, permit, "cashier", "why").await),
        (RB019, json!({ "permit_id": permit, "principal": "cashier" }))
    );
    assert_eq!(refusal(fail(&shop, Uuid::nil(), "clerk", "why").await).0, RB019);
    assert_eq!(refusal(fail(&shop, permit, "clerk", "  ").await).0, RB012);
    assert_eq!(before, shop.everything().await, "nothing changed");
    let failed = fail(&shop, permit, "clerk", "the table said no").await.expect("failed");
    assert_eq!(failed["status"], "FAILED");
    assert_eq!(
        shop.film("F-9").await,
        "rows 0 | permits FAILED | births - | log RESERVED>FAILED | told reserved,failed"
    );
    let after = shop.everything().await;
    assert_eq!(
        fail(&shop, permit, "clerk", "again").await.expect("where it stands")["status"],
        "FAILED"
    );
    shop.write(&["insert into shop.film (code, title) values ('F-10', 'Ten')"])
        .await
        .expect("born");
    let used = shop.permit_of("shop.film", "F-10").await;
    assert_ne!(after, shop.everything().await);
    let after = shop.everything().await;
    assert_eq!(
        fail(&shop, used, "clerk", "it did not").await.expect("where it stands")["status"],
        "FINALIZED"
    );
    assert_eq!(after, shop.everything().await, "a birth stands");
    shop.is_sound().await;
}

/// ADM-3: a permit that failed may be asked for again on the approval it had; one that was revoked may not.
#[tokio::test]
async fn a_revocation_ends_the_approval() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy { approval: true, ..Policy::enforced("code") })
        .await
        .expect("protected");
    let mut ask = shop.an_ask("birth_admission", "low", "shop.film/F-9").await;
    let hash = "select birth.request_hash('shop.film', 'F-9', 'Nine', null, 'governed', null)";
    ask.subject_digest = Some(shop.one(hash).await);
    shop.sign_ask(&mut ask).await;
    Panel::ask(&shop, &ask).await.expect("a request");
    let approval = ask.approval_id;
    shop.votes(approval, "rita", "approve").await.expect("a vote");
    let request = async || {
        let nine = json!([{ "code": "F-9", "name": "Nine" }]);
        shop.ask_as("clerk", "executor_worker", "shop.film", nine, Some(approval)).await
    };
    request().await.expect("a permit");
    let failed = shop.permit_of("shop.film", "F-9").await;
    fail(&shop, failed, "clerk", "the disk was full").await.expect("failed");
    request().await.expect("another");
    let taken = shop.permit_of("shop.film", "F-9").await;
    assert_ne!(failed, taken);
    assert!(shop.film("F-9").await.contains("RESERVED"));
    revoke(&shop, taken, "chief", "reviewer", "not this one").await.expect("revoked");
    let before = shop.everything().await;
    let (code, facts) = refusal(request().await);
    assert_eq!((code, &facts["why"]), (RB011, &json!("revoked")));
    assert_eq!(before, shop.everything().await, "nothing changed");
}
