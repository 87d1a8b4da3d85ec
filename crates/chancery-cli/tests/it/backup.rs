//! ORC-6: the backup of a run, read again with plain gpg and pg_restore by the documented steps.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use chancery_engine::orchestrator::backup::{
    Backup, BackupError, BackupKey, PgDump, Taken, check, take,
};
use chancery_store::Target;
use chancery_store::managed::{BinarySearch, Cluster, Env, Home, Options, find_binaries};
use chancery_testkit::keys;
use tempfile::TempDir;

use crate::approval::LETTER;
use crate::cutter::{approved, with_people};
use crate::place::{Place, Said, run_it};

const POLICY: &str = include_str!("../../../../examples/documents/records-policy.md");

/// The set of tables, as the product has it.
fn tables(place: &Place) -> Vec<String> {
    let set = "select jsonb_array_elements_text(value) from config.dot_config where key = 'orchestrator.backup.tables'";
    place.superuser(set).lines().map(str::to_owned).collect()
}

/// A GnuPG of one's own: its agent ends with the value.
struct Gpg {
    home: TempDir,
}

impl Gpg {
    fn new() -> Self {
        let there = Command::new("gpg").arg("--version").output();
        assert!(there.is_ok(), "gpg is missing: apt-get install gpg gpg-agent (bin/setup does it)");
        // A short path: the agent's socket lies in it.
        let home = tempfile::Builder::new().prefix("gpg-").tempdir().expect("a folder");
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).expect("its mode");
        Self { home }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut gpg = Command::new("gpg");
        gpg.args(["--batch", "--no-tty", "--yes", "--pinentry-mode", "loopback"]);
        gpg.args(["--passphrase", ""]).args(args).env("GNUPGHOME", self.home.path());
        gpg.stdin(Stdio::null());
        gpg
    }

    /// What gpg writes to stdout.
    fn bytes(&self, args: &[&str]) -> Vec<u8> {
        let output = self.command(args).output().expect("gpg runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Makes a key and gives its fingerprint.
    fn make(&self, name: &str, args: &[&str]) -> String {
        self.bytes(args);
        let listed = self.bytes(&["--with-colons", "--list-keys", name]);
        let listed = String::from_utf8(listed).expect("a listing is text");
        let line = listed.lines().find(|line| line.starts_with("fpr:")).expect("a fingerprint");
        line.split(':').nth(9).expect("its field").to_owned()
    }

    /// ed25519 that signs, with cv25519 that encrypts.
    fn new_key(&self, name: &str) -> String {
        self.make(name, &["--quick-gen-key", name, "future-default", "default", "never"])
    }

    fn new_rsa_key(&self, name: &str) -> String {
        let made = self.make(name, &["--quick-gen-key", name, "rsa2048", "sign", "never"]);
        self.bytes(&["--quick-add-key", &made, "rsa2048", "encr", "never"]);
        made
    }

    fn export(&self, which: &str) -> Vec<u8> {
        self.bytes(&["--armor", "--export", which])
    }
}

impl Drop for Gpg {
    fn drop(&mut self) {
        let mut kill = Command::new("gpgconf");
        drop(kill.args(["--kill", "all"]).env("GNUPGHOME", self.home.path()).output());
    }
}

/// How the orchestrator sees a place: its database and its programs.
fn inside(place: &Place) -> (Target, PgDump) {
    let home = Home::resolve(Some(place.path().to_owned()), &Env::default()).expect("a home");
    let path = std::env::var_os("PATH");
    let binaries = find_binaries(&BinarySearch::on_this_machine(path.as_deref(), &home))
        .expect("server binaries");
    let cluster = Cluster::open(home, binaries, Options::default()).expect("a cluster");
    let pg_dump = PgDump::Of(Box::new(cluster.binaries().clone()));
    (Target::managed(&cluster).expect("a target"), pg_dump)
}

fn wait_for<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(future)
}

