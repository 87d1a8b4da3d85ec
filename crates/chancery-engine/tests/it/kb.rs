//! KB-1: documents in immutable revisions, signed, and as a folder of files and back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use chancery_engine::audit::{self, Pins};
use chancery_engine::kb::{self, Difference, Imported, Writer};
use chancery_engine::{Error, identity};
use chancery_model::refusal::Code::{RA020, RA021, RA022, RI003, RI008};
use chancery_store::Role;
use chancery_store::kb::RevisionReport;
use tokio::task::JoinSet;

use crate::scene::{Scene, codes, facts};

const ALICE: Writer<'_> = Writer { principal: "alice", actor_class: "pic_human" };
const ODD: &str = "# Tiêu đề \u{feff}\r\n\n“đúng” 𝔸 \u{2028}\u{1}\t\n\nno newline at the end";

async fn put(scene: &Scene, path: &str, text: &str) -> Result<RevisionReport, Error> {
    kb::put(&scene.app, ALICE, path, "note", text.as_bytes(), None).await
}

/// A document that was signed.
pub(crate) async fn a_signed_document(scene: &Scene) {
    put(scene, "notes/signed", ODD).await.expect("written");
    let signed = kb::sign(&scene.app, &scene.sam, "sovereign", "notes/signed", None, "read").await;
    signed.expect("signed");
}

async fn first_mismatch(scene: &Scene, path: Option<&str>) -> Option<String> {
    let report = audit::verify_kb(&scene.app, path, Pins::default()).await.expect("a look");
    report.mismatches.first().map(|mismatch| mismatch.rule.to_owned())
}

#[tokio::test]
async fn what_was_written_stays_and_comes_back_byte_for_byte() {
    let scene = Scene::new().await;
    let first = put(&scene, "handbook/start", ODD).await.expect("written");
    assert_eq!((first.revision, first.replayed), (1, false));
    let again = put(&scene, "handbook/start", ODD).await.expect("told so");
    assert_eq!((again.revision, again.replayed), (1, true));
    let second = put(&scene, "handbook/start", "another text\n").await.expect("written");
    assert_eq!(second.revision, 2);
    let back = put(&scene, "handbook/start", ODD).await.expect("written");
    assert_eq!((back.revision, back.sha256), (3, first.sha256), "the same text, the same digest");
    let bodies = async |n| kb::get(&scene.app, "handbook/start", n).await.expect("an answer");
    assert_eq!(bodies(Some(1)).await.expect("a revision").body, ODD);
    assert_eq!(bodies(Some(2)).await.expect("a revision").body, "another text\n");
    assert_eq!(bodies(None).await.expect("the newest").revision.revision, 3);
    assert!(bodies(Some(4)).await.is_none());

    // Everybody writes behind a login of their own.
    let rita = Writer { principal: "rita", actor_class: "review_authority" };
    let written = kb::put(&scene.reviewer, rita, "handbook/start.notes", "report", b"x", None);
    assert_eq!(written.await.expect("written").author, "rita");
    let listed = kb::list(&scene.app, Some("handbook/")).await.expect("listed");
    let listed: Vec<(&str, i32)> =
        listed.iter().map(|row| (row.path.as_str(), row.revision)).collect();
    assert_eq!(listed, [("handbook/start", 3), ("handbook/start.notes", 1)]);
    assert_eq!(kb::list(&scene.app, Some("hand")).await.expect("listed"), []);
    assert_eq!(kb::list(&scene.app, Some("")).await.expect("listed").len(), 2);
}

