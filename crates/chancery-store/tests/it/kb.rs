//! KB-1: documents in revisions that never change, and signatures under exactly one of them.

use chancery_model::refusal::Code::{
    RA020, RA021, RA022, RC007, RC010, RC015, RI001, RI003, RI004, RI005, RS025,
};
use chancery_store::Role;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::approval_world::{Change, Mark, Panel, mark_on, put_on, refusal};
use crate::session::{Isolation, Session, Watch};
use crate::support::codes;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// KB-1: every new text is the next revision; the text that is there already is written no second time.
#[tokio::test]
async fn a_document_grows_by_revisions() {
    let panel = Panel::new().await;
    let texts = ["một", "hai\n", "một"];
    for (n, text) in (1_i32..).zip(texts) {
        let report = panel.put("policies/travel.v2", text, Some(n - 1)).await.expect("a revision");
        assert_eq!(
            report,
            json!({ "path": "policies/travel.v2", "revision": n, "kind": "policy", "sha256": hex(&Sha256::digest(text)),
                    "author": "petra", "replayed": false })
        );
    }
    let before = panel.db.fingerprint().await;
    for expected in [None, Some(3), Some(0)] {
        let report = panel.put("policies/travel.v2", "một", expected).await.expect("the same text");
        assert_eq!((&report["revision"], &report["replayed"]), (&json!(3), &json!(true)));
    }
    assert_eq!(before, panel.db.fingerprint().await, "nothing was written");
    let kept: Vec<String> =
        panel.one("select array_agg(body order by revision) from kb.revision").await;
    assert_eq!(kept, texts, "each revision stays what it was");
}

/// KB-1: who writes on top of a revision that is not the newest is told so.
#[tokio::test]
async fn a_newer_revision_is_not_overwritten() {
    let panel = Panel::new().await;
    let answer = refusal(panel.put("a", "one", Some(1)).await);
    assert_eq!(answer, (RA021, json!({ "path": "a", "expected": 1, "newest": 0 })));
    panel.put("a", "one", None).await.expect("the first");
    panel.put("a", "two", None).await.expect("whatever is there");
    let before = panel.db.fingerprint().await;
    for expected in [0, 1, 3, -1] {
        let answer = refusal(panel.put("a", "three", Some(expected)).await);
        assert_eq!(answer, (RA021, json!({ "path": "a", "expected": expected, "newest": 2 })));
    }
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");
    assert_eq!(panel.put("a", "three", Some(2)).await.expect("on top")["revision"], json!(3));
}

/// KB-1: a path is a path, a kind a word, and a text neither empty nor endless.
#[tokio::test]
async fn a_malformed_document_is_refused() {
    let panel = Panel::new().await;
    let before = panel.db.fingerprint().await;
    let word = "a".repeat(200);
    let (longest, too_long) = (format!("{word}/{}", &word[1..]), format!("{word}/{word}"));
    let long_word = format!("{word}a");
    let paths = [
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        "../a",
        "a/../b",
        "a/.b",
        "A",
        "a b",
        "ă",
        "a\n",
        "\na",
        "-a",
        &too_long,
        &long_word,
        // Exported, these would be a file and a folder at once.
        "a.md/b",
        "a/1.md",
        "2.json",
        "a/10.md/b",
    ];
    for path in paths {
        let (code, facts) = refusal(panel.put(path, "text", None).await);
        assert_eq!(
            (code, facts),
            (RA020, json!({ "path": path, "kind": "policy", "bytes": 4, "max_bytes": 4_194_304 }))
        );
    }
    assert_eq!(refusal(panel.put("a", "", None).await).0, RA020);
    let mut app = Session::open(&panel.db, Role::App).await;
    for kind in ["", "Policy", "a-b", "1a", "a b"] {
        let statement =
            format!("select kb.fn_kb_put('a', '{kind}', 'text', null, 'petra', 'pic_human')");
        assert_eq!(codes(app.run(&statement).await), [RA020], "{kind}");
    }
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");
    for path in [longest.as_str(), "a.md", "1", "a/v1.md", "a/1", "a/b_c-d.e"] {
        panel.put(path, "text", None).await.expect(path);
    }

    panel
        .as_owner("update config.dot_config set value = '6' where key = 'kb.body.max_bytes'")
        .await;
    panel.put("a", "một!", None).await.expect("six bytes");
    let (code, facts) = refusal(panel.put("a", "một!!", None).await);
    assert_eq!((code, &facts["bytes"], &facts["max_bytes"]), (RA020, &json!(7), &json!(6)));
}

