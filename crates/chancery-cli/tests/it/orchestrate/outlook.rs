//! What can be known before a run begins, and what can be done about one that does not go on.

use std::fs;

use serde_json::Value;

use super::scene::Scene;
use super::trouble::stopped;

/// Starts a run that must be refused before there is one; gives the problems.
#[track_caller]
fn is_refused(scene: &Scene, args: &[&str]) -> Vec<Value> {
    let args = [&["start"], args, &["--as", "executor", "--json"]].concat();
    let said = scene.unchanged_database(|| scene.orchestrate(&args)).ends_with(3);
    let stopped = said.json()["stopped"].clone();
    assert_eq!(stopped["code"], "STOP_REFUSED", "{stopped}");
    let folders = fs::read_dir(scene.place.path().join("runs")).into_iter().flatten();
    assert_eq!(folders.count(), 0, "a folder was left");
    let problems = stopped["refused"]["problems"].as_array().expect("problems").clone();
    for problem in &problems {
        assert_eq!(problem["code"], "RO013", "{problem}");
        let way = problem["way"].as_str().expect("a way");
        assert!(stopped["way"].as_str().is_some_and(|said| said.contains(way)), "{stopped}");
    }
    problems
}

fn checks(problems: &[Value]) -> Vec<&str> {
    problems.iter().map(|problem| problem["check"].as_str().expect("a check")).collect()
}

/// ORC-3, ORC-10: what would fail later is said before anything is written, all of it, with what is in the way and what clears it.
#[test]
fn what_would_fail_is_refused_before_it_begins() {
    let scene = Scene::new();
    scene.document("policy", 3);
    scene.behind("orchestrator.backup_key", "create table kept as table orchestrator.backup_key");
    scene.behind("orchestrator.backup_key", "delete from orchestrator.backup_key");
    let limit = |n: &str| {
        let sql = format!(
            "update config.dot_config set value = '{n}' where key = 'orchestrator.max_candidates_per_doc'"
        );
        scene.behind("config.dot_config", &sql);
    };
    limit("2");
    let problems = is_refused(&scene, &["policy", "--unit-kind", "law_units"]);
    assert_eq!(checks(&problems), ["backup_key", "unit_limit", "vocabulary"]);
    assert_eq!((&problems[1]["found"], &problems[1]["needed"]), (&3.into(), &2.into()));
    assert_eq!(problems[2]["found"][0], "unit_kind.law_units");
    limit("20000");
    scene.behind(
        "orchestrator.backup_key",
        "insert into orchestrator.backup_key table kept; drop table kept",
    );

    let classes = |what: &str| {
        scene.behind_the_doors(&format!(
            "update identity.principal set actor_classes = '{what}' where name = 'executor'"
        ));
    };
    classes("{executor_dot991,verifier_dot992}");
    assert_eq!(checks(&is_refused(&scene, &["policy", "--verifier", "verifier"])), ["lanes_apart"]);
    classes("{executor_dot991}");

    // A unit that somebody made by hand, and units of a request that was cut the direct way.
    scene.as_executor("select iu.fn_iu_create('POLICY/x', 'X', 'text', 'executor', 'law_unit', 'chapter', p_publication_type => 'law')");
    // Its event gets its position now, and not by the command that is looked at.
    scene.place.done(&["cutter", "sweep", "--as", "executor"]);
    let problems = is_refused(&scene, &["policy"]);
    assert_eq!(checks(&problems), ["addresses_free"]);
    let stray = &problems[0]["found"][0];
    assert_eq!((&stray["address"], &stray["made_by"]), (&"POLICY/x".into(), &"executor".into()));

    scene.document("cut", 3);
    scene.place.done(&["cutter", "mark", "cut", "--as", "alice"]);
    scene.place.done(&["cutter", "sweep", "--as", "executor"]);
    scene.place.done(&["cutter", "review", "cut", "--approve", "--as", "sofia"]);
    scene.place.done(&["cutter", "cut", "cut", "--as", "executor"]);
    let problems = is_refused(&scene, &["cut"]);
    assert_eq!(checks(&problems), ["addresses_free", "cut_once"]);
    let cut = &problems[1]["found"][0];
    assert_eq!((&cut["status"], &cut["cut_by"]), (&"cut_applied".into(), &"executor".into()));
    assert_eq!(cut["way"], problems[0]["way"]);
    assert_eq!(problems[0]["found"].as_array().map(Vec::len), Some(3), "each is named");
    let way = problems[0]["way"].as_str().expect("a way").replace("TEXT", "moved");
    let way: Vec<&str> = way.split(' ').skip(1).chain(["--as", "sofia"]).collect();
    scene.place.done(&way);
    scene.started("cut");
    scene.audit_is_clean();
}