#[tokio::test]
async fn what_is_no_document_is_refused_by_name() {
    let scene = Scene::new().await;
    put(&scene, "notes/one", "one\n").await.expect("written");
    let before = scene.db.fingerprint().await;
    let long = format!("{}/x", "a".repeat(201));
    for path in [
        "",
        "/a",
        "a/",
        "a//b",
        "A",
        "../a",
        "a/../b",
        ".history/a",
        "a b",
        "đ",
        "a\n",
        long.as_str(),
        "notes/one.md/two",
        "notes/one/1.md",
        "notes/one/1.json",
        "12.md/x",
        "1.json",
    ] {
        assert_eq!(codes(put(&scene, path, "x").await), [RA020], "{path:?}");
    }
    assert_eq!(codes(put(&scene, "notes/two", "").await), [RA020]);
    let too_long = "x".repeat(4_194_305);
    assert_eq!(codes(put(&scene, "notes/two", &too_long).await), [RA020]);
    for (bytes, reason) in [(&b"a\xff"[..], "not_utf8"), (b"a\0b", "nul_character")] {
        let refused = kb::put(&scene.app, ALICE, "notes/two", "note", bytes, None).await;
        assert_eq!(facts(refused)["reason"], reason);
    }
    let refused = kb::put(&scene.app, ALICE, "notes/two", "A kind", b"x", None).await;
    assert_eq!(codes(refused), [RA020]);
    for (expected, newest) in [(0, 1), (2, 1)] {
        let put = kb::put(&scene.app, ALICE, "notes/one", "note", b"other", Some(expected)).await;
        assert_eq!(facts(put)["newest"], newest, "expected {expected}");
    }
    let put = kb::put(&scene.app, ALICE, "notes/new", "note", b"other", Some(1)).await;
    assert_eq!(codes(put), [RA021]);
    let nobody = Writer { principal: "alice", actor_class: "sovereign" };
    let put = kb::put(&scene.app, nobody, "notes/two", "note", b"x", None).await;
    assert_eq!(codes(put), [RI003]);
    let sign = kb::sign(&scene.app, &scene.sam, "sovereign", "notes/none", None, "read").await;
    assert_eq!(codes(sign), [RA022]);
    let sign = kb::sign(&scene.app, &scene.sam, "sovereign", "notes/one", Some(2), "read").await;
    assert_eq!(codes(sign), [RA022]);
    let sign = kb::sign(&scene.app, &scene.sam, "sovereign", "notes/one", None, " ").await;
    assert_eq!(codes(sign), [RA022]);
    let mut keyless = identity_of(&scene, "sam").await;
    keyless.key = None;
    let sign = kb::sign(&scene.app, &keyless, "sovereign", "notes/one", None, "read").await;
    assert_eq!(codes(sign), [RI008]);
    assert_eq!(scene.db.fingerprint().await, before);
}

async fn identity_of(scene: &Scene, name: &str) -> chancery_engine::run::Actor {
    chancery_engine::run::Actor::open(&scene.app, &scene.keystore, name).await.expect("an actor")
}

#[tokio::test]
async fn a_signature_stands_under_one_text_and_is_checked() {
    let scene = Scene::new().await;
    put(&scene, "notes/one", ODD).await.expect("written");
    put(&scene, "notes/two", "two\n").await.expect("written");
    let sign = async |meaning: &str| {
        kb::sign(&scene.app, &scene.sam, "sovereign", "notes/one", None, meaning).await
    };
    let first = sign("đã đọc").await.expect("signed");
    assert_eq!((first.revision, first.replayed), (1, false));
    let again = sign("đã đọc").await.expect("told so");
    assert_eq!((again.replayed, again.signature_id), (true, first.signature_id));
    assert!(
        !sign("approved").await.expect("signed").replayed,
        "another meaning is another signature"
    );
    // A key that is revoked later leaves its signatures good.
    let key = scene.sam.key.as_ref().expect("a key").key_id;
    identity::rotate_key(&scene.operator, &scene.keystore, "sam", None).await.expect("rotated");
    let document = kb::get(&scene.app, "notes/one", None).await.expect("an answer").expect("it");
    assert_eq!(document.signed.iter().map(|s| s.key_id).collect::<Vec<_>>(), [key, key]);
    assert_eq!(first_mismatch(&scene, None).await, None);

    for (statement, rule) in [
        (
            "update kb.revision set body = body || 'x', sha256 = sha256(convert_to(body || 'x', 'UTF8')) where path = 'notes/one'",
            "digest_is_of_the_row",
        ),
        ("update kb.revision_signature set signer = 'rita'", "digest_is_of_the_row"),
    ] {
        let copy = "create table public.kept as table kb.revision; create table public.kept_signature as table kb.revision_signature";
        for one in copy.split("; ") {
            scene.db.forge(&[one]).await;
        }
        scene.db.forge(&[statement]).await;
        assert_eq!(first_mismatch(&scene, None).await.as_deref(), Some(rule));
        assert_eq!(first_mismatch(&scene, Some("notes/one")).await.as_deref(), Some(rule));
        assert_eq!(first_mismatch(&scene, Some("notes/two")).await, None, "of another document");
        scene
            .db
            .forge(&[
                "delete from kb.revision_signature",
                "delete from kb.revision",
                "insert into kb.revision table public.kept",
                "insert into kb.revision_signature table public.kept_signature",
                "drop table public.kept",
                "drop table public.kept_signature",
            ])
            .await;
        assert_eq!(first_mismatch(&scene, None).await, None);
    }
}

