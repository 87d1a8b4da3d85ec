//! What a line could begin, judged by the line alone.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use crate::legal::grammar::{Language, Rank, Word};
use crate::legal::numeral::{Numeral, is_barred_d, letter_code, read_number, read_suffix, roman};
use crate::line;

/// A word, a number and the sign after them fit into so many characters.
const HEAD_MAX: usize = 96;

/// How a clause or a point is marked. Within one division all are marked alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `Khoản 1`, `Điểm a`.
    Word,
    /// `(1)`, `(a)`.
    Brackets,
    /// `1)`, `a)`.
    Bracket,
    /// `1.`
    Stop,
    /// `5.1`, below article 5.
    Dotted,
}

/// What a line could begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Candidate {
    Division {
        rank: Rank,
        code: &'static str,
        numeral: Option<Numeral>,
        /// Nothing follows the number; the title may stand on the next line.
        bare: bool,
    },
    Clause {
        style: Style,
        /// The 5 of `5.1`.
        article: Option<u32>,
        number: u32,
        suffix: Option<char>,
    },
    Point {
        style: Style,
        letter: char,
        /// The place of the letter in the alphabet, from one.
        place: u32,
    },
    /// `(ii)`: counts below points and is not cut, but tells how to read an `(i)` beside it.
    Roman(u32),
}

/// Reads a line.
pub(super) fn read(text: &str, language: Language) -> Option<Candidate> {
    let undressed = undress(text);
    let first = undressed.chars().next()?;
    // Most lines are prose; they are told by their first character.
    let may_begin = first.is_ascii_digit()
        || first == '('
        || is_barred_d(first)
        || first.is_ascii_uppercase()
        || (first.is_ascii_lowercase() && undressed.chars().take(6).any(|c| c == ')'));
    if !may_begin || is_contents_line(undressed) {
        return None;
    }
    let head = head(undressed);
    read_word(&head, language).or_else(|| read_marker(&head, language))
}

/// The line without indentation, the hashes of a heading and the asterisks of bold type.
pub(super) fn undress(text: &str) -> &str {
    let text = text.trim_start_matches(line::is_blank);
    let after_hashes = text.trim_start_matches('#');
    let hashes = text.len() - after_hashes.len();
    let text = if (1..=6).contains(&hashes) && after_hashes.starts_with(char::is_whitespace) {
        after_hashes.trim_start()
    } else {
        text
    };
    // The space after a bullet stays, so that `* 1.` is an item of a list and no clause.
    text.trim_start_matches(EMPHASIS)
}

/// The signs of bold and italic type.
pub(super) const EMPHASIS: [char; 2] = ['*', '_'];

/// The beginning of a line in composed form: `ề` may be one character or three.
fn head(text: &str) -> Cow<'_, str> {
    let end = text.char_indices().nth(HEAD_MAX).map_or(text.len(), |(at, _)| at);
    let head = &text[..end];
    if head.is_ascii() { Cow::Borrowed(head) } else { Cow::Owned(head.nfc().collect()) }
}

/// `Article 5. Scope ........ 12` stands in a table of contents.
fn is_contents_line(text: &str) -> bool {
    let text = text.trim_end();
    let before = text.trim_end_matches(|c: char| c.is_ascii_digit());
    before.len() < text.len() && {
        let before = before.trim_end();
        before.ends_with("...") || before.ends_with('…') || before.ends_with(". . .")
    }
}

fn read_word(head: &str, language: Language) -> Option<Candidate> {
    let (word, rest) = find_word(head, language)?;
    if word.rank == Rank::Point {
        let rest = rest.trim_start_matches('(');
        let (letter, place, after) = read_letter(rest, language)?;
        let follows = after.starts_with(')') || may_follow(after, language);
        return follows.then_some(Candidate::Point { style: Style::Word, letter, place });
    }
    let Some((numeral, after)) = Numeral::read(rest, language) else {
        // A single annex often has no number.
        let whole = rest.trim_matches(|c| EMPHASIS.contains(&c) || line::is_blank(c)).is_empty();
        return (whole && word.rank == Rank::Annex).then_some(Candidate::Division {
            rank: word.rank,
            code: word.code,
            numeral: None,
            bare: true,
        });
    };
    if !may_follow(after, language) {
        return None;
    }
    if word.rank == Rank::Clause {
        let number = numeral.value?;
        let (style, article, suffix) = (Style::Word, None, None);
        return Some(Candidate::Clause { style, article, number, suffix });
    }
    let bare = !after.contains(|c: char| c.is_alphanumeric());
    Some(Candidate::Division { rank: word.rank, code: word.code, numeral: Some(numeral), bare })
}

