//! Where answers go: data to stdout, everything else to stderr.

use std::io::{self, IsTerminal as _, Write as _};
use std::pin::pin;
use std::time::{Duration, Instant};

use comfy_table::{Cell, ContentArrangement, Table, presets};
use serde::Serialize;

use crate::failure::Failure;

/// The way out for a command's answers.
#[derive(Debug, Clone)]
pub(crate) struct Out {
    json: bool,
    /// Keeps the answers instead of printing them.
    kept: Option<Vec<u8>>,
}

impl Out {
    /// Answers for people, or with `json` for programs.
    pub(crate) fn to_stdout(json: bool) -> Self {
        Self { json, kept: None }
    }

    /// Answers as JSON, kept until [`Out::taken`]; who asks reads nothing else.
    pub(crate) fn kept() -> Self {
        Self { json: true, kept: Some(Vec::new()) }
    }

    /// What was kept.
    pub(crate) fn taken(self) -> Vec<u8> {
        self.kept.unwrap_or_default()
    }

    /// Whether the reader is a program.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints an answer: the value for programs, or its text for people.
    pub(crate) fn answer<T: Serialize>(
        &mut self,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if self.json { self.json(value) } else { self.line(&text()) }
    }

    /// Prints a value as JSON.
    pub(crate) fn json<T: Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).expect("answers are plain data");
        self.line(&text)
    }

    /// Prints a line, or several; nothing at all when there is nothing to say.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        let line = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
        self.bytes(line.as_bytes())
    }

    /// Prints bytes as they are, whatever they end with.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.kept {
            Some(kept) => kept.write_all(bytes),
            None => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
        };
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::PipeClosed,
            _ => Failure::Failed(format!("stdout can't be written: {error}")),
        })
    }

    /// Tells the user something that is not the answer.
    pub(crate) fn note(&self, text: &str) {
        if self.kept.is_some() {
            return;
        }
        // Who closed stderr does not want to know.
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Replaces the last progress line; only where somebody watches.
    pub(crate) fn progress(&self, text: &str) {
        let mut stderr = io::stderr();
        if stderr.is_terminal() {
            let _ = write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush());
        }
    }
}

/// Waits for long work and says meanwhile, where somebody watches, what it is and how long it takes.
pub(crate) async fn watched<T>(out: &Out, what: &str, work: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_millis(250));
    let mut work = pin!(work);
    let answer = loop {
        tokio::select! {
            answer = &mut work => break answer,
            _ = ticks.tick() => out.progress(&format!("{what} … {} s", began.elapsed().as_secs())),
        }
    };
    out.progress("");
    answer
}

/// Rows under a header, aligned.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    // Never wrapped to the terminal: an id that is broken in two can't be copied.
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().map(|name| Cell::new(name.to_uppercase())));
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    if table.is_empty() { String::new() } else { table.trim_fmt() }
}

/// Names and values, aligned; values that are empty are left out.
pub(crate) fn pairs(pairs: &[(&str, String)]) -> String {
    let shown = || pairs.iter().filter(|(_, value)| !value.is_empty());
    let width = shown().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    shown().map(|(name, value)| format!("{name:width$}  {value}")).collect::<Vec<_>>().join("\n")
}

/// A point in time as tables show it: UTC, to the second.
pub(crate) fn time(text: &str) -> String {
    text.parse::<jiff::Timestamp>()
        .map_or_else(|_| text.to_owned(), |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The beginning of a digest, enough to tell two apart.
pub(crate) fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}

/// Bytes as text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A SHA-256 in hex, as an argument.
pub(crate) fn digest(text: &str) -> Result<[u8; 32], String> {
    let wrong = || "a digest is 64 hexadecimal digits".to_owned();
    let mut digest = [0; 32];
    // `from_str_radix` would take a sign.
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    for (byte, at) in digest.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| wrong())?;
    }
    Ok(digest)
}

/// A number of things.
pub(crate) fn count(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

/// `yes` or `no`.
pub(crate) fn yes_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_and_have_no_trailing_blanks() {
        let text = table(
            &["run", "state"],
            [vec!["a".to_owned(), "draft".to_owned()], vec!["bcd".to_owned(), "x".to_owned()]],
        );
        assert_eq!(text, "RUN  STATE\na    draft\nbcd  x");
        assert_eq!(table(&["run"], []), "");
    }

    #[test]
    fn pairs_are_aligned_and_leave_empty_values_out() {
        assert_eq!(
            pairs(&[("a", "1".to_owned()), ("none", String::new()), ("bcd", "2".to_owned())]),
            "a    1\nbcd  2"
        );
    }

    #[test]
    fn times_are_shown_in_utc_to_the_second() {
        assert_eq!(time("2026-11-15T12:17:26.5+02:00"), "2026-11-15T10:17:26Z");
        assert_eq!(time("soon"), "soon");
    }
}
