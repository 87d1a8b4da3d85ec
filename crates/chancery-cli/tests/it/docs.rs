//! The documents are true: generated pages are current, paths and links exist, the README's walk works as it stands, and
//! every requirement that is called done has tests that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::place::{Place, run_it};

/// Made by builds and measurements, never part of the repository (as in the files .gitignore).
const NOT_OURS: &[&str] = &[
    "target",
    "node_modules",
    ".git",
    "bench/results",
    "ui/.nuxt",
    "ui/.nuxt-made",
    "ui/.output",
    "ui/.data",
    "ui/dist",
];

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Every file of the repository, by its path in it.
fn files() -> Vec<String> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("a folder can be listed") {
            let path = entry.expect("a folder can be listed").path();
            let name =
                path.strip_prefix(root).expect("below the root").to_str().expect("a plain name");
            if NOT_OURS
                .iter()
                .any(|ignored| name == *ignored || name.ends_with(&format!("/{ignored}")))
            {
                continue;
            }
            if path.is_dir() { walk(root, &path, found) } else { found.push(name.to_owned()) }
        }
    }
    let root = repository();
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    found.sort();
    found
}

fn files_ending_in(endings: &[&str]) -> Vec<String> {
    files().into_iter().filter(|name| endings.iter().any(|ending| name.ends_with(ending))).collect()
}

pub(crate) fn read(name: &str) -> String {
    fs::read_to_string(repository().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[track_caller]
fn nothing_in(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// FSM-9: the page of each machine is what its file says; `make docs` makes them.
#[test]
fn the_pages_of_the_machines_are_current() {
    let place = Place::new();
    let machines: Vec<String> = files().into_iter().filter(|name| is_machine(name)).collect();
    assert_eq!(machines.len(), 12, "{machines:?}");
    let mut pages = BTreeSet::from(["README.md".to_owned(), "locking.md".to_owned()]);
    for machine in machines {
        let name =
            Path::new(&machine).file_stem().and_then(|stem| stem.to_str()).expect("a plain name");
        let file = repository().join(&machine);
        let drawn =
            place.done(&["machine", "diagram", file.to_str().expect("a plain path")]).stdout;
        let page = format!("docs/states/{name}.md");
        assert!(read(&page) == drawn, "{page} is not what {machine} says; run `make docs`");
        pages.insert(format!("{name}.md"));
    }
    let there: BTreeSet<String> = files()
        .iter()
        .filter_map(|name| name.strip_prefix("docs/states/").map(str::to_owned))
        .collect();
    assert_eq!(there, pages, "a page without a machine, or the other way round");
}

fn is_machine(name: &str) -> bool {
    name.starts_with("machines/") && name.ends_with(".yaml")
}

/// A document without its fenced blocks, which are examples.
fn prose(text: &str) -> Vec<&str> {
    let mut fenced = false;
    text.lines()
        .filter(|line| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fence && !fenced
        })
        .collect()
}

/// What stands between single backticks in a line.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Whether a piece of code is meant as a path of the repository: `folder/file.ext`, `folder/`, or anything below one of the
/// repository's own folders.
fn is_path(code: &str, top: &BTreeSet<String>) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if !code.contains('/') || code.starts_with('/') || !code.chars().all(plain) {
        return false;
    }
    let first = code.split('/').next().unwrap_or_default();
    if NOT_OURS.iter().any(|ignored| {
        code.trim_end_matches('/') == *ignored || code.starts_with(&format!("{ignored}/"))
    }) {
        return false;
    }
    let last = code.rsplit('/').next().unwrap_or_default();
    code.ends_with('/') || last.contains('.') || top.contains(first)
}

/// Paths in backticks exist, seen from the root or from the document.
#[test]
fn every_path_in_a_document_exists() {
    let root = repository();
    let top: BTreeSet<String> = files()
        .iter()
        .filter_map(|name| name.split_once('/').map(|(first, _)| first.to_owned()))
        .collect();
    let mut problems = Vec::new();
    for document in files_ending_in(&[".md"]) {
        let beside = root.join(&document).parent().expect("a document lies in a folder").to_owned();
        for line in prose(&read(&document)) {
            for code in code_spans(line).filter(|code| is_path(code, &top)) {
                if !root.join(code).exists() && !beside.join(code).exists() {
                    problems.push(format!("{document}: there is no `{code}`"));
                }
            }
        }
    }
    nothing_in(&problems);
}

/// The targets of a line's links.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

/// The anchors that headings make.
fn anchors(text: &str) -> BTreeSet<String> {
    let slug = |heading: &str| {
        let kept = |c: char| (c.is_alphanumeric() || c == '-' || c == '_' || c == ' ').then_some(c);
        heading
            .trim()
            .to_lowercase()
            .chars()
            .filter_map(kept)
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    prose(text)
        .into_iter()
        .filter(|line| line.starts_with('#'))
        .map(|line| slug(line.trim_start_matches('#')))
        .collect()
}

/// Links between documents lead somewhere.
#[test]
fn every_relative_link_resolves() {
    let root = repository();
    let mut problems = Vec::new();
    for document in files_ending_in(&[".md"]) {
        let text = read(&document);
        let beside = root.join(&document).parent().expect("a document lies in a folder").to_owned();
        for target in prose(&text).into_iter().flat_map(links) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { root.join(&document) } else { beside.join(path) };
            let leads = file.exists()
                && (anchor.is_empty()
                    || fs::read_to_string(&file).is_ok_and(|text| anchors(&text).contains(anchor)));
            if !leads {
                problems.push(format!("{document}: the link to {target} leads nowhere"));
            }
        }
    }
    nothing_in(&problems);
}

/// What is too long is not read.
#[test]
fn files_stay_short() {
    let mut limits = vec![("README.md".to_owned(), 120), ("ARCHITECTURE.md".to_owned(), 400)];
    limits.extend(files_ending_in(&[".rs", ".sql"]).into_iter().map(|name| (name, 700)));
    let too_long = |(name, limit): &(String, usize)| {
        let lines = read(name).lines().count();
        (lines > *limit).then(|| format!("{name} has {lines} lines; at most {limit}"))
    };
    nothing_in(&limits.iter().filter_map(too_long).collect::<Vec<_>>());
}

/// Nothing of the machine that somebody worked on: no path of a home, no address of a mirror of package registries.
#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    // Put together here, so that this file does not find itself.
    let places = ["root", "home", "work"].map(|name| format!("/{name}/"));
    let index = concat!("registry", "+");
    // A marker, and what must follow it.
    let public = [
        (index, "https://github.com/rust-lang/crates.io-index"),
        (concat!("sparse", "+"), "https://index.crates.io/"),
        (concat!("\"resol", "ved\": \""), "https://registry.npmjs.org/"),
    ];
    let never = [concat!("replace", "-with"), concat!("index", "-url"), concat!("_auth", "Token")];
    let mut problems = Vec::new();
    for name in files() {
        let Ok(text) = fs::read_to_string(repository().join(&name)) else { continue };
        for (number, line) in text.lines().enumerate() {
            let strange = |(marker, follows): &(&str, &str)| {
                line.split_once(marker).is_some_and(|(_, rest)| !rest.starts_with(follows))
            };
            let found = places.iter().any(|place| has_path(line, place))
                || public.iter().any(strange)
                || never.iter().any(|marker| line.contains(marker));
            if found {
                problems.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    nothing_in(&problems);
}

/// Whether an absolute path begins here; `docs/work/` is none.
fn has_path(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        !line[..at]
            .ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | '*'))
    })
}

