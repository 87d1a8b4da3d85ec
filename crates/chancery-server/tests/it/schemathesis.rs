//! SEC-2: what schemathesis makes of `api/openapi.json`, sent to a real server as several roles: no defect, and no answer that the document
//! does not have.

use std::fs;
use std::process::Command;

use chancery_testkit::repo_path;
use serde_json::{Map, Value, json};

use crate::matrix::world::{Shows, World};
use crate::scene::{Scene, listening};

/// These three see and do most of what there is, each in another way.
const A_FEW: [&str; 3] = ["sovereign", "pic_human", "executor_worker, service"];
/// So many examples an operation, in a slice.
const SOME: u32 = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemathesis_finds_no_answer_that_is_not_in_the_document() {
    let program = repo_path("target/api-tools/bin/schemathesis");
    assert!(program.exists(), "schemathesis is not installed: run bin/api-tools");
    let asked = std::env::var_os("CHANCERY_TEST_EXAMPLES").and_then(|text| text.into_string().ok());
    let all = asked.is_some();
    let examples = asked.unwrap_or_else(|| SOME.to_string());
    // Coverage tries every bound of every member by itself, which takes minutes.
    let phases = if all { "examples,coverage,fuzzing" } else { "fuzzing" };
    let mut world = World::new(Scene::new().await).await;
    world.furnish().await;
    let mut there: Map<String, Value> = Map::new();
    for id in world.there.values() {
        there.insert(id[..3].to_owned(), json!(id));
    }
    for (name, value) in
        [("workflow", "everything"), ("document", "luat"), ("class", "noop"), ("name", "job")]
    {
        there.insert(name.to_owned(), json!(value));
    }
    let there = Value::Object(there).to_string();
    let url = listening(&world.scene).await;
    let folder = tempfile::tempdir().expect("a folder");
    for who in world.everybody.iter().filter(|who| all || A_FEW.contains(&who.name.as_str())) {
        let Shows::Token(token) = &who.shows else { continue };
        let config = folder.path().join("schemathesis.toml");
        let text = fs::read_to_string(repo_path("api/schemathesis.toml")).expect("its settings");
        let text = format!("headers = {{ Authorization = \"Bearer {token}\" }}\n{text}");
        fs::write(&config, text).expect("settings with a token");
        let mut run = Command::new(&program);
        run.arg("--config-file").arg(&config).arg("run").arg(repo_path("api/openapi.json"));
        run.args(["--url", &url, "--max-examples", &examples, "--phases", phases]);
        run.current_dir(folder.path()).env("SCHEMATHESIS_HOOKS", repo_path("api/hooks.py"));
        run.env("CHANCERY_THERE", &there);
        let run = tokio::task::spawn_blocking(move || run.output());
        let done = run.await.expect("a thread").expect("it runs");
        let said = String::from_utf8_lossy(&done.stdout);
        let more = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "as {}:\n{said}\n{more}", who.name);
    }
}
