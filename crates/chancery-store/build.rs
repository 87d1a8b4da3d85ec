//! Embeds the texts under `sql/`, so that the binary installs exactly what it was built with.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = manifest.join("../../sql").canonicalize().expect("sql/ stands beside crates/");
    // From the manifest on, so that a target folder that was copied or moved with its checkout looks at its own texts.
    println!("cargo:rerun-if-changed=../../sql");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let mut out = String::from("pub(crate) static FILES: &[(&str, &str)] = &[\n");
    for file in &files {
        let name = file
            .strip_prefix(&root)
            .expect("collected below the root")
            .to_str()
            .expect("plain names");
        writeln!(out, "    ({name:?}, include_str!({:?})),", file.display().to_string())
            .expect("a string");
    }
    out.push_str("];\n");
    let target = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("bundle.rs");
    fs::write(target, out).expect("OUT_DIR is writable");
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests") {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|ext| ext == "sql") {
            files.push(path);
        }
    }
}