/// A place where every kind of evidence was written.
fn with_a_history() -> Place {
    let place = with_people();
    an_approval_is_used(&place);
    let entry = approved(&place, "policy", "RP", POLICY);
    place.done(&["cutter", "cut", &entry, "--as", "executor"]);
    place.done(&["cutter", "verify", &entry, "--as", "verifier"]);
    approved(&place, "other", "OT", "# Một\n\nText.\n\n## Hai\n\nMore.\n");
    let file = place.file("annex.md", "# Annex\n\nIt waits.\n");
    place.done(&["doc", "add", &file, "--id", "annex", "--prefix", "AN", "--as", "alice"]);
    place.done(&["cutter", "mark", "annex", "--depends-on", &entry, "--as", "alice"]);
    place.fed(b"looked\n", &["kb", "put", "reports/look", "-", "--as", "alice"]).ends_with(0);
    place.done(&["kb", "sign", "reports/look", "--meaning", "read", "--as", "carol"]);
    let key = place.file("pinned.asc", include_str!("orchestrate/backup.asc"));
    place.done(&["cutter", "orchestrate", "backup-key", &key]);
    let file = place.file("law.md", "# Law\n\nIt runs.\n");
    place.done(&["doc", "add", &file, "--id", "law", "--prefix", "LAW", "--as", "alice"]);
    let start =
        ["cutter", "orchestrate", "start", "law", "--verifier", "verifier", "--as", "executor"];
    place.run(&start).ends_with(4);
    place
}

fn an_approval_is_used(place: &Place) {
    let machine = place.file("letter.yaml", LETTER);
    place.done(&["machine", "apply", &machine]);
    let run = place.done(&["run", "start", "--machine", "letter", "--as", "alice"]).stdout;
    let refused =
        place.refused("RS011", &["run", "move", run.trim_end(), "--to", "sent", "--as", "alice"]);
    let post = refused["problems"][0]["transition_id"].as_str().expect("an id").to_owned();
    let ask = ["approval", "request", "--kind", "transition_activation", "--subject", &post];
    let ask = [&ask[..], &["--title", "Letters may be posted", "--as", "alice"]].concat();
    let id = place.done(&ask).stdout;
    place.done(&["approval", "vote", id.trim_end(), "--approve", "--as", "carol"]);
    let activate = ["machine", "activate-transition", &post, "--approval", id.trim_end()];
    place.done(&[&activate[..], &["--as", "alice"]].concat());
}

/// ORC-6: what was dumped comes back row by row, with keys of both kinds, by the steps of the page, and the guards are armed.
#[test]
fn a_backup_is_restored_with_plain_gpg_and_pg_restore() {
    let here = with_a_history();
    // Days and numbers that a new database has no partition for.
    here.superuser(
        "set role chancery_owner; set timezone = 'UTC';
         create table event.event_outbox_20240229 partition of event.event_outbox
           for values from ('2024-02-29') to ('2024-03-01');
         create table event.event_position_7 partition of event.event_position
           for values from (7000000) to (8000000)",
    );
    // A receiver that got an event ahead of its position.
    here.superuser(
        "set role chancery_definer;
         insert into event.event_consumer (consumer, kind, target, position, reached, registered_by, registered_at, description)
           values ('shed', 'receiver', 'nats:CHANCERY:chancery.>', 0, 2, 'executor', internal.now(), '');
         insert into event.event_receipt (consumer, position, event_id, received_at)
           select 'shed', 2, event_id, internal.now() from event.event_position where position = 2",
    );
    with_work_done(&here);
    with_a_workflow(&here);
    with_access(&here);
    let gpg = Gpg::new();
    let (database, pg_dump) = inside(&here);
    let rows = digests(&here);
    let mut files = Vec::new();
    for (name, fingerprint) in [
        ("rsa@example.org", gpg.new_rsa_key("rsa@example.org")),
        ("ecc@example.org", gpg.new_key("ecc@example.org")),
    ] {
        let key = BackupKey::parse(&gpg.export(name)).expect("a usable key");
        assert_eq!((key.fingerprint(), key.user_id()), (fingerprint.clone(), name));
        let file = here.path().join(format!("{name}.dump.gpg"));
        let taken = wait_for(take(&Backup {
            database: &database,
            pg_dump: &pg_dump,
            tables: &tables(&here),
            key: &key,
            fingerprint: &fingerprint,
            file: &file,
        }))
        .expect("a backup");
        it_is_what_was_recorded(&file, &taken);
        files.push(file);
    }
    assert_eq!(digests(&here), rows, "a backup changes nothing");

    let lists: Vec<String> = files.iter().map(|file| contents(&gpg, file)).collect();
    assert_eq!(lists[0], lists[1], "either key opens the same");

    let there = Place::new();
    let said = the_page_is_followed(&there, &gpg, &files[1]).ends_with(0);
    // A restore leaves the guards at their default; the migration sees that they differ from its release.
    assert!(said.stderr.contains("applied the rules of this release"), "{said:?}");
    assert!(said.stderr.contains("armed 0 guard triggers"), "none was left to arm: {said:?}");
    assert!(said.stdout.contains("everything fits"), "{said:?}");
    assert_eq!(digests(&there), rows);
    let is_a_day = |table: &str| {
        let (_, end) = table.rsplit_once('_').unwrap_or_default();
        end == "default" || end.bytes().all(|byte| byte.is_ascii_digit())
    };
    let empty = rows.lines().filter_map(|line| line.strip_suffix("|0|"));
    let empty: Vec<_> = empty.filter(|table| !is_a_day(table)).collect();
    assert_eq!(
        empty,
        [
            "audit.drift_acknowledgement",
            "birth.break_glass",
            "birth.drawn_codes",
            "birth.family_log",
            "birth.family_part",
            "event.event_pending",
            "event.event_validation_audit",
            "governance.clock_mark",
            "iu.unit_edit_draft",
            "queue.dlq_replay_request",
            "queue.heartbeat_class"
        ],
        "of everything else there was something to carry"
    );
    the_guards_are_armed(&there);
    every_foreign_key_holds(&there);
    it_goes_on(&here, &there);
}

