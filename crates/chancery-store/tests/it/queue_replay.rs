//! Dead letters run again when one person proposes it and another approves it, each once, and the original stays.

use chancery_engine::event::sequence_now;
use chancery_model::refusal::Code::{self, *};
use chancery_store::Error;
use chancery_store::queue::{JobOutcome, ReplayBatch, ReplayProposal};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::queue_world::{Yard, by, done, result};
use crate::support::codes;

#[track_caller]
fn refusal<T: std::fmt::Debug>(answer: Result<T, Error>) -> (Code, Value) {
    let error = answer.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    (refusal.code, Value::Object(refusal.problems[0].facts.clone()))
}

fn states(batch: &[chancery_store::queue::ReplayRequest]) -> Vec<&str> {
    batch.iter().map(|request| request.state.as_str()).collect()
}

/// EVT-4: proposal, approval by another, replay under a fresh key that points at the original, outcome and event; the original is
/// settled and still there.
#[tokio::test]
async fn a_dead_job_runs_again_with_both_ids() {
    let yard = Yard::new().await;
    let id = yard.dead("a", 1).await[0];
    let preview = yard.unchanged(yard.store.fn_dlq_replay_preview(Uuid::nil(), &[id], 50)).await;
    let preview = preview.expect("a preview").remove(0);
    assert_eq!((&preview["against"], &preview["died_of"]), (&Value::Null, &json!("permanent")));
    let (batch, approval) = yard.approved_batch(&[id], 0).await;
    assert_eq!(states(&batch.requests), ["submitted"]);
    assert_eq!(yard.events("dlq_replay.submitted").await, 1);

    // Neither id is enough.
    let without = yard.unchanged(yard.replay(batch.batch_id, Uuid::now_v7())).await;
    assert_eq!(refusal(without).0, RA002);
    let (code, facts) = refusal(yard.unchanged(yard.replay(Uuid::now_v7(), approval)).await);
    assert_eq!((code, &facts["why"]), (RE016, &json!("there is no such batch")));
    let as_reader = yard.store.fn_dlq_replay(batch.batch_id, approval, "executor_dot991", "emil");
    assert!(codes(yard.unchanged(as_reader).await).contains(&RI004));

    let run = yard.replay(batch.batch_id, approval).await.expect("replayed");
    assert_eq!((states(&run.requests), run.replayed), (vec!["scheduled"], false));
    let request = &run.requests[0];
    assert_eq!(request.approval_id, Some(approval));
    let again = yard.unchanged(yard.replay(batch.batch_id, approval)).await.expect("again");
    assert!(again.replayed);
    let new = yard.row(request.replay_job_id.expect("a job")).await;
    assert_eq!(new.idempotency_key, format!("replay:{}", request.dlq_replay_request_id));
    assert_eq!(new.replay_request_id, Some(request.dlq_replay_request_id));
    let old = yard.row(id).await;
    assert_eq!(
        (&new.payload_json, &new.job_kind, &new.trace_id, new.attempts),
        (&old.payload_json, &old.job_kind, &old.trace_id, 0)
    );

    let leased = yard.claim(5).await;
    assert_eq!(leased.len(), 1);
    let detail = json!({ "rows": 3 });
    yard.ack(&[result(&leased[0], JobOutcome::Succeeded, detail.clone())]).await;
    let end = yard.store.replay_batch(batch.batch_id).await.expect("a batch");
    assert_eq!(states(&end), ["completed"]);
    assert_eq!(end[0].outcome, Some(json!({ "outcome": "succeeded", "detail": detail })));
    assert_eq!(yard.state(id).await, "cleaned", "settled");
    assert_eq!(yard.db.count("queue.job_dead_letter").await, 1, "and still there");
    for event in [
        "job.dead_lettered",
        "dlq_replay.scheduled",
        "dlq_replay.completed",
        "job.dead_letter_resolved",
    ] {
        assert_eq!(yard.events(event).await, 1, "{event}");
    }
    sequence_now(&yard.store).await.expect("positions");
    assert_eq!(
        yard.db.count("event.event_outbox o where exists (select from event.event_position p where p.event_id = o.event_id)").await,
        yard.db.count("event.event_outbox").await,
        "every event has its position"
    );
    assert_eq!(
        refusal(yard.propose(Uuid::now_v7(), &[id], 0).await).1["why"][id.to_string()],
        "settled"
    );
}

