//! The server settings that Chancery answers for.

use std::fmt::Write;
use std::path::Path;

use super::error::Error;
use super::files;
use super::os_user::OsUser;

const FILE: &str = "chancery.conf";
const INCLUDE: &str = "include = 'chancery.conf'";

/// Clients find the server by these; changing them would hide it.
const RESERVED: [&str; 3] = ["port", "unix_socket_directories", "data_directory"];

/// Ours, in the order of the file; a reason where the choice is not plain.
///
/// Not here: time-outs, which belong to roles, and `wal_compression`, which trades processor time
/// of every transition against WAL volume and stays at PostgreSQL's default (off) until measured.
const SETTINGS: [(&str, &str, &str); 16] = [
    ("listen_addresses", "", "the unix socket is the only way in"),
    ("unix_socket_permissions", "0777", "SCRAM decides who may connect, not the file mode"),
    ("password_encryption", "scram-sha-256", ""),
    ("max_connections", "200", ""),
    ("shared_buffers", "256MB", ""),
    ("fsync", "on", "a committed transition survives a power failure"),
    ("full_page_writes", "on", ""),
    ("synchronous_commit", "on", ""),
    ("logging_collector", "off", "messages go to the file that the server is started with"),
    ("log_destination", "stderr", ""),
    ("log_line_prefix", "%m [%p] %q%u@%d ", ""),
    ("log_min_messages", "warning", ""),
    ("log_statement", "none", "statements carry users' data"),
    ("log_min_error_statement", "panic", "failed statements carry it as well"),
    ("timezone", "UTC", "the same text for a time on every machine"),
    ("log_timezone", "UTC", ""),
];

/// Writes the settings file anew and makes sure that PostgreSQL reads it.
pub(super) fn write(
    data: &Path,
    socket_dir: &Path,
    extra: &[(String, String)],
    user: &OsUser,
) -> Result<(), Error> {
    let text = text(socket_dir, extra)?;
    files::replace_file(&data.join(FILE), text.as_bytes(), 0o600, user.as_owner())?;

    let main = data.join("postgresql.conf");
    let mut main_text = files::read_if_there(&main)?.unwrap_or_default();
    if !main_text.lines().any(|line| line.trim() == INCLUDE) {
        if !main_text.is_empty() && !main_text.ends_with('\n') {
            main_text.push('\n');
        }
        let _ = writeln!(main_text, "{INCLUDE}");
        files::replace_file(&main, main_text.as_bytes(), 0o600, user.as_owner())?;
    }
    Ok(())
}

fn text(socket_dir: &Path, extra: &[(String, String)]) -> Result<String, Error> {
    let mut text = String::from(
        "# Written by Chancery at every start: changes made here are lost.\n\
         # Settings of your own belong into postgresql.conf, before its last line, or ALTER SYSTEM.\n",
    );
    // The value is itself a list whose items may be quoted: a comma in a path must not split it.
    let folder = format!("\"{}\"", socket_dir.display().to_string().replace('"', "\"\""));
    let _ = writeln!(text, "unix_socket_directories = {}", quoted(&folder));
    for (name, value, why) in SETTINGS {
        let comment = if why.is_empty() { String::new() } else { format!(" # {why}") };
        let _ = writeln!(text, "{name} = {}{comment}", quoted(value));
    }
    for (name, value) in extra {
        check(name, value)?;
        let _ = writeln!(text, "{name} = {}", quoted(value));
    }
    Ok(text)
}

fn check(name: &str, value: &str) -> Result<(), Error> {
    let refuse = |why| Err(Error::Setting { name: name.to_owned(), why });
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let goes_on_well = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
    if !starts_well || !goes_on_well {
        return refuse("that is no name of a setting");
    }
    if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        return refuse("Chancery decides where the server lies and listens");
    }
    if value.contains(|c: char| c.is_control()) {
        return refuse("its value has a control character");
    }
    Ok(())
}

fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Result<String, Error> {
        text(Path::new("/none/run"), &[(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn extra_settings_come_last_and_are_quoted() {
        let text = with("cluster_name", "it's").expect("a fine setting");
        assert!(text.ends_with("cluster_name = 'it''s'\n"), "{text}");
        assert!(text.contains("unix_socket_directories = '\"/none/run\"'\n"), "{text}");
    }

    #[test]
    fn settings_that_would_hide_the_server_or_smuggle_a_line_are_refused() {
        for (name, value) in [
            ("port", "5433"),
            ("PORT", "5433"),
            ("a b", "1"),
            ("", "1"),
            ("work_mem", "1\nfsync = off"),
        ] {
            assert!(matches!(with(name, value), Err(Error::Setting { .. })), "{name} {value:?}");
        }
    }
}