/// A workflow by proposal, and a run of it in which a step was done, corrected, talked about and given a later deadline.
fn with_a_workflow(here: &Place) {
    here.done(&["principal", "add", "ray", "--kind", "human", "--class", "reviewer"]);
    here.done(&["key", "new", "ray"]);
    let said = |args: &[&str]| here.done(args).stdout.trim_end().to_owned();
    let file = here.file("carried.yaml", CARRIED);
    let change = said(&["workflow", "propose", &file, "--as", "alice"]);
    here.done(&["workflow", "submit", &change, "--as", "alice"]);
    here.done(&["workflow", "approve", &change, "--as", "carol"]);
    here.done(&["workflow", "merge", &change, "--as", "alice"]);
    let run = said(&["workflow", "start", "carried", "--as", "alice"]);
    let turn = || {
        let sql = format!("select workflow.fn_mow_turn('{run}', 'chancery')");
        here.done(&["db", "psql", "--role", "chancery_app", "--", "-Atqc", &sql]);
    };
    turn();
    let first = |verb: &str, more: &[&str]| {
        here.done(&[&["step", verb, &run, "first"], more].concat());
    };
    first("claim", &["--as", "alice"]);
    first("checkpoint", &["half of it", "--facts", "{\"page\": 1}", "--as", "alice"]);
    first("comment", &["the annex is missing", "--as", "ray"]);
    first("extend", &["--until", "9d", "--reason", "the client was away", "--as", "ray"]);
    first("complete", &["--as", "alice"]);
    turn();
    let id =
        here.json(&["step", "show", &run, "first"])["run_id"].as_str().expect("an id").to_owned();
    let ask = ["approval", "request", "--kind", "step_reopen", "--subject", &id];
    let approval = said(&[&ask[..], &["--title", "A wrong number", "--as", "alice"]].concat());
    here.done(&["approval", "vote", &approval, "--approve", "--as", "carol"]);
    first("reopen", &["--approval", &approval, "--because", "data_error", "--as", "ray"]);
    let create =
        ["proposal", "create", "--kind", "no_action", "--title", "Leave it", "--action", "{}"];
    let rests_on = "[{\"kind\": \"read\", \"facts\": {\"times\": 3}}]";
    here.done(&[&create[..], &["--evidence", rests_on, "--as", "alice"]].concat());
}

const CARRIED: &str = "\
workflow: carried
title: { en: Carried, vi: Mang theo }
steps:
  - { key: first, title: { en: First, vi: Đầu }, deadline: 2 days, visible_to: [pic_human] }
  - key: second
    title: { en: Second, vi: Hai }
    tasks:
      - { key: part, title: { en: Part, vi: Phần } }
