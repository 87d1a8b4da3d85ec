//! SEC-2: what schemathesis makes of `api/openapi.json`, sent to a real server as several roles: no defect, and no answer that the document
//! does not have.

use std::fs;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use chancery_testkit::{repo_path, slice};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::matrix::world::{Shows, World};
use crate::scene::{Scene, listening};

/// These three see and do most of what there is, each in another way.
const A_FEW: [&str; 3] = ["sovereign", "pic_human", "executor_worker, service"];
/// So many examples an operation, in a slice.
const SOME: u32 = 2;
/// So many roles at once, in full: each has a server and a database of its own.
const AT_ONCE: usize = 2;

/// How one asks: in a slice, or with everything that is asked of a soak.
#[derive(Clone)]
struct Plan {
    examples: String,
    phases: &'static str,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemathesis_finds_no_answer_that_is_not_in_the_document() {
    let program = repo_path("target/api-tools/bin/schemathesis");
    assert!(program.exists(), "schemathesis is not installed: run bin/api-tools");
    let asked = slice::asked("CHANCERY_TEST_EXAMPLES");
    let all = asked.is_some();
    // Coverage tries every bound of every member by itself, which takes minutes.
    let plan = Plan {
        examples: asked.unwrap_or_else(|| SOME.to_string()),
        phases: if all { "examples,coverage,fuzzing" } else { "fuzzing" },
    };
    let everybody = World::new(Scene::new().await).await.everybody;
    let with_token = everybody.into_iter().filter(|who| matches!(who.shows, Shows::Token(_)));
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut rounds = JoinSet::new();
    for who in with_token.filter(|who| all || A_FEW.contains(&who.name.as_str())) {
        let (plan, places) = (plan.clone(), Arc::clone(&places));
        rounds.spawn(async move {
            let _place = places.acquire_owned().await.expect("a place");
            as_role(&who.name, &plan).await
        });
    }
    let mut wrong = Vec::new();
    while let Some(round) = rounds.join_next().await {
        wrong.extend(round.expect("a round").err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[expect(clippy::print_stderr, reason = "a run of an hour tells how far it is")]
fn tell(name: &str, seconds: u64, said: &str) {
    eprintln!(
        "as {name}, {seconds} s:\n{}",
        said.rfind("= SUMMARY").map_or(said, |at| &said[at..])
    );
}

/// In a world of its own, so that what one role breaks is still whole for the next.
async fn as_role(name: &str, plan: &Plan) -> Result<(), String> {
    let mut world = World::new(Scene::new().await).await;
    world.furnish().await;
    let who = world.everybody.iter().find(|who| who.name == name).expect("everybody is there");
    let Shows::Token(token) = &who.shows else { unreachable!("only those with a token are asked") };
    let url = listening(&world.scene).await;
    let before = me(&world.scene, token).await;
    let started = Instant::now();
    let done = round(&world, token, &url, plan).await;
    let said = String::from_utf8_lossy(&done.stdout);
    tell(name, started.elapsed().as_secs(), &said);
    if !done.status.success() {
        return Err(format!("as {name}:\n{said}\n{}", String::from_utf8_lossy(&done.stderr)));
    }
    // Who lost the token on the way would have seen nothing but 401.
    let after = me(&world.scene, token).await;
    if after == before { Ok(()) } else { Err(format!("as {name}: {before}, then {after}")) }
}

async fn me(scene: &Scene, token: &str) -> StatusCode {
    let asks = Request::get("/v1/me").header("authorization", format!("Bearer {token}"));
    scene.send(asks.body(Body::empty()).expect("a request")).await.status
}

async fn round(world: &World, token: &str, url: &str, plan: &Plan) -> Output {
    let mut there: Map<String, Value> = Map::new();
    for id in world.there.values() {
        there.insert(id[..3].to_owned(), json!(id));
    }
    for (name, value) in
        [("workflow", "everything"), ("document", "luat"), ("class", "noop"), ("name", "job")]
    {
        there.insert(name.to_owned(), json!(value));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("schemathesis.toml");
    let text = fs::read_to_string(repo_path("api/schemathesis.toml")).expect("its settings");
    let text = format!("headers = {{ Authorization = \"Bearer {token}\" }}\n{text}");
    fs::write(&config, text).expect("settings with a token");
    let mut run = Command::new(repo_path("target/api-tools/bin/schemathesis"));
    run.arg("--config-file").arg(&config).arg("run").arg(repo_path("api/openapi.json"));
    run.args(["--url", url, "--max-examples", &plan.examples, "--phases", plan.phases]);
    run.current_dir(folder.path()).env("SCHEMATHESIS_HOOKS", repo_path("api/hooks.py"));
    run.env("CHANCERY_THERE", Value::Object(there).to_string());
    let run = tokio::task::spawn_blocking(move || run.output());
    run.await.expect("a thread").expect("it runs")
}
