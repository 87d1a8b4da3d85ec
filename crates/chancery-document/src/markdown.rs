//! Markdown, cut at its headings.
//!
//! Only a heading at the top level divides a document: one in a quotation, a list or code is part
//! of what is quoted, listed or shown. A heading without text does not divide either; nothing in it
//! could become an address.
//!
//! An address is the path of headings from the top, each as [`slug::segment`]. It depends on the
//! heading and on those above it, never on an ordinal: a section that is inserted, edited or removed
//! elsewhere changes no address. The price is that two headings with the same text below the same
//! heading collide. That is refused, since a suffix `_2` would move to another section as soon as
//! the first is removed. An author keeps both by giving one an id: `## Examples {#api_examples}`.

use std::borrow::Cow;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::line::{self, lines};
use crate::mark::{Mark, PREAMBLE, tidy_title};
use crate::slug;
use crate::unit::SectionType;

/// What a heading "Preamble" at the top is called, so that it never meets the preamble itself.
/// No slug has a full stop.
const PREAMBLE_HEADING: &str = "preamble.heading";

/// A heading at the top level.
#[derive(Debug)]
pub(crate) struct Heading {
    /// The first byte of its line.
    pub(crate) start: usize,
    depth: u8,
    text: String,
    /// Text since the last code span; references to footnotes are still in it.
    prose: String,
}

/// The marks of a document.
pub(crate) fn marks(text: &str) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    // The headings that contain the next one: their depth and mark.
    let mut open: Vec<(u8, usize)> = Vec::new();
    for heading in headings(text) {
        while open.pop_if(|(depth, _)| *depth >= heading.depth).is_some() {}
        let parent = open.last().map(|&(_, mark)| mark);
        let (title, id) = split_id(&heading.text);
        let segment = slug::segment(id.unwrap_or(title));
        let path = match parent {
            Some(parent) => format!("{}-{segment}", marks[parent].path),
            None if segment == PREAMBLE => PREAMBLE_HEADING.to_owned(),
            None => segment,
        };
        open.push((heading.depth, marks.len()));
        let section_type = SectionType::Heading;
        let title = tidy_title(title);
        marks.push(Mark { start: heading.start, parent, section_type, path, title });
    }
    marks
}

/// The headings at the top level that have a text.
pub(crate) fn headings(text: &str) -> Vec<Heading> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS;
    let text = &*with_line_feeds(text);
    let body = front_matter_end(text);
    // Every reference counts as defined. Otherwise the text of the heading `# [Scope][1]`, and with
    // it an address, would depend on a definition elsewhere.
    let mut defined = |_: BrokenLink<'_>| Some((CowStr::Borrowed(""), CowStr::Borrowed("")));
    let parser = Parser::new_with_broken_link_callback(&text[body..], options, Some(&mut defined));

    let mut found = Vec::new();
    let mut nesting = 0_usize;
    let mut current: Option<Heading> = None;
    let mut bracketed = false;
    for (event, range) in parser.into_offset_iter() {
        match &event {
            Event::Start(tag) => {
                if let (Tag::Heading { level, .. }, 0) = (tag, nesting) {
                    let start = line_start(text, body + range.start);
                    current = Some(Heading::new(start, *level as u8));
                }
                nesting += 1;
            }
            Event::End(end) => {
                nesting -= 1;
                if let TagEnd::Heading(_) = end {
                    found.extend(current.take().and_then(Heading::with_text));
                }
            }
            _ => {}
        }
        let Some(heading) = &mut current else { continue };
        match event {
            Event::Text(part) => heading.prose.push_str(&part),
            Event::Code(part) => {
                heading.flush();
                heading.text.push_str(&part);
            }
            Event::SoftBreak | Event::HardBreak => heading.prose.push(' '),
            // Brackets that are no link are read as they stand; a slug does not see them.
            Event::Start(Tag::Link { link_type: LinkType::ShortcutUnknown, .. }) => {
                heading.prose.push('[');
                bracketed = true;
            }
            Event::End(TagEnd::Link) if bracketed => {
                heading.prose.push(']');
                bracketed = false;
            }
            _ => {}
        }
    }
    found
}

impl Heading {
    fn new(start: usize, depth: u8) -> Self {
        Self { start, depth, text: String::new(), prose: String::new() }
    }

    fn flush(&mut self) {
        self.text.push_str(&without_footnotes(&self.prose));
        self.prose.clear();
    }

    fn with_text(mut self) -> Option<Self> {
        self.flush();
        let (title, _) = split_id(&self.text);
        title.chars().any(|c| !line::is_blank(c)).then_some(self)
    }
}

/// The text without references to footnotes, which are read as text where the note is missing.
fn without_footnotes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("[^") {
        let Some(end) = rest[at..].find(']') else { break };
        kept.push_str(&rest[..at]);
        rest = &rest[at + end + 1..];
    }
    kept + rest
}

/// The text of a heading and the id after it: `Examples {#api_examples}`.
fn split_id(text: &str) -> (&str, Option<&str>) {
    let parts = text.trim_end().strip_suffix('}').and_then(|rest| rest.rsplit_once("{#"));
    match parts {
        Some((title, id))
            if id.chars().all(|c| c.is_alphanumeric() || "-_.:".contains(c))
                && id.contains(char::is_alphanumeric) =>
        {
            (title.trim_end(), Some(id))
        }
        _ => (text, None),
    }
}

/// The text with every lone CR replaced by LF, byte for byte, so that offsets stay.
///
/// Both end a line in CommonMark, but the parser looks for the end of an HTML block by LF alone.
fn with_line_feeds(text: &str) -> Cow<'_, str> {
    let is_lone = |at: usize| text.as_bytes().get(at + 1) != Some(&b'\n');
    let mut returns =
        text.match_indices('\r').map(|(at, _)| at).filter(|&at| is_lone(at)).peekable();
    if returns.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut fed = String::with_capacity(text.len());
    for at in returns {
        fed.push_str(&text[fed.len()..at]);
        fed.push('\n');
    }
    fed.push_str(&text[fed.len()..]);
    Cow::Owned(fed)
}

/// Where the line begins that has nothing but indentation before `at`.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].trim_end_matches([' ', '\t']).len()
}

/// Where Markdown begins: after a byte order mark and a block of metadata.
///
/// CommonMark knows no such block and would read its last line as the underline of a heading.
fn front_matter_end(text: &str) -> usize {
    let body = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut rest = lines(&text[body..]).peekable();
    let Some(fence) = rest.next().map(|line| line.text.trim_end()) else { return body };
    let closes: &[&str] = match fence {
        "---" => &["---", "..."],
        "+++" => &["+++"],
        _ => return body,
    };
    // A blank line makes it a thematic break.
    if rest.peek().is_none_or(line::Line::is_blank) {
        return body;
    }
    while let Some(line) = rest.next() {
        if closes.contains(&line.text.trim_end()) {
            return rest.peek().map_or(text.len(), |next| body + next.start);
        }
    }
    body
}
