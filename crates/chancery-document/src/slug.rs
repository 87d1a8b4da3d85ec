//! A heading's text as one segment of an address.
//!
//! A segment comes from the heading's own text and nothing else, so that no edit elsewhere can
//! change it. It consists of `a-z`, `0-9` and `_`; the hyphen is left to the address, which
//! separates levels by it, and the full stop to legal numbers and to names that no heading can have.
//!
//! Diacritics are folded, because addresses are typed and spoken. What ASCII cannot say at all
//! (another script, an emoji) and what is cut for length is replaced by a digest of the text, so
//! that two such headings stay apart.

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

const SEGMENT_MAX: usize = 48;

/// 48 bits: ten thousand headings in another script meet by accident once in five million documents.
const DIGEST_BYTES: usize = 6;

/// The segment for a heading with this text.
pub(crate) fn segment(title: &str) -> String {
    let mut slug = Slug::default();
    // Compatibility forms are decomposed as well: full-width digits and ligatures have plain spellings.
    title.nfkd().for_each(|c| slug.push(c));
    let Slug { mut text, lossy, .. } = slug;
    if !lossy && !text.is_empty() && text.len() <= SEGMENT_MAX {
        return text;
    }
    if text.is_empty() {
        text.push('h');
    }
    let digest = digest(title);
    text.truncate(SEGMENT_MAX - digest.len() - 1);
    format!("{}_{digest}", text.trim_end_matches('_'))
}

#[derive(Default)]
struct Slug {
    text: String,
    /// A gap between words, written before the next one.
    gap: bool,
    /// Something that tells headings apart was left out.
    lossy: bool,
}

impl Slug {
    fn push(&mut self, c: char) {
        if is_combining_mark(c) || matches!(c, '\'' | '’') {
            return;
        }
        if let Some(letters) = plain(c) {
            self.push_str(letters);
        } else if c.is_ascii_alphanumeric() {
            self.push_str(c.to_ascii_lowercase().encode_utf8(&mut [0; 4]));
        } else {
            self.gap = true;
            self.lossy |= !is_punctuation(c);
        }
    }

    fn push_str(&mut self, letters: &str) {
        if self.gap && !self.text.is_empty() {
            self.text.push('_');
        }
        self.gap = false;
        self.text.push_str(letters);
    }
}

/// Latin letters that no decomposition makes plain.
fn plain(c: char) -> Option<&'static str> {
    Some(match c {
        // The second pair is Eth, which old Vietnamese keyboards type for the first.
        'đ' | 'Đ' | 'ð' | 'Ð' => "d",
        'ø' | 'Ø' => "o",
        'ł' | 'Ł' => "l",
        'ħ' | 'Ħ' => "h",
        'ı' => "i",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ß' | 'ẞ' => "ss",
        'þ' | 'Þ' => "th",
        _ => return None,
    })
}

/// What separates words and tells nothing: ASCII signs, spaces, and the blocks of punctuation.
fn is_punctuation(c: char) -> bool {
    c.is_ascii()
        || c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{80}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{feff}')
}

fn digest(title: &str) -> String {
    // Composed and in lower case, so that two spellings that look the same have one address.
    let text: String = title.nfc().flat_map(char::to_lowercase).collect();
    hex::encode(&Sha256::digest(text.as_bytes())[..DIGEST_BYTES])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_folded_to_plain_words() {
        let cases = [
            ("Scope", "scope"),
            ("  What's  new? — 2024/25 ", "whats_new_2024_25"),
            ("Điều khoản chung", "dieu_khoan_chung"),
            ("Straße & Øre", "strasse_ore"),
            ("ｆｕｌｌ　１２", "full_12"),
            ("a-b_c.d", "a_b_c_d"),
        ];
        for (title, expected) in cases {
            assert_eq!(segment(title), expected, "{title}");
            let decomposed: String = title.nfd().collect();
            assert_eq!(segment(&decomposed), expected, "{title}, decomposed");
        }
    }

    #[test]
    fn what_ascii_cannot_say_is_told_apart_by_a_digest() {
        let titles =
            ["第一章", "第二章", "🚀", "🎉", "Launch 🚀", "Launch 🎉", "Launch", "!!!", "***"];
        let segments: std::collections::HashSet<_> = titles.iter().map(|t| segment(t)).collect();
        assert_eq!(segments.len(), titles.len());
        assert!(segment("Launch 🚀").starts_with("launch_"));
        assert_eq!(segment("É").len(), 1);
    }

    #[test]
    fn a_long_heading_keeps_its_beginning_and_stays_apart() {
        let one = segment(&format!("{} one", "many words ".repeat(9)));
        let two = segment(&format!("{} two", "many words ".repeat(9)));
        assert!(one.len() <= SEGMENT_MAX && one.starts_with("many_words_many_words"), "{one}");
        assert_ne!(one, two);
    }
}
