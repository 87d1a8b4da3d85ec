//! One gate after another fails for real: the runner is driven, the run is failed, and nothing of the phase is there.

use serde_json::{Map, Value, json};

use super::scene::Scene;
use super::tamper::id;

/// How a run that failed looks, everywhere.
struct Failed<'a> {
    state: &'a str,
    phase: &'a str,
    invariant: &'a str,
    /// What the phase would have written, as a count.
    written: &'a str,
}

impl Failed<'_> {
    fn check(&self, scene: &Scene, run: &str) {
        let Self { state, phase, invariant, written } = self;
        assert_eq!(scene.state(run), *state);
        let logged = scene.one(&format!(
            "select evidence from fsm.transition_log where run_id = '{}' order by seq desc limit 1",
            id(run)
        ));
        let logged: Value = serde_json::from_str(&logged).expect("evidence");
        let invariants: &Map<String, Value> = logged["invariants"].as_object().expect("invariants");
        let violated: Vec<&str> = invariants
            .iter()
            .filter(|(_, holds)| **holds != json!(true))
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(violated, [*invariant], "{logged}");
        assert_eq!(logged["code"], "STOP_INVARIANT");

        let sidecar = scene.sidecar(run);
        assert_eq!(sidecar["state"], *state);
        assert_eq!(sidecar["phases"][phase]["result"], "failed");
        assert_eq!(sidecar["phases"][phase]["gate_invariants"], logged["invariants"]);
        assert_eq!(sidecar["last_error"]["code"], "STOP_INVARIANT");

        let report = logged["report_kb_id"].as_str().expect("a report");
        assert_eq!(sidecar["last_error"]["report_kb_id"], report);
        let report = scene.one(&format!("select body from kb.revision where path = '{report}'"));
        assert!(report.contains(invariant) && report.contains("\"context_pins\""), "{report}");
        assert!(report.contains("cutter orchestrate"), "no way forward: {report}");

        let written = written.replace("{run}", &format!("'{}'::uuid", id(run)));
        assert_eq!(scene.one(&format!("select count(*) from {written}")), "0", "{written}");
    }
}

/// Ends with exit code 3 and says which invariant it was; gives the run.
fn stopped(said: &crate::place::Said, invariant: &str) {
    assert_eq!(said.exit, Some(3), "{said:?}");
    assert!(said.stderr.contains("STOP_INVARIANT"), "{said:?}");
    assert!(said.stderr.contains(invariant), "it does not say which: {said:?}");
}

fn start(scene: &Scene, document: &str, invariant: &str) -> String {
    let said = scene.orchestrate(&["start", document, "--as", "executor"]);
    stopped(&said, invariant);
    said.stderr.lines().find_map(|line| line.strip_prefix("run ")).expect("a run").to_owned()
}

const ENTRY: &str = "cutter_governance.decision_backlog_entry e join orchestrator.run r using (entry_id) where r.run_id = {run}";
const PLAN: &str = "fsm.transition_log where run_id = {run} and to_state = 'cutplan_ok'";
const UNITS: &str = "orchestrator.units({run}) u where (u.unit).id is not null";
const CHANGE_SET: &str = "cutter_governance.cut_change_set where change_set_id = internal.derived_uuid({run}, 'change_set')";