/// The README's walks, run by a shell from top to bottom, end as they say: a purchase, six commands from a document to verified
/// units, and a table that is protected in three.
#[test]
fn the_walks_of_the_readme_work_as_written() {
    let readme = read("README.md");
    let blocks: Vec<&str> = readme
        .split("<!-- test: walk -->\n```sh\n")
        .skip(1)
        .map(|rest| rest.split_once("\n```").expect("a block ends").0)
        .collect();
    assert!(blocks.len() > 1, "the walk is marked");
    let place = Place::new();
    let script = place.file("walk.sh", &blocks.join("\n"));
    let binaries = Path::new(env!("CARGO_BIN_EXE_chancery")).parent().expect("a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binaries).chain(std::env::split_paths(&path)))
        .expect("a path");

    let mut bash = Command::new("bash");
    for variable in ["DATABASE_URL", "CHANCERY_PRINCIPAL"] {
        bash.env_remove(variable);
    }
    bash.args(["-euo", "pipefail", &script]).current_dir(repository()).stdin(Stdio::null());
    let said = run_it(bash.env("CHANCERY_HOME", place.path()).env("PATH", path)).ends_with(0);

    for shown in [
        "created  active",
        "would be refused RS006",
        "\nverified_complete\n",
        "\nRP/records_policy-duties-owners ",
        "\nDONE\n",
        "everything fits",
        "PostgreSQL is stopped",
    ] {
        assert!(said.stdout.contains(shown), "{shown}: {said:?}");
    }
    for shown in [
        "refused RS006",
        "nothing was done twice",
        "permission denied for table run",
        "records-policy · cut_applied · 8 units",
        "records-policy · verified_complete",
        "Nothing may be born here without a permit",
    ] {
        assert!(said.stderr.contains(shown), "{shown}: {said:?}");
    }
}

/// Every requirement there is: an area and how many it has.
const REQUIREMENTS: &[(&str, usize)] = &[
    ("FSM", 11),
    ("RUN", 18),
    ("CUT", 12),
    ("IU", 4),
    ("ORC", 11),
    ("ADM", 8),
    ("EVT", 7),
    ("UIW", 7),
    ("UIG", 8),
    ("PRO", 1),
    ("APR", 1),
    ("KB", 1),
    ("SEC", 3),
    ("AUD", 1),
];

/// The map of requirements is whole, and what it calls done has tests that exist.
#[test]
fn every_requirement_that_is_done_has_tests() {
    let expected: Vec<String> = REQUIREMENTS
        .iter()
        .flat_map(|(area, last)| (1..=*last).map(move |n| format!("{area}-{n}")))
        .collect();
    let text = read("docs/requirements.md");
    let rows: Vec<[&str; 3]> = text.lines().filter_map(requirement).collect();
    let ids: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(
        ids, expected,
        "docs/requirements.md on the left, the list of requirements on the right"
    );

    let mut problems = Vec::new();
    for [id, status, tests] in rows {
        let named: Vec<&str> = code_spans(tests).collect();
        match status.split_whitespace().next() {
            Some("done" | "part") if named.is_empty() => {
                problems.push(format!("{id} is {status} and names no test"))
            }
            Some("open") if !named.is_empty() => {
                problems.push(format!("{id} is open and names tests"))
            }
            Some("done" | "part" | "open") => {}
            _ => problems.push(format!("{id}: `{status}` is no status")),
        }
        problems.extend(
            named.iter().filter_map(|test| missing(test).map(|why| format!("{id}: {test}: {why}"))),
        );
    }
    nothing_in(&problems);
}

/// The three cells of a row about a requirement.
fn requirement(line: &str) -> Option<[&str; 3]> {
    let cells: Vec<&str> =
        line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
    let [id, status, tests] = cells[..] else { return None };
    let (area, number) = id.split_once('-')?;
    let is_id =
        area.chars().all(|c| c.is_ascii_uppercase()) && number.chars().all(|c| c.is_ascii_digit());
    (is_id && !area.is_empty() && !number.is_empty()).then_some([id, status, tests])
}

/// Why a test that is named `crate::module::name`, or `sql::folder::claim`, can't be found; `None` when it can.
fn missing(test: &str) -> Option<String> {
    let parts: Vec<&str> = test.split("::").filter(|part| *part != "tests").collect();
    let [krate, modules @ .., name] = &parts[..] else {
        return Some("it is no path to a test".to_owned());
    };
    let module = modules.join("/");
    if *krate == "sql" {
        let claim = format!("sql/tests/{module}/{name}.sql");
        return (!repository().join(&claim).is_file()).then(|| format!("there is no {claim}"));
    }
    // Where the module can stand, and the file that makes it part of its program.
    let first = modules.first().copied().unwrap_or_default();
    let second = modules.get(1).copied().unwrap_or_default();
    let places = [
        ("tests/it", "tests/it/main.rs".to_owned(), first),
        ("tests", format!("tests/{first}/main.rs"), second),
        ("src", "src/lib.rs".to_owned(), first),
        ("src", "src/main.rs".to_owned(), first),
    ];
    let mut there = Vec::new();
    for (folder, root, declared) in places {
        let is_declared = fs::read_to_string(repository().join(format!("crates/{krate}/{root}")))
            .is_ok_and(|text| text.lines().any(|line| line.ends_with(&format!("mod {declared};"))));
        let place = format!("crates/{krate}/{folder}/{module}");
        let files = [format!("{place}.rs"), format!("{place}/mod.rs")];
        there.extend(
            files.into_iter().filter(|file| is_declared && repository().join(file).is_file()),
        );
    }
    if there.is_empty() {
        return Some(format!("crate {krate} has no module {module} that is compiled"));
    }
    (!there.iter().any(|file| has_test(&read(file), name)))
        .then(|| format!("{} has no such test", there.join(" and ")))
}

/// Whether a file has the function, and it is a test: an attribute above it says so.
fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let starts = |line: &str| {
        line.trim_start_matches("async ")
            .strip_prefix("fn ")
            .is_some_and(|rest| rest.starts_with(&format!("{name}(")))
    };
    lines.iter().enumerate().filter(|(_, line)| starts(line)).any(|(at, _)| {
        // Up to what stands before it: attributes can take several lines.
        let above = lines[..at].iter().rev().take_while(|line| !line.is_empty() && **line != "}");
        above
            .into_iter()
            .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    })
}

#[test]
fn a_path_is_told_from_other_code() {
    let top = BTreeSet::from(["sql".to_owned(), "docs".to_owned()]);
    for path in ["sql/README.md", "src/lib.rs", "docs/errors", "machines/"] {
        assert!(is_path(path, &top), "{path}");
    }
    for other in [
        "fsm.run",
        "application/json",
        "/var/lib/chancery",
        "target/debug/chancery",
        "docs/<name>.md",
        "a / b",
    ] {
        assert!(!is_path(other, &top), "{other}");
    }
}

#[test]
fn a_test_is_told_from_a_helper() {
    let text = "/// Why.\n#[tokio::test]\nasync fn a_claim() {}\n\nfn a_helper() {}\n\nmod tests {\n    #[test]\n    fn inner() {}\n}\n";
    assert!(has_test(text, "a_claim") && has_test(text, "inner"));
    assert!(!has_test(text, "a_helper") && !has_test(text, "claim"));
}

#[test]
fn a_home_is_told_from_a_folder() {
    let home = format!("/{}/", "home");
    assert!(has_path(&format!("see {home}ana"), &home));
    assert!(!has_path(&format!("ui{home}page.vue"), &home));
}
