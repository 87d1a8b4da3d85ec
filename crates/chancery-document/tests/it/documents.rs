//! Random documents that are known to divide, and how.
//!
//! A document is rolled from a list of numbers, one for each section: numbers shrink well, and a
//! document stays well-formed while the list shrinks. The dice know which address each section must
//! get, by rules that are written a second time here.

use chancery_document::Profile;

/// One number, rolled again and again.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(number: u64) -> Self {
        // Small numbers, to which lists shrink, still roll a section.
        Self(number)
    }

    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        let rolled = self.0 % sides as u64;
        self.0 /= sides as u64;
        rolled as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.roll(among.len())]
    }
}

/// Where a section stands and what it says.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// 1 at the top.
    pub(crate) depth: usize,
    /// The kind in legal text; 0 in Markdown.
    pub(crate) kind: usize,
    /// The address without the prefix.
    pub(crate) path: String,
    pub(crate) heading: String,
    pub(crate) body: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) profile: Profile,
    /// How lines end.
    pub(crate) end: &'static str,
    /// What stands before the first heading.
    pub(crate) lead: &'static str,
    pub(crate) sections: Vec<Section>,
}

impl Document {
    pub(crate) fn text(&self) -> String {
        let sections = self.sections.iter().map(|s| format!("{}\n{}\n", s.heading, s.body));
        let text: String = std::iter::once(self.lead.to_owned()).chain(sections).collect();
        text.replace('\n', self.end)
    }

    /// The addresses of the sections, in order.
    pub(crate) fn addresses(&self, prefix: &str) -> Vec<String> {
        self.sections.iter().map(|section| format!("{prefix}/{}", section.path)).collect()
    }

    /// A section and what it contains.
    pub(crate) fn subtree(&self, at: usize) -> std::ops::Range<usize> {
        let depth = self.sections[at].depth;
        let after = self.sections[at + 1..].iter().take_while(|s| s.depth > depth).count();
        at..at + 1 + after
    }

    pub(crate) fn roll(profile: Profile, numbers: &[u64]) -> Self {
        let mut dice = Dice::new(numbers[0]);
        let end = dice.pick(&["\n", "\n", "\r\n", "\r"]);
        let lead = dice.pick(LEADS);
        let sections = match profile {
            Profile::Markdown => markdown(&numbers[1..]),
            Profile::LegalEn if dice.roll(3) == 0 => legal(&BYLAWS, &numbers[1..]),
            Profile::LegalEn => legal(&TREATY, &numbers[1..]),
            Profile::LegalVi => legal(&DECREE, &numbers[1..]),
        };
        Self { profile, end, lead, sections }
    }
}

const LEADS: &[&str] = &[
    "",
    "",
    "\u{feff}",
    "\n \n",
    "\u{feff}Lead.\n\n",
    "---\ntitle: x\n# no\n---\n\n",
    "\u{2028}\n",
];

/// Lines that nobody expects in a document, and that divide none.
pub(crate) const ODD: &[&str] = &[
    "Plain words.",
    "cafe\u{301} o\u{328}\u{304} \u{1e69} s\u{323}\u{307} \u{308}alone",
    "مرحبا \u{202e}abc\u{202c} שלום",
    "👩\u{200d}👩\u{200d}👧\u{200d}👦 🇻🇳 👍🏽 \u{fe0f}",
    "zero\u{200b}width\u{2060}joiners\u{feff}inside",
    "\u{a0}no\u{a0}break\u{2003}em\u{3000}wide",
    "\u{b}vertical\u{c}form\u{85}next\u{2028}line\u{2029}paragraph",
    "Ngh\u{1ecb} \u{111}\u{1ecb}nh; Nghi\u{323} \u{111}i\u{323}nh",
    "漢字かな混じり文 한국어",
    "\u{e000}private \u{10ffff}last \u{fffd}",
    "\u{7f}\u{1}\u{1b}[31m control",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ﬁ ½ Ⅳ ①",
    "a\ttab  and two spaces  ",
    "\\# escaped \\[brackets\\] &amp; &#35; <b>bold</b> [link](#x) ![image](y)",
];