/// The word at the start, and what follows the space after it.
fn find_word(head: &str, language: Language) -> Option<(&'static Word, &str)> {
    language.words().iter().find_map(|word| {
        let rest = word.spellings.iter().find_map(|spelling| {
            let rest = head.strip_prefix(spelling)?;
            let apart = rest.starts_with(char::is_whitespace) || spelling.ends_with('.');
            (apart || rest.is_empty()).then(|| rest.trim_start())
        })?;
        Some((word, rest))
    })
}

/// Whether a heading can go on so after its number. A reference goes on otherwise: `Article 5 of`,
/// `Article 5, 6 and 7`, `Article 5(1)`, `Khoản 2 Điều 5`.
fn may_follow(rest: &str, language: Language) -> bool {
    let rest = rest.trim_start_matches(EMPHASIS);
    let after = rest.trim_start();
    let Some(next) = after.chars().next() else { return true };
    let tail = &after[next.len_utf8()..];
    match next {
        '-' | '–' | '—' => !tail.trim_start().starts_with(|c: char| c.is_ascii_digit()),
        '.' | ':' => true,
        ')' => after.len() == rest.len(),
        _ if after.len() == rest.len() => false,
        '[' | '“' | '"' => true,
        '(' => is_remark(tail),
        _ if EMPHASIS.contains(&next) => true,
        _ if next.is_alphabetic() && !next.is_lowercase() => find_word(after, language)
            .is_none_or(|(_, rest)| Numeral::read(rest, language).is_none()),
        _ => false,
    }
}

/// Whether brackets hold a word, as in `(repealed)`, and not a number, as in `(1)`, `(a)` or `(ii)`.
fn is_remark(inside: &str) -> bool {
    let end = inside.find(|c: char| !c.is_alphabetic()).unwrap_or(inside.len());
    let word = &inside[..end];
    word.chars().count() > 1 && roman(&word.to_uppercase()).is_none()
}

/// `(1)`, `1.`, `1)`, `5.1`, `(a)`, `a)`, `(ii)`.
fn read_marker(head: &str, language: Language) -> Option<Candidate> {
    let inner = head.strip_prefix('(');
    let bracketed = inner.is_some();
    let text = inner.unwrap_or(head);
    if let Some((number, rest)) = read_number(text) {
        return read_clause(number, rest, bracketed);
    }
    let letters = text.find(|c: char| !c.is_lowercase()).unwrap_or(text.len());
    let (label, rest) = text.split_at(letters);
    if !rest.starts_with(')') {
        return None;
    }
    match read_letter(text, language) {
        Some((letter, place, _)) => {
            let style = if bracketed { Style::Brackets } else { Style::Bracket };
            Some(Candidate::Point { style, letter, place })
        }
        None => roman(&label.to_uppercase()).map(Candidate::Roman),
    }
}

fn read_clause(number: u32, rest: &str, bracketed: bool) -> Option<Candidate> {
    let clause =
        |style, article, number, suffix| Candidate::Clause { style, article, number, suffix };
    let below = rest.strip_prefix('.').and_then(read_number).filter(|&(below, _)| below > 0);
    if let (false, Some((below, after))) = (bracketed, below) {
        let after = after.strip_prefix('.').unwrap_or(after);
        return may_begin_text(after).then(|| clause(Style::Dotted, Some(number), below, None));
    }
    let (suffix, rest) = match read_suffix(rest) {
        Some((letter, rest)) => (Some(letter), rest),
        None => (None, rest),
    };
    let (style, rest) = match (bracketed, rest.chars().next()?) {
        (true, ')') => (Style::Brackets, &rest[1..]),
        (false, ')') => (Style::Bracket, &rest[1..]),
        (false, '.') => (Style::Stop, &rest[1..]),
        _ => return None,
    };
    may_begin_text(rest).then(|| clause(style, None, number, suffix))
}

/// Whether text can begin here: after a space, or at once with a capital, as in `1.Phạm vi`.
fn may_begin_text(rest: &str) -> bool {
    match rest.chars().next() {
        None => true,
        Some(next) => {
            next.is_whitespace()
                || EMPHASIS.contains(&next)
                || (next.is_alphabetic() && !next.is_lowercase())
        }
    }
}

/// A single letter that counts points, its place, and what follows.
fn read_letter(text: &str, language: Language) -> Option<(char, u32, &str)> {
    let (letter, rest) = read_suffix(text)?;
    let letter = if letter == 'ð' { 'đ' } else { letter };
    let place = language.point_letters().chars().zip(1..).find(|&(known, _)| known == letter)?.1;
    Some((letter, place, rest))
}

