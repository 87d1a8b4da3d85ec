//! Passwords from a terminal, which does not show them, or from a program.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use crate::failure::Failure;

/// Ctrl-C, as a terminal sends it.
const END_OF_TEXT: u8 = 3;
/// Nobody's password is longer.
const MOST_BYTES: u64 = 4096;

/// The password that a person types twice, or the first line that a program sends.
pub(crate) fn new_password(name: &str, from_stdin: bool) -> Result<String, Failure> {
    let password = if from_stdin {
        let mut line = Vec::new();
        let mut input = std::io::stdin().lock().take(MOST_BYTES);
        input
            .read_until(b'\n', &mut line)
            .map_err(|error| Failure::Failed(format!("stdin: {error}")))?;
        text(line)?
    } else {
        let mut terminal = Terminal::open()?;
        let password = terminal.ask(&format!("New password of {name}: "))?;
        if terminal.ask("The same again: ")? != password {
            return Err(Failure::Usage("the two are not the same".to_owned()));
        }
        password
    };
    match password.chars().count() {
        12..=1000 => Ok(password),
        _ => Err(Failure::Usage("a password has 12 to 1000 characters".to_owned())),
    }
}

fn text(mut line: Vec<u8>) -> Result<String, Failure> {
    while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        line.pop();
    }
    match String::from_utf8(line) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(Failure::Usage("a password is text".to_owned())),
    }
}

/// A terminal that shows nothing of what is typed, until the value is gone.
struct Terminal {
    file: File,
    before: Termios,
}

impl Terminal {
    fn open() -> Result<Self, Failure> {
        let none = |_| {
            Failure::Usage(
                "there is no terminal to ask at; send the password with --stdin".to_owned(),
            )
        };
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty").map_err(none)?;
        let before = tcgetattr(&file).map_err(|error| none(error.into()))?;
        let mut quiet = before.clone();
        // Ctrl-C is read like a letter, so that nothing ends with a terminal that shows nothing.
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        quiet.special_codes[SpecialCodeIndex::VEOL] = END_OF_TEXT;
        tcsetattr(&file, OptionalActions::Flush, &quiet).map_err(|error| none(error.into()))?;
        Ok(Self { file, before })
    }

    fn ask(&mut self, question: &str) -> Result<String, Failure> {
        let failed = |error: std::io::Error| Failure::Failed(format!("the terminal: {error}"));
        self.file.write_all(question.as_bytes()).map_err(failed)?;
        let mut line = Vec::new();
        let mut input = BufReader::new(&self.file).take(MOST_BYTES);
        // A line ends with its end, or with Ctrl-C.
        let mut byte = [0];
        while input.read(&mut byte).map_err(failed)? == 1 {
            if byte[0] == END_OF_TEXT {
                return Err(Failure::Usage("stopped".to_owned()));
            }
            line.push(byte[0]);
            if byte[0] == b'\n' {
                break;
            }
        }
        self.file.write_all(b"\n").map_err(failed)?;
        text(line)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = tcsetattr(&self.file, OptionalActions::Flush, &self.before);
    }
}