/// ORC-2: a run that is stopped is stopped, however often somebody says so; a document that has a run says what can be done about it.
#[test]
fn a_stop_can_be_repeated_and_a_conflict_leads_on() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let stop = ["stop", "--run-id", &run, "--reason", "wait", "--as", "sofia"];
    scene.orchestrate(&stop).ends_with(0);
    let again = scene.unchanged(&run, || scene.orchestrate(&stop)).ends_with(0);
    assert_eq!(again.stdout, "stopped_sovereign\n");
    let start = ["start", "policy", "--as", "executor"];
    let said = scene.orchestrate(&start).ends_with(3);
    stopped(&said, "STOP_REPLAY_CONFLICT");
    assert!(said.stderr.contains(&format!("cutter orchestrate resume --run-id {run}")), "{said:?}");

    // What failed cannot be gone on with: it is voided.
    scene.document("other", 3);
    let run = scene.held("other", "pre_write_backup_taken");
    let file = scene.folder(&run).join("pre_write.gpg");
    fs::remove_file(&file).expect("the first backup");
    fs::create_dir_all(file.join("in the way")).expect("a folder");
    scene.resume(&run, None).ends_with(1);
    let said = scene.orchestrate(&["start", "other", "--as", "executor"]).ends_with(3);
    stopped(&said, "STOP_REPLAY_CONFLICT");
    let way = said.stderr.split("way forward: ").nth(1).expect("a way").trim();
    assert_eq!(way, format!("cutter orchestrate void --run-id {run} --reason TEXT"));
}

/// ORC-2: a dry run is stopped and voided like a run; its files say so, and the database knows nothing of it.
#[test]
fn a_dry_run_is_stopped_and_voided() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let begin = || {
        let start = ["start", "policy", "--mode", "dryrun", "--as", "executor", "--json"];
        let said = scene.orchestrate(&start).ends_with(4).json();
        said["run_id"].as_str().expect("a run").to_owned()
    };
    let run = begin();
    let halt = |verb, run: &str| {
        let args = [verb, "--run-id", run, "--reason", "the annex is wrong", "--as", "sofia"];
        scene.unchanged_database(|| scene.orchestrate(&args))
    };
    for _ in 0..2 {
        assert_eq!(halt("stop", &run).ends_with(0).stdout, "stopped_sovereign\n");
    }
    assert_eq!(scene.sidecar(&run)["last_error"]["reason"], "the annex is wrong");
    let said = scene.resume(&run, None).ends_with(1);
    stopped(&said, "STOP_SOVEREIGN");
    assert!(said.stderr.contains("cutter orchestrate start policy --mode dryrun"), "{said:?}");
    for _ in 0..2 {
        assert_eq!(halt("void", &run).ends_with(0).stdout, "voided_sovereign\n");
    }
    stopped(&halt("stop", &run).ends_with(1), "STOP_REFUSED");
    stopped(&scene.resume(&run, None).ends_with(3), "STOP_RUN_VOIDED");
    let open = scene.orchestrate(&["list", "--open", "--json"]).ends_with(0).json();
    assert_eq!(open, Value::Array(Vec::new()), "it is not open any more");
    begin();
}

/// ORC-4: an approval that came to its end says so, to who would sign and to who would use it.
#[test]
fn an_expired_approval_says_so() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let approval = scene.approved(&run);
    scene.behind(
        "approval.approval_request",
        "update approval.approval_request set requested_at = requested_at - interval '9 days', expires_at = expires_at - interval '9 days'",
    );
    let said = scene.orchestrate(&["approve", "--run-id", &run, "--as", "sofia"]).ends_with(3);
    stopped(&said, "STOP_NOTHING_ASKED");
    assert!(said.stderr.contains("expired at") && said.stderr.contains("resume"), "{said:?}");
    let said = scene.resume(&run, Some(&approval)).ends_with(3);
    stopped(&said, "STOP_APPROVAL_REFUSED");
    assert!(said.stderr.contains("expired at"), "{said:?}");
    assert_eq!(scene.one("select count(*) from iu.information_unit"), "0");
}

/// CUT-7: a cut that waits says for what.
#[test]
fn a_cut_names_what_it_waits_for() {
    let scene = Scene::new();
    scene.document("first", 3).document("second", 3);
    scene.place.done(&["cutter", "mark", "first", "--as", "alice"]);
    scene.place.done(&["cutter", "mark", "second", "--depends-on", "first", "--as", "alice"]);
    scene.place.done(&["cutter", "sweep", "--as", "executor"]);
    scene.place.done(&["cutter", "review", "second", "--approve", "--as", "sofia"]);
    let refused = scene.place.refused("RS006", &["cutter", "cut", "second", "--as", "executor"]);
    let blocker = &refused["problems"][0]["blockers"][0];
    assert_eq!(
        (&blocker["document_id"], &blocker["status"]),
        (&"first".into(), &"review_pending".into())
    );
}
