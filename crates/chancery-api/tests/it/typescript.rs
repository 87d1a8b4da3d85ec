//! The TypeScript client is made of the committed document, and compiles.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tool of the client. It is installed by `bin/api-tools`; without it this fails.
fn tool(folder: &Path, name: &str, args: &[&str]) {
    let program = folder.join("node_modules/.bin").join(name);
    assert!(program.exists(), "{name} is not installed: run bin/api-tools");
    let done = Command::new(program).args(args).current_dir(folder).output().expect("it runs");
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&said));
}

#[test]
fn the_typescript_client_is_made_of_the_document_and_compiles() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../ui/api");
    let made = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("schema.d.ts");
    let output = made.to_str().expect("a path");
    tool(&folder, "openapi-typescript", &["../../api/openapi.json", "--output", output]);
    let (made, kept) =
        (fs::read_to_string(&made), fs::read_to_string(folder.join("src/schema.d.ts")));
    assert!(
        made.expect("what was made") == kept.expect("what is kept"),
        "ui/api/src/schema.d.ts is not made of api/openapi.json: run `make api`"
    );
    tool(&folder, "tsc", &["--noEmit"]);
}