/// Blocks of Markdown whose headings, if any, are not at the top level.
const BLOCKS: &[&str] = &[
    "- one\n  - two\n    - three\n      # four\n\n      five\n- six\n",
    "```\n# code\n===\n```\n",
    "~~~~ text\n```\n## code\n~~~~\n",
    "    # indented code\n",
    "| a | b |\n|---|:-:|\n| # x | `y` |\n",
    "> # quoted\n>\n> > ## twice\n> lazy\n",
    "<div>\n# html\n</div>\n",
    "<!-- \n# comment\n-->\n",
    "[ref]: <http://example.org> \"title\"\n",
    "* * *\n",
    "[^note]: A footnote\n    # inside\n",
    "- [ ] task\n- [x] done\n",
    "#hashtag\n\n####### seven\n",
    "##\n",
    "text\n\n| broken | table\n",
];

fn odd_body(dice: &mut Dice, blocks: &[&str]) -> String {
    let mut body = String::new();
    for _ in 0..dice.roll(4) {
        if dice.roll(2) == 0 {
            body.push_str(dice.pick(ODD));
            body.push_str("\n\n");
        } else {
            body.push_str(dice.pick(blocks));
            body.push('\n');
        }
    }
    body
}

/// The text of a heading and what an address makes of it, both followed by a number.
const HEADINGS: &[(&str, &str)] = &[
    ("Scope", "scope"),
    ("*Who* holds a `key`", "who_holds_a_key"),
    ("Phạm vi điều chỉnh", "pham_vi_dieu_chinh"),
    ("Pha\u{323}m vi \u{111}ie\u{302}\u{300}u chi\u{309}nh", "pham_vi_dieu_chinh"),
    ("See [ref] and [that][ref]", "see_ref_and_that"),
    ("A & B &amp; C", "a_b_c"),
    ("Noted[^note]", "noted"),
    ("<b>Bold</b> **strong** ~~gone~~", "bold_strong_gone"),
    ("Don't – “do”", "dont_do"),
];

fn markdown(numbers: &[u64]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut open: Vec<(usize, String)> = Vec::new();
    for (n, &number) in numbers.iter().enumerate() {
        let mut dice = Dice::new(number);
        let hashes = 1 + dice.roll(6);
        open.retain(|(depth, _)| *depth < hashes);
        let (text, slug) = dice.pick(HEADINGS);
        let segment = format!("{slug}_{n}");
        let path = match open.last() {
            Some((_, above)) => format!("{above}-{segment}"),
            None => segment,
        };
        open.push((hashes, path.clone()));
        let heading = match (dice.roll(4), hashes) {
            (0, 1) => format!("{text} {n}\n==="),
            (0, 2) => format!(" {text}\n{n}\n ---"),
            (1, _) => format!(" {}\t{text} {n} {}", "#".repeat(hashes), "#".repeat(hashes)),
            (_, _) => format!("{} {text} {n}", "#".repeat(hashes)),
        };
        let body = odd_body(&mut dice, BLOCKS);
        sections.push(Section { depth: open.len(), kind: 0, path, heading, body });
    }
    sections
}

/// A kind of division: the words before the number, the word in an address.
struct Kind {
    words: &'static [&'static str],
    code: &'static str,
    count: Count,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    /// Counted anew in what contains it.
    Within,
    /// Counted through the document and addressed by number alone.
    Through,
    Clauses,
    Points,
}

struct Law {
    kinds: &'static [Kind],
    letters: &'static str,
    blocks: &'static [&'static str],
}

const fn kind(words: &'static [&'static str], code: &'static str, count: Count) -> Kind {
    Kind { words, code, count }
}

const TREATY: Law = Law {
    kinds: &[
        kind(&["PART ", "# Part "], "part", Count::Within),
        kind(&["Chapter ", "  CHAPTER\u{a0}"], "ch", Count::Within),
        kind(&["Section ", "SEC. "], "sec", Count::Within),
        kind(&["Article ", "**ARTICLE ", "### Art. ", "Art."], "art", Count::Through),
        kind(&["("], "cl", Count::Clauses),
        kind(&["("], "pt", Count::Points),
    ],
    letters: "abcdefghijklmnopqrstuvwxyz",
    blocks: &[
        "(i) one,\n(ii) two;\n",
        "as laid down in\nArticle 1.\n",
        "“Article 1. Quoted\n(1) text\n(2) text”\n",
        "| Article 1. | table |\n",
        "> Article 1. Quoted\n",
        "Article 1 of this Act\n",
        "- (a) item\n",
        "Article 1. Contents ....... 7\n",
    ],
};

