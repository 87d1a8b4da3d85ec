//! What a cut yields.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::profile::Profile;

/// A document cut into units, which together are the document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// The profile that was named or detected.
    pub profile: Profile,
    /// In document order. Each begins where the one before it ends.
    pub units: Vec<Unit>,
}

/// A piece of a document with an address of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unit {
    /// `u0001`, `u0002`, … in document order; wide enough that text order is document order.
    ///
    /// It names the unit within this cut only. What lasts is the address.
    pub local_id: String,
    /// `PREFIX/art.5-cl.2-pt.a`, `PREFIX/introduction-scope`.
    pub address: String,
    /// The index of the unit that contains it.
    pub parent: Option<usize>,
    /// The depth: 1 at the top, one more than the parent's below.
    pub level: u8,
    /// The kind of division.
    pub section_type: SectionType,
    /// The text of the heading without its markup; never empty.
    pub title: String,
    /// The bytes of the unit in the source, without those of the units that it contains.
    pub range: Range<usize>,
}

impl Unit {
    /// The unit's own text.
    ///
    /// # Panics
    ///
    /// If `source` is not the text that was cut.
    pub fn text<'a>(&self, source: &'a str) -> &'a str {
        &source[self.range.clone()]
    }
}

/// The kinds of divisions, as the vocabulary `section_type` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionType {
    /// What stands before the first division.
    Preamble,
    /// Part, Phần; also what follows a text and counts anew: annex, schedule, appendix, Phụ lục.
    Part,
    /// Chapter, Chương.
    Chapter,
    /// Section, Mục, Tiểu mục.
    Section,
    /// Article, Điều.
    Article,
    /// Clause, Khoản.
    Clause,
    /// Point, Điểm.
    Point,
    /// A heading in Markdown.
    Heading,
}

impl SectionType {
    /// Every kind there is.
    pub const ALL: &[Self] = &[
        Self::Preamble,
        Self::Part,
        Self::Chapter,
        Self::Section,
        Self::Article,
        Self::Clause,
        Self::Point,
        Self::Heading,
    ];

    /// The word of the vocabulary.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preamble => "preamble",
            Self::Part => "part",
            Self::Chapter => "chapter",
            Self::Section => "section",
            Self::Article => "article",
            Self::Clause => "clause",
            Self::Point => "point",
            Self::Heading => "heading",
        }
    }
}

impl fmt::Display for SectionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
