//! APR-1: what is asked, who votes, and what the votes come to.

use chancery_model::refusal::Code::{
    RA001, RA002, RA004, RA005, RA008, RA009, RA010, RC007, RC010, RI003, RI004, RI005, RI006,
    RS025,
};
use chancery_store::Role;
use chancery_testkit::slice;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::approval_world::{Ask, Change, Panel, Vote, ask_on, refusal, vote_on};
use crate::session::{Isolation, Session, Watch};
use crate::support::codes;

// ── the quorum ──────────────────────────────────────────────────────────────────────────────────────────────────────

/// Voters, with what each of them counts as: a sovereign is a person, whatever class a service holds.
const VOTERS: [(&str, &str); 5] = [
    ("silas", "sovereign"),
    ("robot", "other"),
    ("rita", "reviewer"),
    ("agnes", "reviewer"),
    ("wanda", "other"),
];

/// Where a request of this risk stands after these votes, as the specification has it.
fn expected(risk: &str, votes: &[(&str, &str)]) -> &'static str {
    let approving = |part: &str| {
        votes.iter().filter(|&&(counts_as, how)| how == "approve" && counts_as == part).count()
    };
    let (sovereigns, reviewers) = (approving("sovereign"), approving("reviewer"));
    let all = sovereigns + reviewers + approving("other");
    let enough = match risk {
        "high" => sovereigns >= 1 && reviewers >= 2,
        "medium" => sovereigns >= 1,
        _ => all >= 1,
    };
    if votes.iter().any(|&(_, how)| how == "reject") {
        "rejected"
    } else if enough {
        "approved"
    } else {
        "pending"
    }
}

/// Every way to vote on a request of a risk, up to what decides it; then nobody is heard any more. A run tries a fifth of them.
async fn try_all(risk: &str) {
    let panel = Panel::new().await;
    let share =
        if slice::asked("CHANCERY_TEST_WAYS").is_some_and(|ways| ways == "all") { 1 } else { 5 };
    let mut count = slice::seed(0);
    let mut drawn = || {
        count = count.wrapping_add(1);
        count.is_multiple_of(share)
    };
    let mut ways = vec![Vec::new()];
    let mut decided = 0;
    for (voter, counts_as) in VOTERS {
        let mut longer = Vec::new();
        for way in &ways {
            longer.push(way.clone());
            for how in ["approve", "reject", "abstain"] {
                let mut way: Vec<(&str, &str, &str)> = way.clone();
                way.push((voter, counts_as, how));
                longer.push(way);
            }
        }
        ways.clear();
        for way in longer {
            let votes: Vec<_> = way.iter().map(|&(_, counts_as, how)| (counts_as, how)).collect();
            // A way that grew in this round, and those that wait for the next voter.
            let state = expected(risk, &votes);
            if way.last().is_some_and(|last| last.0 == voter) && state != "pending" {
                if drawn() {
                    decide(&panel, risk, &way, state).await;
                    decided += 1;
                }
            } else {
                ways.push(way);
            }
        }
    }
    for way in ways.iter().filter(|_| drawn()) {
        stays_pending(&panel, risk, way).await;
    }
    assert!(decided > 10 / usize::try_from(share).expect("a small number"), "{risk}: {decided}");
}

async fn vote_in_turn(panel: &Panel, risk: &str, way: &[(&str, &str, &str)]) -> (Uuid, Value) {
    let approval = panel.asked("note", risk, "n").await;
    let mut votes = Vec::new();
    let mut report = Value::Null;
    for &(voter, counts_as, how) in way {
        report = panel.votes(approval, voter, how).await.expect("a vote");
        votes.push((counts_as, how));
        assert_eq!(report["state"], expected(risk, &votes), "{risk} {way:?}");
    }
    (approval, report)
}

