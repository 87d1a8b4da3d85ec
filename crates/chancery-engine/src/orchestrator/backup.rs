//! The backup that a run takes before it writes: a dump of the tables it will touch, encrypted on its way to the disk. The plain
//! dump is in no file and never whole in memory.

mod attempt;
mod key;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use chancery_store::managed::Binaries;
use chancery_store::{Role, Target};
use sha2::{Digest as _, Sha256};

pub use self::attempt::Attempt;
use self::attempt::sync_folder_of;
pub use self::key::BackupKey;
use self::key::EncryptionFailure;

/// How much of what pg_dump says is kept: its last words name the reason.
const STDERR_KEPT: usize = 16 * 1024;

/// What can go wrong with a backup, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The bytes hold no public key.
    #[error("this is no OpenPGP public key: {0}. Give the file that `gpg --armor --export` writes")]
    NotAKey(String),
    /// A secret key has no business here.
    #[error(
        "this is a secret key. Keep it away from here and give the public one, which `gpg --armor --export` writes"
    )]
    SecretKey,
    /// Which one would be pinned?
    #[error(
        "there are {count} keys in the file. Export the one that is meant: `gpg --armor --export FINGERPRINT`"
    )]
    SeveralKeys { count: usize },
    /// A key that gpg or we cannot work with.
    #[error("this key can't be used: {0}. Make an RSA or cv25519 key with `gpg --quick-gen-key`")]
    UnsupportedKey(String),
    /// It only signs.
    #[error(
        "key {fingerprint} has no part that encrypts. Add one: `gpg --quick-add-key {fingerprint} cv25519 encr`, then export it again"
    )]
    NoEncryptionKey { fingerprint: String },
    /// It was good once.
    #[error(
        "key {fingerprint} expired at {at}. Extend it (`gpg --quick-set-expire`) and export it again, or pin another one"
    )]
    KeyExpired { fingerprint: String, at: String },
    /// Its owner took it back.
    #[error("key {fingerprint} is revoked. Pin another one")]
    KeyRevoked { fingerprint: String },
    /// Somebody exchanged the key or the pin.
    #[error(
        "the key's fingerprint is {found}, and {expected} is pinned. Find out who changed which, then pin the right key"
    )]
    WrongFingerprint { expected: String, found: String },
    /// Nothing to dump is no backup.
    #[error("no table is named. Put the tables that a run touches into the configuration")]
    NoTables,
    /// Not a plain name.
    #[error(
        "`{0}` names no table. Write schema.table in lower case; a * at the end stands for a table's partitions"
    )]
    TableName(String),
    /// The login's password file cannot be used.
    #[error("the login of the backup can't be used: {0}")]
    Login(#[from] chancery_store::Error),
    /// The program is not there.
    #[error(
        "there is no pg_dump at {}. Install PostgreSQL's client (Debian: apt-get install postgresql-client)",
        program.display()
    )]
    PgDumpMissing { program: PathBuf },
    /// The program is there and does not run.
    #[error("{} can't be run: {source}. Look at its rights", program.display())]
    PgDumpNotRun { program: PathBuf, source: io::Error },
    /// It ran and failed; the reason is its own.
    #[error(
        "pg_dump failed ({status}), and nothing was kept. Mend what it says and repeat: {stderr}"
    )]
    PgDumpFailed { status: ExitStatus, stderr: String },
    /// An earlier backup is never written over by mistake: it may be the only one from before the writes.
    #[error("{} is there already. Check it, or move it away", path.display())]
    TargetExists { path: PathBuf },
    /// The folder is missing, closed or read-only.
    #[error("{} can't be written: {source}. The folder must exist and be yours to write", path.display())]
    NotWritable { path: PathBuf, source: io::Error },
    /// No room.
    #[error("there is no room for {}, and nothing was kept. Free some and repeat", path.display())]
    DiskFull { path: PathBuf },
    /// OpenPGP said no.
    #[error(
        "the dump can't be encrypted: {0}. Try the key with `gpg --encrypt`, or pin another one"
    )]
    Encryption(String),
    /// Nobody waits for the answer any more, or the work broke off.
    #[error("the backup was cut short, and nothing was kept. Repeat it")]
    CutShort,
    /// It was there once.
    #[error("{} can't be read: {source}. Without its backup a run does not go on: put it back", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// Another length.
    #[error("{} has {found} bytes, and {expected} are recorded. Put the recorded file back", path.display())]
    OtherSize { path: PathBuf, expected: u64, found: u64 },
    /// Another content.
    #[error("{} has sha-256 {found}, and {expected} is recorded. Put the recorded file back", path.display())]
    OtherContent { path: PathBuf, expected: String, found: String },
}

