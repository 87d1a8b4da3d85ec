//! Everybody and everything that a run needs.

use std::path::PathBuf;

use serde_json::Value;

use crate::place::{Place, Said};

/// A public key whose secret part nobody has: these backups are never read.
const BACKUP_KEY: &str = include_str!("backup.asc");

/// A data directory with people, a pinned backup key and documents.
pub(crate) struct Scene {
    pub(crate) place: Place,
}

impl Scene {
    /// People, keys and the pinned key; no document yet.
    pub(crate) fn new() -> Self {
        let place = Place::prepared("orchestrate", |place| {
            for (name, kind, classes) in [
                ("alice", "human", "pic_human"),
                ("sofia", "human", "sovereign,review_authority"),
                ("simon", "human", "sovereign,review_authority"),
                ("executor", "service", "executor_dot991"),
                ("verifier", "service", "verifier_dot992"),
            ] {
                place.done(&["principal", "add", name, "--kind", kind, "--class", classes]);
                place.done(&["key", "new", name]);
            }
            let key = place.file("backup.asc", BACKUP_KEY);
            place.done(&["cutter", "orchestrate", "backup-key", &key]);
        });
        Self { place }
    }

    /// Adds a document of so many sections.
    pub(crate) fn document(&self, id: &str, sections: usize) -> &Self {
        let text: String = (0..sections)
            .map(|n| format!("# Section {n}\n\nWhat section {n} of {id} says.\n\n"))
            .collect();
        let file = self.place.file(&format!("{id}.md"), &text);
        let prefix = id.to_uppercase();
        self.place.done(&["doc", "add", &file, "--id", id, "--prefix", &prefix, "--as", "alice"]);
        self
    }

    /// `cutter orchestrate …`
    pub(crate) fn orchestrate(&self, args: &[&str]) -> Said {
        self.place.run(&[&["cutter", "orchestrate"], args].concat())
    }

    /// Starts a run and gives its id; it must stop at the first gate.
    pub(crate) fn started(&self, document: &str) -> String {
        let said =
            self.orchestrate(&["start", document, "--as", "executor", "--json"]).ends_with(4);
        let ended = said.json();
        assert_eq!(ended["state"], "awaiting_cut_authorization", "{said:?}");
        ended["run_id"].as_str().expect("a run").to_owned()
    }

    /// The sovereign signs what the run asks for; gives the document.
    pub(crate) fn approved(&self, run: &str) -> String {
        let said =
            self.orchestrate(&["approve", "--run-id", run, "--as", "sofia", "--json"]).ends_with(0);
        said.json()["approval_kb_id"].as_str().expect("a document").to_owned()
    }

    /// Goes on with a run.
    pub(crate) fn resume(&self, run: &str, approval: Option<&str>) -> Said {
        let mut args = vec!["resume", "--run-id", run, "--as", "executor"];
        args.extend(approval.into_iter().flat_map(|path| ["--approval-kb-id", path]));
        self.orchestrate(&args)
    }

    /// Approves and goes on; the run ends with this exit code.
    pub(crate) fn taken_on(&self, run: &str, exit: i32) -> Said {
        let approval = self.approved(run);
        self.resume(run, Some(&approval)).ends_with(exit)
    }

    /// Where the database says that the run stands.
    pub(crate) fn state(&self, run: &str) -> String {
        let said = self.orchestrate(&["status", "--run-id", run, "--json"]).ends_with(0);
        said.json()["run"]["state"].as_str().expect("a state").to_owned()
    }

    /// The run's folder.
    pub(crate) fn folder(&self, run: &str) -> PathBuf {
        self.place.path().join("runs").join(run)
    }

    /// `state.json` as it stands.
    pub(crate) fn sidecar(&self, run: &str) -> Value {
        let text = std::fs::read_to_string(self.folder(run).join("state.json")).expect("a sidecar");
        serde_json::from_str(&text).expect("JSON")
    }

    pub(crate) fn one(&self, sql: &str) -> String {
        self.place.superuser(sql).trim().to_owned()
    }
}
