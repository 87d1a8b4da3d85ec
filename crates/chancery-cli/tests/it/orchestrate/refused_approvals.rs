//! An approval is the sovereign's word about exactly what is asked, or it is refused and nothing changes.

use super::scene::Scene;
use super::trouble::stopped;
use crate::place::Said;

/// Takes a run on with a document that is no good: refused, with what differs, and nothing changes.
#[track_caller]
fn is_refused(scene: &Scene, run: &str, path: &str, differs: &str) -> Said {
    let state = scene.state(run);
    let said = scene.unchanged(run, || scene.resume(run, Some(path))).ends_with(3);
    stopped(&said, "STOP_APPROVAL_REFUSED");
    assert!(said.stderr.contains(differs), "no {differs:?}: {said:?}");
    let way = format!("cutter orchestrate approve --run-id {run}");
    assert!(said.stderr.contains(&way), "{said:?}");
    assert_eq!(scene.state(run), state);
    said
}

fn path(run: &str, name: &str) -> String {
    format!("orchestrator/{}/{name}", run.to_lowercase())
}

/// Writes a text as a document of this kind.
fn written(scene: &Scene, path: &str, kind: &str, text: &str, by: &str) {
    let args = ["kb", "put", path, "-", "--kind", kind, "--as", by];
    scene.place.fed(text.as_bytes(), &args).ends_with(0);
}

fn signed(scene: &Scene, path: &str, by: &str) {
    scene.place.done(&["kb", "sign", path, "--meaning", "SG_cut_authz", "--as", by]);
}

/// ORC-4, ORC-10: every document that is not the approval of this gate of this run is refused, naming what differs.
#[test]
fn nothing_but_the_approval_of_this_gate_of_this_run_takes_it_on() {
    let scene = Scene::new();
    scene.document("policy", 3).document("other", 3);
    let run = scene.started("policy");
    let other = scene.started("other");
    let of_other = scene.approved(&other);

    is_refused(&scene, &run, "nowhere/at-all", "there is no document nowhere/at-all");
    let request = path(&run, "sg1-cut-authz-request");
    is_refused(&scene, &run, &request, "is not signed for SG_cut_authz");
    is_refused(&scene, &run, &of_other, "run_id");

    // What the approval would say, in other hands.
    let good = path(&run, "sg1-cut-authz-approval");
    let text = scene.paper(&run, "sg1-cut-authz-request");
    let copy = "notes/approval";
    written(&scene, copy, "approval", &text, "alice");
    is_refused(&scene, &run, copy, "is not signed for SG_cut_authz");
    scene.place.done(&["kb", "sign", copy, "--meaning", "looks fine", "--as", "sofia"]);
    is_refused(&scene, &run, copy, "but for looks fine");
    signed(&scene, copy, "alice");
    is_refused(&scene, &run, copy, "authorizes");

    assert_eq!(scene.approved(&run), good);
    let text = scene.paper(&run, "sg1-cut-authz-approval");
    let copy = "notes/copy";
    written(&scene, copy, "approval", &text, "alice");
    signed(&scene, copy, "alice");
    is_refused(&scene, &run, copy, "signature");
    written(&scene, "notes/note", "note", &text, "alice");
    signed(&scene, "notes/note", "sofia");
    is_refused(&scene, &run, "notes/note", "document");

    // A new revision over the approval: what the sovereign signed is not what stands there.
    let changed = scene.place.file("changed.md", &text.replace("nothing else", "more"));
    let put = |by| ["kb", "put", &good, &changed, "--kind", "approval", "--as", by];
    scene.unchanged(&run, || scene.place.run(&put("alice"))).ends_with(3);
    scene.place.refused("RO012", &put("alice"));
    scene.place.done(&put("sofia"));
    is_refused(&scene, &run, &good, "is not signed for SG_cut_authz");
    assert_eq!(scene.approved(&run), good, "the sovereign signs again");

    scene.resume(&run, Some(&good)).ends_with(4);
    assert_eq!(scene.state(&run), "awaiting_lifecycle_authorization");
    // Used, and of the other gate.
    is_refused(&scene, &run, &good, "is not signed for SG_lifecycle_authz, but for SG_cut_authz");
    scene.completed(&run);
    scene.resume(&other, Some(&of_other)).ends_with(4);
    scene.completed(&other);
    scene.audit_is_clean();
}

