//! FSM-1: the reference exists so that tests can disagree with the database. What a program decides by it would be a second rule.

use std::path::Path;

/// The tables of a manifest in which the crate is named.
fn named_in(manifest: &str) -> Vec<&str> {
    let mut table = "";
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            table = name.trim_end_matches(']');
            if table.contains("chancery-reference") {
                found.push(table);
            }
        } else if line.starts_with("chancery-reference")
            || line.contains("package = \"chancery-reference\"")
        {
            found.push(table);
        }
    }
    found
}

/// FSM-1: no crate can call the reference but from its tests, and the reference leans on none of them.
#[test]
fn only_tests_name_the_reference() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let crates = std::fs::read_dir(root.join("crates")).expect("the crates");
    let mut users = Vec::new();
    for folder in crates.map(|entry| entry.expect("a crate").path()).chain([root.join("bench")]) {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        if name == "chancery-reference" {
            let leans = manifest.lines().filter(|line| line.starts_with("chancery-")).count();
            assert_eq!(leans, 0, "it leans on another crate");
            continue;
        }
        for table in named_in(&manifest) {
            assert_eq!(table, "dev-dependencies", "{name} calls the reference outside its tests");
            users.push(name.clone());
        }
    }
    assert_eq!(users, ["chancery-store"]);
}

/// The reader of manifests finds each way of naming a crate.
#[test]
fn every_way_of_naming_it_is_found() {
    for (manifest, table) in [
        ("[dependencies]\nchancery-reference.workspace = true", "dependencies"),
        ("[dependencies.chancery-reference]\npath = \"x\"", "dependencies.chancery-reference"),
        ("[dependencies]\nother = { package = \"chancery-reference\" }", "dependencies"),
        ("[dev-dependencies]\nchancery-reference = { path = \"x\" }", "dev-dependencies"),
    ] {
        assert_eq!(named_in(manifest), [table], "{manifest}");
    }
}
