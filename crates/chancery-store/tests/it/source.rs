//! Lists over the text of the repository that fail when they are incomplete.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use chancery_model::refusal::Code;
use chancery_testkit::{TestDb, repo_path};

/// A SQL file that makes a function.
pub(crate) struct FunctionFile {
    pub(crate) room: String,
    pub(crate) function: String,
    pub(crate) text: String,
}

impl FunctionFile {
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.room, self.function)
    }
}

pub(crate) fn function_files() -> Vec<FunctionFile> {
    let name =
        |path: &Path| path.file_stem().and_then(|s| s.to_str()).expect("a plain name").to_owned();
    files_below(&repo_path("sql"), "sql")
        .into_iter()
        .filter(|path| path.parent().is_some_and(|folder| folder.ends_with("functions")))
        .map(|path| FunctionFile {
            room: name(path.parent().and_then(Path::parent).expect("functions/ lies in a room")),
            function: name(&path),
            text: read(&path),
        })
        .collect()
}

/// Definer-owned unless the first line says otherwise.
pub(crate) fn declared_owner(text: &str) -> &str {
    text.lines()
        .next()
        .and_then(|line| line.strip_prefix("-- owner: "))
        .map_or("chancery_definer", str::trim)
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn without_comments(text: &str) -> String {
    text.lines()
        .map(|line| line.split("--").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The refusal codes in a text.
fn codes_in(text: &str) -> BTreeSet<String> {
    let is_code = |word: &&str| {
        word.len() == 5
            && word.starts_with('R')
            && word[1..2].chars().all(|c| c.is_ascii_uppercase())
            && word[2..].chars().all(|c| c.is_ascii_digit())
    };
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_code).map(str::to_owned).collect()
}

fn all_codes() -> BTreeSet<String> {
    Code::ALL.iter().map(|code| code.as_str().to_owned()).collect()
}

/// FSM-5: a code that is raised has its words, and words are only kept for what is raised.
#[tokio::test]
async fn every_code_is_raised_and_has_its_words() {
    let db = TestDb::new().await;
    let rows: Vec<(String, String)> = sqlx::query_as("select code, problem from config.refusal")
        .fetch_all(&mut db.superuser().await)
        .await
        .expect("refusals");
    let in_database: BTreeSet<(String, String)> = rows.into_iter().collect();
    let in_rust: BTreeSet<(String, String)> = Code::ALL
        .iter()
        .map(|code| (code.as_str().to_owned(), code.problem().to_owned()))
        .collect();
    assert_eq!(in_database, in_rust);

    let raised: BTreeSet<String> = files_below(&repo_path("sql"), "sql")
        .iter()
        .filter(|path| {
            // Words are no raising.
            !path.components().any(|c| c.as_os_str() == "config" || c.as_os_str() == "tests")
        })
        .flat_map(|path| codes_in(&without_comments(&read(path))))
        .collect();
    assert_eq!(raised, all_codes(), "raised in sql/ on the left, known on the right");
}

/// Each code has a page, each page a code, and each page begins with the code and the problem's name.
#[test]
fn every_code_has_its_page() {
    let folder = repo_path("docs/errors");
    let pages: BTreeSet<String> = files_below(&folder, "md")
        .iter()
        .filter_map(|path| path.file_stem()?.to_str().map(str::to_owned))
        .filter(|name| !["README", "stops"].contains(&name.as_str()))
        .collect();
    assert_eq!(pages, all_codes());
    for code in Code::ALL {
        let text = read(&folder.join(format!("{code}.md")));
        let title = text.lines().next().unwrap_or_default();
        assert!(title.contains(code.as_str()) && title.contains(code.problem()), "{code}: {title}");
    }
}

/// A refusal that no test provokes may not work.
#[test]
fn every_code_stands_in_a_test() {
    let mut named = BTreeSet::new();
    let crates = fs::read_dir(repo_path("crates")).expect("crates/");
    let folders = crates
        .map(|entry| entry.expect("an entry").path().join("tests"))
        .chain([repo_path("sql/tests")]);
    for folder in folders {
        for path in files_below(&folder, "rs").into_iter().chain(files_below(&folder, "sql")) {
            named.extend(codes_in(&read(&path)));
        }
    }
    let missing: Vec<String> = all_codes().difference(&named).cloned().collect();
    assert_eq!(missing, Vec::<String>::new(), "no test names these codes");
}

/// Doors that only SQL calls.
const WITHOUT_BINDING: &[(&str, &str)] = &[
    ("fn_content_hash", "a word for SQL; Rust hashes for itself"),
    (
        "fn_ensure_partitions",
        "called by the migrator's bundle, fn_partitions_prepare and fn_sequence_events",
    ),
    ("fn_event_type_register", "called by fn_machine_apply and by the migrations of rooms"),
    ("fn_guard_register", "called by the migrations of the room that owns the guard"),
    ("fn_iu_birth_gate_layer1", "a trigger's"),
    ("fn_iu_birth_gate_layer2", "a trigger's"),
    ("fn_iu_enacted_immut", "a trigger's"),
    ("fn_iu_gateway_write_guard", "a trigger's"),
    ("fn_iu_resolve_default", "called by fn_iu_create and fn_iu_create_plan"),
    ("fn_uv_enacted_immut", "a trigger's"),
    ("fn_rule_rows", "one of the reads of Store::drift"),
    ("fn_generated_texts", "one of the reads of Store::drift"),
];

/// Every door has a binding of its name in the store, and every binding a door.
#[test]
fn every_door_has_its_binding() {
    let doors: BTreeSet<String> = function_files()
        .into_iter()
        .map(|file| file.function)
        .filter(|name| name.starts_with("fn_"))
        .collect();
    let mut bound: BTreeSet<String> = BTreeSet::new();
    for path in files_below(&repo_path("crates/chancery-store/src"), "rs") {
        let text = read(&path);
        // One that streams is no async function: it gives rows as they come.
        bound.extend(text.replace("pub async fn", "pub fn").split("pub fn fn_").skip(1).map(
            |rest| {
                let name: String =
                    rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                format!("fn_{name}")
            },
        ));
    }
    let excepted = WITHOUT_BINDING.iter().map(|(name, _)| (*name).to_owned());
    let expected: BTreeSet<String> = bound.into_iter().chain(excepted).collect();
    assert_eq!(doors, expected, "doors in sql/ on the left, bindings and exceptions on the right");
}

/// One function a file, under its own name, with what it promises at its head.
#[test]
fn every_function_file_says_what_it_promises() {
    for file in function_files() {
        let name = file.name();
        let head: Vec<&str> = file.text.lines().take_while(|line| line.starts_with("--")).collect();
        assert!(head.iter().any(|line| line.starts_with("-- promise: ")), "{name} has no promise");
        let made: Vec<&str> = file
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("create or replace function "))
            .collect();
        assert!(
            made.iter().any(|rest| rest.starts_with(&format!("{name}("))),
            "{name} makes another function"
        );
        assert!(made.len() == 1 || name.contains(".generate_"), "{name}: one function a file");
    }
}

/// FSM-6: nothing in the repository writes a state column but the engine's compare-and-set, for one run and for many, and the generated one.
#[test]
fn nothing_else_writes_states() {
    let mut writers = Vec::new();
    for path in files_below(&repo_path("sql"), "sql") {
        if path.components().any(|component| component.as_os_str() == "tests") {
            continue;
        }
        let text = without_comments(&read(&path)).to_lowercase();
        for statement in text.split(';') {
            let Some((_, update)) = statement.split_once("update ") else { continue };
            let assignments = update.split_once("where").map_or(update, |(set, _)| set);
            let writes_state = assigns(assignments, "state_code")
                || assigns(assignments, "proposal_state")
                || assignments.contains("%i = p_to_state")
                || update.starts_with("cutter_governance.decision_backlog_entry");
            if update.contains("set ") && writes_state {
                writers.push(
                    path.file_name()
                        .and_then(|name| name.to_str())
                        .expect("a plain name")
                        .to_owned(),
                );
            }
        }
    }
    writers.sort();
    assert_eq!(writers, ["generate_dispatchers.sql", "move.sql", "move_together.sql"]);
    for path in files_below(&repo_path("crates"), "rs") {
        if path.components().any(|component| component.as_os_str() == "tests") {
            continue;
        }
        let text = read(&path).to_lowercase();
        for table in [
            "fsm.run",
            "cutter_governance.decision_backlog_entry",
            "orchestrator.run",
            "workflow.workflow_run",
            "workflow.step_run",
            "workflow.task_run",
            "workflow.workflow_change_requests",
            "governance.proposal",
        ] {
            assert!(
                !text.contains(&format!("update {table}")),
                "{} writes a state",
                path.display()
            );
        }
    }
}

/// Whether a column of this very name is set; the colour of a run, `rollup_state_code`, is no state.
fn assigns(assignments: &str, column: &str) -> bool {
    assignments.match_indices(&format!("{column} =")).any(|(at, _)| {
        !assignments[..at].ends_with(|before: char| before == '_' || before.is_alphanumeric())
    })
}

/// Dynamic SQL is put together with `format` alone, which quotes what it is given.
#[test]
fn dynamic_sql_is_quoted() {
    for path in files_below(&repo_path("sql"), "sql") {
        let text = without_comments(&read(&path)).to_lowercase();
        for (_, rest) in text
            .match_indices("execute ")
            .map(|(at, word)| (at, text[at + word.len()..].trim_start()))
        {
            let harmless = rest.starts_with("format(")
                || rest.starts_with("function ")
                || rest.starts_with("on ");
            assert!(
                harmless,
                "{}: execute {}",
                path.display(),
                rest.lines().next().unwrap_or_default()
            );
        }
    }
}

/// A body is parsed in the session that calls it: with standard_conforming_strings off, a backslash in a plain literal means
/// something else. `E'…'` always means the same.
#[test]
fn no_literal_depends_on_a_setting() {
    for file in function_files() {
        for line in without_comments(&file.text).lines() {
            assert!(!line.contains('\\') || line.contains("E'"), "{}: {line}", file.name());
        }
    }
}
