//! Both sides make the same bytes: the digests of requests, payloads and permits, in Rust and in PostgreSQL.

use chancery_model::birth::{Permit, Request, payload_digest, permit_digest, request_hash};
use chancery_model::canonical;
use chancery_testkit::TestDb;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use uuid::Uuid;

/// ADM-2: Rust and PostgreSQL make the same digests of requests and permits, whatever the texts.
#[tokio::test]
async fn requests_and_permits_have_the_same_digests_on_both_sides() {
    const TEXTS: [&str; 9] =
        ["", "F-1", "Phở bò đặc biệt", "a,b:c", "-1", "12:", "\u{1F35C}", "\"\\\n\t", "ệ\u{301}"];
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let mut random = StdRng::seed_from_u64(6);
    for _ in 0..300 {
        let mut text = || {
            (0..random.gen_range(1..4))
                .map(|_| *TEXTS.choose(&mut random).expect("one"))
                .collect::<String>()
        };
        let texts: [String; 6] = std::array::from_fn(|_| text());
        let [collection, code, name, species, role, dot] = &texts;
        let mut given = |value| Some(value).filter(|_| random.gen_bool(0.6));
        let (name, species) = (given(name.as_str()), given(species.as_str()));
        let payload = json!({ "b": name, "ạ": [species, 1.5e3], "a": { "": code } });
        let digest = payload_digest(&payload);
        let digest = Some(digest.as_slice()).filter(|_| random.gen_bool(0.5));
        let request = Request { collection, code, name, species, role, payload_digest: digest };
        let hash = request_hash(&request);
        let mut some = || random.gen_bool(0.5).then(|| Uuid::from_u128(random.r#gen()));
        let (batch_id, approval_id) = (some(), some());
        let permit_id = Uuid::from_u128(random.r#gen());
        let requested_at: i64 = random.gen_range(-1_000_000_000_000..4_000_000_000_000_000);
        let expires_at = requested_at + random.gen_range(1..604_800_000_000);
        let permit = Permit {
            permit_id,
            request_hash: &hash,
            batch_id,
            dot,
            approval_id,
            requested_at,
            expires_at,
        };
        let (of_request, of_permit, of_payload): (Vec<u8>, Vec<u8>, Vec<u8>) = sqlx::query_as(
            "select birth.request_hash($1, $2, $3, $4, $5, $6),
                    birth.permit_digest($7, $8, $9, $10, $11, internal.from_micros($12), internal.from_micros($13)),
                    sha256(convert_to(internal.canonical_json($14::jsonb), 'UTF8'))",
        )
        .bind(collection)
        .bind(code)
        .bind(name)
        .bind(species)
        .bind(role)
        .bind(digest)
        .bind(permit_id)
        .bind(hash.as_slice())
        .bind(batch_id)
        .bind(dot)
        .bind(approval_id)
        .bind(requested_at)
        .bind(expires_at)
        .bind(canonical::to_string(&payload))
        .fetch_one(&mut admin)
        .await
        .expect("digests");
        assert_eq!(hash.as_slice(), of_request, "{request:?}");
        assert_eq!(permit_digest(&permit).as_slice(), of_permit, "{permit:?}");
        assert_eq!(payload_digest(&payload).as_slice(), of_payload, "{payload}");
    }
}
