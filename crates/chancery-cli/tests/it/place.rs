//! A data directory of one's own, and the binary run in it.

use std::fs;
use std::io::{BufRead as _, BufReader, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::prepared;

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
    /// An empty data directory: nothing was made in it yet.
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("chancery-cli-").tempdir().expect("a folder");
        // Run by root, the server is another user, who must get through.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        Self { folder }
    }

    /// A data directory with this release's database, its server running. (All of them have the same system identifier, since
    /// they are copies of one cluster; who restores one into another makes a new one.)
    pub(crate) fn with_database() -> Self {
        Self::copy_of(&prepared::original("database", Self::new, |place| {
            place.done(&["db", "start"]);
        }))
    }

    /// As [`Place::with_database`], and in it what `prepare` made. That is done once for all tests that name the same thing; each
    /// of them has a copy of its own.
    pub(crate) fn prepared(name: &str, prepare: impl FnOnce(&Self)) -> Self {
        Self::copy_of(&prepared::original(name, Self::with_database, prepare))
    }

    fn copy_of(original: &Path) -> Self {
        let place = Self::new();
        prepared::copy(original, place.path());
        place.done(&["db", "start"]);
        place
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
        self.program(env!("CARGO_BIN_EXE_chancery"), args)
    }

    /// The binary `cutter`.
    pub(crate) fn cutter(&self, args: &[&str]) -> Said {
        run_it(&mut self.program(env!("CARGO_BIN_EXE_cutter"), args))
    }

    /// The binary `dot-birth-admit`.
    pub(crate) fn dot_birth_admit(&self, args: &[&str]) -> Said {
        run_it(&mut self.program(env!("CARGO_BIN_EXE_dot-birth-admit"), args))
    }

    fn program(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        for variable in ["DATABASE_URL", "CHANCERY_PRINCIPAL", "CHANCERY_WRITER_URL"] {
            command.env_remove(variable);
        }
        command.args(args).env("CHANCERY_HOME", self.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        run_it(&mut self.command(args))
    }

    /// A command that reads this from stdin.
    pub(crate) fn fed(&self, stdin: &[u8], args: &[&str]) -> Said {
        let mut command = self.command(args);
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(stdin).and_then(|()| file.rewind()).expect("a file to read");
        run_it(command.stdin(file))
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

/// Everything that stands in the tables, a hash each: a row more, less or other gives another one. The sequencer's cursor moves
/// with every pass, also with one that finds nothing.
const FINGERPRINT: &str = "
    select format('%I.%I', n.nspname, c.relname),
           (xpath('//h/text()', query_to_xml(
              format($q$select md5(string_agg(md5(t::text), ',' order by md5(t::text))) as h from %I.%I t$q$, n.nspname, c.relname),
              false, true, '')))[1]
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema') and c.relname <> 'sequencer_cursor'
     order by 1";

impl Place {
    /// What a superuser does behind everybody's back; answers what psql printed.
    pub(crate) fn superuser(&self, sql: &str) -> String {
        self.superuser_in("chancery", sql)
    }

    /// The same, in another database of the server.
    pub(crate) fn superuser_in(&self, database: &str, sql: &str) -> String {
        let status = self.json(&["db", "status"]);
        let text = |key: &str| status[key].as_str().expect("a path").to_owned();
        let password = fs::read_to_string(self.path().join("secrets/chancery_admin.password"));
        let mut psql = Command::new(format!("{}/psql", text("bin_dir")));
        psql.args(["-X", "-At", "-v", "ON_ERROR_STOP=1", "-U", "chancery_admin", "-d", database]);
        psql.args(["-h", &text("socket_dir"), "-c", sql]);
        run_it(psql.env("PGPASSWORD", password.expect("a password").trim())).ends_with(0).stdout
    }

    /// Everything that stands in the database.
    pub(crate) fn fingerprint(&self) -> String {
        self.superuser(FINGERPRINT)
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

/// Something locked by somebody else: whoever needs it waits.
pub(crate) struct Held {
    psql: Child,
    asks: ChildStdin,
}

impl Place {
    /// Does this in a transaction that stays open; it must say `held` when it has what it wants.
    pub(crate) fn hold(&self, sql: &str) -> Held {
        let status = self.json(&["db", "status"]);
        let text = |key: &str| status[key].as_str().expect("a path").to_owned();
        let password = fs::read_to_string(self.path().join("secrets/chancery_admin.password"));
        let mut psql = Command::new(format!("{}/psql", text("bin_dir")))
            .args([
                "-X",
                "-At",
                "-U",
                "chancery_admin",
                "-d",
                "chancery",
                "-h",
                &text("socket_dir"),
            ])
            .env("PGPASSWORD", password.expect("a password").trim())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("psql");
        let mut asks = psql.stdin.take().expect("its input");
        asks.write_all(format!("begin; {sql}").as_bytes()).expect("asked");
        let mut answers = BufReader::new(psql.stdout.take().expect("its output"));
        let mut line = String::new();
        while !line.contains("held") {
            line.clear();
            assert_ne!(answers.read_line(&mut line).expect("an answer"), 0, "psql ended");
        }
        Held { psql, asks }
    }
}

impl Held {
    pub(crate) fn let_go(mut self) {
        drop(self.asks);
        self.psql.wait().expect("psql ends");
    }
}