/// Where pg_dump comes from.
#[derive(Debug, Clone)]
pub enum PgDump {
    /// The server's own installation, with the libraries it may need.
    Of(Box<Binaries>),
    /// A program by its path.
    At(PathBuf),
}

impl PgDump {
    fn program(&self) -> PathBuf {
        match self {
            Self::Of(binaries) => binaries.bin_dir.join("pg_dump"),
            Self::At(path) => path.clone(),
        }
    }

    /// With nothing of the caller's environment: a `PGOPTIONS` of theirs must not change what is dumped.
    fn command(&self) -> Command {
        match self {
            Self::Of(binaries) => binaries.command("pg_dump"),
            Self::At(path) => {
                let mut command = Command::new(path);
                command
                    .env_clear()
                    .env("LANG", "C.UTF-8")
                    .env("PATH", "/usr/local/bin:/usr/bin:/bin");
                command.current_dir("/").stdin(Stdio::null());
                command
            }
        }
    }
}

/// What to back up, for whom, and where to.
#[derive(Debug, Clone, Copy)]
pub struct Backup<'a> {
    pub database: &'a Target,
    pub pg_dump: &'a PgDump,
    /// `schema.table`; a `*` at the end takes every table whose name begins so, for partitions.
    pub tables: &'a [String],
    pub key: &'a BackupKey,
    /// The pinned fingerprint, which the key must have.
    pub fingerprint: &'a str,
    /// The encrypted file to be made; none may be there.
    pub file: &'a Path,
}

/// A backup that is on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Of the encrypted file, in lower-case hexadecimal.
    pub sha256: String,
    pub size_bytes: u64,
    /// Of the key it is encrypted to.
    pub fingerprint: String,
}

/// Takes a backup. Either the whole file is there under its name, on the disk, or there is none.
///
/// # Errors
/// See [`BackupError`]; each says what to do.
pub async fn take(request: &Backup<'_>) -> Result<Taken, BackupError> {
    let expected: String =
        request.fingerprint.split_whitespace().collect::<String>().to_uppercase();
    let found = request.key.fingerprint();
    if expected != found {
        return Err(BackupError::WrongFingerprint { expected, found });
    }
    request.key.check_now()?;
    let mut command = request.pg_dump.command();
    request.database.let_in(Role::Backup, &mut command)?;
    command.args(["--format=custom", "--data-only", "--no-password", "--strict-names"]);
    // A migration under way holds its locks for long; the run must not hang behind it.
    command.arg("--lock-wait-timeout=60s").args(table_arguments(request.tables)?);
    let work = Work {
        command,
        program: request.pg_dump.program(),
        key: request.key.clone(),
        file: request.file.to_owned(),
        shared: Arc::default(),
    };
    // The work blocks on pipes, so it has a thread of its own, which has to be told when nobody waits any more.
    let _waiting = Waiting(Arc::clone(&work.shared));
    tokio::task::spawn_blocking(move || work.run()).await.unwrap_or(Err(BackupError::CutShort))
}

/// Reads a backup again and compares it with what was recorded.
///
/// # Errors
/// When it is gone, or another file.
pub fn check(file: &Path, sha256: &str, size_bytes: u64) -> Result<(), BackupError> {
    let path = || file.to_owned();
    let unreadable = |source| BackupError::Unreadable { path: path(), source };
    let mut bytes = File::open(file).map_err(unreadable)?;
    let mut seen = Sink::new(io::sink());
    io::copy(&mut bytes, &mut seen).map_err(unreadable)?;
    if seen.size != size_bytes {
        return Err(BackupError::OtherSize {
            path: path(),
            expected: size_bytes,
            found: seen.size,
        });
    }
    let found = seen.sha256();
    if found != sha256.to_lowercase() {
        return Err(BackupError::OtherContent { path: path(), expected: sha256.to_owned(), found });
    }
    Ok(())
}

/// One argument a table. pg_dump reads them as patterns, so only plain names may pass.
fn table_arguments(tables: &[String]) -> Result<Vec<String>, BackupError> {
    let word = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let plain = |name: &str| {
        let named = name.strip_suffix('*').unwrap_or(name).split_once('.');
        named.is_some_and(|(schema, table)| word(schema) && word(table))
    };
    if tables.is_empty() {
        return Err(BackupError::NoTables);
    }
    match tables.iter().find(|name| !plain(name)) {
        Some(name) => Err(BackupError::TableName(name.clone())),
        None => Ok(tables.iter().map(|name| format!("--table={name}")).collect()),
    }
}