/// KB-1, SEC-3: the author is a principal that holds its class, behind the login of that class.
#[tokio::test]
async fn a_document_has_an_author() {
    let panel = Panel::new().await;
    let before = panel.db.fingerprint().await;
    let mut app = Session::open(&panel.db, Role::App).await;
    for (principal, class, expected) in [
        ("nobody", "pic_human", RI001),
        ("rita", "sovereign", RI003),
        ("agnes", "review_authority", RI004),
    ] {
        let statement =
            format!("select kb.fn_kb_put('a', 'policy', 'text', null, '{principal}', '{class}')");
        assert_eq!(codes(app.run(&statement).await), [expected], "{principal}");
    }
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");
    let mut executor = Session::open(&panel.db, Role::CutterExec).await;
    executor
        .run("select kb.fn_kb_put('a', 'receipt', 'text', null, 'emil', 'executor_dot991')")
        .await
        .expect("receipts are written by whoever did it");
    let author: String = panel.one("select author from kb.revision").await;
    assert_eq!(author, "emil");
}

/// KB-1: of two who write one path at once, one is told that somebody wrote; without an expectation, both stand in a row.
#[tokio::test]
async fn two_writers_of_one_path_take_turns() {
    let panel = Panel::new().await;
    for (path, expected) in [("a", Some(0)), ("b", None)] {
        let mut first = Session::open(&panel.db, Role::App).await;
        let mut second = Session::open(&panel.db, Role::App).await;
        let pid = second.pid;
        first.begin(Isolation::ReadCommitted).await;
        put_on(&mut first.connection, path, "one", expected).await.expect("a revision");
        let other =
            tokio::spawn(
                async move { put_on(&mut second.connection, path, "two", expected).await },
            );
        Watch::new(&panel.db).until_blocked(pid).await;
        first.commit().await.expect("committed");
        let answer = other.await.expect("an answer");
        if expected.is_some() {
            let moved_on = json!({ "path": path, "expected": 0, "newest": 1 });
            assert_eq!(refusal(answer), (RA021, moved_on));
        } else {
            assert_eq!(answer.expect("a revision")["revision"], json!(2));
        }
    }
    let mut old = Session::open(&panel.db, Role::App).await;
    old.begin(Isolation::Serializable).await;
    assert_eq!(codes(put_on(&mut old.connection, "a", "three", None).await), [RS025]);
}

/// KB-1: a crowd that writes one path leaves revisions without a gap, one for each.
#[tokio::test]
async fn a_crowd_writes_without_gaps() {
    let panel = Panel::new().await;
    let mut racers = Vec::new();
    for n in 0..16 {
        let mut session = Session::open(&panel.db, Role::App).await;
        racers.push(tokio::spawn(async move {
            put_on(&mut session.connection, "a", &format!("text {n}"), None).await
        }));
    }
    for racer in racers {
        racer.await.expect("an answer").expect("a revision");
    }
    let revisions: Vec<i32> =
        panel.one("select array_agg(revision order by revision) from kb.revision").await;
    assert_eq!(revisions, (1..=16).collect::<Vec<i32>>());
}