relations:
  - { from: first, to: second }
";

/// Jobs that are done, dead and waiting, a worker, a finding and a leader.
fn with_work_done(here: &Place) {
    let asked = |sql: &str| {
        here.done(&["db", "psql", "--role", "chancery_app", "--", "-Atqc", sql]);
    };
    asked(
        r#"select queue.fn_job_enqueue('[{"class": "noop", "kind": "trial", "key": "done"},
             {"class": "noop", "kind": "trial", "key": "dead", "payload": {"fail_for_good": true}},
             {"class": "noop", "kind": "trial", "key": "later", "priority": 7, "delay_ms": 3600000}]', 'chancery', 'system')"#,
    );
    here.done(&["worker", "--class", "noop", "--once"]);
    asked("select queue.fn_heartbeat_tick('noop', 'w', true, '{}', 'chancery')");
    asked("select queue.fn_loop_lease('sequencer', 'a', 60, 'chancery')");
    asked(
        "select governance.fn_log_issue('test', 'warning', 'A problem.', null, 'thing', 't', 'trial', '{}', 'chancery', 'operation', 'key')",
    );
    asked("select event.fn_sequence_events(), event.fn_event_lag_record('chancery')");
    asked(
        "select iu.fn_dot_iu_command_log('dot_birth_admit', 'apply', 'REQUESTED', 'ok', sha256('a request'), '{}', '{}', 'chancery')",
    );
    asked("select birth.fn_birth_handoff('chancery')");
    asked("select governance.fn_summaries_run('chancery')");
}

/// A person who signed in, another identity of hers, a token, a key she asked for, and a guess of somebody.
fn with_access(here: &Place) {
    let asked = |role: &str, sql: &str| {
        here.done(&["db", "psql", "--role", role, "--", "-Atqc", sql]);
    };
    asked(
        "chancery_migrator",
        "select identity.fn_password_set('alice', substr(sha256('s'), 1, 16), sha256('p'), 19456, 2, 1, null, null)",
    );
    asked(
        "chancery_migrator",
        "select identity.fn_oidc_link('https://login.example.org', '1', 'alice', null)",
    );
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    asked(
        "chancery_app",
        &"select identity.fn_sign_in('alice', sha256('p'), gen_random_uuid(), sha256('t'), sha256('c')),
                identity.fn_sign_in('nobody', sha256('p'), gen_random_uuid(), sha256('t'), sha256('c')),
                identity.fn_token_issue(gen_random_uuid(), 'alice', 'l', '{self.read}', 3600, sha256('k'), null, 'alice'),
                identity.fn_key_request(gen_random_uuid(), 'alice', '\\xKEY', '\\xPOSSESSION')"
            .replace("KEY", &hex(&keys::public_key("alice's")))
            .replace("POSSESSION", &hex(&keys::possession("alice's", "alice"))),
    );
}

fn it_is_what_was_recorded(file: &Path, taken: &Taken) {
    let found = fs::metadata(file).expect("the file");
    assert_eq!((found.len(), found.permissions().mode() & 0o777), (taken.size_bytes, 0o600));
    assert!(!partial_of(file).exists(), "nothing lies beside it");
    check(file, &taken.sha256, taken.size_bytes).expect("as recorded");
    let bytes = fs::read(file).expect("the file");
    assert!(!bytes.windows(5).any(|five| five == b"PGDMP"), "pg_dump's mark can be read");
    // One bit, then one byte less.
    let mut other = bytes.clone();
    other[bytes.len() / 2] ^= 1;
    let copy = file.with_extension("copy");
    fs::write(&copy, &other).expect("a file");
    let said = check(&copy, &taken.sha256, taken.size_bytes);
    assert!(matches!(said, Err(BackupError::OtherContent { .. })), "{said:?}");
    fs::write(&copy, &bytes[1..]).expect("a file");
    let said = check(&copy, &taken.sha256, taken.size_bytes);
    assert!(matches!(said, Err(BackupError::OtherSize { .. })), "{said:?}");
    fs::remove_file(&copy).expect("gone");
    let said = check(&copy, &taken.sha256, taken.size_bytes);
    assert!(matches!(said, Err(BackupError::Unreadable { .. })), "{said:?}");
}