/// What the two sides know of each other.
#[derive(Default)]
struct Shared {
    abandoned: AtomicBool,
    child: Mutex<Option<Child>>,
}

impl Shared {
    fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::SeqCst)
    }

    /// Ends pg_dump, unless it is at its end and being waited for.
    fn kill(&self) {
        if let Ok(mut child) = self.child.try_lock()
            && let Some(child) = child.as_mut()
        {
            // It may be gone already, which is what is wanted.
            drop(child.kill());
        }
    }

    fn wait(&self) -> io::Result<ExitStatus> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.as_mut().map_or_else(|| Err(io::ErrorKind::NotFound.into()), Child::wait)
    }
}

/// Says, when it is dropped, that nobody waits any more.
struct Waiting(Arc<Shared>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.abandoned.store(true, Ordering::SeqCst);
        self.0.kill();
    }
}

/// The part that blocks.
struct Work {
    command: Command,
    program: PathBuf,
    key: BackupKey,
    file: PathBuf,
    shared: Arc<Shared>,
}

impl Work {
    fn run(mut self) -> Result<Taken, BackupError> {
        if self.file.symlink_metadata().is_ok() {
            return Err(BackupError::TargetExists { path: self.file });
        }
        let (partial, file) = Partial::create(&self.file)?;
        let mut sink = Sink::new(BufWriter::new(file));
        self.dump_into(&mut sink)?;
        let (sha256, size_bytes) = (sink.sha256(), sink.size);
        let cannot = |error: io::Error| writing(&self.file, error);
        let file = sink.out.into_inner().map_err(|error| cannot(error.into_error()))?;
        file.sync_all().map_err(cannot)?;
        if self.shared.is_abandoned() {
            return Err(BackupError::CutShort);
        }
        partial.rename_to(&self.file).map_err(cannot)?;
        Ok(Taken { sha256, size_bytes, fingerprint: self.key.fingerprint() })
    }

    /// Runs pg_dump and encrypts what it says; an error unless both came to a good end.
    fn dump_into(&mut self, sink: &mut Sink<BufWriter<File>>) -> Result<(), BackupError> {
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().map_err(|source| {
            let program = self.program.clone();
            match source.kind() {
                io::ErrorKind::NotFound => BackupError::PgDumpMissing { program },
                _ => BackupError::PgDumpNotRun { program, source },
            }
        })?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        *self.shared.child.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        if self.shared.is_abandoned() {
            self.shared.kill();
        }
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err(BackupError::CutShort);
        };
        let said = thread::spawn(move || last_words(stderr));
        let encrypted = self.key.encrypt(stdout, &mut *sink).and_then(|()| Ok(sink.flush()?));
        if encrypted.is_err() {
            self.shared.kill();
        }
        let status = self.shared.wait();
        let stderr = said.join().unwrap_or_default();
        if self.shared.is_abandoned() {
            return Err(BackupError::CutShort);
        }
        let status = status.map_err(|source| BackupError::PgDumpNotRun {
            program: self.program.clone(),
            source,
        })?;
        match encrypted {
            // The end of the stream looks the same whether pg_dump finished or died: only its exit tells.
            Ok(()) if status.success() => Ok(()),
            Ok(()) => Err(BackupError::PgDumpFailed { status, stderr }),
            Err(error) => Err(match (sink.failure.take(), error) {
                (Some(failure), _) => writing(&self.file, failure),
                (None, EncryptionFailure::Key(error)) => error,
                (None, error) => BackupError::Encryption(error.to_string()),
            }),
        }
    }
}

fn writing(path: &Path, source: io::Error) -> BackupError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            BackupError::DiskFull { path }
        }
        _ => BackupError::NotWritable { path, source },
    }
}

/// The end of what a program says. All of it is read, or the program would wait for us.
fn last_words(mut from: impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..read]);
        kept.drain(..kept.len().saturating_sub(STDERR_KEPT));
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}

/// The file under its working name; gone unless it was renamed.
struct Partial {
    path: PathBuf,
}

impl Partial {
    fn create(target: &Path) -> Result<(Self, File), BackupError> {
        let path = partial_of(target);
        // Neither what another attempt is writing nor a link of somebody else's is written through.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|error| writing(&path, error))?;
        Ok((Self { path }, file))
    }

    fn rename_to(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        sync_folder_of(target).inspect_err(|_| drop(fs::remove_file(target)))
    }
}

/// The name of a file while it is made.
fn partial_of(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    target.with_file_name(name)
}