/// KB-1: a signature stands under one revision, once with each meaning, and nothing else was signed.
#[tokio::test]
async fn a_signature_is_under_exactly_one_revision() {
    let panel = Panel::new().await;
    panel.put("a", "one", None).await.expect("a revision");
    panel.put("a", "two", None).await.expect("a revision");
    let mark = panel.a_mark("a", 1, "approved").await;
    let cases: Vec<Change<Mark>> = vec![
        ("another revision", |mark| mark.revision = 2),
        ("another meaning", |mark| mark.meaning = "read".to_owned()),
        ("another id", |mark| mark.signature_id = Uuid::now_v7()),
        ("another time", |mark| mark.signed_at += 1),
    ];
    for (what, change) in cases {
        let mut mark = mark.clone();
        change(&mut mark);
        assert_eq!(codes(panel.mark(&mark).await), [RC007], "{what}");
    }
    let first = panel.mark(&mark).await.expect("signed");
    let digest = hex(&Sha256::digest("one"));
    assert_eq!(
        first,
        json!({ "path": "a", "revision": 1, "kind": "policy", "sha256": digest, "author": "petra", "replayed": false,
                "signature_id": mark.signature_id, "signer": "petra", "meaning": "approved" })
    );
    let before = panel.db.fingerprint().await;
    let again = panel.a_mark("a", 1, "approved").await;
    let again = panel.mark(&again).await.expect("it stands already");
    assert_eq!(
        (&again["replayed"], &again["signature_id"]),
        (&json!(true), &json!(mark.signature_id))
    );
    for (path, revision, meaning) in
        [("a", 3, "read"), ("a", 0, "read"), ("b", 1, "read"), ("a", 1, " ")]
    {
        let unknown = panel.a_mark(path, revision, meaning).await;
        let facts = json!({ "path": path, "revision": revision, "meaning": meaning });
        assert_eq!(refusal(panel.mark(&unknown).await), (RA022, facts));
    }
    let mut taken = panel.a_mark("a", 2, "approved").await;
    taken.signature_id = mark.signature_id;
    panel.sign_mark(&mut taken).await;
    let facts = json!({
        "signature_id": mark.signature_id, "path": mark.path, "revision": mark.revision, "meaning": mark.meaning, "signer": mark.principal,
    });
    assert_eq!(refusal(panel.mark(&taken).await), (RC015, facts));
    assert_eq!(before, panel.db.fingerprint().await, "nothing changed");
    for meaning in ["read", "approved"] {
        panel.mark(&panel.a_mark("a", 2, meaning).await).await.expect("another one");
    }
}

/// SEC-1: a document is signed with a live key of one's own, now.
#[tokio::test]
async fn a_document_is_signed_by_its_signer() {
    let panel = Panel::new().await;
    panel.put("a", "one", None).await.expect("a revision");
    let mark = panel.a_mark("a", 1, "read").await;
    let signed = async |change: fn(&mut Mark, &Panel)| {
        let mut mark = mark.clone();
        change(&mut mark, &panel);
        panel.sign_mark(&mut mark).await;
        codes(panel.mark(&mark).await)
    };
    assert_eq!(signed(|mark, _| mark.key_id = None).await, [RI005]);
    assert_eq!(signed(|mark, panel| mark.key_id = Some(panel.key("rita"))).await, [RI005]);
    assert_eq!(signed(|mark, _| mark.class = "system".to_owned()).await, [RI003]);
    assert_eq!(signed(|mark, _| mark.signed_at -= 301_000_000).await, [RC010]);
}

/// KB-1: the same signature from two connections is one.
#[tokio::test]
async fn one_signature_from_two_connections_is_one() {
    let panel = Panel::new().await;
    panel.put("a", "one", None).await.expect("a revision");
    let [mark, again] = [panel.a_mark("a", 1, "read").await, panel.a_mark("a", 1, "read").await];
    let mut first = Session::open(&panel.db, Role::App).await;
    let mut second = Session::open(&panel.db, Role::App).await;
    let pid = second.pid;
    first.begin(Isolation::ReadCommitted).await;
    mark_on(&mut first.connection, &mark).await.expect("signed");
    let other = tokio::spawn(async move { mark_on(&mut second.connection, &again).await });
    Watch::new(&panel.db).until_blocked(pid).await;
    first.commit().await.expect("committed");
    let report = other.await.expect("an answer").expect("it stands already");
    assert_eq!(report["signature_id"], json!(mark.signature_id));
}