impl Candidate {
    /// How an address writes it, after the word.
    pub(super) fn number_code(&self) -> Option<String> {
        match self {
            Self::Division { numeral, .. } => numeral.as_ref().map(|numeral| numeral.code.clone()),
            Self::Clause { number, suffix, .. } => {
                Some(format!("{number}{}", suffix.map(letter_code).unwrap_or_default()))
            }
            Self::Point { letter, .. } => Some(letter_code(*letter)),
            Self::Roman(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str, language: Language) -> Option<String> {
        let candidate = read(text, language)?;
        let number = candidate.number_code().unwrap_or_default();
        Some(match candidate {
            Candidate::Division { code, bare: true, .. } => format!("{code}.{number} bare"),
            Candidate::Division { code, .. } => format!("{code}.{number}"),
            Candidate::Clause { style, .. } => format!("{style:?} {number}"),
            Candidate::Point { style, .. } => format!("{style:?} {number}"),
            Candidate::Roman(value) => format!("roman {value}"),
        })
    }

    fn check(language: Language, cases: &[(&str, &str)]) {
        for &(text, expected) in cases {
            assert_eq!(code(text, language).unwrap_or_default(), expected, "{text:?}");
            let decomposed: String = text.nfd().collect();
            assert_eq!(
                code(&decomposed, language).unwrap_or_default(),
                expected,
                "{text:?} in NFD"
            );
        }
    }

    #[test]
    fn english_lines_are_told_from_references() {
        check(
            Language::English,
            &[
                ("PART I", "part.1 bare"),
                ("Part 1 — General", "part.1"),
                ("CHAPTER II.", "ch.2 bare"),
                ("  ## Chapter 2: Duties", "ch.2"),
                ("**Article 5.** Scope", "art.5"),
                ("**Article 5**", "art.5 bare"),
                ("Art. 5", "art.5 bare"),
                ("Section 3 Definitions", "sec.3"),
                ("Section 3 (repealed)", "sec.3"),
                ("SEC. 2. Findings.", "sec.2"),
                ("Article 12a", "art.12a bare"),
                ("ANNEX", "annex. bare"),
                ("SCHEDULE 2", "schedule.2 bare"),
                ("Clause 1. Text", "Word 1"),
                ("(1) Text", "Brackets 1"),
                ("1. Text", "Stop 1"),
                ("1) Text", "Bracket 1"),
                ("1a. Text", "Stop 1a"),
                ("5.1 Text", "Dotted 1"),
                ("5.2. Text", "Dotted 2"),
                ("(a) text", "Brackets a"),
                ("a) text", "Bracket a"),
                ("(ii) text", "roman 2"),
                ("Article 5 of this Act", ""),
                ("Article 5, paragraph 2", ""),
                ("Article 5(1)", ""),
                ("Article 5. scope in lower case", "art.5"),
                ("Article 5 (1) applies", ""),
                ("Article 5 (ii) applies", ""),
                ("Article 5 : Scope", "art.5"),
                ("Articles 5 and 6", ""),
                ("article 5. Scope", ""),
                ("Section 3 applies", ""),
                ("Section 3 Article 5 applies", ""),
                ("Article 5 - 7", ""),
                ("Article 5. Scope ....... 12", ""),
                ("Part of the", ""),
                ("Partly 5", ""),
                ("Annexes", ""),
                ("> Article 5. Quoted", ""),
                ("* 1. Item of a list", ""),
                ("- (a) item", ""),
                ("1.5 million", "Dotted 5"),
                ("2024. Text", "Stop 2024"),
                ("10.000", ""),
                ("e.g. this", ""),
                ("e) this", "Bracket e"),
                ("(see) this", ""),
            ],
        );
    }

    #[test]
    fn vietnamese_lines_are_told_from_references() {
        check(
            Language::Vietnamese,
            &[
                ("Phần thứ nhất", "phan.1 bare"),
                ("PHẦN I", "phan.1 bare"),
                ("Chương II. QUY ĐỊNH CHUNG", "chuong.2"),
                ("CHƯƠNG II", "chuong.2 bare"),
                ("Mục 1. Quyền", "muc.1"),
                ("Tiểu mục 2", "tieu_muc.2 bare"),
                ("Điều 5. Phạm vi", "dieu.5"),
                ("ĐIỀU 5", "dieu.5 bare"),
                ("Ðiều 5. Eth", "dieu.5"),
                ("### **Điều 12a.** Tên", "dieu.12a"),
                ("Khoản 1. Nội dung", "Word 1"),
                ("1. Nội dung", "Stop 1"),
                ("1.Nội dung", "Stop 1"),
                ("Điểm a) Nội dung", "Word a"),
                ("đ) Nội dung", "Bracket dd"),
                ("d) Nội dung", "Bracket d"),
                ("PHỤ LỤC I", "phu_luc.1 bare"),
                ("Phụ lục", "phu_luc. bare"),
                ("Điều 5 của Luật này", ""),
                ("Khoản 2 Điều 5", ""),
                ("Điểm a khoản 1", ""),
                ("Điều kiện", ""),
                ("Phần mềm", ""),
                ("Chương trình", ""),
                ("Mục tiêu 1", ""),
                ("f) không có", ""),
                ("Điều 1. Phạm vi\u{2026}\u{2026} 3", ""),
            ],
        );
    }
}
