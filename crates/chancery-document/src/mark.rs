//! A place where a document is cut, before it becomes a unit.

use crate::unit::SectionType;

/// The path of what stands before the first division.
pub(crate) const PREAMBLE: &str = "preamble";

/// Titles are for people; what is longer is body.
const TITLE_MAX: usize = 160;

/// The first byte of a unit and what its own text says about it.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) start: usize,
    /// The index of the mark that contains this one.
    pub(crate) parent: Option<usize>,
    pub(crate) section_type: SectionType,
    /// The address without the prefix.
    pub(crate) path: String,
    pub(crate) title: String,
}

/// One line, single spaces, and an ellipsis where it was too long.
pub(crate) fn tidy_title(text: &str) -> String {
    let mut title = String::with_capacity(text.len().min(4 * TITLE_MAX));
    let mut length = 0;
    for word in text.split(crate::line::is_blank).filter(|word| !word.is_empty()) {
        if length > 0 {
            title.push(' ');
            length += 1;
        }
        for c in word.chars() {
            // A space between two words may be what makes it too long.
            if length >= TITLE_MAX {
                title.truncate(title.trim_end().len());
                title.push('…');
                return title;
            }
            title.push(c);
            length += 1;
        }
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IU-1: a title is at most 160 characters, also where a word ends exactly there.
    #[test]
    fn a_long_title_is_shortened_wherever_its_words_end() {
        for last in 150..=170 {
            let text = format!("{} {}", "w".repeat(last - 1), "more words ".repeat(20));
            let title = tidy_title(&text);
            let length = title.chars().count();
            assert!(length <= TITLE_MAX + 1, "{last}: {length}");
            assert!(title.ends_with('…') && !title.ends_with(" …"), "{last}: {title:?}");
        }
        let whole = "w".repeat(TITLE_MAX);
        assert_eq!(
            tidy_title(&format!("  {whole} \t")),
            whole,
            "nothing is missing, so nothing says so"
        );
    }
}
