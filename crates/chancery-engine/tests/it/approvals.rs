//! APR-1, FSM-11: ask, vote, use once; a proposed transition fires after its approval.

use std::sync::Arc;
use std::time::Duration;

use chancery_engine::approval::{
    self, Decision, NewRequest, VOTING_CLASSES, activate_transition, request, show, vote,
};
use chancery_engine::audit::{self, Pins};
use chancery_engine::identity::{acting_class, login_of, new_key};
use chancery_engine::run::{self, Actor, Birth, Request};
use chancery_engine::{Error, registry};
use chancery_model::machine::{Definition, File};
use chancery_model::refusal::Code::{
    RA001, RA002, RA003, RA004, RA005, RA006, RA008, RI003, RI004, RS004, RS011,
};
use chancery_store::Role;
use chancery_store::approval::{ApprovalFilter, ApprovalReport};
use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::scene::{Scene, codes, facts};

const LETTER: &str = r#"
machine: letter
scope: custom
version: 1.0.0
description: A letter that is written and sent.
events:
  - { type: letter.drafted, description: A letter was begun. }
  - { type: letter.posted, description: It left the house. }
states:
  - { code: draft, class: idle, initial: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Draft, vi: Nháp }, message: { en: being written, vi: đang viết } }
  - { code: sent, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Sent, vi: Đã gửi }, message: { en: gone, vi: đã đi } }
  - { code: burnt, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Burnt, vi: Đã đốt }, message: { en: gone, vi: đã đi } }
transitions:
  - { id: begin, from: "∅", to: draft, actors: [pic_human], trigger: { kind: rpc, ref: letter_begin }, event: letter.drafted }
  - { id: post, from: draft, to: sent, actors: [pic_human], trigger: { kind: rpc, ref: letter_post }, event: letter.posted, proposed: true }
  - { id: burn, from: draft, to: burnt, actors: [pic_human], trigger: { kind: rpc, ref: letter_burn }, proposed: true }
"#;
const POST: &str = "letter@1.0.0#post:draft>sent/pic_human";
const BURN: &str = "letter@1.0.0#burn:draft>burnt/pic_human";

async fn letters() -> Scene {
    let scene = Scene::new().await;
    scene.db.machine(LETTER).await;
    for (name, kind, classes) in [
        ("bob", "human", &["reviewer"][..]),
        ("beth", "human", &["reviewer"]),
        ("both", "human", &["reviewer", "sovereign"]),
        ("robot", "service", &["sovereign"]),
    ] {
        let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
        scene.operator.fn_principal_add(name, kind, &classes, None).await.expect("a principal");
        new_key(&scene.operator, &scene.keystore, name, None).await.expect("a key");
    }
    scene
}

/// A request that was approved and used.
pub(crate) async fn a_used_approval(scene: &Scene) {
    scene.db.machine(LETTER).await;
    let id = ask(scene, &to_activate(POST)).await.expect("asked").approval_id;
    votes(scene, "sam", "sovereign", id, Decision::Approve).await.expect("voted");
    activate(scene, POST, id).await.expect("activated");
}

async fn actor(scene: &Scene, name: &str) -> Actor {
    Actor::open(&scene.app, &scene.keystore, name).await.expect("an actor")
}

fn to_activate(transition: &str) -> NewRequest {
    NewRequest {
        approval_id: None,
        kind: "transition_activation".to_owned(),
        subject_ref: transition.to_owned(),
        subject_digest: None,
        risk: None,
        title: "Letters may leave the house".to_owned(),
        facts: json!({ "why": "đúng lúc \u{2028} 𝔸", "pages": 2 }),
        expires_in: Duration::from_secs(7 * 86_400),
    }
}

async fn ask(scene: &Scene, new: &NewRequest) -> Result<ApprovalReport, Error> {
    request(&scene.app, &scene.alice, "pic_human", new).await
}

/// Votes in the class that was named, behind its login.
async fn votes(
    scene: &Scene,
    name: &str,
    class: &str,
    id: Uuid,
    decision: Decision,
) -> Result<ApprovalReport, Error> {
    let store = scene.db.store(login_of(class));
    vote(&store, &actor(scene, name).await, class, id, decision, None).await
}

