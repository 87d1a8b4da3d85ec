//! Lines as CommonMark counts them: they end with LF, CRLF or a lone CR.

/// A line without its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'t> {
    /// The offset of its first byte.
    pub(crate) start: usize,
    pub(crate) text: &'t str,
}

impl Line<'_> {
    pub(crate) fn is_blank(&self) -> bool {
        self.text.chars().all(is_blank)
    }
}

/// White space, or the byte order mark, which shows as nothing either.
pub(crate) fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// The lines of a text, the last one also when nothing ends it.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        if next >= text.len() {
            return None;
        }
        let start = next;
        let rest = &text[start..];
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        next = start + length + end_length(&rest.as_bytes()[length..]);
        Some(Line { start, text: &rest[..length] })
    })
}

/// The number of the line that holds the byte at `offset`, counted from one.
pub(crate) fn number(bytes: &[u8], offset: usize) -> usize {
    let before = &bytes[..offset];
    let ends = before.iter().enumerate().filter(|&(at, byte)| match byte {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    1 + ends.count()
}

fn end_length(rest: &[u8]) -> usize {
    match rest {
        [b'\r', b'\n', ..] => 2,
        [_, ..] => 1,
        [] => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_end_counts_once() {
        let text = "a\nb\r\nc\rd\n\re";
        let found: Vec<_> = lines(text).map(|line| (line.start, line.text)).collect();
        assert_eq!(found, [(0, "a"), (2, "b"), (5, "c"), (7, "d"), (9, ""), (10, "e")]);
        for (n, (start, _)) in found.iter().enumerate() {
            assert_eq!(number(text.as_bytes(), *start), n + 1);
        }
    }
}