/// ORC-4, SEC-4: the executor checks the signatures itself, so a row that a superuser made good-looking does not do.
#[test]
fn a_signature_that_was_tampered_with_takes_nothing_on() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let good = scene.approved(&run);
    let flip = |table: &str, column: &str, row: &str| {
        let sql = format!(
            "update {table} set {column} = set_byte({column}, 0, get_byte({column}, 0) # 1) where {row}"
        );
        scene.behind(table, &sql);
    };
    let signature = format!("path = '{good}'");
    flip("kb.revision_signature", "signature", &signature);
    is_refused(&scene, &run, &good, "the signature of sofia");
    // A good signature of somebody else does not hide the bad one.
    signed(&scene, &good, "alice");
    is_refused(&scene, &run, &good, "the signature of sofia");
    flip("kb.revision_signature", "signature", &format!("{signature} and signer = 'sofia'"));

    let vote = format!(
        "approval_id = (select approval_id from approval.approval_request where subject_ref = '{run}')"
    );
    flip("approval.approval_vote", "signature", &vote);
    is_refused(&scene, &run, &good, "the vote of sofia");
    flip("approval.approval_vote", "signature", &vote);

    // The text under the signature.
    scene.behind(
        "kb.revision",
        &format!("update kb.revision set body = replace(body, 'nothing else', 'anything'), sha256 = sha256(convert_to(replace(body, 'nothing else', 'anything'), 'UTF8')) where {signature}"),
    );
    is_refused(&scene, &run, &good, "the signature of");
    scene.behind(
        "kb.revision",
        &format!("update kb.revision set body = replace(body, 'anything', 'nothing else'), sha256 = sha256(convert_to(replace(body, 'anything', 'nothing else'), 'UTF8')) where {signature}"),
    );
    scene.completed(&run);
}

/// ORC-4, SEC-4: with a key that is revoked nothing is signed any more, and nothing is begun that would need it. Nor does what it
/// signed before take a run further: nothing rests on that yet, so that it is asked for again.
#[test]
fn a_revoked_key_signs_nothing_any_more() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let revoke = |of: &str| {
        let key = scene.one(&format!(
            "select key_id from identity.signing_key where principal = '{of}' and revoked_at is null"
        ));
        scene.place.done(&["key", "revoke", &key, "--reason", "lost"])
    };
    let first_gate = scene.approved(&run);
    revoke("sofia");
    revoke("executor");
    let said = scene.unchanged(&run, || scene.resume(&run, Some(&first_gate))).ends_with(3);
    stopped(&said, "STOP_KEY");
    assert!(said.stderr.contains("chancery key new executor"), "{said:?}");
    let keys = scene.place.path().join("keys");
    std::fs::rename(keys.join("executor"), keys.join("elsewhere")).expect("moved");
    let said = scene.unchanged(&run, || scene.resume(&run, Some(&first_gate))).ends_with(3);
    stopped(&said, "STOP_KEY");
    scene.place.done(&["key", "new", "executor"]);
    // Whoever found the key has not got the authority.
    let said = scene.unchanged(&run, || scene.resume(&run, Some(&first_gate))).ends_with(3);
    stopped(&said, "STOP_APPROVAL_REFUSED");
    let vote = scene.one("select vote_id from approval.approval_vote");
    assert!(said.stderr.contains("RA006") && said.stderr.contains("revoked_votes"), "{said:?}");
    assert!(said.stderr.contains(&vote), "it does not name the vote: {said:?}");
    assert_eq!(scene.one("select count(*) from iu.information_unit"), "0");
    assert_eq!(scene.one("select count(*) from approval.approval_use"), "0");
    scene.place.done(&["key", "new", "sofia"]);
    scene.taken_on(&run, 4);
    // What was used stands, whatever becomes of the key.
    revoke("sofia");
    assert_eq!(scene.one("select approval.state(approval_id) from approval.approval_use"), "used");

    let args = ["approve", "--run-id", &run, "--as", "sofia"];
    let said = scene.unchanged(&run, || scene.orchestrate(&args)).ends_with(3);
    stopped(&said, "STOP_REFUSED");
    assert!(said.stderr.contains("RI006"), "{said:?}");
    scene.place.done(&["key", "new", "sofia"]);
    scene.completed(&run);
    scene.audit_is_clean();
}

