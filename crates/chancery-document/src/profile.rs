//! How a document is divided, and how to tell from its text.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::legal::{self, Language, Rank};
use crate::markdown;

/// So many numbered articles make a law; a single one may be a quotation.
const ARTICLES_OF_A_LAW: usize = 2;

/// The rules by which a document is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Profile {
    /// Headings of CommonMark.
    #[serde(rename = "markdown")]
    Markdown,
    /// Part, Chapter, Article, Section, Clause.
    #[serde(rename = "legal-en")]
    LegalEn,
    /// Phần, Chương, Mục, Điều, Khoản, Điểm.
    #[serde(rename = "legal-vi")]
    LegalVi,
}

impl Profile {
    /// Every profile there is.
    pub const ALL: &[Self] = &[Self::Markdown, Self::LegalEn, Self::LegalVi];

    /// The name, as commands and files spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::LegalEn => "legal-en",
            Self::LegalVi => "legal-vi",
        }
    }

    /// The profile that fits a text, if one does.
    ///
    /// A law is often dressed as Markdown (`## Điều 5`). So a text is law as soon as it has two
    /// articles and no more headings of other kinds than articles; otherwise it is Markdown if it
    /// has a heading at all. English sections count as articles, because many acts have no others.
    ///
    /// Detection looks at the whole text, so an edit can change its answer, and with it every
    /// address. Keep the profile with the document once it is chosen.
    pub fn detect(text: &str) -> Option<Self> {
        let headings = markdown::headings(text);
        let english = Evidence::of(text, Language::English, &headings);
        let vietnamese = Evidence::of(text, Language::Vietnamese, &headings);
        // Deliberately: on a tie the text is Vietnamese. Its words are the rarer accident.
        let (profile, law) = if vietnamese.articles >= english.articles {
            (Self::LegalVi, vietnamese)
        } else {
            (Self::LegalEn, english)
        };
        if law.articles >= ARTICLES_OF_A_LAW && law.articles >= law.other_headings {
            Some(profile)
        } else if headings.is_empty() {
            None
        } else {
            Some(Self::Markdown)
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Profile {
    type Err = ParseProfileError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|profile| profile.as_str() == name)
            .ok_or_else(|| ParseProfileError { name: name.to_owned() })
    }
}

/// A name that no profile has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no profile; there are markdown, legal-en and legal-vi")]
pub struct ParseProfileError {
    /// The name that was given.
    pub name: String,
}

struct Evidence {
    articles: usize,
    /// Headings of Markdown that are no divisions of a law.
    other_headings: usize,
}

impl Evidence {
    fn of(text: &str, language: Language, headings: &[markdown::Heading]) -> Self {
        let divisions = legal::divisions(text, language);
        let counts = |rank| match language {
            Language::English => matches!(rank, Rank::Article | Rank::Section),
            Language::Vietnamese => rank == Rank::Article,
        };
        let starts: HashSet<usize> = divisions.iter().map(|&(start, _)| start).collect();
        Self {
            articles: divisions.iter().filter(|&&(_, rank)| counts(rank)).count(),
            other_headings: headings.iter().filter(|at| !starts.contains(&at.start)).count(),
        }
    }
}