async fn decide(panel: &Panel, risk: &str, way: &[(&str, &str, &str)], state: &str) {
    let (approval, report) = vote_in_turn(panel, risk, way).await;
    assert_eq!(report["state"], state);
    let (code, facts) = refusal(panel.votes(approval, "ralf", "reject").await);
    assert_eq!((code, &facts["state"]), (RA005, &json!(state)), "{risk} {way:?}");
}

async fn stays_pending(panel: &Panel, risk: &str, way: &[(&str, &str, &str)]) {
    let (approval, _) = vote_in_turn(panel, risk, way).await;
    assert_eq!(panel.state(approval).await, "pending", "{risk} {way:?}");
}

/// APR-1: low asks for one approving vote of anybody but the proposer, and for nobody against it.
#[tokio::test]
async fn low_needs_one_vote() {
    try_all("low").await;
}

/// APR-1: medium asks for a human sovereign; a service that holds the class is none.
#[tokio::test]
async fn medium_needs_a_human_sovereign() {
    try_all("medium").await;
}

/// APR-1: high asks for a human sovereign and two reviewers besides.
#[tokio::test]
async fn high_needs_a_sovereign_and_two_reviewers() {
    try_all("high").await;
}

/// APR-1: who holds two classes counts once, as what they sign as.
#[tokio::test]
async fn one_voter_is_one_part() {
    let panel = Panel::new().await;
    let approval = panel.asked("note", "high", "n").await;
    for voter in ["rita", "agnes"] {
        panel.votes(approval, voter, "approve").await.expect("a vote");
    }
    let mut vote = panel.a_vote(approval, "sofia", "approve").await;
    vote.class = "reviewer".to_owned();
    panel.sign_vote(&mut vote).await;
    let report = panel.vote(&vote).await.expect("a vote");
    assert_eq!(report["state"], "pending");
    assert_eq!(
        report["tally"],
        json!({ "sovereigns": 0, "reviewers": 3, "approvals": 3, "rejects": 0 })
    );
    let report = panel.votes(approval, "sofia", "approve").await.expect("a second thought");
    assert_eq!(report["state"], "approved");
    assert_eq!(
        report["tally"],
        json!({ "sovereigns": 1, "reviewers": 2, "approvals": 3, "rejects": 0 })
    );
}

/// APR-1: while nothing is decided, the newest vote of each counts, and the older ones stay on record.
#[tokio::test]
async fn a_second_vote_replaces_the_first() {
    let panel = Panel::new().await;
    let approval = panel.asked("note", "high", "n").await;
    for (how, reviewers) in [("approve", 1), ("abstain", 0), ("approve", 1), ("abstain", 0)] {
        let report = panel.votes(approval, "rita", how).await.expect("a vote");
        assert_eq!(
            (&report["tally"]["reviewers"], &report["state"]),
            (&json!(reviewers), &json!("pending"))
        );
    }
    for voter in ["agnes", "silas"] {
        panel.votes(approval, voter, "approve").await.expect("a vote");
    }
    assert_eq!(panel.state(approval).await, "pending", "rita abstains");
    panel.votes(approval, "rita", "approve").await.expect("a vote");
    assert_eq!(panel.state(approval).await, "approved");
    let kept: Vec<String> = panel
        .one("select array_agg(vote_seq || ' ' || decision order by vote_seq) from approval.approval_vote where voter = 'rita'")
        .await;
    assert_eq!(kept, ["1 approve", "2 abstain", "3 approve", "4 abstain", "5 approve"]);
}

/// APR-1: the rule is a row: with another row the same votes come to something else.
#[tokio::test]
async fn the_quorum_is_data() {
    let panel = Panel::new().await;
    let approval = panel.asked("note", "high", "n").await;
    for voter in ["silas", "rita"] {
        panel.votes(approval, voter, "approve").await.expect("a vote");
    }
    let with = async |rule: &str| {
        panel
            .as_owner(&format!("update approval.quorum_rule set {rule} where risk = 'high'"))
            .await;
        panel.state(approval).await
    };
    assert_eq!(panel.state(approval).await, "pending");
    assert_eq!(with("reviewers = 1").await, "pending", "three votes are asked for");
    assert_eq!(with("approvals = 2").await, "approved");
    assert_eq!(with("sovereigns = 2").await, "pending");
    panel.votes(approval, "ralf", "reject").await.expect("a vote");
    assert_eq!(panel.state(approval).await, "rejected");
    assert_eq!(with("rejects_allowed = 1").await, "pending");
    assert_eq!(with("sovereigns = 1").await, "approved");
}

// ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────────

/// APR-1: a request names a known kind and a subject, asks for no less care than the kind demands, and ends in time.
#[tokio::test]
async fn a_malformed_request_is_refused() {
    let panel = Panel::new().await;
    let now = 1_792_073_882_000_001;
    panel.stop_the_clock(now).await;
    let good = panel.an_ask("run_transition", "medium", "r").await;
    let before = panel.db.fingerprint().await;
    let ttl = 2_592_000 * 1_000_000;
    let cases: Vec<Change<Ask>> = vec![
        ("a lower risk", |ask| ask.risk = "low".to_owned()),
        ("no such risk", |ask| ask.risk = "none".to_owned()),
        ("no such kind", |ask| ask.kind = "anything".to_owned()),
        ("no subject", |ask| ask.subject_ref = " ".to_owned()),
        ("no title", |ask| ask.title = " ".to_owned()),
        ("facts that are a list", |ask| ask.facts = json!([])),
        ("over already", |ask| ask.expires_at = ask.signed_at),
        ("for ever", |ask| ask.expires_at = i64::MAX),
        ("never", |ask| ask.expires_at = i64::MIN),
    ];
    for (what, change) in cases {
        let mut ask = good.clone();
        change(&mut ask);
        let (code, facts) = refusal(panel.ask(&ask).await);
        assert_eq!(code, RA001, "{what}");
        let mut keys: Vec<&String> = facts.as_object().expect("facts").keys().collect();
        keys.sort();
        assert_eq!(
            keys,
            [
                "expires_at",
                "kind",
                "known_kinds",
                "least_risk",
                "max_ttl_seconds",
                "risk",
                "subject_ref"
            ],
            "{what}"
        );
    }
    let mut late = good.clone();
    late.expires_at = now + ttl + 1;
    panel.sign_ask(&mut late).await;
    let (code, facts) = refusal(panel.ask(&late).await);
    assert_eq!(
        (code, facts),
        (
            RA001,
            json!({ "kind": "run_transition", "known_kinds": [
                        "birth_admission", "birth_break_glass", "block_escalation", "cut_authorization", "dlq_replay", "drift_ack",
                        "lifecycle_authorization", "note", "proposal", "resume_stopped", "run_transition", "step_cancel", "step_reopen",
                        "transition_activation", "workflow_cancel", "workflow_change"
                    ],
                    "subject_ref": "r", "risk": "medium", "least_risk": "medium", "expires_at": now + ttl + 1, "max_ttl_seconds": 2_592_000 })
        )
    );
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");

    for (risk, expires_at) in [("medium", now + 1), ("high", now + ttl)] {
        let mut ask = good.clone();
        (ask.approval_id, ask.risk, ask.expires_at) = (Uuid::now_v7(), risk.to_owned(), expires_at);
        panel.sign_ask(&mut ask).await;
        let report = panel.ask(&ask).await.expect("as much care as is due, or more");
        assert_eq!((&report["risk"], &report["state"]), (&json!(risk), &json!("pending")));
    }
}

/// APR-1: the same request again is the same request; another one under its id is refused.
#[tokio::test]
async fn an_id_stands_for_one_request() {
    let panel = Panel::new().await;
    let ask = panel.an_ask("note", "low", "n").await;
    let first = panel.ask(&ask).await.expect("a request");
    let before = panel.db.fingerprint().await;
    let again = panel.ask(&ask).await.expect("the same");
    assert_eq!((&first["replayed"], &again["replayed"]), (&json!(false), &json!(true)));
    assert_eq!(first["request_digest"], again["request_digest"]);
    let mut other = ask.clone();
    other.title = "Let something else happen".to_owned();
    panel.sign_ask(&mut other).await;
    let (code, facts) = refusal(panel.ask(&other).await);
    assert_eq!((code, facts), (RA008, json!({ "approval_id": ask.approval_id })));
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");
    panel.votes(ask.approval_id, "wanda", "approve").await.expect("a vote");
    let later = panel.ask(&ask).await.expect("the same");
    assert_eq!(later["state"], "approved", "where it stands now");
}