/// EVT-4: a replay that dies again is an outcome too; the original stays open and can be proposed once more.
#[tokio::test]
async fn a_replay_that_fails_again_leaves_the_original_open() {
    let yard = Yard::new().await;
    let id = yard.dead("a", 1).await[0];
    let (batch, approval) = yard.approved_batch(&[id], 0).await;
    let run = yard.replay(batch.batch_id, approval).await.expect("replayed");
    let leased = yard.claim(1).await;
    yard.ack(&[result(&leased[0], JobOutcome::FailedForGood, json!({ "reason": "still not" }))])
        .await;
    let end = yard.store.replay_batch(batch.batch_id).await.expect("a batch");
    assert_eq!(states(&end), ["completed"]);
    let outcome = end[0].outcome.as_ref().expect("an outcome");
    assert_eq!(
        (&outcome["outcome"], &outcome["detail"]["reason"]),
        (&json!("dead_letter"), &json!("still not"))
    );
    assert_eq!(yard.state(id).await, "dead_letter");
    assert_eq!(yard.state(run.requests[0].replay_job_id.expect("a job")).await, "dead_letter");
    assert_eq!(yard.events("dlq_replay.completed").await, 1);
    assert_eq!(yard.events("job.dead_letter_resolved").await, 0);
    // Once more, and this time a person takes the new job back.
    let (batch, approval) = yard.approved_batch(&[id], 0).await;
    let run = yard.replay(batch.batch_id, approval).await.expect("replayed");
    yard.cancel(run.requests[0].replay_job_id.expect("a job"), "c").await.expect("cancelled");
    let end = yard.store.replay_batch(batch.batch_id).await.expect("a batch");
    assert_eq!(end[0].outcome.as_ref().expect("an outcome")["outcome"], "cancelled");
    assert_eq!(yard.state(id).await, "dead_letter");
}

/// EVT-4: an approval is somebody else's, for exactly this batch, and used once.
#[tokio::test]
async fn an_approval_of_ones_own_or_of_something_else_does_not_count() {
    let yard = Yard::new().await;
    let ids = yard.dead("a", 2).await;
    let batch = yard.propose(Uuid::now_v7(), &ids[..1], 0).await.expect("a batch");
    let approval = yard.ask_for(&batch).await;
    assert_eq!(refusal(yard.unchanged(yard.replay(batch.batch_id, approval)).await).0, RA006);
    let own = yard.votes(approval, "petra", "approve").await;
    assert_eq!(refusal(own).0, RA004, "who asks does not vote");
    assert_eq!(refusal(yard.replay(batch.batch_id, approval).await).0, RA006);
    yard.votes(approval, "rita", "reject").await.expect("a vote");
    assert_eq!(refusal(yard.replay(batch.batch_id, approval).await).0, RA006);

    // Somebody else asks, and the proposer votes: that is one's own approval by a detour.
    let mut detour = yard.an_ask("dlq_replay", "low", &batch.batch_id.to_string()).await;
    detour.principal = "rita".to_owned();
    detour.class = "reviewer".to_owned();
    detour.key_id = Some(yard.key("rita"));
    detour.subject_digest = Some(
        yard.one::<Vec<u8>>(&format!("select queue.replay_digest('{}')", batch.batch_id)).await,
    );
    yard.sign_ask(&mut detour).await;
    yard.ask(&detour).await.expect("a request");
    yard.votes(detour.approval_id, "petra", "approve").await.expect("a vote");
    let (code, facts) =
        refusal(yard.unchanged(yard.replay(batch.batch_id, detour.approval_id)).await);
    assert_eq!((code, &facts["differs_in"]), (RA003, &json!("proposer")));

    let (other, others) = yard.approved_batch(&ids[1..], 0).await;
    let (code, facts) = refusal(yard.unchanged(yard.replay(batch.batch_id, others)).await);
    assert_eq!((code, &facts["differs_in"]), (RA003, &json!("subject_ref")));
    let mut unpinned = yard.an_ask("dlq_replay", "low", &batch.batch_id.to_string()).await;
    yard.sign_ask(&mut unpinned).await;
    yard.ask(&unpinned).await.expect("a request");
    yard.votes(unpinned.approval_id, "rita", "approve").await.expect("a vote");
    let (code, facts) = refusal(yard.replay(batch.batch_id, unpinned.approval_id).await);
    assert_eq!((code, &facts["differs_in"]), (RA003, &json!("subject_digest")));
    yard.replay(other.batch_id, others).await.expect("its own");
    assert_eq!(yard.db.count("approval.approval_use").await, 1);
}

