//! From lines to a tree of divisions.
//!
//! # Which words contain which
//!
//! The order is fixed but for English articles and sections: treaties divide sections into articles,
//! bylaws and constitutions divide articles into sections. Whichever comes first within a part or
//! chapter contains the other there.
//!
//! # Which numbers are clauses
//!
//! Any line can begin with a number. It is a clause only within an article (or an English section),
//! and a point only within a clause; the first begins near one (or a), and each next one is higher
//! by a little and marked in the same way. "A little" is [`REACH`], not one: otherwise the removal of
//! a clause would undo those after it, and no address may depend on a neighbour.

use crate::legal::candidate::{Candidate, EMPHASIS, Style, undress};
use crate::legal::grammar::{Language, Rank};
use crate::legal::numeral::letter_code;
use crate::legal::scan::{Found, scan};
use crate::line::{Line, is_blank};
use crate::mark::{Mark, tidy_title};

/// How far a clause or a point may be from the one before it.
const REACH: u32 = 4;

/// A title on a line of its own is short, or in capitals and not very long.
const TITLE_LINE_MAX: usize = 120;
const CAPITALS_LINE_MAX: usize = 240;

/// Where the parts, chapters, sections and articles of a document begin.
pub(crate) fn divisions(text: &str, language: Language) -> Vec<(usize, Rank)> {
    let (lines, found) = scan(text, language);
    let rank = |found: &Found| match found.candidate {
        Candidate::Division { rank, .. } => Some((lines[found.line].start, rank)),
        Candidate::Clause { .. } | Candidate::Point { .. } | Candidate::Roman(_) => None,
    };
    found.iter().filter_map(rank).collect()
}

/// The marks of a document.
pub(crate) fn marks(text: &str, language: Language) -> Vec<Mark> {
    let (lines, found) = scan(text, language);
    let mut outline = Outline { language, open: Vec::new(), marks: Vec::new() };
    for (n, Found { line, candidate }) in found.iter().enumerate() {
        let opened = match candidate {
            Candidate::Division { rank, code, .. } => {
                Some(outline.open_division(*rank, code, candidate))
            }
            Candidate::Clause { style, article, number, suffix } => {
                let label =
                    Label { style: *style, value: *number, suffix: suffix.map(letter_code) };
                outline.open_clause(*article, label, candidate)
            }
            Candidate::Point { letter, .. } if is_roman(*letter, n, &found) => None,
            Candidate::Point { style, place, .. } => {
                let label = Label { style: *style, value: *place, suffix: None };
                outline.open_point(label, candidate)
            }
            Candidate::Roman(_) => None,
        };
        let Some(Opened { rank, parent, path }) = opened else { continue };
        let next_found = found.get(n + 1).map(|next| next.line);
        outline.marks.push(Mark {
            start: lines[*line].start,
            parent,
            section_type: rank.section_type(),
            path,
            title: title(&lines, *line, candidate, next_found),
        });
    }
    outline.marks
}

/// Whether the point `(i)`, `(v)` or `(x)` is a Roman number, told by the line beside it.
fn is_roman(letter: char, n: usize, found: &[Found]) -> bool {
    let value = |n: usize| match found.get(n)?.candidate {
        Candidate::Roman(value) => Some(value),
        Candidate::Division { .. } | Candidate::Clause { .. } | Candidate::Point { .. } => None,
    };
    let before = n.checked_sub(1).and_then(value);
    match letter {
        'i' => value(n + 1) == Some(2),
        'v' => before == Some(4),
        'x' => before == Some(9),
        _ => false,
    }
}

/// How a clause or point is counted among its siblings.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Label {
    style: Style,
    value: u32,
    suffix: Option<String>,
}

impl Label {
    /// Whether this can be the next one after `last`, or the first one.
    fn follows(&self, last: Option<&Self>) -> bool {
        let Some(last) = last else { return (1..=REACH).contains(&self.value) };
        self.style == last.style
            && (self.value, &self.suffix) > (last.value, &last.suffix)
            && self.value <= last.value + REACH
    }
}

/// A division that is not yet over.
#[derive(Debug)]
struct Open {
    rank: Rank,
    mark: usize,
    path: String,
    /// The number of an article, which `5.1` repeats.
    number: Option<u32>,
    /// The clause or point that was counted last in it.
    last: Option<Label>,
}

struct Opened {
    rank: Rank,
    parent: Option<usize>,
    path: String,
}

struct Outline {
    language: Language,
    open: Vec<Open>,
    marks: Vec<Mark>,
}

