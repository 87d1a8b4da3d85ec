//! Many at once: one of them does it, the others are told.

use std::collections::HashSet;
use std::sync::Arc;

use chancery_engine::cutter::{self, MarkRequest, Verdict};
use chancery_engine::identity::new_key;
use chancery_engine::run::Actor;
use tokio::task::JoinSet;

use crate::scene::{ONE, SEVERAL, Scene};

/// F-5: sixteen executors, one approved entry, one change set.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_executors_make_one_change_set() {
    let scene = Arc::new(Scene::new().await);
    let entry = scene.approved("several", "SEV", SEVERAL).await;
    let mut cuts = JoinSet::new();
    for n in 0..16 {
        let name = format!("exec{n:02}");
        let class = ["executor_dot991".to_owned()];
        scene.operator.fn_principal_add(&name, "service", &class, None).await.expect("a service");
        new_key(&scene.operator, &scene.keystore, &name, None).await.expect("a key");
        let actor = Actor::open(&scene.app, &scene.keystore, &name).await.expect("an actor");
        let scene = Arc::clone(&scene);
        cuts.spawn(async move { cutter::cut(&scene.exec, &actor, entry).await });
    }
    let reports: Vec<_> =
        cuts.join_all().await.into_iter().map(|cut| cut.expect("cut, or told so")).collect();
    let sets: HashSet<_> = reports.iter().map(|report| report.change_set_id).collect();
    assert_eq!(sets.len(), 1);
    assert_eq!(reports.iter().filter(|report| !report.replayed).count(), 1);
    assert_eq!(scene.db.count("cutter_governance.cut_change_set").await, 1);
    assert_eq!(scene.db.count("cutter_governance.dot_pair_signature").await, 1);
    assert!(scene.verify(entry).await.expect("verified").passed());
}

/// Processes of one executor share one chain: each signs again when another one was faster, and the chain has no fork.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_executor_can_cut_many_entries_at_once() {
    let scene = Arc::new(Scene::new().await);
    let mut entries = Vec::new();
    for n in 0..6 {
        let id = format!("doc{n}");
        scene.add(&id, &format!("DOC{n}"), SEVERAL).await;
        entries.push(scene.mark(&id).await);
    }
    scene.sweep().await;
    let mut cuts = JoinSet::new();
    for entry in &entries {
        scene.review(*entry, Verdict::Approve).await.expect("approved");
    }
    for entry in entries.clone() {
        let scene = Arc::clone(&scene);
        cuts.spawn(async move { scene.cut(entry).await });
    }
    for cut in cuts.join_all().await {
        assert!(!cut.expect("cut").replayed);
    }
    assert_eq!(
        scene.db.text("select string_agg(lane_seq::text, ' ' order by lane_seq) from cutter_governance.dot_pair_signature").await,
        "1 2 3 4 5 6"
    );
    let mut verdicts = JoinSet::new();
    for entry in entries {
        let scene = Arc::clone(&scene);
        verdicts.spawn(async move { scene.verify(entry).await });
    }
    for verdict in verdicts.join_all().await {
        assert!(verdict.expect("verified").passed());
    }
}

/// Verifiers that race give one verdict; the others are told.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn verifiers_that_race_give_one_verdict() {
    let scene = Arc::new(Scene::new().await);
    let entry = scene.applied("rules", "RULES", ONE).await;
    let mut verdicts = JoinSet::new();
    for _ in 0..8 {
        let scene = Arc::clone(&scene);
        verdicts.spawn(async move { scene.verify(entry).await });
    }
    let ids: HashSet<_> = verdicts
        .join_all()
        .await
        .into_iter()
        .map(|verdict| verdict.expect("verified, or told so").report.verify_result_id)
        .collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(scene.db.count("cutter_governance.verify_result").await, 1);
}

/// CUT-4: a request that is marked by many at once is one entry.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_request_that_is_marked_many_times_at_once_is_one_entry() {
    let scene = Arc::new(Scene::new().await);
    scene.add("rules", "RULES", ONE).await;
    let mut marks = JoinSet::new();
    for _ in 0..8 {
        let scene = Arc::clone(&scene);
        marks.spawn(async move {
            let request = MarkRequest { document_id: "rules".to_owned(), ..MarkRequest::default() };
            scene.mark_with(&request).await
        });
    }
    let reports: Vec<_> = marks.join_all().await.into_iter().map(|m| m.expect("marked")).collect();
    assert_eq!(reports.iter().filter(|report| !report.replayed).count(), 1);
    assert_eq!(scene.db.count("cutter_governance.decision_backlog_entry").await, 1);
}
