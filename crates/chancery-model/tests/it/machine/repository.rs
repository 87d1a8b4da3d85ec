//! The machines of the product pass their own checker.

use std::fs;
use std::path::{Path, PathBuf};

use chancery_model::machine::{Definition, File, check};

/// FSM-9, FSM-10: no machine of the repository has a finding.
#[test]
fn the_machines_of_the_repository_have_no_findings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines");
    let files = yaml_files(&root);
    assert!(!files.is_empty(), "no machine file under machines/");
    let mut problems = Vec::new();
    for path in files {
        let name = path.strip_prefix(&root).expect("found under the root").display();
        let text = fs::read_to_string(&path).expect("a machine file is readable");
        match File::parse(&text) {
            Err(error) => problems.push(format!("{name}: {error}")),
            Ok(file) => {
                let findings = check(&Definition::from(&file));
                problems.extend(findings.iter().map(|finding| format!("{name}: {finding}")));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of machines is readable") {
        let path = entry.expect("a folder of machines is readable").path();
        if path.is_dir() {
            files.extend(yaml_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    files.sort();
    files
}