/// ORC-4, APR-1: the document of the sovereign is signed with a key of its own, and a vote with another: each counts as long as its key does.
#[test]
fn a_document_whose_key_is_revoked_opens_no_gate() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let approval = scene.approved(&run);
    // Another sovereign's vote counts; the signature under the document is of the key that is lost.
    let id = scene.one("select approval_id from approval.approval_request");
    let key = scene.one("select key_id from identity.signing_key where principal = 'sofia'");
    scene.behind(
        "approval.approval_vote",
        "update approval.approval_vote set key_id = (select key_id from identity.signing_key where principal = 'simon'), voter = 'simon'",
    );
    scene.place.done(&["key", "revoke", &key, "--reason", "lost"]);
    let problems = scene.one(&format!(
        "select orchestrator.authorization_problems((select run_id from orchestrator.run), 'SG_cut_authz', '{id}', '{approval}') #>> '{{0,differs_in}}'"
    ));
    assert_eq!(problems, "signature");
}

/// ORC-6: the backup is read again before what is written becomes immutable.
#[test]
fn nothing_is_enacted_without_the_recorded_backup() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    scene.taken_on(&run, 4);
    let file = scene.folder(&run).join("pre_write.gpg");
    let bytes = std::fs::read(&file).expect("the backup");
    let approval = scene.approved(&run);
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    std::fs::write(&file, flipped).expect("another file");
    let said = scene.unchanged(&run, || scene.resume(&run, Some(&approval))).ends_with(1);
    stopped(&said, "STOP_BACKUP_LOST");
    let enacted = "select count(*) from iu.information_unit where lifecycle_status = 'enacted'";
    assert_eq!(scene.one(enacted), "0");
    std::fs::write(&file, bytes).expect("the recorded one");
    scene.resume(&run, Some(&approval)).ends_with(0);
    assert_eq!(scene.one(enacted), "3");
}

/// ORC-10, KB-1: what a run left is the run's: nobody writes over it or beside it, the runner signed all of it, and a revision that got there
/// past the doors keeps the run from its end and is named by the audit.
#[test]
fn the_documents_of_a_run_are_its_own() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let forged = scene.place.file("forged.md", "# Another receipt\n");
    for name in
        ["04-pre-write-backup", "sg1-cut-authz-request", "11-final-orchestrator-report", "x"]
    {
        for by in ["alice", "sofia", "executor"] {
            let target = path(&run, name);
            let put = ["kb", "put", &target, &forged, "--kind", "receipt", "--as", by];
            let refused = scene.place.refused("RO012", &put);
            assert_eq!(refused["problems"][0]["run_id"], run.as_str(), "{name} by {by}");
        }
    }
    for target in ["orchestrator", "orchestrator/runs-index/2026-01-01", "orchestrator/other/void"]
    {
        let put = ["kb", "put", target, &forged, "--kind", "void", "--as", "sofia"];
        let said = scene.unchanged(&run, || scene.place.run(&put)).ends_with(3);
        assert!(said.stderr.contains("RO012"), "{said:?}");
    }
    scene.completed(&run);
    let unsigned = "select count(*) from kb.revision r where r.path like 'orchestrator/%' and r.path not like '%-approval' and not exists (
        select from kb.revision_signature s where s.path = r.path and s.revision = r.revision and s.signer = 'executor' and s.meaning = 'receipt')";
    assert_eq!(scene.one(unsigned), "0", "the runner signs what it leaves");
    scene.audit_is_clean();

    // A run that somebody wrote into behind the doors does not come to its end.
    scene.document("other", 3);
    let run = scene.started("other");
    scene.taken_on(&run, 4);
    let receipt = path(&run, "04-pre-write-backup");
    let forge = format!(
        "insert into kb.revision (path, revision, kind, body, sha256, author, created_at, row_digest)
         select path, 2, kind, 'forged', sha256('forged'), 'alice', created_at, row_digest from kb.revision where path = '{receipt}'"
    );
    scene.behind("kb.revision", &forge);
    let said = scene.taken_on(&run, 3);
    assert!(said.stderr.contains("documents_are_as_written"), "{said:?}");
    assert_eq!(scene.state(&run), "failed_closeout");
    let said = scene.place.run(&["audit", "verify", "--all"]);
    assert_eq!(said.exit, Some(1), "{said:?}");
    assert!(said.stdout.contains(&receipt) && said.stdout.contains("alice wrote it"), "{said:?}");
}