/// EVT-4, RE015, RE016: what cannot be proposed is refused, by name, and nothing of the batch is taken.
#[tokio::test]
async fn a_batch_is_well_formed_and_capped() {
    let yard = Yard::new().await;
    let ids = yard.dead("a", 3).await;
    let alive = yard.put("alive").await;
    let batch = Uuid::now_v7();
    let good = yard.proposal(batch, &ids, 10);
    let wrong: [fn(&mut ReplayProposal); 7] = [
        |p| p.job_ids.clear(),
        |p| p.job_ids[1] = p.job_ids[0],
        |p| p.job_ids = (0..101).map(|_| Uuid::now_v7()).collect(),
        |p| p.reason = " ".to_owned(),
        |p| p.stagger_ms = -1,
        |p| p.stagger_ms = 3_600_001,
        |p| p.signatures = Some(vec![vec![4; 64]]),
    ];
    let before = yard.db.fingerprint().await;
    for change in wrong {
        let mut bad = good.clone();
        change(&mut bad);
        let (code, facts) = refusal(yard.store.fn_dlq_replay_propose(&bad).await);
        assert_eq!((code, &facts["most"]), (RE016, &json!(100)), "{facts}");
    }
    let unknown = Uuid::now_v7();
    for odd in [alive, unknown] {
        let (code, facts) = refusal(yard.propose(batch, &[ids[0], odd], 0).await);
        assert_eq!((code, &facts["job_ids"]), (RE015, &json!([odd])));
        assert_eq!(facts["why"][odd.to_string()], "not_a_dead_letter");
    }
    let nobody = ReplayProposal { principal: "nobody".to_owned(), ..good.clone() };
    assert_eq!(codes(yard.store.fn_dlq_replay_propose(&nobody).await), [RI001]);
    // A person signs.
    let unsigned = ReplayProposal { key_id: None, signatures: None, ..good.clone() };
    assert_eq!(codes(yard.store.fn_dlq_replay_propose(&unsigned).await), [RI008]);
    assert_eq!(before, yard.db.fingerprint().await, "nothing changed");

    yard.propose(batch, &ids, 10).await.expect("a batch");
    let again = yard.unchanged(yard.propose(batch, &ids, 10)).await.expect("the same");
    assert!(again.replayed);
    for other in [yard.proposal(batch, &ids[..2], 10), yard.proposal(batch, &ids, 11)] {
        let (code, facts) = refusal(yard.store.fn_dlq_replay_propose(&other).await);
        assert_eq!((code, &facts["why"]), (RE016, &json!("the id stands for another batch")));
    }
    let (code, facts) = refusal(yard.propose(Uuid::now_v7(), &ids[..1], 0).await);
    assert_eq!((code, &facts["why"][ids[0].to_string()]), (RE015, &json!("replay_is_open")));
    let (code, facts) = refusal(yard.unchanged(yard.dismiss(ids[0])).await);
    assert_eq!((code, &facts["why"]), (RE015, &json!("a replay is proposed or under way")));
    let preview =
        yard.store.fn_dlq_replay_preview(batch, &[ids[0], alive], 0).await.expect("a preview");
    let against: Vec<&Value> = preview.iter().map(|one| &one["against"]).collect();
    assert_eq!(against, [&json!("replay_is_open"), &json!("not_a_dead_letter")]);
}