/// APR-1: what is stored is what was signed, in every column that the text binds.
#[tokio::test]
async fn a_request_is_what_was_signed() {
    let panel = Panel::new().await;
    let good = panel.an_ask("note", "low", "n").await;
    let cases: Vec<Change<Ask>> = vec![
        ("the kind", |ask| {
            (ask.kind, ask.risk) = ("run_transition".to_owned(), "high".to_owned());
        }),
        ("the subject", |ask| ask.subject_ref = "m".to_owned()),
        ("the digest", |ask| ask.subject_digest = Some(vec![0; 32])),
        ("the risk", |ask| ask.risk = "high".to_owned()),
        ("the title", |ask| ask.title.push('.')),
        ("the facts", |ask| ask.facts["cost"] = json!(15)),
        ("the end", |ask| ask.expires_at += 1),
        ("the time", |ask| ask.signed_at += 1),
        ("the id", |ask| ask.approval_id = Uuid::now_v7()),
    ];
    for (what, change) in cases {
        let mut ask = good.clone();
        change(&mut ask);
        assert_eq!(codes(panel.ask(&ask).await), [RC007], "{what}");
    }
    let digest = vec![7; 32];
    let mut ask = good.clone();
    ask.subject_digest = Some(digest.clone());
    panel.sign_ask(&mut ask).await;
    panel.ask(&ask).await.expect("a request");
    let stored: Vec<u8> = panel.one("select subject_digest from approval.approval_request").await;
    assert_eq!(stored, digest);
}

/// SEC-1, SEC-3: who asks and who votes is a principal with a live key of its own, behind the login of its class, now.
#[tokio::test]
async fn a_signature_is_its_signers_own() {
    let panel = Panel::new().await;
    let ask = panel.an_ask("note", "high", "n").await;
    let approval = panel.asked("note", "high", "n").await;
    let vote = panel.a_vote(approval, "rita", "approve").await;
    let before = panel.db.fingerprint().await;
    let asked = async |change: fn(&mut Ask, &Panel)| {
        let mut ask = ask.clone();
        change(&mut ask, &panel);
        panel.sign_ask(&mut ask).await;
        codes(panel.ask(&ask).await)
    };
    assert_eq!(asked(|ask, _| ask.key_id = None).await, [RI005]);
    assert_eq!(asked(|ask, panel| ask.key_id = Some(panel.key("sofia"))).await, [RI005]);
    assert_eq!(asked(|ask, _| ask.class = "escalation_handler".to_owned()).await, [RI003]);
    assert_eq!(asked(|ask, _| ask.signed_at -= 301_000_000).await, [RC010]);
    let voted = async |change: fn(&mut Vote, &Panel)| {
        let mut vote = vote.clone();
        change(&mut vote, &panel);
        panel.sign_vote(&mut vote).await;
        codes(panel.vote(&vote).await)
    };
    assert_eq!(voted(|vote, _| vote.key_id = None).await, [RI005]);
    assert_eq!(voted(|vote, panel| vote.key_id = Some(panel.key("sofia"))).await, [RI005]);
    assert_eq!(voted(|vote, _| vote.class = "sovereign".to_owned()).await, [RI003]);
    assert_eq!(voted(|vote, _| vote.signed_at += 900_000_000).await, [RC010]);
    let mut app = panel.db.connect(Role::App).await;
    let of_authority = panel.a_vote(approval, "agnes", "approve").await;
    assert_eq!(codes(vote_on(&mut app, &of_authority).await), [RI004]);
    let operator = panel.db.store(Role::Migrator);
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");
    operator.fn_key_revoke(panel.key("rita"), "lost", None).await.expect("revoked");
    assert_eq!(voted(|_, _| ()).await, [RI006]);
}