async fn activate(
    scene: &Scene,
    transition: &str,
    approval: Uuid,
) -> Result<chancery_store::fsm::Activated, Error> {
    activate_transition(&scene.app, "alice", "pic_human", transition, approval).await
}

async fn post(scene: &Scene, run: Uuid) -> Result<chancery_store::fsm::MoveReport, Error> {
    run::make_move(&scene.app, &scene.alice, run, "sent", &Request::default()).await
}

async fn is_sound(scene: &Scene) {
    let auditor = scene.db.store(Role::Auditor);
    let report = audit::verify(&auditor, Pins::default(), |_| ()).await.expect("an audit");
    assert_eq!(report.mismatches, []);
}

/// FSM-11, from the refusal to the move.
#[tokio::test]
async fn a_proposed_transition_fires_once_it_was_approved() {
    let scene = letters().await;
    let start = run::start(&scene.app, &scene.alice, "letter", &Birth::default()).await;
    let run = start.expect("a letter").run_id;
    assert_eq!(codes(post(&scene, run).await), [RS011]);
    assert_eq!(facts(post(&scene, run).await)["transition_id"], POST);
    let ways = scene.app.run(run).await.expect("an answer").expect("the run").ways_on;
    assert!(ways.iter().any(|way| way.transition_id == POST && way.proposed), "{ways:?}");

    let asked = ask(&scene, &to_activate(POST)).await.expect("asked");
    assert_eq!((asked.state.as_str(), asked.risk.as_str()), ("pending", "medium"));
    let id = asked.approval_id;
    let before = scene.db.fingerprint().await;
    assert_eq!(codes(activate(&scene, POST, id).await), [RA006], "it is pending");
    assert_eq!(facts(activate(&scene, POST, id).await)["state"], "pending");
    assert_eq!(codes(post(&scene, run).await), [RS011]);
    assert_eq!(scene.db.fingerprint().await, before);

    let voted = votes(&scene, "bob", "reviewer", id, Decision::Approve).await.expect("voted");
    assert_eq!(voted.state, "pending", "a reviewer alone makes no medium quorum");
    let voted = votes(&scene, "sam", "sovereign", id, Decision::Approve).await.expect("voted");
    assert_eq!(voted.state, "approved");
    assert_eq!(codes(post(&scene, run).await), [RS011], "approved is not yet activated");
    let done = activate(&scene, POST, id).await.expect("activated");
    assert!(!done.proposed && !done.replayed);
    let before = scene.db.fingerprint().await;
    assert!(activate(&scene, POST, id).await.expect("told so").replayed);
    assert_eq!(scene.db.fingerprint().await, before);

    let ways = scene.app.run(run).await.expect("an answer").expect("the run").ways_on;
    assert!(ways.iter().any(|way| way.transition_id == POST && !way.proposed), "{ways:?}");
    assert!(ways.iter().any(|way| way.transition_id == BURN && way.proposed), "{ways:?}");
    assert_eq!(post(&scene, run).await.expect("it fires").to, "sent");
    let shown = show(&scene.app, id).await.expect("shown");
    assert_eq!(shown.approval.state, "used");
    assert_eq!(shown.approval.used.expect("a use").used_for_ref, POST);
    assert_eq!(shown.votes.len(), 2);
    is_sound(&scene).await;
}