/// EVT-4: many at once run one after the other, each with a record of its own.
#[tokio::test]
async fn a_batch_is_staggered_and_each_has_its_record() {
    let yard = Yard::new().await;
    yard.stop_the_clock().await;
    let ids = yard.dead("a", 3).await;
    let (batch, approval) = yard.approved_batch(&ids, 10_000).await;
    let run = yard.replay(batch.batch_id, approval).await.expect("replayed");
    for (n, request) in run.requests.iter().enumerate() {
        assert_eq!(request.job_id, ids[n]);
        assert_eq!(yard.waits(request.replay_job_id.expect("a job")).await, 10_000 * n as i64);
    }
    for (pass, due) in [(0, 1), (9_999, 0), (1, 1), (10_000, 1)] {
        yard.later(pass).await;
        let leased = yard.claim(5).await;
        assert_eq!(leased.len(), due);
        yard.ack(&leased.iter().map(done).collect::<Vec<_>>()).await;
    }
    let end = yard.store.replay_batch(batch.batch_id).await.expect("a batch");
    assert_eq!(states(&end), ["completed", "completed", "completed"]);
    assert_eq!(yard.events("dlq_replay.completed").await, 3);
}

/// EVT-4, RE017: what was taken back does not run; the letter is free again, and can be set aside.
#[tokio::test]
async fn a_proposal_is_taken_back() {
    let yard = Yard::new().await;
    let ids = yard.dead("a", 2).await;
    let (batch, approval) = yard.approved_batch(&ids, 0).await;
    let requests: Vec<Uuid> = batch.requests.iter().map(|r| r.dlq_replay_request_id).collect();
    assert_eq!(codes(yard.withdraw(Uuid::now_v7()).await), [RS001]);
    yard.withdraw(requests[0]).await.expect("withdrawn");
    assert_eq!(yard.unchanged(yard.withdraw(requests[0])).await.expect("again")["replayed"], true);
    yard.withdraw(requests[1]).await.expect("withdrawn");
    let (code, facts) = refusal(yard.unchanged(yard.replay(batch.batch_id, approval)).await);
    assert_eq!((code, &facts["batch_id"]), (RE017, &json!(batch.batch_id)));
    assert_eq!(yard.events("dlq_replay.withdrawn").await, 2);

    let worker =
        yard.store.fn_dead_letter_dismiss(&by(ids[0], "hall", "executor_worker", "d")).await;
    assert_eq!(codes(worker), [RS004], "setting aside is a reviewer's");
    yard.dismiss(ids[0]).await.expect("set aside");
    assert_eq!(yard.unchanged(yard.dismiss(ids[0])).await.expect("again")["replayed"], true);
    assert_eq!(yard.state(ids[0]).await, "cleaned");
    assert_eq!(yard.db.count("queue.job_dead_letter").await, 2, "the letter stays");
    // Half of a batch that was taken back: the other half runs.
    let [more, rest] = [yard.dead("b", 1).await[0], ids[1]];
    let (batch, approval) = yard.approved_batch(&[more, rest], 0).await;
    yard.withdraw(batch.requests[0].dlq_replay_request_id).await.expect("withdrawn");
    let run: ReplayBatch = yard.replay(batch.batch_id, approval).await.expect("replayed");
    assert_eq!(states(&run.requests), ["withdrawn", "scheduled"]);
}