// ── votes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/// APR-1, SEC-1: an agent has no vote, in whichever class, neither on its own request nor on anybody else's.
#[tokio::test]
async fn agents_have_no_vote() {
    let panel = Panel::new().await;
    let of_petra = panel.asked("note", "low", "n").await;
    let mut ask = panel.an_ask("note", "low", "m").await;
    ask.principal = "agata".to_owned();
    ask.class = "executor_worker".to_owned();
    ask.key_id = Some(panel.key("agata"));
    panel.sign_ask(&mut ask).await;
    panel.ask(&ask).await.expect("agents ask");
    let before = panel.db.fingerprint().await;
    for approval in [of_petra, ask.approval_id] {
        for class in ["executor_worker", "reviewer", "sovereign"] {
            for decision in ["approve", "reject", "abstain"] {
                let mut vote = panel.a_vote(approval, "agata", decision).await;
                vote.class = class.to_owned();
                panel.sign_vote(&mut vote).await;
                assert_eq!(codes(panel.vote(&vote).await), [RA010], "{class} {decision}");
            }
        }
    }
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");
}

/// APR-1: nobody votes on their own request, in whichever class.
#[tokio::test]
async fn the_proposer_has_no_vote() {
    let panel = Panel::new().await;
    let approval = panel.asked("note", "low", "n").await;
    for class in ["pic_human", "reviewer", "sovereign"] {
        for decision in ["approve", "reject", "abstain"] {
            let mut vote = panel.a_vote(approval, "petra", decision).await;
            vote.class = class.to_owned();
            panel.sign_vote(&mut vote).await;
            let (code, facts) = refusal(panel.vote(&vote).await);
            let own = json!({ "approval_id": approval, "proposer": "petra" });
            assert_eq!((code, facts), (RA004, own));
        }
    }
    assert_eq!(panel.state(approval).await, "pending");
}

/// APR-1: a vote is on a request that is there, has one of three words and an id of its own; repeated, it is one vote.
#[tokio::test]
async fn a_vote_is_one_vote() {
    let panel = Panel::new().await;
    let [approval, other] =
        [panel.asked("note", "high", "n").await, panel.asked("note", "high", "m").await];
    let nowhere = Uuid::now_v7();
    let (code, facts) = refusal(panel.votes(nowhere, "rita", "approve").await);
    assert_eq!((code, facts), (RA002, json!({ "approval_id": nowhere })));
    let vote = panel.a_vote(approval, "rita", "maybe").await;
    let (code, facts) = refusal(panel.vote(&vote).await);
    assert_eq!((code, facts), (RA009, json!({ "vote_id": vote.vote_id, "decision": "maybe" })));

    let vote = panel.a_vote(approval, "rita", "approve").await;
    let first = panel.vote(&vote).await.expect("a vote");
    let before = panel.db.fingerprint().await;
    let again = panel.vote(&vote).await.expect("the same vote");
    assert_eq!((&first["replayed"], &again["replayed"]), (&json!(false), &json!(true)));
    let mut taken = panel.a_vote(other, "ralf", "approve").await;
    taken.vote_id = vote.vote_id;
    panel.sign_vote(&mut taken).await;
    assert_eq!(codes(panel.vote(&taken).await), [RA009], "the id is taken");
    let elsewhere = Vote { approval_id: other, ..vote.clone() };
    assert_eq!(codes(panel.vote(&elsewhere).await), [RA009], "a vote is on one request");
    let cases: Vec<Change<Vote>> = vec![
        ("the decision", |vote| vote.decision = "reject".to_owned()),
        ("the reason", |vote| vote.rationale = None),
        ("the time", |vote| vote.signed_at += 1),
    ];
    for (what, change) in cases {
        let mut vote = panel.a_vote(approval, "ralf", "approve").await;
        change(&mut vote);
        assert_eq!(codes(panel.vote(&vote).await), [RC007], "{what}");
    }
    let of_another = panel.a_vote(approval, "ralf", "approve").await;
    let of_another = Vote { approval_id: other, ..of_another };
    assert_eq!(codes(panel.vote(&of_another).await), [RC007], "the text names its request");
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");
}