impl Outline {
    fn open_division(&mut self, rank: Rank, code: &str, candidate: &Candidate) -> Opened {
        self.close_for(rank);
        let above = match rank {
            // Only an annex counts articles anew.
            Rank::Article => self.open.iter().find(|open| open.rank == Rank::Annex),
            _ => self.open.last(),
        };
        let above = above.map(|open| open.path.clone());
        let number = match candidate {
            Candidate::Division { numeral: Some(numeral), .. } => numeral.value,
            _ => None,
        };
        self.push(rank, code, candidate, above.as_deref(), number)
    }

    fn open_clause(
        &mut self,
        article: Option<u32>,
        label: Label,
        of: &Candidate,
    ) -> Option<Opened> {
        let within = self.open.iter().rposition(|open| self.language.has_clauses(open.rank))?;
        let host = &mut self.open[within];
        if (article.is_some() && article != host.number) || !label.follows(host.last.as_ref()) {
            return None;
        }
        host.last = Some(label);
        let path = host.path.clone();
        self.open.truncate(within + 1);
        Some(self.push(Rank::Clause, self.language.clause_code(), of, Some(&path), None))
    }

    fn open_point(&mut self, label: Label, of: &Candidate) -> Option<Opened> {
        let within = self.open.iter().rposition(|open| open.rank == Rank::Clause)?;
        let clause = &mut self.open[within];
        if !label.follows(clause.last.as_ref()) {
            return None;
        }
        clause.last = Some(label);
        let path = clause.path.clone();
        self.open.truncate(within + 1);
        Some(self.push(Rank::Point, self.language.point_code(), of, Some(&path), None))
    }

    /// Ends what cannot contain a division of this rank.
    fn close_for(&mut self, rank: Rank) {
        let same = self.open.iter().position(|open| open.rank == rank);
        let keep = match (self.language, rank, same) {
            (Language::English, Rank::Section | Rank::Article, Some(same)) => same,
            (Language::English, Rank::Section, None) => self.open_up_to(Rank::Article),
            _ => self.open.iter().position(|open| open.rank >= rank).unwrap_or(self.open.len()),
        };
        self.open.truncate(keep);
    }

    /// How many open divisions there are down to this rank.
    fn open_up_to(&self, rank: Rank) -> usize {
        self.open.iter().position(|open| open.rank > rank).unwrap_or(self.open.len())
    }

    fn push(
        &mut self,
        rank: Rank,
        code: &str,
        candidate: &Candidate,
        above: Option<&str>,
        number: Option<u32>,
    ) -> Opened {
        let segment = match candidate.number_code() {
            Some(number) => format!("{code}.{number}"),
            None => code.to_owned(),
        };
        let path = match above {
            Some(above) => format!("{above}-{segment}"),
            None => segment,
        };
        let parent = self.open.last().map(|open| open.mark);
        let mark = self.marks.len();
        self.open.push(Open { rank, mark, path: path.clone(), number, last: None });
        Opened { rank, parent, path }
    }
}

/// The line of a division, and after a bare number the line with its title.
fn title(
    lines: &[Line<'_>],
    at: usize,
    candidate: &Candidate,
    next_found: Option<usize>,
) -> String {
    let own = plain(lines[at].text);
    let Candidate::Division { bare: true, .. } = candidate else { return tidy_title(&own) };
    let own = own.trim_end_matches(|c| is_blank(c) || ".:-–—".contains(c));
    let next = (at + 1..lines.len()).find(|&next| !lines[next].is_blank());
    match next {
        Some(next) if next_found != Some(next) => {
            let text = plain(lines[next].text);
            if is_title(&text) { tidy_title(&format!("{own} — {text}")) } else { tidy_title(own) }
        }
        _ => tidy_title(own),
    }
}

fn is_title(text: &str) -> bool {
    let begins = text.starts_with(char::is_alphanumeric);
    let length = text.chars().take(CAPITALS_LINE_MAX + 1).count();
    let capitals = !text.contains(char::is_lowercase) && text.contains(char::is_uppercase);
    let sentence = text.ends_with(['.', ';', ':', ',', '!', '?']);
    begins && ((capitals && length <= CAPITALS_LINE_MAX) || (!sentence && length <= TITLE_LINE_MAX))
}

/// A line without its markup.
fn plain(text: &str) -> String {
    let text = undress(text).trim_end();
    // Hashes may also close a heading, after a space.
    let open = text.trim_end_matches('#');
    let text = if open.ends_with(char::is_whitespace) { open.trim_end() } else { text };
    let text = text.trim_end_matches(EMPHASIS);
    ["**", "__"].iter().fold(text.to_owned(), |text, sign| text.replace(sign, ""))
}
