//! What programs of the machine said when they were last asked.
//!
//! Every command looks for the server's programs, and asking them takes longer than most of what a command does. An answer counts
//! as long as the program is the same file; a file of answers that can't be read or written is one that is not there.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Answers by program, in memory and in a file.
#[derive(Debug, Default)]
pub(super) struct Answers {
    file: Option<PathBuf>,
    /// A program, and what it said.
    known: Vec<(String, String)>,
    is_new: bool,
}

impl Answers {
    /// Those of a file; without one, none.
    pub(super) fn read(file: Option<&Path>) -> Self {
        let text = file.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        let line = |line: &str| {
            let (program, said) = line.rsplit_once('\t')?;
            Some((program.to_owned(), said.to_owned()))
        };
        let known = text.lines().filter_map(line).collect();
        Self { file: file.map(Path::to_owned), known, is_new: false }
    }

    /// What the program said, or says now. Only answers of one line are kept.
    pub(super) fn of(
        &mut self,
        program: &Path,
        ask: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        let name = name_of(program);
        let known = name.as_ref().and_then(|name| self.known.iter().find(|(of, _)| of == name));
        if let Some((_, said)) = known {
            return Some(said.clone());
        }
        let said = ask()?;
        let line = said.trim_end();
        if let Some(name) = name.filter(|_| !line.contains(['\n', '\t'])) {
            self.known.push((name, line.to_owned()));
            self.is_new = true;
        }
        Some(said)
    }

    /// Writes what is new, where the folder of the file is there.
    pub(super) fn keep(&self) {
        let Some(file) = self.file.as_ref().filter(|_| self.is_new) else { return };
        let mut text = String::new();
        for (program, said) in &self.known {
            let _ = writeln!(text, "{program}\t{said}");
        }
        // Two commands may do so at once: each puts a whole file in place.
        let draft = file.with_extension(std::process::id().to_string());
        if fs::write(&draft, text).is_ok() && fs::rename(&draft, file).is_err() {
            let _ = fs::remove_file(&draft);
        }
    }
}

/// A program as the file that it is now: its real place, size and times.
fn name_of(program: &Path) -> Option<String> {
    let real = program.canonicalize().ok()?;
    let file = real.metadata().ok()?;
    let real = real.to_str().filter(|path| !path.contains(['\n', '\t']))?;
    Some(format!("{real}\t{}\t{}.{}\t{}", file.len(), file.mtime(), file.mtime_nsec(), file.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_asked_once_until_it_is_another_file() {
        let folder = std::env::temp_dir().join(format!("chancery-answers-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let (program, file) = (folder.join("postgres"), folder.join("programs"));
        fs::write(&program, "one").expect("a program");
        let ask = |words: &str| {
            let mut answers = Answers::read(Some(&file));
            let said = answers.of(&program, || Some(format!("{words}\n")));
            answers.keep();
            said.map(|said| said.trim_end().to_owned())
        };
        assert_eq!(ask("first").as_deref(), Some("first"));
        assert_eq!(ask("second").as_deref(), Some("first"), "it is not asked again");
        fs::write(&program, "another").expect("another program");
        assert_eq!(ask("third").as_deref(), Some("third"), "another file is asked");
        fs::write(&file, "no\nsense\t").expect("a spoilt file");
        assert_eq!(ask("fourth").as_deref(), Some("fourth"));
        fs::remove_dir_all(&folder).expect("it goes");
    }

    #[test]
    fn no_answer_is_not_kept() {
        let mut answers = Answers::default();
        assert_eq!(answers.of(Path::new("/bin/sh"), || None), None);
        assert_eq!(answers.of(Path::new("/bin/sh"), || Some("x".to_owned())).as_deref(), Some("x"));
    }
}