const BYLAWS: Law = Law {
    kinds: &[
        kind(&["ARTICLE ", "## Article "], "art", Count::Through),
        kind(&["Section ", "Sec. "], "sec", Count::Within),
        kind(&["(", "   ("], "cl", Count::Clauses),
        kind(&["(", "\t("], "pt", Count::Points),
    ],
    ..TREATY
};

const DECREE: Law = Law {
    kinds: &[
        kind(&["Phần ", "PHẦN "], "phan", Count::Within),
        kind(&["Chương ", "CHU\u{31b}O\u{31b}NG "], "chuong", Count::Within),
        kind(&["Mục ", "Mu\u{323}c "], "muc", Count::Within),
        kind(&["Điều ", "## Đie\u{302}\u{300}u ", "\u{d0}iều ", "**Điều "], "dieu", Count::Through),
        kind(&["(", " ("], "khoan", Count::Clauses),
        kind(&["("], "diem", Count::Points),
    ],
    letters: "abcdđeghiklmnopqrstuvxy",
    blocks: &[
        "theo quy định tại\nĐiều 1.\n",
        "“Điều 1. Trích\n1. một\n2. hai”\n",
        "\"Điều 1. Trích\n(1) một\"\n",
        "Điều 1 của Luật này\n",
        "Khoản 1 Điều 1\n",
        "- a) mục\n",
        "Điều kiện chung\n",
    ],
};

fn legal(law: &Law, numbers: &[u64]) -> Vec<Section> {
    let article =
        law.kinds.iter().position(|k| k.count == Count::Through).expect("a law has articles");
    let mut sections: Vec<Section> = Vec::new();
    // The kind and path of what is open, and how many divisions of each kind it has had.
    let mut open: Vec<(usize, String, Vec<usize>)> = Vec::new();
    let mut top = vec![0; law.kinds.len()];
    let mut articles = 0;
    for &number in numbers {
        let mut dice = Dice::new(number);
        let mut kind = dice.roll(law.kinds.len());
        let innermost = open.last().map(|(kind, _, _)| *kind);
        // A clause needs an article or one of its sections, a point a clause.
        while innermost.is_none_or(|open| open + 1 < kind) && kind > article {
            kind -= 1;
        }
        open.retain(|(open, _, _)| *open < kind);
        let counts = open.last_mut().map_or(&mut top, |(_, _, counts)| counts);
        // Within one chapter, sections come first or not at all.
        if kind < article && kind > 0 && counts[article] > 0 {
            kind = article;
        }
        counts[kind] += 1;
        let mut count = counts[kind];
        let Kind { words, code, count: counted } = &law.kinds[kind];
        if *counted == Count::Points && count > law.letters.chars().count() {
            continue;
        }
        if *counted == Count::Through {
            articles += 1;
            count = articles;
        }
        let letter = law.letters.chars().nth(count - 1).unwrap_or('a');
        let number = if *counted == Count::Points { letter.to_string() } else { count.to_string() };
        let segment = format!("{code}.{}", number.replace('đ', "dd"));
        let above = open.last().filter(|_| *counted != Count::Through);
        let path = match above {
            Some((_, above, _)) => format!("{above}-{segment}"),
            None => segment,
        };
        let word = dice.pick(words);
        let heading = match counted {
            Count::Clauses | Count::Points => format!("{word}{number}) Text,"),
            _ if word.contains("**") => format!("{word}{number}.** Title"),
            _ => format!("{word}{number}{}", dice.pick(&["", ". Title", " Title", "\nTITLE"])),
        };
        open.push((kind, path.clone(), vec![0; law.kinds.len()]));
        let body = odd_body(&mut dice, law.blocks);
        sections.push(Section { depth: open.len(), kind, path, heading, body });
    }
    sections
}