/// APR-1: existing, of the right kind, about exactly this subject, approved, unexpired, unused; each has its code.
#[tokio::test]
async fn an_approval_is_good_for_one_thing_while_it_stands() {
    let scene = letters().await;
    let approve = async |new: &NewRequest| {
        let id = ask(&scene, new).await.expect("asked").approval_id;
        let voted = votes(&scene, "sam", "sovereign", id, Decision::Approve).await.expect("voted");
        assert_eq!(voted.state, "approved");
        id
    };
    let for_burn = approve(&to_activate(BURN)).await;
    let for_run = NewRequest { kind: "run_transition".to_owned(), ..to_activate(POST) };
    let of_another_kind = approve(&for_run).await;
    let pinned = NewRequest { subject_digest: Some(vec![7; 32]), ..to_activate(POST) };
    let of_another_definition = approve(&pinned).await;
    let rejected = ask(&scene, &to_activate(POST)).await.expect("asked").approval_id;
    votes(&scene, "bob", "reviewer", rejected, Decision::Reject).await.expect("voted");
    let short = NewRequest { expires_in: Duration::from_secs(3_600), ..to_activate(POST) };
    let expired = approve(&short).await;
    let good = approve(&to_activate(POST)).await;

    let before = scene.db.fingerprint().await;
    assert_eq!(codes(activate(&scene, POST, Uuid::now_v7()).await), [RA002]);
    for (approval, differs_in) in [
        (for_burn, "subject_ref"),
        (of_another_kind, "kind"),
        (of_another_definition, "subject_digest"),
    ] {
        assert_eq!(codes(activate(&scene, POST, approval).await), [RA003], "{differs_in}");
        assert_eq!(facts(activate(&scene, POST, approval).await)["differs_in"], differs_in);
    }
    assert_eq!(facts(activate(&scene, POST, rejected).await)["state"], "rejected");
    assert_eq!(codes(activate(&scene, "letter@1.0.0#nothing", good).await), [RS004]);
    let nobody = activate_transition(&scene.app, "alice", "sovereign", POST, good).await;
    assert_eq!(codes(nobody), [RI003]);
    assert_eq!(scene.db.fingerprint().await, before, "what is refused changes nothing");

    // Two hours later.
    let later = "create or replace function internal.now() returns timestamptz language sql volatile parallel safe
                 as $$ select clock_timestamp() + interval '2 hours' $$";
    scene.db.forge(&[later]).await;
    assert_eq!(codes(activate(&scene, POST, expired).await), [RA006]);
    assert_eq!(facts(activate(&scene, POST, expired).await)["state"], "expired");
    assert!(!activate(&scene, POST, good).await.expect("activated").replayed);
}

/// A version that has no runs can be replaced; an approval that was used for a transition is not used again for its namesake,
/// and one that was not used is no approval of it either.
#[tokio::test]
async fn an_approval_does_not_outlive_the_definition_it_was_given_for() {
    let scene = letters().await;
    let approve = async || {
        let id = ask(&scene, &to_activate(POST)).await.expect("asked").approval_id;
        votes(&scene, "sam", "sovereign", id, Decision::Approve).await.expect("voted");
        id
    };
    let (used, unused) = (approve().await, approve().await);
    activate(&scene, POST, used).await.expect("activated");
    let other = LETTER.replace("ref: letter_post", "ref: letter_throw");
    let definition = Definition::from(&File::parse(&other).expect("a machine file"));
    let applied = registry::apply_definition(&scene.operator, &definition, "test", true).await;
    assert_eq!(applied.expect("replaced").outcome, "replaced");
    assert_eq!(facts(activate(&scene, POST, used).await)["state"], "used");
    assert_eq!(facts(activate(&scene, POST, unused).await)["differs_in"], "subject_digest");
    let proposed =
        "select string_agg(proposed::text, ' ') from fsm.transition_def where label = 'post'";
    assert_eq!(scene.db.text(proposed).await, "true");
}

