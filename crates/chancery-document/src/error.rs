//! What is wrong with a document, and where.

use crate::line;
use crate::profile::Profile;

/// A document that was not cut: what is wrong, at which byte and in which line (counted from one).
///
/// Nothing is ever cut halfway: an error means that there are no units.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CutError {
    /// The bytes are not UTF-8 from `offset` on.
    #[error("not UTF-8 text: a wrong byte at offset {offset}, line {line}")]
    InvalidUtf8 { offset: usize, line: usize },

    /// U+0000 is a character, but PostgreSQL cannot hold it in a text.
    #[error("a NUL character at offset {offset}, line {line}")]
    NulCharacter { offset: usize, line: usize },

    /// There is nothing but white space.
    #[error("the document is empty")]
    Empty,

    /// The profile found no place to cut; without a profile, none could be detected.
    #[error("no structure found{}", tried(*profile))]
    NoStructure { profile: Option<Profile> },

    /// The prefix does not follow `[A-Z][A-Z0-9-]{1,31}`.
    #[error("the prefix {prefix:?} is not a capital followed by 1 to 31 of A-Z, 0-9 and -")]
    BadPrefix { prefix: String },

    /// Two units have the same address. Which of them keeps it is not ours to guess.
    #[error(
        "two units have the address {address}: line {first_line} (offset {first_offset}) and line \
         {second_line} (offset {second_offset})"
    )]
    AddressCollision {
        address: String,
        first_line: usize,
        first_offset: usize,
        second_line: usize,
        second_offset: usize,
    },
}

impl CutError {
    /// The stable name of the problem. Names are never reused.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidUtf8 { .. } => "invalid_utf8",
            Self::NulCharacter { .. } => "nul_character",
            Self::Empty => "empty",
            Self::NoStructure { .. } => "no_structure",
            Self::BadPrefix { .. } => "bad_prefix",
            Self::AddressCollision { .. } => "address_collision",
        }
    }

    /// What the author of the document can do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::InvalidUtf8 { .. } => "Save the document as UTF-8.",
            Self::NulCharacter { .. } => "Remove the NUL character; it is no text.",
            Self::Empty => "Is it the right file?",
            Self::NoStructure { profile: None } => {
                "Name a profile, or give the document headings (Markdown) or numbered articles, each \
                 at the start of a line."
            }
            Self::NoStructure { profile: Some(Profile::Markdown) } => {
                "Only headings outside of lists, quotations and code divide a document."
            }
            Self::NoStructure { profile: Some(Profile::LegalEn) } => {
                "Lines such as `Article 5. Scope` or `Section 3` divide a document."
            }
            Self::NoStructure { profile: Some(Profile::LegalVi) } => {
                "Lines such as `Điều 5. Phạm vi` or `Chương II` divide a document."
            }
            Self::BadPrefix { .. } => "A prefix looks like ACT-2024.",
            Self::AddressCollision { .. } => {
                "Rename one, or end a Markdown heading with an id of its own: `## Examples {#api_examples}`. \
                 Articles are addressed by number alone: a text that counts them anew is a document \
                 of its own, or an annex."
            }
        }
    }
}

/// The bytes of a document as text.
pub fn source_text(bytes: &[u8]) -> Result<&str, CutError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        CutError::InvalidUtf8 { offset, line: line::number(bytes, offset) }
    })?;
    refuse_nul(text)?;
    Ok(text)
}

pub(crate) fn refuse_nul(text: &str) -> Result<(), CutError> {
    match text.find('\0') {
        None => Ok(()),
        Some(offset) => {
            Err(CutError::NulCharacter { offset, line: line::number(text.as_bytes(), offset) })
        }
    }
}

fn tried(profile: Option<Profile>) -> String {
    match profile {
        Some(profile) => format!(" by the profile {profile}"),
        None => String::from(", and no profile fits"),
    }
}
