//! The benchmarks run: a table that nobody can make proves nothing. What they measure with little is not judged.

use std::process::Command;

use serde_json::Value;

fn figures(arguments: &[&str], file: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let mut bench = Command::new(env!("CARGO_BIN_EXE_chancery-bench"));
    bench.arg("--quick").args(arguments);
    bench.arg("--json").arg(folder.path().join("transitions.json"));
    let done = bench.output().expect("it runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = std::fs::read_to_string(folder.path().join(file)).expect("figures");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn moves_and_units_are_measured_beside_their_limit() {
    let figures = figures(&[], "transitions.json");
    let ratios: Vec<f64> =
        figures.as_array().expect("rows").iter().filter_map(|row| row["ratio"].as_f64()).collect();
    assert!(ratios.len() >= 2 && ratios.iter().all(|&ratio| ratio > 0.0), "{figures}");
}

#[test]
fn workflows_are_measured_short_beside_long() {
    assert!(figures(&["--workflows-only"], "workflows.json")["ratio"].as_f64() > Some(0.0));
}

#[test]
fn births_are_measured_beside_their_limit() {
    assert!(figures(&["--births-only"], "births.json").to_string().contains("ratio"));
}