/// APR-1: the quorum is of distinct principals by what they are; the proposer has no vote; the newest vote counts.
#[tokio::test]
async fn a_high_risk_needs_a_sovereign_two_reviewers_and_nobody_against_it() {
    let scene = letters().await;
    let high = NewRequest { risk: Some("high".to_owned()), ..to_activate(POST) };
    let id = ask(&scene, &high).await.expect("asked").approval_id;
    let own = vote(&scene.app, &scene.alice, "pic_human", id, Decision::Approve, None).await;
    assert_eq!(codes(own), [RA004]);

    let state = async |name: &str, class: &str, decision| {
        votes(&scene, name, class, id, decision).await.expect("voted").state
    };
    assert_eq!(state("bob", "reviewer", Decision::Abstain).await, "pending");
    assert_eq!(state("both", "reviewer", Decision::Approve).await, "pending");
    assert_eq!(
        state("both", "sovereign", Decision::Approve).await,
        "pending",
        "one voter, one part"
    );
    assert_eq!(state("robot", "sovereign", Decision::Approve).await, "pending", "no person");
    assert_eq!(state("rita", "review_authority", Decision::Approve).await, "pending");
    let shown = show(&scene.app, id).await.expect("shown");
    let missing = (shown.missing.sovereigns, shown.missing.reviewers, shown.missing.approvals);
    assert_eq!(missing, (0, 1, 0));
    let counting: Vec<(&str, &str)> = shown
        .votes
        .iter()
        .filter(|vote| vote.counts)
        .map(|vote| (vote.voter.as_str(), vote.counted_as.as_str()))
        .collect();
    let expected =
        [("bob", "reviewer"), ("both", "sovereign"), ("robot", "other"), ("rita", "reviewer")];
    assert_eq!(counting, expected);

    assert_eq!(state("bob", "reviewer", Decision::Approve).await, "approved");
    let before = scene.db.fingerprint().await;
    let again = votes(&scene, "bob", "reviewer", id, Decision::Approve).await.expect("told so");
    assert!(again.replayed, "the same vote again is the same vote, also when all is decided");
    let late = votes(&scene, "beth", "reviewer", id, Decision::Reject).await;
    assert_eq!(codes(late), [RA005]);
    assert_eq!(codes(votes(&scene, "bob", "reviewer", id, Decision::Reject).await), [RA005]);
    assert_eq!(scene.db.fingerprint().await, before);
    is_sound(&scene).await;
}

/// A request is made once for its id; what is malformed is refused by name.
#[tokio::test]
async fn a_request_is_what_its_id_stands_for() {
    let scene = letters().await;
    let id = Some(Uuid::now_v7());
    let new = NewRequest { approval_id: id, ..to_activate(POST) };
    assert!(!ask(&scene, &new).await.expect("asked").replayed);
    let before = scene.db.fingerprint().await;
    let longer = NewRequest { expires_in: Duration::from_secs(60), ..new.clone() };
    assert!(ask(&scene, &new).await.expect("told so").replayed);
    assert!(
        ask(&scene, &longer).await.expect("told so").replayed,
        "it stands as it was asked first"
    );
    let other = NewRequest { title: "Something else".to_owned(), ..new.clone() };
    assert_eq!(codes(ask(&scene, &other).await), [RA008]);
    let somebody = request(&scene.app, &actor(&scene, "bob").await, "reviewer", &new).await;
    assert_eq!(codes(somebody), [RA008]);

    let plain = to_activate(POST);
    for wrong in [
        NewRequest { kind: "coronation".to_owned(), ..plain.clone() },
        NewRequest { risk: Some("low".to_owned()), ..plain.clone() },
        NewRequest { title: " ".to_owned(), ..plain.clone() },
        NewRequest { subject_ref: String::new(), ..plain.clone() },
        NewRequest { facts: json!([]), ..plain.clone() },
        NewRequest { facts: json!({ "a": ["\0"] }), ..plain.clone() },
        NewRequest { expires_in: Duration::from_secs(31 * 86_400), ..plain.clone() },
        NewRequest { expires_in: Duration::MAX, ..plain.clone() },
        NewRequest { expires_in: Duration::ZERO, ..plain },
    ] {
        assert_eq!(codes(ask(&scene, &wrong).await), [RA001], "{wrong:?}");
    }
    let unknown =
        vote(&scene.app, &scene.sam, "sovereign", Uuid::now_v7(), Decision::Approve, None);
    assert_eq!(codes(unknown.await), [RA002]);
    assert_eq!(codes(show(&scene.app, Uuid::now_v7()).await), [RA002]);
    assert_eq!(scene.db.fingerprint().await, before);
}