/// ORC-1, ORC-3, ORC-4: the gates before the first authorization.
#[test]
fn a_violated_invariant_fails_the_run_before_it_writes() {
    let scene = Scene::new();
    let check = |run: &str, state, phase, invariant, written| {
        Failed { state, phase, invariant, written }.check(&scene, run);
    };

    // A newer version came between the beginning and the pin.
    scene.document("newer", 3);
    let run = scene.held("newer", "source_pinned");
    let file = scene.place.file("newer.md", "# Another text\n\nOf the same document.\n");
    scene.place.done(&["doc", "add", &file, "--id", "newer", "--prefix", "NEWER", "--as", "alice"]);
    stopped(&scene.resume(&run, None), "source_version_is_latest");
    check(
        &run,
        "failed_source_pin",
        "source_pin",
        "source_version_is_latest",
        "fsm.transition_log where run_id = {run} and to_state = 'source_pinned'",
    );
    // Over is over.
    let again = scene.resume(&run, None).ends_with(3);
    assert!(again.stderr.contains("STOP_RUN_FAILED"), "{again:?}");

    // More units than are allowed.
    scene.document("large", 3);
    let limit = "update config.dot_config set value = '{}' where key = 'orchestrator.max_candidates_per_doc'";
    let run = scene.held("large", "marked");
    scene.behind_the_doors(&limit.replace("{}", "2"));
    stopped(&scene.resume(&run, None), "mark_rowset_within_limit");
    scene.behind_the_doors(&limit.replace("{}", "20000"));
    check(&run, "failed_mark", "mark", "mark_rowset_within_limit", ENTRY);

    // The request does not come before its reviewers.
    scene.document("unswept", 3);
    let sweep = Kept::of(&scene, "cutter_governance.sweep");
    sweep.replaced("begin return '{}'; end");
    let run = start(&scene, "unswept", "request_awaits_review");
    sweep.restored();
    check(&run, "failed_mark", "mark", "request_awaits_review", ENTRY);

    // Somebody made a unit at the document's addresses meanwhile: it is named.
    scene.document("taken", 3);
    let run = scene.held("taken", "source_pinned");
    scene.as_executor("select iu.fn_iu_create('TAKEN/x', 'X', 'text', 'executor', 'law_unit', 'chapter', p_publication_type => 'law')");
    let said = scene.resume(&run, None);
    stopped(&said, "addresses_free");
    assert!(said.stderr.contains("\"blockers\"") && said.stderr.contains("TAKEN/x"), "{said:?}");
    check(&run, "failed_cutplan", "cutplan", "addresses_free", PLAN);

    // The executor lost a right, and somebody else got one.
    for (n, (invariant, change, back)) in [
        (
            "executor_may_write_units",
            "revoke execute on function iu.fn_iu_enact from cutter_exec",
            "grant execute on function iu.fn_iu_enact to cutter_exec",
        ),
        (
            "nothing_open_to_public",
            "grant execute on function cutter_governance.fn_cut to public",
            "revoke execute on function cutter_governance.fn_cut from public",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let document = format!("rights{n}");
        scene.document(&document, 3);
        scene.one(change);
        let run = start(&scene, &document, invariant);
        scene.one(back);
        check(
            &run,
            "failed_grant_probe",
            "grant_probe",
            invariant,
            "approval.approval_request where subject_ref like '%' || {run}::text",
        );
    }

    // The decision that would be asked for is there already, from elsewhere: nothing is asked. A request has no state of its own to fail in.
    scene.document("reused", 3);
    let run = scene.held("reused", "awaiting_cut_authorization");
    scene.behind_the_doors(&format!(
        "insert into cutter_governance.review_decision (review_scope, manifest_id, manifest_version, status, verdict, findings, reviewer_class, reviewer_identity,
             risk_class_assessment, key_id, decision_payload, signature, decision_at, created_at, row_digest, review_decision_id, governance_event_kind, entry_id)
           select 'x', gen_random_uuid(), 'x', 'x', 'approve', '{{}}', 'x', 'sofia', 'low', gen_random_uuid(), 'x', '', now(), now(), ''::bytea,
                  internal.derived_uuid('{}', 'cut_decision'), 'cut_review', gen_random_uuid()",
        id(&run)
    ));
    stopped(&scene.resume(&run, None), "decision_is_new");
    check(
        &run,
        "stopped_exception",
        "cut_authz_request",
        "decision_is_new",
        "kb.revision where path like '%' || {run}::text || '/sg1-cut-authz-request'",
    );
}

/// ORC-3, ORC-6: a backup that cannot be put where it belongs fails the run before anything is asked.
#[test]
fn a_backup_that_cannot_be_written_fails_the_run() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.held("policy", "pre_write_backup_taken");
    let file = scene.folder(&run).join("pre_write.gpg");
    std::fs::remove_file(&file).expect("the first backup");
    std::fs::create_dir_all(file.join("in the way")).expect("a folder");
    // Not a rule that refused, but a file that could not be written.
    let said = scene.resume(&run, None).ends_with(1);
    assert!(said.stderr.contains("STOP_BACKUP"), "{said:?}");
    assert_eq!(scene.state(&run), "failed_backup");
    let sidecar = scene.sidecar(&run);
    assert_eq!(sidecar["phases"]["backup"]["gate_invariants"], no_backup());
    assert_eq!(sidecar["last_error"]["code"], "STOP_BACKUP");
}

/// Seed D §4, ORC-3: what was not found is recorded as false, not left out.
fn no_backup() -> serde_json::Value {
    json!({
        "backup_sha_recorded": false, "backup_target_reachable": false, "key_fingerprint_matches": false, "sidecar_written": false,
    })
}