/// APR-1: time runs out for votes, and a rejection stays one.
#[tokio::test]
async fn an_expired_request_takes_no_votes() {
    let panel = Panel::new().await;
    let start = 1_792_073_882_000_000;
    panel.stop_the_clock(start).await;
    let [open, rejected] =
        [panel.asked("note", "high", "n").await, panel.asked("note", "high", "m").await];
    panel.votes(rejected, "rita", "reject").await.expect("a vote");
    panel.stop_the_clock(start + 59_999_999).await;
    panel.votes(open, "rita", "approve").await.expect("in time");
    panel.stop_the_clock(start + 60_000_000).await;
    for (approval, state) in [(open, "expired"), (rejected, "rejected")] {
        let (code, facts) = refusal(panel.votes(approval, "ralf", "approve").await);
        assert_eq!((code, facts), (RA005, json!({ "approval_id": approval, "state": state })));
    }
}

/// APR-1: whoever is second of two voters sees the first one's vote: nothing is decided twice.
#[tokio::test]
async fn two_votes_at_once_are_counted_one_after_the_other() {
    let panel = Panel::new().await;
    let approval = panel.asked("note", "low", "n").await;
    let against = panel.a_vote(approval, "rita", "reject").await;
    let in_favour = panel.a_vote(approval, "ralf", "approve").await;
    let mut first = Session::open(&panel.db, Role::App).await;
    let mut second = Session::open(&panel.db, Role::App).await;
    let pid = second.pid;
    first.begin(Isolation::ReadCommitted).await;
    vote_on(&mut first.connection, &against).await.expect("a vote");
    let other = tokio::spawn(async move { vote_on(&mut second.connection, &in_favour).await });
    Watch::new(&panel.db).until_blocked(pid).await;
    first.commit().await.expect("committed");
    assert_eq!(codes(other.await.expect("an answer")), [RA005]);
    assert_eq!(panel.state(approval).await, "rejected");
}

/// APR-1: the same request from two connections is one request.
#[tokio::test]
async fn one_request_from_two_connections_is_one() {
    let panel = Panel::new().await;
    let ask = panel.an_ask("note", "low", "n").await;
    let again = ask.clone();
    let mut first = Session::open(&panel.db, Role::App).await;
    let mut second = Session::open(&panel.db, Role::App).await;
    let pid = second.pid;
    first.begin(Isolation::ReadCommitted).await;
    ask_on(&mut first.connection, &ask).await.expect("a request");
    let other = tokio::spawn(async move { ask_on(&mut second.connection, &again).await });
    Watch::new(&panel.db).until_blocked(pid).await;
    first.commit().await.expect("committed");
    assert_eq!(other.await.expect("an answer").expect("the same")["replayed"], json!(true));
}

/// APR-1: on an old snapshot the votes and uses of others could not be seen.
#[tokio::test]
async fn an_old_snapshot_is_refused() {
    let panel = Panel::new().await;
    let approval = panel.asked("note", "low", "n").await;
    let (ask, vote) =
        (panel.an_ask("note", "low", "m").await, panel.a_vote(approval, "rita", "approve").await);
    for isolation in [Isolation::RepeatableRead, Isolation::Serializable] {
        let mut session = Session::open(&panel.db, Role::App).await;
        session.begin(isolation).await;
        assert_eq!(codes(ask_on(&mut session.connection, &ask).await), [RS025]);
        session.rollback().await;
        session.begin(isolation).await;
        assert_eq!(codes(vote_on(&mut session.connection, &vote).await), [RS025]);
        session.rollback().await;
    }
}
