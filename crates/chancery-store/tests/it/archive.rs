//! The machines that race in locking.rs: a dossier completes only when none of its papers is open; a done paper is reopened
//! only while its dossier goes on.

use chancery_store::fsm::{Move, Start};
use chancery_store::{Role, Store};
use chancery_testkit::TestDb;
use serde_json::json;
use uuid::Uuid;

use crate::session::Watch;
use crate::support::{a_move, birth};

pub(crate) const DOSSIER: &str = r#"
machine: dossier
scope: custom
version: 1.0.0
description: A dossier of papers.
events:
  - { type: dossier.completed, description: All papers are done. }
guards:
  - { name: no_open_paper, kind: config, rule: '$.run.children.open == 0', reads: [children], description: Every paper is done. }
states:
  - { code: open, class: idle, initial: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Open, vi: Mở }, message: { en: open, vi: mở } }
  - { code: reviewing, class: active, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Reviewing, vi: Đang xem }, message: { en: read, vi: đọc } }
  - { code: completed, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Completed, vi: Xong }, message: { en: done, vi: xong } }
transitions:
  - { id: begin, from: "∅", to: open, actors: [executor_worker], trigger: { kind: rpc, ref: dossier_begin } }
  - { id: review, from: open, to: reviewing, actors: [executor_worker], trigger: { kind: rpc, ref: dossier_review } }
  - { id: back, from: reviewing, to: open, actors: [executor_worker], trigger: { kind: rpc, ref: dossier_back } }
  - { id: complete, from: [open, reviewing], to: completed, actors: [executor_worker], trigger: { kind: rpc, ref: dossier_complete }, guards: [no_open_paper], event: dossier.completed }
"#;

pub(crate) const PAPER: &str = r#"
machine: paper
scope: custom
version: 1.0.0
description: A paper of a dossier.
events:
  - { type: paper.reopened, description: A paper is worked on again. }
guards:
  - { name: dossier_goes_on, kind: config, rule: '$.run.parent.terminal == false', reads: [parent], description: The dossier is not completed. }
states:
  - { code: open, class: idle, initial: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Open, vi: Mở }, message: { en: open, vi: mở } }
  - { code: done, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Done, vi: Xong }, message: { en: done, vi: xong } }
transitions:
  - { id: begin, from: "∅", to: open, actors: [executor_worker], trigger: { kind: rpc, ref: paper_begin } }
  - { id: finish, from: open, to: done, actors: [executor_worker], trigger: { kind: rpc, ref: paper_finish } }
  - { id: stamp, from: done, to: done, actors: [system], trigger: { kind: rpc, ref: paper_stamp }, terminal_exit: true }
  - { id: reopen, from: done, to: open, actors: [executor_worker], trigger: { kind: rpc, ref: paper_reopen }, guards: [dossier_goes_on], event: paper.reopened, terminal_exit: true }
"#;

/// Completed dossiers that have an open paper: there is never one.
pub(crate) const BROKEN: &str =
    "select count(*) from fsm.run d join fsm.run p on p.parent_run_id = d.run_id
                       where d.state_code = 'completed' and p.state_code = 'open'";

pub(crate) async fn archive() -> (TestDb, Store, Watch) {
    let db = TestDb::new().await;
    db.service("writer", &["executor_worker", "system"]).await;
    db.machine(DOSSIER).await;
    db.machine(PAPER).await;
    let watch = Watch::new(&db);
    // A deadlock shows itself at once instead of after a second.
    let statement =
        format!("alter database \"{}\" set deadlock_timeout = '100ms'", db.target().database());
    sqlx::query(sqlx::AssertSqlSafe(statement)).execute(&watch.pool).await.expect("a setting");
    let store = db.store(Role::App);
    (db, store, watch)
}

pub(crate) fn new_dossier() -> Start {
    Start { trigger_ref: "dossier_begin".to_owned(), ..birth("dossier", json!({})) }
}

pub(crate) fn new_paper(dossier: Uuid) -> Start {
    Start {
        trigger_ref: "paper_begin".to_owned(),
        parent: Some(dossier),
        ..birth("paper", json!({}))
    }
}

pub(crate) fn by_writer(run: Uuid, to: &str, trigger: &str) -> Move {
    a_move(run, to, "writer", "executor_worker", trigger, json!({}))
}

pub(crate) fn review(dossier: Uuid) -> Move {
    by_writer(dossier, "reviewing", "rpc:dossier_review")
}

pub(crate) fn complete(dossier: Uuid) -> Move {
    by_writer(dossier, "completed", "rpc:dossier_complete")
}

pub(crate) fn finish(paper: Uuid) -> Move {
    by_writer(paper, "done", "rpc:paper_finish")
}

pub(crate) fn stamp(paper: Uuid) -> Move {
    a_move(paper, "done", "writer", "system", "rpc:paper_stamp", json!({}))
}

pub(crate) fn reopen(paper: Uuid) -> Move {
    by_writer(paper, "open", "rpc:paper_reopen")
}

/// A dossier whose papers are all done.
pub(crate) async fn dossier(store: &Store, papers: usize) -> (Uuid, Vec<Uuid>) {
    let dossier = store.fn_run_start(&new_dossier()).await.expect("a dossier").run_id;
    let mut done = Vec::new();
    for _ in 0..papers {
        let paper = store.fn_run_start(&new_paper(dossier)).await.expect("a paper").run_id;
        store.fn_state_transition_apply(&finish(paper)).await.expect("a paper is finished");
        done.push(paper);
    }
    (dossier, done)
}