/// Seed D §4, ORC-3, ORC-6: a key that is gone when the backup is due fails the run, with every invariant of the gate on record.
#[test]
fn a_key_that_is_missing_is_recorded_as_false() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.held("policy", "pre_write_backup_taken");
    scene.behind("orchestrator.backup_key", "delete from orchestrator.backup_key");
    let said = scene.resume(&run, None).ends_with(1);
    assert!(said.stderr.contains("\nSTOP_BACKUP: no key is pinned"), "{said:?}");
    assert_eq!(scene.state(&run), "failed_backup");
    assert_eq!(scene.sidecar(&run)["phases"]["backup"]["gate_invariants"], no_backup());
    let logged = scene.moves(&run).pop().expect("a move");
    assert_eq!(logged["evidence"]["invariants"], no_backup());
}

/// ORC-1, ORC-3: the gates from the cut to the end.
#[test]
fn a_violated_invariant_fails_the_run_and_takes_the_phase_back() {
    let scene = Scene::new();
    let check = |run: &str, state, phase, invariant, written| {
        Failed { state, phase, invariant, written }.check(&scene, run);
    };
    let goes_on = |run: &str, invariant: &str| {
        let approval = scene.approved(run);
        stopped(&scene.resume(run, Some(&approval)), invariant);
    };
    let unused =
        "approval.approval_use where used_for_ref like '%' || {run}::text || '/SG_cut_authz'";

    // What would be written is not what was approved; what is written is not written at once; a unit is no draft.
    let digest = Kept::of(&scene, "cutter_governance.writer_digest");
    let units = Kept::of(&scene, "cutter_governance.create_units");
    for (document, invariant, sabotage) in [
        ("digest", "writer_digest_is_the_approved_one", (&digest, "select sha256('something else')".to_owned())),
        ("pieces", "one_transaction", (&units, units.body.replacen("begin", "begin begin", 1).replace("  return v_digests;\nend", "  exception when division_by_zero then null; end; return v_digests;\nend"))),
        ("missing", "exactly_n_created", (&units, units.body.replace("b.envelope_id = p_envelope.envelope_id\n     -- Containers", "b.envelope_id = p_envelope.envelope_id and b.render_order > 1\n     -- Containers"))),
    ] {
        scene.document(document, 3);
        let run = scene.started(document);
        let (function, body) = sabotage;
        assert_ne!(function.body, body, "{document}");
        function.replaced(&body);
        goes_on(&run, invariant);
        function.restored();
        check(&run, "failed_cut_leg_a", "cut_leg_a", invariant, UNITS);
        check(&run, "failed_cut_leg_a", "cut_leg_a", invariant, unused);
    }

    // An address that nobody may write.
    scene.document("forbidden", 3);
    let run = scene.started("forbidden");
    let forbid = |what: &str| {
        scene.behind_the_doors(&format!("update config.dot_config set value = '{what}' where key = 'orchestrator.forbidden_addresses'"))
    };
    forbid(r#"["FORBIDDEN/%"]"#);
    goes_on(&run, "forbidden_id_zero");
    forbid("[]");
    check(&run, "failed_structural_verify", "structural_verify", "forbidden_id_zero", CHANGE_SET);

    // The executor could verify itself.
    scene.document("lanes", 3);
    let run = scene.started("lanes");
    let classes = |what: &str| {
        scene.behind_the_doors(&format!(
            "update identity.principal set actor_classes = '{what}' where name = 'executor'"
        ))
    };
    classes("{executor_dot991,verifier_dot992}");
    let approval = scene.approved(&run);
    let said = scene.orchestrate(&[
        "resume",
        "--run-id",
        &run,
        "--approval-kb-id",
        &approval,
        "--as",
        "executor",
        "--verifier",
        "verifier",
    ]);
    stopped(&said, "lanes_do_not_overlap");
    classes("{executor_dot991}");
    check(&run, "failed_leg_b_record", "leg_b_record", "lanes_do_not_overlap", CHANGE_SET);

    // Enacted units could be changed.
    scene.document("armed", 3);
    let run = scene.started("armed");
    scene.taken_on(&run, 4);
    scene.one("alter table iu.unit_version disable trigger trg_uv_enacted_immut");
    goes_on(&run, "immutability_is_armed");
    scene.one("alter table iu.unit_version enable always trigger trg_uv_enacted_immut");
    check(
        &run,
        "failed_lifecycle_enact",
        "lifecycle_enact",
        "immutability_is_armed",
        "orchestrator.units({run}) u where (u.unit).lifecycle_status <> 'draft'",
    );
    check(
        &run,
        "failed_lifecycle_enact",
        "lifecycle_enact",
        "immutability_is_armed",
        "approval.approval_use where used_for_ref like '%' || {run}::text || '/SG_lifecycle_authz'",
    );

    // A receipt is gone.
    scene.document("receipt", 3);
    let run = scene.started("receipt");
    scene.taken_on(&run, 4);
    scene.behind_the_doors(&format!(
        "delete from kb.revision where path like '%{}/08-leg-b-record'",
        id(&run)
    ));
    goes_on(&run, "all_documents_are_there");
    check(
        &run,
        "failed_closeout",
        "closeout",
        "all_documents_are_there",
        "kb.revision where path like 'orchestrator/runs-index/%' and body like '%' || {run}::text || '%'",
    );
}

/// ORC-3: what was written is not what stands. The verifier, who looks for itself, finds it, takes the cut back and fails the run.
#[test]
fn a_unit_that_was_changed_behind_the_doors_fails_at_the_verifier() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    scene.hold_before("write_verified");
    let approval = scene.approved(&run);
    scene.resume(&run, Some(&approval)).ends_with(1);
    scene.release();
    assert_eq!(scene.state(&run), "leg_b_recorded");
    scene.behind_the_doors("update iu.unit_version set title = title || '!'");
    let said = scene.resume(&run, None);
    assert_eq!(said.exit, Some(3), "{said:?}");
    assert_eq!(scene.state(&run), "failed_write_verify");
    let sidecar = scene.sidecar(&run);
    assert_eq!(sidecar["phases"]["write_verify"]["result"], "failed");
    assert_eq!(
        sidecar["phases"]["write_verify"]["gate_invariants"],
        json!({ "result_passes_and_is_signed": false })
    );
    assert_eq!(sidecar["last_error"]["code"], "STOP_VERIFICATION_FAILED");
    let report = sidecar["last_error"]["report_kb_id"].as_str().expect("a report");
    assert_eq!(
        scene.one(&format!("select count(*) from kb.revision where path = '{report}'")),
        "1"
    );
    assert_eq!(
        scene.one("select count(*) from iu.information_unit where deleted_at is null"),
        "0",
        "the cut was not taken back"
    );
}