impl Drop for Partial {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}

/// Counts and hashes what it passes on, and keeps the error that OpenPGP would wrap.
struct Sink<W> {
    out: W,
    hash: Sha256,
    size: u64,
    failure: Option<io::Error>,
}

impl<W: Write> Sink<W> {
    fn new(out: W) -> Self {
        Self { out, hash: Sha256::new(), size: 0, failure: None }
    }

    fn sha256(&self) -> String {
        hex::encode(self.hash.clone().finalize())
    }

    fn kept<T>(&mut self, answer: io::Result<T>) -> io::Result<T> {
        answer.map_err(|error| {
            let kind = error.kind();
            self.failure = Some(error);
            kind.into()
        })
    }
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        let written = self.kept(written)?;
        self.hash.update(&bytes[..written]);
        self.size += u64::try_from(written).unwrap_or(u64::MAX);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.kept(flushed)
    }
}

#[cfg(test)]
mod tests {
    use pgp::composed::{EncryptionCaps, KeyType, SecretKeyParamsBuilder, SubkeyParamsBuilder};
    use pgp::crypto::ecc_curve::ECCCurve;
    use rand::rngs::OsRng;

    use super::*;

    /// Without user ids and dates of its own: what gpg makes is tried where gpg is.
    fn key() -> BackupKey {
        let encrypting = SubkeyParamsBuilder::default()
            .key_type(KeyType::ECDH(ECCCurve::Curve25519Legacy))
            .can_encrypt(EncryptionCaps::All)
            .build()
            .expect("a subkey");
        let secret = SecretKeyParamsBuilder::default()
            .key_type(KeyType::Ed25519Legacy)
            .can_certify(true)
            .primary_user_id("Backup <backup@example.org>".to_owned())
            .subkeys(vec![encrypting])
            .build()
            .expect("a key's shape")
            .generate(OsRng)
            .expect("a key");
        let public = secret.to_public_key();
        let armored = public.to_armored_string(Default::default()).expect("armor");
        BackupKey::parse(armored.as_bytes()).expect("a usable key")
    }

    fn peak_memory_kib() -> u64 {
        let status = fs::read_to_string("/proc/self/status").expect("Linux tells");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// ORC-6: a dump of any length passes through in little memory.
    #[test]
    fn a_long_stream_is_never_whole_in_memory() {
        const LENGTH: u64 = 64 * 1024 * 1024;
        let key = key();
        let before = peak_memory_kib();
        let mut sink = Sink::new(io::sink());
        key.encrypt(io::repeat(7).take(LENGTH), &mut sink).expect("encrypted");
        assert!(sink.size > LENGTH, "{} bytes for {LENGTH}", sink.size);
        let grown = peak_memory_kib() - before;
        assert!(grown < 16 * 1024, "{grown} KiB more for 64 MiB");
    }

    /// A disk with room for so much.
    struct Disk(usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let written = bytes.len().min(self.0);
            self.0 -= written;
            if written == 0 { Err(io::Error::from_raw_os_error(28)) } else { Ok(written) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// ORC-6: a full disk is called one, whatever OpenPGP makes of it.
    #[test]
    fn a_full_disk_has_its_own_name() {
        let mut sink = Sink::new(Disk(1_000_000));
        key().encrypt(io::repeat(7).take(4_000_000), &mut sink).expect_err("no room");
        let failure = sink.failure.take().expect("the disk's own words");
        let error = writing(Path::new("pre_write.gpg"), failure);
        assert!(matches!(error, BackupError::DiskFull { .. }), "{error}");
        assert_eq!(sink.size, 1_000_000);
    }

    /// ORC-6: pg_dump reads names as patterns, so nothing but names may reach it.
    #[test]
    fn only_plain_names_of_tables_pass() {
        let named = |names: &[&str]| {
            table_arguments(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
        };
        let arguments = named(&["iu.unit_version", "event.event_outbox_*"]).expect("names");
        assert_eq!(arguments, ["--table=iu.unit_version", "--table=event.event_outbox_*"]);
        assert!(matches!(named(&[]), Err(BackupError::NoTables)));
        for bad in [
            "run",
            "fsm.",
            ".run",
            "fsm.*",
            "*.run",
            "fsm.r*n",
            "fsm.Run",
            "a.b.c",
            "fsm.run|x",
            "fsm.\"run\"",
            "",
        ] {
            assert!(
                matches!(named(&["fsm.run", bad]), Err(BackupError::TableName(name)) if name == bad),
                "{bad}"
            );
        }
    }
}