/// Who acts in which class, behind which login.
#[tokio::test]
async fn the_class_is_the_only_one_that_fits_and_the_login_is_its_own() {
    let scene = letters().await;
    let class = async |name: &str| acting_class(&scene.app, name, &VOTING_CLASSES).await;
    assert_eq!(class("sam").await.expect("a class"), "sovereign");
    assert_eq!(class("alice").await.expect("a class"), "pic_human");
    assert_eq!(class("ruth").await.expect("a class"), "review_authority");
    assert!(
        matches!(class("both").await, Err(Error::Ambiguous(message)) if message.contains("--class"))
    );
    let any = acting_class(&scene.app, "ruth", &[]).await.expect("a class");
    assert_eq!(any, "pic_human", "behind the login of people, where nothing is lost by it");
    assert_eq!(acting_class(&scene.app, "nobody", &[]).await.expect("none"), "");

    // The executor asks behind its own login and has no vote.
    let asked = request(&scene.exec, &scene.dora, "executor_dot991", &to_activate(BURN)).await;
    let id = asked.expect("asked").approval_id;
    let refused =
        vote(&scene.app, &scene.vera, "verifier_dot992", id, Decision::Approve, None).await;
    assert_eq!(codes(refused), [RI004]);
    let low = approval::Missing { sovereigns: 1, reviewers: 0, approvals: 1 };
    assert_eq!(show(&scene.app, id).await.expect("shown").missing, low);
    let filter = ApprovalFilter {
        state: Some("pending".to_owned()),
        subject_ref: Some(BURN.to_owned()),
        limit: 10,
        approval_id: None,
    };
    let listed = scene.app.approvals(&filter).await.expect("listed");
    assert_eq!(listed.iter().map(|row| row.approval_id).collect::<Vec<_>>(), [id]);
    let none = ApprovalFilter { state: Some("used".to_owned()), ..filter };
    assert_eq!(scene.app.approvals(&none).await.expect("listed"), []);
}

/// Sixteen vote at once, and sixteen use the approval at once: it is decided once and used once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_voters_and_sixteen_users_make_one_use() {
    let scene = Arc::new(letters().await);
    let high = NewRequest { risk: Some("high".to_owned()), ..to_activate(POST) };
    let id = ask(&scene, &high).await.expect("asked").approval_id;
    let mut ballots = JoinSet::new();
    for n in 0..16 {
        let name = format!("voter{n:02}");
        let class = if n % 4 == 0 { "sovereign" } else { "reviewer" };
        let classes = [class.to_owned()];
        scene.operator.fn_principal_add(&name, "human", &classes, None).await.expect("a voter");
        new_key(&scene.operator, &scene.keystore, &name, None).await.expect("a key");
        let voter = actor(&scene, &name).await;
        let scene = Arc::clone(&scene);
        ballots.spawn(async move {
            vote(&scene.app, &voter, class, id, Decision::Approve, Some("at once")).await
        });
    }
    let mut counted = 0;
    for ballot in ballots.join_all().await {
        match ballot {
            Ok(_) => counted += 1,
            late => assert_eq!(codes(late), [RA005], "who comes after the decision is told so"),
        }
    }
    assert_eq!(scene.db.count("approval.approval_vote").await, counted);
    assert_eq!(show(&scene.app, id).await.expect("shown").approval.state, "approved");

    let mut uses = JoinSet::new();
    for _ in 0..16 {
        let scene = Arc::clone(&scene);
        uses.spawn(async move { activate(&scene, POST, id).await });
    }
    let uses: Vec<_> = uses.join_all().await.into_iter().map(|u| u.expect("told so")).collect();
    assert_eq!(uses.iter().filter(|done| !done.replayed).count(), 1);
    assert_eq!(scene.db.count("approval.approval_use").await, 1);
    is_sound(&scene).await;
}

