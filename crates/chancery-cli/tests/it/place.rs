//! A data directory of one's own, and the binary run in it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A throw-away data directory; its server is stopped with the value.
#[derive(Debug)]
pub(crate) struct Place {
    folder: TempDir,
}

/// What the binary said.
#[derive(Debug)]
pub(crate) struct Said {
    command: String,
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("chancery-cli-").tempdir().expect("a folder");
        // Run by root, the server is another user, who must get through.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Lays a file beside the data.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.path().join(name);
        fs::write(&path, text).expect("a file");
        path.to_str().expect("a plain path").to_owned()
    }

    /// The binary, with nothing of the caller's own configuration.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chancery"));
        for variable in ["DATABASE_URL", "CHANCERY_PRINCIPAL"] {
            command.env_remove(variable);
        }
        command.args(args).env("CHANCERY_HOME", self.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        run_it(&mut self.command(args))
    }

    /// A command that must succeed.
    pub(crate) fn done(&self, args: &[&str]) -> Said {
        self.run(args).ends_with(0)
    }

    /// A command that must succeed, and its answer for programs.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        self.done(&[args, &["--json"]].concat()).json()
    }

    /// A command that a rule must refuse with this code first: told to people and to programs alike.
    pub(crate) fn refused(&self, code: &str, args: &[&str]) -> Value {
        let said = self.run(args).ends_with(3);
        assert_eq!(said.stdout, "", "a refusal is no data: {said:?}");
        assert!(said.stderr.starts_with(&format!("refused {code} ")), "{said:?}");
        assert!(said.stderr.contains("\nhint: "), "{said:?}");
        assert!(said.stderr.ends_with(&format!("\nmore: docs/errors/{code}.md\n")), "{said:?}");
        let said = self.run(&[args, &["--json"]].concat()).ends_with(3);
        assert_eq!(said.stderr, "", "programs read stdout: {said:?}");
        let refused = said.json()["refused"].clone();
        assert_eq!(refused["code"], code, "{said:?}");
        refused
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Nothing of a test may stay behind, whatever became of it.
        drop(self.command(&["db", "stop"]).output());
    }
}

pub(crate) fn run_it(command: &mut Command) -> Said {
    let output = command.output().expect("the binary runs");
    Said {
        command: format!("{:?}", command.get_args().collect::<Vec<_>>()),
        exit: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("stdout is text"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

impl Said {
    #[track_caller]
    pub(crate) fn ends_with(self, exit: i32) -> Self {
        assert_eq!(self.exit, Some(exit), "{}\n{}\n{}", self.command, self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }
}
