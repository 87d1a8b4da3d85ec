//! Password files.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::thread;

use chancery_store::managed::{Error, secrets};

use crate::support::*;

#[test]
fn a_password_file_is_made_once_and_closed_to_others() {
    let folder = open_folder();
    let home = home_at(&folder.path().join("home"));
    let made: Vec<_> = thread::scope(|scope| {
        let makers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| secrets::ensure(&home, "cutter_exec").expect("is made")))
            .collect();
        makers.into_iter().map(|maker| maker.join().expect("no panic")).collect()
    });
    assert!(made.iter().all(|secret| *secret == made[0]), "whoever comes first decides");
    assert_eq!(made[0].expose().len(), 43, "32 random bytes");
    assert_eq!(secrets::read(&home, "cutter_exec").expect("is there"), made[0]);
    assert_ne!(secrets::ensure(&home, "cutter_verify").expect("is made"), made[0]);

    let path = secrets::path(&home, "cutter_exec").expect("a fine name");
    assert_eq!((mode_of(&path), mode_of(&home.secrets())), (0o600, 0o700));
    let files = fs::read_dir(home.secrets()).expect("listable").count();
    assert_eq!(files, 2, "no drafts are left");
}

#[test]
fn a_password_is_not_shown_by_accident() {
    let place = Place::new();
    let secret = secrets::ensure(place.home(), "chancery_admin").expect("is made");
    let connection = place.as_superuser();
    for shown in [format!("{secret:?}"), format!("{connection:#?}"), format!("{:?}", place.cluster)]
    {
        assert!(!shown.contains(secret.expose()), "{shown}");
    }
}

#[test]
fn a_password_file_that_others_can_read_is_refused() {
    let folder = open_folder();
    let home = home_at(&folder.path().join("home"));
    secrets::ensure(&home, "auditor_ro").expect("is made");
    let path = secrets::path(&home, "auditor_ro").expect("a fine name");
    for (exposed, open_mode, closed_mode) in
        [(path.clone(), 0o640, 0o600), (path.clone(), 0o604, 0o600), (home.secrets(), 0o755, 0o700)]
    {
        fs::set_permissions(&exposed, Permissions::from_mode(open_mode)).expect("ours");
        let error = secrets::ensure(&home, "auditor_ro").expect_err("others can read it");
        assert!(matches!(error, Error::SecretExposed { .. }), "{error}");
        assert!(error.to_string().contains(&format!("chmod {closed_mode:o}")), "{error}");
        fs::set_permissions(&exposed, Permissions::from_mode(closed_mode)).expect("ours");
    }
    secrets::read(&home, "auditor_ro").expect("closed again");
}

#[test]
fn bad_names_and_bad_files_are_refused() {
    let folder = open_folder();
    let home = home_at(&folder.path().join("home"));
    for name in ["", "../evil", "Upper", "1st", "a b", "a;b", "ä"] {
        assert!(matches!(secrets::ensure(&home, name), Err(Error::RoleName { .. })), "{name:?}");
    }
    assert!(matches!(secrets::read(&home, "cutter_ro"), Err(Error::SecretMissing { .. })));
    secrets::ensure(&home, "cutter_ro").expect("is made");
    let path = secrets::path(&home, "cutter_ro").expect("a fine name");
    for contents in ["", "\n", "two\nlines\n"] {
        fs::write(&path, contents).expect("ours");
        assert!(matches!(secrets::read(&home, "cutter_ro"), Err(Error::SecretMalformed { .. })));
    }
}
