//! Numbers as laws write them: `5`, `5a`, `3.2`, `IV`, `A`, `thứ nhất`, `One`.

use crate::legal::grammar::Language;

/// Articles with more digits are years or file numbers.
const DIGITS_MAX: usize = 4;

/// The number of a division.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Numeral {
    /// The number, when it is a plain one.
    pub(super) value: Option<u32>,
    /// How an address writes it: `5`, `5a`, `3.2`, `a`.
    pub(super) code: String,
}

impl Numeral {
    fn plain(value: u32) -> Self {
        Self { value: Some(value), code: value.to_string() }
    }

    /// Reads the number at the start of `text`, and gives what follows.
    pub(super) fn read(text: &str, language: Language) -> Option<(Self, &str)> {
        let whole = |(_, rest): &(Self, &str)| !rest.starts_with(char::is_alphanumeric);
        read_digits(text)
            .filter(whole)
            .or_else(|| read_capitals(text).filter(whole))
            .or_else(|| read_words(text, language).filter(whole))
    }
}

/// Reads `12` and gives what follows.
pub(super) fn read_number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=DIGITS_MAX).contains(&digits) {
        return None;
    }
    let (number, rest) = text.split_at(digits);
    Some((number.parse().ok()?, rest))
}

/// Reads the letter of `5a`, where it is one letter only, and gives what follows.
pub(super) fn read_suffix(text: &str) -> Option<(char, &str)> {
    let mut rest = text.chars();
    let letter = rest.next()?;
    let rest = rest.as_str();
    let is_letter = letter.is_ascii_alphabetic() || is_barred_d(letter);
    (is_letter && !rest.starts_with(char::is_alphanumeric)).then_some((letter, rest))
}

/// How an address writes a letter. Laws count `d` and `đ` as two, so they must not fold to one.
pub(super) fn letter_code(letter: char) -> String {
    if is_barred_d(letter) { String::from("dd") } else { letter.to_ascii_lowercase().to_string() }
}

/// `đ`, or Eth, which looks the same and is typed for it by old keyboards.
pub(super) fn is_barred_d(letter: char) -> bool {
    matches!(letter, 'đ' | 'Đ' | 'ð' | 'Ð')
}

fn read_digits(text: &str) -> Option<(Numeral, &str)> {
    let (number, mut rest) = read_number(text)?;
    let mut numeral = Numeral::plain(number);
    while let Some((part, after)) = rest.strip_prefix('.').and_then(read_number) {
        numeral = Numeral { value: None, code: format!("{}.{part}", numeral.code) };
        rest = after;
    }
    if let Some((letter, after)) = read_suffix(rest) {
        numeral = Numeral { value: None, code: numeral.code + &letter_code(letter) };
        rest = after;
    }
    Some((numeral, rest))
}

/// Roman numerals and single letters.
///
/// A single letter is Roman if it is I, V or X: nobody begins to count with the hundredth part, but
/// Part C is common. The rule looks at nothing but the letter, because the parts around it can change.
fn read_capitals(text: &str) -> Option<(Numeral, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_uppercase).count();
    let (letters, rest) = text.split_at(length);
    let numeral = match letters.as_bytes() {
        [] => return None,
        [letter] if !b"IVX".contains(letter) => {
            Numeral { value: None, code: letters.to_ascii_lowercase() }
        }
        _ => Numeral::plain(roman(letters)?),
    };
    Some((numeral, rest))
}

const ROMAN: [(u32, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// The value of a Roman numeral in its usual spelling, up to 3999.
pub(super) fn roman(letters: &str) -> Option<u32> {
    let mut value = 0;
    let mut rest = letters;
    for (amount, sign) in ROMAN {
        // Invariant: no sign stands more than three times, so the loop is short.
        let mut times = 0;
        while times < 3
            && let Some(after) = rest.strip_prefix(sign)
        {
            (value, rest, times) = (value + amount, after, times + 1);
        }
    }
    // Only the usual spelling reads back as itself: IIX and VV do not.
    (rest.is_empty() && value > 0 && to_roman(value) == letters).then_some(value)
}

fn to_roman(mut value: u32) -> String {
    let mut letters = String::new();
    for (amount, sign) in ROMAN {
        while value >= amount {
            letters.push_str(sign);
            value -= amount;
        }
    }
    letters
}

const ENGLISH: [&str; 20] = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];

/// One to nine, with the spellings that ordinals and compounds have.
const VIETNAMESE: [&[&str]; 9] = [
    &["nhất", "một"],
    &["hai", "nhì"],
    &["ba"],
    &["tư", "bốn"],
    &["năm", "lăm"],
    &["sáu"],
    &["bảy", "bẩy"],
    &["tám"],
    &["chín"],
];

fn read_words(text: &str, language: Language) -> Option<(Numeral, &str)> {
    let (value, rest) = match language {
        Language::English => {
            let (word, rest) = first_word(text);
            (position(&ENGLISH, |name| *name == word)?, rest)
        }
        Language::Vietnamese => {
            let (word, rest) = first_word(text);
            (word == "thứ").then_some(())?;
            let (word, rest) = first_word(rest.trim_start());
            if word == "mười" {
                let (unit, after) = first_word(rest.trim_start());
                match position(&VIETNAMESE, |names| names.contains(&unit.as_str())) {
                    Some(unit) => (10 + unit, after),
                    None => (10, rest),
                }
            } else {
                (position(&VIETNAMESE, |names| names.contains(&word.as_str()))?, rest)
            }
        }
    };
    Some((Numeral::plain(value), rest))
}

/// The first word in lower case, and what follows.
fn first_word(text: &str) -> (String, &str) {
    let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    (text[..end].to_lowercase(), &text[end..])
}

fn position<T>(names: &[T], is: impl Fn(&T) -> bool) -> Option<u32> {
    names.iter().zip(1..).find(|(name, _)| is(name)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str, language: Language) -> Option<String> {
        Numeral::read(text, language).map(|(numeral, rest)| format!("{}|{rest}", numeral.code))
    }

    #[test]
    fn numbers_are_read_as_values() {
        let cases = [
            ("5. Scope", Some("5|. Scope")),
            ("05", Some("5|")),
            ("5a.", Some("5a|.")),
            ("5A", Some("5a|")),
            ("3.2 Scope", Some("3.2| Scope")),
            ("IV", Some("4|")),
            ("XLIX:", Some("49|:")),
            ("I", Some("1|")),
            ("C", Some("c|")),
            ("One", Some("1|")),
            ("TWENTY", Some("20|")),
            ("IIX", None),
            ("VV", None),
            ("20240101", None),
            ("5th", None),
            ("of", None),
            ("Is", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(code(text, Language::English).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn vietnamese_ordinals_are_numbers() {
        let cases = [
            ("thứ nhất", Some("1|")),
            ("THỨ HAI", Some("2|")),
            ("thứ mười", Some("10|")),
            ("thứ mười lăm.", Some("15|.")),
            ("thứ mười Quy định", Some("10| Quy định")),
            ("5đ.", Some("5dd|.")),
            ("hai", None),
            ("thứ tự", None),
        ];
        for (text, expected) in cases {
            assert_eq!(code(text, Language::Vietnamese).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn every_roman_numeral_reads_back() {
        for value in 1..4000 {
            assert_eq!(roman(&to_roman(value)), Some(value));
        }
    }
}