fn partial_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// The names in a dump, as pg_restore lists them.
fn contents(gpg: &Gpg, file: &Path) -> String {
    let dump = file.with_extension("plain");
    fs::write(&dump, gpg.bytes(&["--decrypt", file.to_str().expect("a plain path")])).expect("it");
    let said = run_it(Command::new("pg_restore").arg("--list").arg(&dump)).ends_with(0);
    let mut names: Vec<&str> =
        said.stdout.lines().filter_map(|line| line.split_once("TABLE DATA").map(|s| s.1)).collect();
    names.sort_unstable();
    names.join("\n")
}

/// Runs the blocks of the page that restore, as they stand there.
fn the_page_is_followed(there: &Place, gpg: &Gpg, file: &Path) -> Said {
    let page = include_str!("../../../../docs/operate/backup.md");
    let blocks: Vec<&str> = page
        .split("<!-- test: restore -->\n```sh\n")
        .skip(1)
        .map(|rest| rest.split_once("\n```").expect("a block ends").0)
        .collect();
    assert!(blocks.len() > 1, "the steps are marked");
    fs::copy(file, there.path().join("pre_write.gpg")).expect("the backup");
    // A machine of the user's own is theirs to bring.
    let machine = there.file("letter.yaml", LETTER);
    there.done(&["db", "start"]);
    there.done(&["machine", "apply", &machine]);
    let home = there.path().to_str().expect("a plain path");
    let steps = blocks.join("\n").replace("/srv/chancery-restored", home);
    let script = there.file("restore.sh", &steps);
    let binaries = Path::new(env!("CARGO_BIN_EXE_chancery")).parent().expect("a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binaries).chain(std::env::split_paths(&path)))
        .expect("a path");
    let mut bash = Command::new("bash");
    for variable in ["DATABASE_URL", "CHANCERY_PRINCIPAL"] {
        bash.env_remove(variable);
    }
    bash.args(["-euo", "pipefail", &script]).current_dir(there.path()).stdin(Stdio::null());
    run_it(bash.env("GNUPGHOME", gpg.home.path()).env("PATH", path))
}

/// A line a table of the backup: its name, how many rows, and a hash over them.
fn digests(place: &Place) -> String {
    let patterns: Vec<String> = tables(place)
        .iter()
        .map(|table| format!("'^{}$'", table.replace('.', "\\.").replace('*', "[0-9a-z]+")))
        .collect();
    let tables = place.superuser(&format!(
        "select c.oid::regclass from pg_class c where c.relkind = 'r' and c.oid::regclass::text ~ any (array[{}]) order by c.oid::regclass::text",
        patterns.join(", ")
    ));
    let one = |table: &str| {
        format!(
            "select '{table}', count(*), md5(string_agg(t::text, e'\\n' order by t::text)) from {table} t"
        )
    };
    let query: Vec<String> = tables
        .lines()
        // Days that one side has a partition for and the other not.
        .filter(|table| !table.starts_with("event.event_outbox_"))
        .chain(["event.event_outbox"])
        .map(one)
        .collect();
    place.superuser(&format!("{} order by 1", query.join(" union all ")))
}

fn the_guards_are_armed(place: &Place) {
    let disarmed = place.superuser(
        "select t.tgrelid::regclass, t.tgname, t.tgenabled
           from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
          where n.nspowner = 'chancery_owner'::regrole and not t.tgisinternal and t.tgenabled <> 'A'",
    );
    assert_eq!(disarmed, "");
    assert_eq!(place.json(&["doctor"])["ok"], true);
    let deleted = place.superuser(
        "set session_replication_role = replica;
         do $$ begin delete from fsm.transition_log; raise 'it was deleted'; exception when sqlstate 'RS016' then null; end $$;
         select count(*) > 0 from fsm.transition_log",
    );
    assert!(deleted.ends_with("t\n"), "{deleted}");
}

/// A restore asks no foreign key; adding each once more does.
fn every_foreign_key_holds(place: &Place) {
    let checked = place.superuser(
        "do $$
         declare
           v record;
           v_count integer := 0;
         begin
           for v in select c.conrelid::regclass as t, pg_get_constraintdef(c.oid) as def from pg_constraint c
                      join pg_namespace n on n.oid = c.connamespace
                     where c.contype = 'f' and n.nspowner = 'chancery_owner'::regrole loop
             v_count := v_count + 1;
             execute format('alter table %s add constraint %I %s', v.t, 'again_' || v_count, v.def);
           end loop;
           -- Out again, with the number.
           raise exception using errcode = 'XX999', message = v_count;
         exception when sqlstate 'XX999' then
           perform set_config('t.checked', sqlerrm, false);
         end $$;
         select current_setting('t.checked')",
    );
    let checked: u32 = checked.lines().last().expect("a number").parse().expect("a number");
    assert!(checked > 60, "{checked} foreign keys");
}

/// With their keys, everybody works on where the backup was taken: numbers go on, nothing collides.
fn it_goes_on(here: &Place, there: &Place) {
    let copy = ["-R", "keys"].map(str::to_owned);
    let to = there.path().to_str().expect("a plain path");
    run_it(Command::new("cp").args(copy).arg(to).current_dir(here.path())).ends_with(0);
    there.done(&["principal", "add", "dave", "--kind", "human", "--class", "pic_human"]);
    there.done(&["cutter", "cut", "other", "--as", "executor"]);
    there.done(&["cutter", "verify", "other", "--as", "verifier"]);
    assert_eq!(there.json(&["audit", "verify"])["ok"], true);
    let twice = there.superuser(
        "select count(*) - count(distinct outbox_id) from event.event_outbox union all
         select count(*) from event.event_outbox o
          where not exists (select from event.event_sequenced s where s.event_id = o.event_id)",
    );
    assert_eq!(twice, "0\n0\n", "no number twice, every event delivered");
}

/// ORC-6: the set of tables is whole. What a new database fills itself would collide, what is referred to must come along, and
/// a table of evidence that nobody put into the set would be lost.
#[test]
fn the_set_of_tables_is_whole() {
    let place = Place::with_database();
    let listed =
        |sql: &str| -> Vec<String> { place.superuser(sql).lines().map(str::to_owned).collect() };
    let set = tables(&place);
    let all = listed(
        "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where n.nspowner = 'chancery_owner'::regrole and c.relkind in ('r', 'p') and not c.relispartition order by 1",
    );
    place.superuser("set role chancery_owner; select internal.make_way()");
    let each: Vec<String> =
        all.iter().map(|t| format!("select '{t}' where exists (select from {t})")).collect();
    let filled = listed(&each.join(" union all "));
    let empty = all.iter().filter(|table| !filled.contains(table));
    let missing: Vec<_> = empty.filter(|t| !set.contains(t)).collect();
    // A table that nothing writes.
    assert_eq!(missing, ["cutter_governance.canonical_address_alias"]);
    let collide: Vec<_> = filled.iter().filter(|t| set.contains(t)).collect();
    assert!(collide.is_empty(), "{collide:?}");
    let referred = listed(&format!(
        "select distinct c.confrelid::regclass from pg_constraint c
          where c.contype = 'f' and c.conrelid::regclass::text = any (string_to_array('{}', ' '))",
        set.join(" ")
    ));
    let lost: Vec<_> =
        referred.iter().filter(|t| !set.contains(t) && !filled.contains(t)).collect();
    assert!(!referred.is_empty() && lost.is_empty(), "{lost:?}");
}

/// ORC-6: whatever goes wrong is named, and no file stands where the backup should be.
#[test]
fn a_backup_that_fails_leaves_nothing() {
    let place = Place::with_database();
    let gpg = Gpg::new();
    let fingerprint = gpg.new_key("ops@example.org");
    let key = BackupKey::parse(&gpg.export(&fingerprint)).expect("a usable key");
    let (database, pg_dump) = inside(&place);
    let (file, tables) = (place.path().join("pre_write.gpg"), tables(&place));
    let good = Backup {
        database: &database,
        pg_dump: &pg_dump,
        tables: &tables,
        key: &key,
        fingerprint: &fingerprint,
        file: &file,
    };
    let failed = |backup: Backup<'_>| {
        let error = wait_for(take(&backup)).expect_err("no backup");
        assert!(!backup.file.exists() && !partial_of(backup.file).exists(), "{error}");
        error
    };

    let error = failed(Backup { fingerprint: &"0".repeat(40), ..good });
    assert!(matches!(&error, BackupError::WrongFingerprint { found, .. } if *found == fingerprint));
    let unknown = [tables.clone(), vec!["iu.no_such_table".to_owned()]].concat();
    let error = failed(Backup { tables: &unknown, ..good });
    assert!(matches!(error, BackupError::PgDumpFailed { .. }), "{error}");
    assert!(error.to_string().contains("iu.no_such_table"), "its own words: {error}");
    let error = failed(Backup { tables: &[], ..good });
    assert!(matches!(error, BackupError::NoTables), "{error}");
    let nowhere = place.path().join("no/such/folder/pre_write.gpg");
    let error = failed(Backup { file: &nowhere, ..good });
    assert!(matches!(error, BackupError::NotWritable { .. }), "{error}");
    let error = failed(Backup { pg_dump: &PgDump::At(place.path().join("no_pg_dump")), ..good });
    assert!(matches!(error, BackupError::PgDumpMissing { .. }), "{error}");

    // One that says half of it and dies: the stream ends as a good one does.
    let half = program(
        &place,
        "half",
        "printf PGDMP-and-half-of-it; echo 'the server went away' >&2; exit 1",
    );
    let error = failed(Backup { pg_dump: &half, ..good });
    assert!(error.to_string().contains("the server went away"), "{error}");
    a_caller_that_leaves_ends_it(&place, good);

    let taken = wait_for(take(&good)).expect("a backup");
    let error = wait_for(take(&good)).expect_err("it is there");
    assert!(matches!(error, BackupError::TargetExists { .. }), "{error}");
    check(&file, &taken.sha256, taken.size_bytes).expect("the first one stays");
    // What another attempt is writing is not touched.
    let other = place.path().join("other.gpg");
    fs::write(partial_of(&other), "in the making").expect("a file");
    let error = wait_for(take(&Backup { file: &other, ..good })).expect_err("somebody is at it");
    assert!(matches!(error, BackupError::NotWritable { .. }), "{error}");
    assert_eq!(fs::read_to_string(partial_of(&other)).expect("a file"), "in the making");
    let (third, spaced) = (place.path().join("third.gpg"), fingerprint.to_lowercase());
    let spaced = spaced.replace("a", "a ");
    let again = wait_for(take(&Backup { file: &third, fingerprint: &spaced, ..good }));
    let again = again.expect("a backup");
    check(&third, &again.sha256, again.size_bytes).expect("the second one");
    assert_ne!(taken.sha256, again.sha256, "another session key");
    the_password_is_in_no_argument(&place, good);
}