/// AUD-1: somebody who writes rows past every trigger and stamps them anew, but has nobody's key.
#[tokio::test]
async fn a_forger_without_a_key_is_found_by_what_was_signed() {
    let scene = letters().await;
    let high = NewRequest { risk: Some("high".to_owned()), ..to_activate(POST) };
    let id = ask(&scene, &high).await.expect("asked").approval_id;
    for (name, class) in [("bob", "reviewer"), ("beth", "reviewer"), ("sam", "sovereign")] {
        votes(&scene, name, class, id, Decision::Approve).await.expect("voted");
    }
    activate(&scene, POST, id).await.expect("activated");
    let pending = ask(&scene, &to_activate(BURN)).await.expect("asked").approval_id;
    votes(&scene, "bob", "reviewer", pending, Decision::Reject).await.expect("voted");
    is_sound(&scene).await;
    let request = "update approval.approval_request set";
    let vote = "update approval.approval_vote set";
    let put_used = format!(
        "insert into approval.approval_use values ('{pending}', 'transition', '{BURN}', 'alice', now(), '')"
    );
    let alices = "(select key_id from identity.signing_key where principal = 'alice')";
    for forged in [
        format!("{request} kind = 'run_transition'"),
        format!("{request} subject_kind = 'run'"),
        format!("{request} subject_ref = '{BURN}'"),
        format!("{request} subject_digest = null"),
        format!("{request} risk = 'low'"),
        format!("{request} title = 'Another title'"),
        format!("{request} facts = '{{}}'"),
        format!("{request} proposer = 'bob'"),
        format!("{request} expires_at = expires_at + interval '1 day'"),
        format!("{request} signed_at = signed_at + interval '1 second'"),
        format!("{vote} decision = 'approve'"),
        format!("{vote} rationale = 'because'"),
        format!("{vote} voter = 'both' where voter = 'sam'"),
        format!("{vote} voter = 'alice', key_id = {alices} where voter = 'sam'"),
        format!("{vote} counted_as = 'sovereign'"),
        format!("{vote} vote_seq = vote_seq + 1"),
        format!("{vote} voted_at = voted_at + interval '8 days'"),
        format!("{vote} approval_id = '{pending}' where voter = 'sam'"),
        "delete from approval.approval_vote where counted_as = 'sovereign'".to_owned(),
        "update approval.approval_use set used_for_kind = 'run'".to_owned(),
        format!("update approval.approval_use set used_for_ref = '{BURN}'"),
        "update approval.approval_use set used_by = 'nobody'".to_owned(),
        "update approval.approval_use set used_at = used_at + interval '8 days'".to_owned(),
        put_used,
        "update identity.signing_key set revoked_at = registered_at, revoke_reason = 'x' where principal = 'sam'"
            .to_owned(),
    ] {
        assert!(scene.found_out(&forged).await, "{forged} goes unnoticed");
    }
    is_sound(&scene).await;
}

impl Scene {
    /// Forges rows and stamps them; says whether the audit finds something; puts everything back.
    async fn found_out(&self, forged: &str) -> bool {
        let tables = [
            "approval.approval_request",
            "approval.approval_vote",
            "approval.approval_use",
            "identity.signing_key",
        ];
        let kept = |table: &str| format!("public.{}", table.replace('.', "_"));
        let run = async |statements: Vec<String>| {
            let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
            self.db.forge(&statements).await
        };
        let mut statements = Vec::new();
        for table in tables {
            statements.push(format!("create table {} as table {table}", kept(table)));
        }
        for table in &tables[..3] {
            let stamped = format!("alter table {table} enable always trigger zz_stamps_its_digest");
            statements.push(stamped);
        }
        statements.push(forged.to_owned());
        run(statements).await;
        let auditor = self.db.store(Role::Auditor);
        let report = audit::verify(&auditor, Pins::default(), |_| ()).await.expect("an audit");
        let stamped = |rule: &str| rule != "digest_is_of_the_row";
        assert!(report.mismatches.iter().all(|m| stamped(m.rule)), "{:?}", report.mismatches);
        let mut back: Vec<String> =
            tables.iter().rev().map(|table| format!("delete from {table}")).collect();
        for table in tables {
            back.push(format!("insert into {table} table {}", kept(table)));
            back.push(format!("drop table {}", kept(table)));
        }
        run(back).await;
        !report.ok()
    }
}