/// A forger who can stamp rows but has nobody's key: what was signed gives it away.
#[tokio::test]
async fn a_text_that_was_exchanged_under_its_signature_is_found() {
    let scene = Scene::new().await;
    a_signed_document(&scene).await;
    scene
        .db
        .forge(&[
            "alter table kb.revision enable always trigger zz_stamps_its_digest",
            "update kb.revision set body = 'forged', sha256 = sha256('forged')",
        ])
        .await;
    let report = audit::verify_kb(&scene.app, None, Pins::default()).await.expect("a look");
    let found: Vec<(&str, &str)> = report.mismatches.iter().map(|m| (m.table, m.rule)).collect();
    assert_eq!(found, [("kb.revision_signature", "signed_is_what_is_stored")]);
}

/// Every file below a folder, with its bytes; metadata aside.
fn texts(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let name = path.strip_prefix(folder).expect("below").display().to_string();
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

#[tokio::test]
async fn a_folder_of_files_comes_back_identical() {
    let (here, there) = (Scene::new().await, Scene::new().await);
    for (path, text) in [
        ("a", "a\n"),
        ("a", ODD),
        ("a", "a\n"),
        ("a/b", "below\n"),
        ("a/b.md", "odd\n"),
        ("a.md", "odd too\n"),
        ("z/1", "one\n"),
        ("z", "z\n"),
    ] {
        put(&here, path, text).await.expect("written");
    }
    let report = Writer { principal: "vera", actor_class: "verifier_dot992" };
    kb::put(&here.verify, report, "a", "report", b"a\n", None).await.expect("another kind");
    kb::sign(&here.app, &here.sam, "sovereign", "a", Some(2), "read").await.expect("signed");
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let exported = kb::export(&here.app, &first, None).await.expect("exported");
    assert_eq!((exported.documents, exported.revisions), (6, 9));
    assert_eq!(kb::export(&here.app, &first, None).await.expect("exported").written, 0);
    assert_eq!(fs::read(first.join("a.md")).expect("the newest"), b"a\n");
    assert_eq!(fs::read(first.join(".history/a/2.md")).expect("a revision"), ODD.as_bytes());
    let json = fs::read(first.join(".history/a/2.json")).expect("its metadata");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(
        (&json["author"], &json["signatures"][0]["signer"]),
        (&"alice".into(), &"sam".into())
    );

    let imported = kb::import(&there.app, ALICE, &first).await.expect("imported");
    let expected = Imported { revisions: 9, written: 9, present: 0, differences: Vec::new() };
    assert_eq!(imported, expected);
    let again = kb::import(&there.app, ALICE, &first).await.expect("imported");
    assert_eq!((again.written, again.present), (0, 9));
    kb::export(&there.app, &second, None).await.expect("exported");
    assert_eq!(texts(&first), texts(&second));
    let digests = "select string_agg(path || revision || kind || encode(sha256, 'hex'), ' ' order by path, revision) from kb.revision";
    assert_eq!(here.db.text(digests).await, there.db.text(digests).await);
    assert_eq!(there.db.count("kb.revision_signature").await, 0, "nobody signed here");

    // Only a folder of it.
    let part = folder.path().join("part");
    assert_eq!(kb::export(&here.app, &part, Some("z/")).await.expect("exported").documents, 2);
    assert_eq!(texts(&part).len(), 4);
    is_sound(&there).await;
}

async fn is_sound(scene: &Scene) {
    let auditor = scene.db.store(Role::Auditor);
    let report = audit::verify(&auditor, Pins::default(), |_| ()).await.expect("an audit");
    assert_eq!(report.mismatches, []);
}

#[tokio::test]
async fn what_differs_is_told_and_not_changed() {
    let (here, there) = (Scene::new().await, Scene::new().await);
    for (path, text) in [("one", "1\n"), ("one", "2\n"), ("two", "2\n")] {
        put(&here, path, text).await.expect("written");
    }
    put(&there, "one", "1\n").await.expect("written");
    put(&there, "one", "not 2\n").await.expect("written");
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    kb::export(&here.app, folder, None).await.expect("exported");
    let told = |imported: &Imported| -> Vec<(String, Option<i32>)> {
        let told = |difference: &Difference| (difference.path.clone(), difference.revision);
        imported.differences.iter().map(told).collect()
    };
    let imported = kb::import(&there.app, ALICE, folder).await.expect("told");
    assert_eq!((imported.written, imported.present), (1, 1), "two was not there");
    assert_eq!(told(&imported), [("one".to_owned(), Some(2))]);

    // Files that somebody changed or laid there, and an export that does not write over them.
    fs::write(folder.join("two.md"), "my own words\n").expect("a file");
    fs::write(folder.join("three.md"), "new\n").expect("a file");
    let refused = kb::export(&here.app, folder, None).await;
    assert!(refused.is_err_and(|error| error.to_string().contains("two.md")), "it is kept");
    let imported = kb::import(&there.app, ALICE, folder).await.expect("told");
    let expected = [("three", None), ("two", None), ("one", Some(2))];
    assert_eq!(told(&imported), expected.map(|(path, n)| (path.to_owned(), n)));
    fs::remove_file(folder.join("two.md")).expect("removed");

    // A history that does not hold together: nothing at all is written.
    let fresh = Scene::new().await;
    let before = fresh.db.fingerprint().await;
    for (file, text) in [
        (".history/one/2.md", "forged\n"),
        (".history/one/2.json", "{}"),
        (".history/two/9.md", "stray\n"),
    ] {
        let file = folder.join(file);
        let kept = fs::read(&file).ok();
        fs::write(&file, text).expect("a file");
        let imported = kb::import(&fresh.app, ALICE, folder).await.expect("told");
        assert_eq!(imported.written, 0, "{file:?}");
        assert!(imported.differences.iter().any(|d| d.revision.is_some()), "{imported:?}");
        match kept {
            Some(kept) => fs::write(&file, kept).expect("put back"),
            None => fs::remove_file(&file).expect("put back"),
        }
    }
    fs::remove_file(folder.join(".history/one/1.json")).expect("removed");
    fs::remove_file(folder.join(".history/one/1.md")).expect("removed");
    assert_eq!(kb::import(&fresh.app, ALICE, folder).await.expect("told").written, 0);
    assert_eq!(fresh.db.fingerprint().await, before);
    assert!(kb::import(&fresh.app, ALICE, &folder.join("nowhere")).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_writers_make_sixteen_revisions_and_one_of_them_is_the_next() {
    let scene = Arc::new(Scene::new().await);
    let mut writers = JoinSet::new();
    for n in 0..16 {
        let scene = Arc::clone(&scene);
        let text = format!("{n}\n");
        writers.spawn(async move { put(&scene, "race", &text).await.expect("written").revision });
    }
    let mut revisions = writers.join_all().await;
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=16).collect::<Vec<_>>());
    let mut writers = JoinSet::new();
    for n in 0..16 {
        let scene = Arc::clone(&scene);
        writers.spawn(async move {
            let text = format!("next {n}\n");
            let put = kb::put(&scene.app, ALICE, "race", "note", text.as_bytes(), Some(16)).await;
            i32::from(put.is_ok_and(|report| report.revision == 17))
        });
    }
    assert_eq!(writers.join_all().await.iter().sum::<i32>(), 1);
    assert_eq!(first_mismatch(&scene, None).await, None);
}
