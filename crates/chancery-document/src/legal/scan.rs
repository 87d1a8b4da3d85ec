//! The lines of a document that can begin a division, in context.
//!
//! Two things look like structure and are not. A law that amends another quotes whole articles; what
//! stands between quotation marks belongs to the clause that quotes it. And in text with hard line
//! breaks a sentence can go on with `Article 5.` at the start of a line.

use unicode_normalization::UnicodeNormalization;

use crate::legal::candidate::{self, Candidate, undress};
use crate::legal::grammar::Language;
use crate::line::{Line, lines};

/// A line that can begin a division.
#[derive(Debug)]
pub(super) struct Found {
    /// The index of the line.
    pub(super) line: usize,
    pub(super) candidate: Candidate,
}

/// The lines of a text, and those among them that can begin a division.
pub(super) fn scan(text: &str, language: Language) -> (Vec<Line<'_>>, Vec<Found>) {
    let lines: Vec<Line<'_>> = lines(text).collect();
    let quotations = Quotations::of(&lines);
    let mut found: Vec<Found> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if let Some(end) = quotations.end(&lines, at, language) {
            at = end + 1;
            continue;
        }
        if let Some(candidate) = candidate::read(lines[at].text, language) {
            let before = at.checked_sub(1).map(|before| lines[before].text);
            // After a heading a line never continues a sentence.
            let after_heading = found.last().is_some_and(|last| last.line + 1 == at)
                && matches!(found.last().map(|f| &f.candidate), Some(Candidate::Division { .. }));
            if after_heading || !before.is_some_and(|b| continues(b, &candidate, language)) {
                found.push(Found { line: at, candidate });
            }
        }
        at += 1;
    }
    (lines, found)
}

/// Whether a sentence goes on after the line `before` so that `candidate` is a reference.
fn continues(before: &str, candidate: &Candidate, language: Language) -> bool {
    // In a line of one word there is no sentence.
    let Some((_, word)) = before.trim_end().rsplit_once(char::is_whitespace) else { return false };
    let word: String = word.nfc().collect();
    let known = |words: &[&str]| words.contains(&word.as_str());
    match candidate {
        Candidate::Division { .. } => {
            word.ends_with(',') || known(language.links()) || known(language.nouns())
        }
        Candidate::Clause { .. } | Candidate::Point { .. } | Candidate::Roman(_) => {
            known(language.nouns())
        }
    }
}

/// Where quotations that begin with a line end, for every line and both kinds of marks.
///
/// Computed backwards in one pass; to look for each end by itself would take quadratic time on a
/// document full of marks that nothing closes.
struct Quotations {
    /// The first line from here on after which no more `“` are open than before.
    curly: Vec<Option<usize>>,
    /// The first line after this one with an odd number of `"`.
    straight: Vec<Option<usize>>,
}

impl Quotations {
    fn of(lines: &[Line<'_>]) -> Self {
        let mut curly = vec![None; lines.len()];
        let mut straight = vec![None; lines.len()];
        let mut depths = Vec::with_capacity(lines.len() + 1);
        depths.push(0_i64);
        for line in lines {
            let depth = depths.last().copied().unwrap_or_default();
            depths.push(depth + curly_balance(line.text));
        }
        // Ends that are not yet too deep for the lines above, the nearest last.
        let mut ends: Vec<usize> = Vec::new();
        let mut odd = None;
        for at in (0..lines.len()).rev() {
            while ends.pop_if(|end| depths[*end + 1] >= depths[at + 1]).is_some() {}
            ends.push(at);
            // Depths fall towards the bottom of the stack; the nearest fitting one is found by halving.
            let fitting = ends.partition_point(|end| depths[*end + 1] <= depths[at]);
            curly[at] = fitting.checked_sub(1).map(|n| ends[n]);
            straight[at] = odd;
            if !lines[at].text.matches('"').count().is_multiple_of(2) {
                odd = Some(at);
            }
        }
        Self { curly, straight }
    }

    /// The last line of the quotation that the line `at` begins with a division, if it does.
    fn end(&self, lines: &[Line<'_>], at: usize, language: Language) -> Option<usize> {
        let text = undress(lines[at].text);
        let quoted = text.strip_prefix(['“', '"'])?;
        candidate::read(quoted, language)?;
        if text.starts_with('“') {
            self.curly[at]
        } else if text.matches('"').count().is_multiple_of(2) {
            // Closed on its own line, which is no division as it begins with a mark.
            None
        } else {
            self.straight[at]
        }
    }
}

fn curly_balance(text: &str) -> i64 {
    text.chars().fold(0, |balance, c| match c {
        '“' => balance + 1,
        '”' => balance - 1,
        _ => balance,
    })
}
