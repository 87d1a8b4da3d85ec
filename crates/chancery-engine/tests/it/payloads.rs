//! APR-1, KB-1: what is signed is the same text in Rust and in PostgreSQL, whatever characters it has.

use chancery_model::approval::{Request, Vote, counted_as, request_payload, vote_payload};
use chancery_model::kb::{Signature, signature_payload};
use chancery_testkit::TestDb;
use rand::Rng as _;

use crate::digests::{Random, sql, sql_bytes, sql_optional};

const TIMES: std::ops::Range<i64> = 0..4_000_000_000_000_000;

#[tokio::test]
async fn texts_of_requests_are_the_same() {
    let db = TestDb::new().await;
    let mut random = Random::new(11);
    for _ in 0..60 {
        let facts = random.object(3);
        let [kind, subject_kind, subject_ref, risk, title, principal] =
            [(); 6].map(|()| random.text());
        let digest = random.maybe(Random::digest);
        let request = Request {
            approval_id: random.uuid(),
            kind: &kind,
            subject_kind: &subject_kind,
            subject_ref: &subject_ref,
            subject_digest: digest.as_ref().map(<[u8; 32]>::as_slice),
            risk: &risk,
            title: &title,
            facts: &facts,
            expires_at: random.0.gen_range(TIMES),
            principal: &principal,
            key_id: random.uuid(),
            signed_at: random.0.gen_range(TIMES),
        };
        // A row in the order of the table's columns.
        let query = format!(
            "select approval.request_payload(row('{}', {}, {}, {}, {}, {}, {}, internal.canonical_json({}::jsonb), {}, now(),
               internal.from_micros({}), '{}', '', '', internal.from_micros({}), '', 1)::approval.approval_request)",
            request.approval_id,
            sql(&kind),
            sql(&subject_kind),
            sql(&subject_ref),
            digest.map_or_else(|| "null".to_owned(), |digest| sql_bytes(&digest)),
            sql(&risk),
            sql(&title),
            sql(&facts.to_string()),
            sql(&principal),
            request.expires_at,
            request.key_id,
            request.signed_at,
        );
        assert_eq!(db.text(&query).await, request_payload(&request));
    }
}

#[tokio::test]
async fn texts_of_votes_and_signatures_are_the_same() {
    let db = TestDb::new().await;
    let mut random = Random::new(12);
    for _ in 0..60 {
        let [decision, principal, actor_class, path, meaning] = [(); 5].map(|()| random.text());
        let (rationale, digest) = (random.maybe(Random::text), random.digest());
        let vote = Vote {
            vote_id: random.uuid(),
            approval_id: random.uuid(),
            request_digest: &digest,
            decision: &decision,
            rationale: rationale.as_deref(),
            principal: &principal,
            actor_class: &actor_class,
            key_id: random.uuid(),
            signed_at: random.0.gen_range(TIMES),
        };
        let query = format!(
            "select approval.vote_payload('{}', '{}', {}, {}, {}, {}, {}, '{}', {})",
            vote.vote_id,
            vote.approval_id,
            sql_bytes(&digest),
            sql(&decision),
            sql_optional(rationale.as_deref()),
            sql(&principal),
            sql(&actor_class),
            vote.key_id,
            vote.signed_at,
        );
        assert_eq!(db.text(&query).await, vote_payload(&vote));

        let signature = Signature {
            signature_id: random.uuid(),
            path: &path,
            revision: random.0.gen_range(1..i32::MAX),
            sha256: &digest,
            meaning: &meaning,
            principal: &principal,
            key_id: random.uuid(),
            signed_at: random.0.gen_range(TIMES),
        };
        let query = format!(
            "select kb.signature_payload('{}', {}, {}, {}, {}, {}, '{}', {})",
            signature.signature_id,
            sql(&path),
            signature.revision,
            sql_bytes(&digest),
            sql(&meaning),
            sql(&principal),
            signature.key_id,
            signature.signed_at,
        );
        assert_eq!(db.text(&query).await, signature_payload(&signature));
    }
}

/// What a vote counts as is decided by the database; the audit's own account of it agrees for every class and kind.
#[tokio::test]
async fn a_vote_counts_for_the_same() {
    let db = TestDb::new().await;
    let classes = db.texts("select code from identity.actor_class order by 1").await;
    let source = include_str!("../../../../sql/approval/functions/fn_approval_vote.sql");
    let start = source.find("case when p_actor_class").expect("what a vote counts as");
    let end = start + source[start..].find(" end").expect("its end") + 4;
    for class in classes.into_iter().flatten() {
        for kind in ["human", "agent", "service"] {
            let rule = source[start..end]
                .replace("p_actor_class", &format!("'{class}'"))
                .replace("v_principal.kind", &format!("'{kind}'"));
            let found = db.text(&format!("select {rule}")).await;
            assert_eq!(found, counted_as(&class, kind), "{class} {kind}");
        }
    }
}