/// A program in the place of pg_dump.
fn program(place: &Place, name: &str, script: &str) -> PgDump {
    let path = place.file(name, &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    PgDump::At(path.into())
}

/// Dropping the future ends a pg_dump that says nothing, and nothing is renamed into place afterwards.
fn a_caller_that_leaves_ends_it(place: &Place, good: Backup<'_>) {
    let pid = place.path().join("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600", pid.display());
    let silent = program(place, "silent", &script);
    let pid = wait_for(async {
        let backup = Backup { pg_dump: &silent, ..good };
        let mut taking = Box::pin(take(&backup));
        // It is looked after until it runs.
        loop {
            let waited = tokio::time::timeout(Duration::from_millis(20), &mut taking).await;
            assert!(waited.is_err(), "{waited:?}");
            if let Ok(pid) = fs::read_to_string(&pid) {
                break pid;
            }
        }
    });
    // The runtime ends when its blocking threads have: by now the work is over.
    let there = Path::new("/proc").join(pid.trim());
    assert!(!there.exists(), "pg_dump goes on");
    assert!(!good.file.exists() && !partial_of(good.file).exists());
}

fn the_password_is_in_no_argument(place: &Place, good: Backup<'_>) {
    let secret = fs::read_to_string(place.path().join("secrets/chancery_backup.password"))
        .expect("a password");
    let said = place.path().join("said");
    let script = format!("printf '%s\\n' \"$@\" > {0}; env >> {0}.env", said.display());
    let spy = program(place, "spy", &script);
    let file = place.path().join("spied.gpg");
    wait_for(take(&Backup { pg_dump: &spy, file: &file, ..good })).expect("it ends well");
    let arguments = fs::read_to_string(&said).expect("arguments");
    assert!(arguments.contains("--table=iu.unit_version\n"), "{arguments}");
    assert!(!arguments.contains(secret.trim()), "the password is in the arguments");
    let environment = fs::read_to_string(place.path().join("said.env")).expect("an environment");
    assert!(environment.contains(&format!("PGPASSWORD={}\n", secret.trim())));
    assert!(environment.contains("PGUSER=chancery_backup\n"), "the login that only reads");
}

/// ORC-6: only a key that something can be encrypted to today is taken; every other one is refused by name.
#[test]
fn only_a_public_key_that_encrypts_today_is_taken() {
    let gpg = Gpg::new();
    let parsed = |bytes: &[u8]| BackupKey::parse(bytes);
    let good = gpg.new_rsa_key("good@example.org");
    let armored = parsed(&gpg.export(&good)).expect("armored");
    let binary = parsed(&gpg.bytes(&["--export", &good])).expect("binary");
    assert_eq!((armored.fingerprint(), armored.armored()), (good.clone(), binary.armored()));
    assert_eq!(parsed(binary.armored().as_bytes()).expect("its own text").fingerprint(), good);

    for secret in
        [&["--armor", "--export-secret-keys", &good][..], &["--export-secret-keys", &good]]
    {
        let error = parsed(&gpg.bytes(secret)).expect_err("a secret key");
        assert!(matches!(error, BackupError::SecretKey), "{error}");
    }
    for bytes in [&b""[..], b"no key\n", b"\x99\x01", &gpg.export(&good)[..200]] {
        let error = parsed(bytes).expect_err("no key");
        assert!(matches!(error, BackupError::NotAKey(_)), "{error}");
    }

    let signs = "signs@example.org";
    let signs = gpg.make(signs, &["--quick-gen-key", signs, "ed25519", "sign", "never"]);
    let error = parsed(&gpg.export(&signs)).expect_err("it only signs");
    assert!(matches!(error, BackupError::NoEncryptionKey { .. }), "{error}");
    let error = parsed(&gpg.bytes(&["--armor", "--export"])).expect_err("two keys");
    assert!(matches!(error, BackupError::SeveralKeys { count: 2 }), "{error}");
    // A second, expired part beside none: the expiry is the reason.
    let then = ["--faked-system-time", "20200101T000000!"];
    let add = ["--quick-add-key", &signs, "cv25519", "encr", "2y"];
    let later = ["--ignore-time-conflict", "--ignore-valid-from"];
    gpg.bytes(&[&then[..], &later, &add].concat());
    let error = parsed(&gpg.export(&signs)).expect_err("its part that encrypts expired");
    assert!(
        matches!(&error, BackupError::KeyExpired { at, .. } if at.starts_with("2021-12-31")),
        "{error}"
    );

    let old = "old@example.org";
    let make = ["--quick-gen-key", old, "future-default", "default", "1y"];
    let old = gpg.make(old, &[&then[..], &make].concat());
    let error = parsed(&gpg.export(&old)).expect_err("expired");
    assert!(
        matches!(&error, BackupError::KeyExpired { at, .. } if at.starts_with("2020-12-31")),
        "{error}"
    );
    gpg.bytes(&["--quick-set-expire", &old, "never"]);
    gpg.bytes(&["--quick-set-expire", &old, "never", "*"]);
    parsed(&gpg.export(&old)).expect("extended");

    let revoked = gpg.new_key("revoked@example.org");
    let certificate = gpg.home.path().join(format!("openpgp-revocs.d/{revoked}.rev"));
    // gpg makes it with a colon in front, so that nobody imports it by mistake.
    let text = fs::read_to_string(&certificate).expect("gpg makes one with each key");
    fs::write(&certificate, text.replace(":-----BEGIN", "-----BEGIN")).expect("a file");
    gpg.bytes(&["--import", certificate.to_str().expect("a plain path")]);
    let error = parsed(&gpg.export(&revoked)).expect_err("revoked");
    assert!(matches!(error, BackupError::KeyRevoked { .. }), "{error}");
}