/// ORC-3: what the database tells the verifier about the run, the runner acts on: the run fails at this gate as at any other.
#[test]
fn an_invariant_that_is_violated_at_the_verifier_fails_the_run() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    scene.hold_before("write_verified");
    let approval = scene.approved(&run);
    scene.resume(&run, Some(&approval)).ends_with(1);
    scene.release();
    // A result that says it follows itself: the verifier's door does not see it as the newest one.
    scene.behind_the_doors(
        "insert into cutter_governance.verify_result
         select x.id, c.change_set_id, c.manifest_id, c.manifest_version, c.review_decision_id, c.executor_signature_id, x.id, 'x', 'x', true, 'x', 'x', 'x',
                'pass', 'x', 'x', '{}', null, null, x.id, ''::bytea, 'verifier', now(), ''::bytea
           from cutter_governance.cut_change_set c, (select gen_random_uuid() as id) x",
    );
    stopped(&scene.resume(&run, None), "only_one_result");
    Failed {
        state: "failed_write_verify",
        phase: "write_verify",
        invariant: "only_one_result",
        written: "cutter_governance.dot_pair_signature where signer_dot_id = 'DOT-992' and {run} is not null",
    }
    .check(&scene, &run);
}

/// A function that is replaced for a while.
struct Kept<'a> {
    scene: &'a Scene,
    name: &'a str,
    body: String,
}

impl<'a> Kept<'a> {
    fn of(scene: &'a Scene, name: &'a str) -> Self {
        let body = scene.one(&format!("select prosrc from pg_proc where oid = '{name}'::regproc"));
        Self { scene, name, body }
    }

    /// The body alone: owner, rights and settings stay.
    fn replaced(&self, body: &str) {
        self.scene.one(&format!(
            "do $do$ declare v_text text := pg_get_functiondef('{name}'::regproc); begin
               execute left(v_text, position('AS $function$' in v_text) + 2) || ' $function$' || $body${body}$body$ || '$function$';
             end $do$",
            name = self.name
        ));
    }

    fn restored(&self) {
        self.replaced(&self.body);
    }
}
