//! SEC-1: private halves and passwords stand in files that only their owner can read, and nowhere else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use chancery_engine::identity::{new_key, rotate_key};
use chancery_engine::run::Actor;
use chancery_model::refusal::Code::*;
use chancery_store::{LOGINS, Store};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions as _};

use super::{People, codes, of_the_database};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

/// SEC-1: a key file is its owner's alone, in a folder of its own; one that others can read is not used.
#[tokio::test]
async fn key_files_are_their_owners_alone() {
    let people = People::new().await;
    let own = people.actor("amy").await.key.expect("a key");
    let path = people.keystore.path("amy", own.key_id);
    assert_eq!(mode(&path), 0o600);
    for folder in path.ancestors().skip(1).take_while(|folder| *folder != people.folder.path()) {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    assert_eq!(fs::read_to_string(&path).expect("a key file"), hex::encode(own.key.as_bytes()));

    for open in [0o640, 0o604, 0o622] {
        fs::set_permissions(&path, fs::Permissions::from_mode(open)).expect("its owner may");
        let refused = Actor::open(&people.store, &people.keystore, "amy")
            .await
            .expect_err("others can reach it");
        assert!(matches!(refused, chancery_engine::Error::Key(_)), "{refused}");
        assert!(!refused.to_string().contains(&hex::encode(own.key.as_bytes())));
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its owner may");
    people.actor("amy").await;
    fs::write(&path, "not a key").expect("its owner may");
    let refused =
        Actor::open(&people.store, &people.keystore, "amy").await.expect_err("no key in it");
    assert!(matches!(refused, chancery_engine::Error::Key(_)), "{refused}");
}

/// SEC-1: a key that the database refuses leaves no file behind.
#[tokio::test]
async fn a_refused_key_leaves_no_file() {
    let people = People::new().await;
    for name in ["nobody", "../bob", "/etc"] {
        assert_eq!(
            codes(of_the_database(new_key(&people.operator, &people.keystore, name, None).await)),
            [RI001]
        );
    }
    let mut names: Vec<String> = fs::read_dir(people.folder.path().join("keys"))
        .expect("the keystore")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["amy", "bob", "robin"]);
}

/// Every row of every table there is, the catalogue's own included.
async fn whole_database(admin: &mut PgConnection) -> String {
    let tables: Vec<String> =
        sqlx::query_scalar("select oid::regclass::text from pg_class where relkind in ('r', 'm') and relpersistence <> 't' order by 1")
            .fetch_all(&mut *admin)
            .await
            .expect("tables");
    assert!(
        tables.iter().any(|table| table == "identity.signing_key")
            && tables.iter().any(|table| table == "pg_authid")
    );
    let mut dump = String::new();
    for table in tables {
        let rows: Vec<String> =
            sqlx::query_scalar(AssertSqlSafe(format!("select t::text from {table} t")))
                .fetch_all(&mut *admin)
                .await
                .unwrap_or_else(|error| panic!("{table}: {error}"));
        dump.extend(rows);
    }
    dump
}

/// SEC-1: no private key and no password is in the database, in any spelling.
#[tokio::test]
async fn nothing_private_is_in_the_database() {
    let people = People::new().await;
    let (amy, bob) = (people.actor("amy").await, people.actor("bob").await);
    let run = people.begin(&bob).await.expect("signed").run_id;
    people.check(&amy, run).await.expect("signed");
    rotate_key(&people.operator, &people.keystore, "amy", None).await.expect("rotated");
    let dump = whole_database(&mut people.db.superuser().await).await;

    let public = hex::encode(bob.key.as_ref().expect("a key").key.verifying_key().as_bytes());
    assert!(dump.contains(&public), "the search finds what is there");
    for actor in [&amy, &bob, &people.actor("amy").await, &people.actor("robin").await] {
        let key = &actor.key.as_ref().expect("a key").key;
        for spelling in spellings(key.as_bytes()) {
            assert!(!dump.contains(&spelling), "{}'s private key", actor.principal);
        }
    }
    let target = people.db.target();
    let mut options = vec![target.admin_options()];
    options.extend(LOGINS.iter().map(|role| target.options(*role).expect("options")));
    for options in options {
        let url = options.to_url_lossy();
        let password = url.password().expect("every login has one");
        assert!(
            password.len() > 40 && !dump.contains(password),
            "the password of {}",
            url.username()
        );
    }
}

/// SEC-1: what ends up in a log line shows neither keys nor passwords.
#[tokio::test]
async fn nothing_private_is_shown() {
    let people = People::new().await;
    let bob = people.actor("bob").await;
    let role = LOGINS[0];
    let target = people.db.target();
    let store = Store::open(target, role).expect("a store");
    let shown = format!("{bob:?} {:?} {target:?} {store:?} {:?}", people.keystore, people.db);
    for spelling in spellings(bob.key.as_ref().expect("a key").key.as_bytes()) {
        assert!(!shown.contains(&spelling), "a private key is shown");
    }
    for options in [target.admin_options(), target.options(role).expect("options")] {
        let url = options.to_url_lossy();
        assert!(
            !shown.contains(url.password().expect("a password")),
            "the password of {} is shown",
            url.username()
        );
    }
}

/// Bytes as hex, as Rust shows a list, and as PostgreSQL shows a jsonb list.
fn spellings(bytes: &[u8; 32]) -> [String; 4] {
    let list = format!("{bytes:?}");
    [hex::encode(bytes), hex::encode_upper(bytes), list.replace(' ', ""), list]
}
