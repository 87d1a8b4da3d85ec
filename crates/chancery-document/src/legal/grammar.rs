//! The words of each language, as data.

use crate::unit::SectionType;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Vietnamese,
}

/// The divisions from the largest to the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Annex,
    Part,
    Chapter,
    Section,
    Subsection,
    Article,
    Clause,
    Point,
}

impl Rank {
    pub(super) const fn section_type(self) -> SectionType {
        match self {
            Self::Annex | Self::Part => SectionType::Part,
            Self::Chapter => SectionType::Chapter,
            Self::Section | Self::Subsection => SectionType::Section,
            Self::Article => SectionType::Article,
            Self::Clause => SectionType::Clause,
            Self::Point => SectionType::Point,
        }
    }
}

/// A word that opens a division.
#[derive(Debug)]
pub(super) struct Word {
    /// With a capital, or in capitals: a lower-case word at the start of a line is a reference.
    pub(super) spellings: &'static [&'static str],
    pub(super) rank: Rank,
    /// The word in an address.
    pub(super) code: &'static str,
}

const fn word(spellings: &'static [&'static str], rank: Rank, code: &'static str) -> Word {
    Word { spellings, rank, code }
}

const ENGLISH: &[Word] = &[
    word(&["Annex", "ANNEX"], Rank::Annex, "annex"),
    word(&["Schedule", "SCHEDULE"], Rank::Annex, "schedule"),
    word(&["Appendix", "APPENDIX"], Rank::Annex, "appendix"),
    word(&["Part", "PART"], Rank::Part, "part"),
    word(&["Chapter", "CHAPTER"], Rank::Chapter, "ch"),
    word(&["Section", "SECTION", "Sec.", "SEC."], Rank::Section, "sec"),
    word(&["Article", "ARTICLE", "Art.", "ART."], Rank::Article, "art"),
    word(&["Clause", "CLAUSE"], Rank::Clause, "cl"),
];

const VIETNAMESE: &[Word] = &[
    word(&["Phụ lục", "PHỤ LỤC", "Phụ Lục"], Rank::Annex, "phu_luc"),
    word(&["Phần", "PHẦN"], Rank::Part, "phan"),
    word(&["Chương", "CHƯƠNG"], Rank::Chapter, "chuong"),
    word(&["Tiểu mục", "TIỂU MỤC", "Tiểu Mục"], Rank::Subsection, "tieu_muc"),
    word(&["Mục", "MỤC"], Rank::Section, "muc"),
    // The second pair has Eth for Đ, as old keyboards type it.
    word(&["Điều", "ĐIỀU", "Ðiều", "ÐIỀU"], Rank::Article, "dieu"),
    word(&["Khoản", "KHOẢN"], Rank::Clause, "khoan"),
    word(&["Điểm", "ĐIỂM", "Ðiểm", "ÐIỂM"], Rank::Point, "diem"),
];

/// The letters that count points: Decree 30/2020/NĐ-CP counts by the Vietnamese alphabet.
const VIETNAMESE_POINTS: &str = "abcdđeghiklmnopqrstuvxy";
const ENGLISH_POINTS: &str = "abcdefghijklmnopqrstuvwxyz";

/// Words after which a sentence goes on with a division: `as laid down in` ⏎ `Article 5.`
const ENGLISH_LINKS: &[&str] =
    &["of", "in", "under", "to", "by", "with", "see", "and", "or", "from", "the", "this", "per"];
const VIETNAMESE_LINKS: &[&str] =
    &["của", "tại", "theo", "và", "hoặc", "với", "từ", "đến", "về", "do", "các", "những"];

/// Words after which a sentence goes on with a number or a letter: `as laid down in paragraph` ⏎ `(a)`.
///
/// Links are not among them, since `with the consent of` may well open a list.
const ENGLISH_NOUNS: &[&str] =
    &["section", "article", "paragraph", "subsection", "clause", "point", "part", "chapter"];
const VIETNAMESE_NOUNS: &[&str] = &["điều", "khoản", "điểm", "mục", "chương", "phần"];

impl Language {
    pub(super) const fn words(self) -> &'static [Word] {
        match self {
            Self::English => ENGLISH,
            Self::Vietnamese => VIETNAMESE,
        }
    }

    /// How an address writes a clause.
    pub(super) const fn clause_code(self) -> &'static str {
        match self {
            Self::English => "cl",
            Self::Vietnamese => "khoan",
        }
    }

    /// How an address writes a point.
    pub(super) const fn point_code(self) -> &'static str {
        match self {
            Self::English => "pt",
            Self::Vietnamese => "diem",
        }
    }

    pub(super) const fn point_letters(self) -> &'static str {
        match self {
            Self::English => ENGLISH_POINTS,
            Self::Vietnamese => VIETNAMESE_POINTS,
        }
    }

    pub(super) const fn links(self) -> &'static [&'static str] {
        match self {
            Self::English => ENGLISH_LINKS,
            Self::Vietnamese => VIETNAMESE_LINKS,
        }
    }

    pub(super) const fn nouns(self) -> &'static [&'static str] {
        match self {
            Self::English => ENGLISH_NOUNS,
            Self::Vietnamese => VIETNAMESE_NOUNS,
        }
    }

    /// Whether a division of this rank can be divided into clauses.
    pub(super) const fn has_clauses(self, rank: Rank) -> bool {
        match self {
            Self::English => matches!(rank, Rank::Article | Rank::Section),
            Self::Vietnamese => matches!(rank, Rank::Article),
        }
    }
}
