//! Rules: the part of SQL/JSON path that refuses whatever it cannot answer.
//!
//! PostgreSQL asks every rule strictly, so that a missing member makes the answer unknown, and unknown refuses. That holds of this part
//! alone: inside filters and `exists` an error is silently dropped, wildcards go on without what is missing, and `is unknown` turns an
//! unanswered question into a yes (docs/decisions/0030-unknown-refuses.md). The database refuses the same and has the last word.

use std::fmt;

/// A rule that can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// Every place that the rule reads, in the order in which it names them.
    pub paths: Vec<Path>,
}

/// A place in the document: `$.run.data.items[0]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<Step>);

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Member(String),
    Element(String),
}

/// Why a text is no rule that could be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is no SQL/JSON path, or one that gives no truth value.
    Malformed(String),
    /// It could hold although it cannot be answered, or fail whenever it is asked. What it uses, and what to write instead.
    Open { uses: String, instead: &'static str },
}

/// How deep brackets may be: far more than anybody reads.
const DEPTH: usize = 64;

/// Reads a rule.
///
/// # Errors
/// The first fault, from the left.
pub fn parse(text: &str) -> Result<Parsed, Fault> {
    let mut reader = Reader { tokens: tokens(text)?, at: 0, depth: 0, paths: Vec::new() };
    let kind = reader.any_of()?;
    match (reader.peek(), kind) {
        (None, Kind::Truth) => Ok(Parsed { paths: reader.paths }),
        (None, Kind::Value) => Err(malformed("it finds a value and compares it with nothing")),
        (Some(token), _) => Err(malformed(&format!("{token} is not expected there"))),
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in &self.0 {
            match step {
                Step::Member(name) if is_plain(name) => write!(f, ".{name}")?,
                Step::Member(name) => write!(f, ".{name:?}")?,
                Step::Element(place) => write!(f, "[{place}]")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => f.write_str(what),
            Self::Open { uses, instead } => write!(f, "it uses {uses}; {instead}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Value,
    Truth,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A name or a keyword.
    Word(String),
    Text(String),
    Number(String),
    Sign(&'static str),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Number(text) => f.write_str(text),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Sign(sign) => f.write_str(sign),
        }
    }
}

/// Longer ones first.
const SIGNS: [&str; 32] = [
    "**", "&&", "||", "==", "!=", "<>", "<=", ">=", "<", ">", "!", "(", ")", "[", "]", "{", "}",
    ".", "$", "@", "?", "%", "+", "-", "*", "/", ",", ":", "=", "|", "&", "#",
];

fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("/*") {
            return Err(open("a comment", "say it in the description"));
        } else if first == '"' {
            let (text, length) = quoted(rest)?;
            found.push(Token::Text(text));
            length
        } else if starts_number(rest, found.last()) {
            let length = number(rest);
            found.push(Token::Number(rest[..length].to_owned()));
            length
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            found.push(Token::Sign(sign));
            sign.len()
        } else if first == '\\' {
            return Err(open("a backslash outside of a text", "put the name into quotation marks"));
        } else {
            let ends = |c: char| {
                c.is_whitespace()
                    || c == '"'
                    || c == '\\'
                    || SIGNS.iter().any(|sign| sign.starts_with(c))
            };
            let length = rest.find(ends).unwrap_or(rest.len());
            found.push(Token::Word(rest[..length].to_owned()));
            length
        };
        rest = rest[length..].trim_start();
    }
    Ok(found)
}

/// A text as JSON writes it, and how long it is with its quotation marks.
fn quoted(rest: &str) -> Result<(String, usize), Fault> {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '"' if !escaped => {
                let text = serde_json::from_str(&rest[..=at])
                    .map_err(|_| malformed("a text is written as in JSON"))?;
                return Ok((text, at + 1));
            }
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    Err(malformed("a text does not end"))
}

/// A point begins a number only where no member can stand.
fn starts_number(rest: &str, before: Option<&Token>) -> bool {
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let after_item = matches!(
        before,
        Some(Token::Word(_) | Token::Text(_) | Token::Sign(")" | "]" | "$" | "."))
    );
    digit(rest) || (rest.strip_prefix('.').is_some_and(digit) && !after_item)
}

fn number(rest: &str) -> usize {
    let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(0);
    if rest[length..].starts_with('.') && digits(length + 1) > 0 {
        length += 1 + digits(length + 1);
    }
    if rest[length..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    paths: Vec<Path>,
}

impl Reader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn after(&self, n: usize) -> Option<&Token> {
        self.tokens.get(self.at + n)
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(found)) if *found == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(found)) if found == word)
    }

    fn took(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Fault> {
        if self.took(sign) {
            return Ok(());
        }
        Err(match self.peek() {
            Some(token) => malformed(&format!("{sign} is expected, not {token}")),
            None => malformed(&format!("{sign} is missing at the end")),
        })
    }

    fn any_of(&mut self) -> Result<Kind, Fault> {
        let mut kind = self.all_of()?;
        while self.took("||") {
            kind = truths(kind, self.all_of()?)?;
        }
        Ok(kind)
    }

    fn all_of(&mut self) -> Result<Kind, Fault> {
        let mut kind = self.comparison()?;
        while self.took("&&") {
            kind = truths(kind, self.comparison()?)?;
        }
        Ok(kind)
    }

    fn comparison(&mut self) -> Result<Kind, Fault> {
        if self.took("!") {
            if !self.is("(") {
                return Err(if self.is_word("exists") {
                    exists()
                } else {
                    malformed("what is negated stands in brackets")
                });
            }
            let kind = self.bracketed()?;
            truths(kind, Kind::Truth)?;
            return self.not_unknown();
        }
        let left = self.sum()?;
        if self.is_word("is") {
            return self.not_unknown();
        }
        if self.is_word("like_regex") {
            self.at += 1;
            self.text()?;
            if self.is_word("flag") {
                self.at += 1;
                self.text()?;
            }
            return values(left, Kind::Value);
        }
        if self.is_word("starts")
            && matches!(self.after(1), Some(Token::Word(word)) if word == "with")
        {
            self.at += 2;
            self.text()?;
            return values(left, Kind::Value);
        }
        if ["==", "!=", "<>", "<", "<=", ">", ">="].iter().any(|sign| self.is(sign)) {
            self.at += 1;
            let right = self.sum()?;
            return values(left, right);
        }
        Ok(left)
    }

    fn not_unknown(&self) -> Result<Kind, Fault> {
        if self.is_word("is") {
            return Err(open(
                "`is unknown`",
                "what cannot be answered refuses; ask a declared member for `== null`",
            ));
        }
        Ok(Kind::Truth)
    }

    fn text(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(Token::Text(_)) => {
                self.at += 1;
                Ok(())
            }
            Some(Token::Sign("$")) => Err(variable()),
            _ => Err(malformed("a text in quotation marks is expected")),
        }
    }

    fn sum(&mut self) -> Result<Kind, Fault> {
        let mut kind = self.product()?;
        while self.took("+") || self.took("-") {
            kind = operands(kind, self.product()?)?;
        }
        Ok(kind)
    }

    fn product(&mut self) -> Result<Kind, Fault> {
        let mut kind = self.signed()?;
        while self.took("*") || self.took("/") || self.took("%") {
            kind = operands(kind, self.signed()?)?;
        }
        Ok(kind)
    }

    fn signed(&mut self) -> Result<Kind, Fault> {
        let mut minus = false;
        while self.took("+") || self.took("-") {
            minus = true;
        }
        let kind = self.item()?;
        if minus { operands(kind, Kind::Value) } else { Ok(kind) }
    }

    fn bracketed(&mut self) -> Result<Kind, Fault> {
        self.expect("(")?;
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(malformed("its brackets are too deep"));
        }
        let kind = self.any_of()?;
        self.expect(")")?;
        self.depth -= 1;
        if self.is(".") || self.is("[") || self.is("?") {
            return Err(open("a member of something computed", "name the place from $ on"));
        }
        Ok(kind)
    }

    fn item(&mut self) -> Result<Kind, Fault> {
        if self.is("(") {
            let kind = self.bracketed()?;
            return if kind == Kind::Truth { self.not_unknown() } else { Ok(kind) };
        }
        let Some(token) = self.peek().cloned() else { return Err(malformed("it ends too early")) };
        self.at += 1;
        match token {
            Token::Sign("$") => {
                if matches!(self.peek(), Some(Token::Word(_) | Token::Text(_) | Token::Number(_))) {
                    return Err(variable());
                }
                self.place()?;
            }
            Token::Sign("@") => return Err(filter()),
            Token::Text(_) | Token::Number(_) => self.no_member()?,
            Token::Word(word) => match word.as_str() {
                "true" | "false" | "null" => self.no_member()?,
                "exists" => return Err(exists()),
                "lax" | "strict" => {
                    return Err(open(
                        &format!("the mode {word}"),
                        "leave it out: every rule is asked strictly",
                    ));
                }
                other => {
                    return Err(malformed(&format!(
                        "{other} is no keyword; a place begins with $"
                    )));
                }
            },
            Token::Sign(other) => return Err(malformed(&format!("{other} is not expected there"))),
        }
        Ok(Kind::Value)
    }

    fn no_member(&self) -> Result<(), Fault> {
        if self.is(".") || self.is("[") || self.is("?") {
            return Err(open("a member of something computed", "name the place from $ on"));
        }
        Ok(())
    }

    /// What follows on `$`.
    fn place(&mut self) -> Result<(), Fault> {
        let mut steps = Vec::new();
        let mut asked = false;
        loop {
            if self.is("?") {
                return Err(filter());
            }
            if asked && (self.is("[") || (self.is(".") && !self.is_method_next())) {
                return Err(open("a member of something computed", "name the place from $ on"));
            }
            if self.took("[") {
                steps.push(Step::Element(self.element()?));
            } else if self.took(".") {
                match self.peek().cloned() {
                    Some(Token::Sign("*" | "**")) => return Err(wildcard()),
                    Some(Token::Text(name)) => steps.push(Step::Member(name)),
                    Some(Token::Word(name)) if matches!(self.after(1), Some(Token::Sign("("))) => {
                        self.at += 1;
                        self.method(&name)?;
                        asked = true;
                        continue;
                    }
                    Some(Token::Word(name)) => steps.push(Step::Member(name)),
                    Some(token) => {
                        return Err(malformed(&format!("a member is expected, not {token}")));
                    }
                    None => return Err(malformed("it ends too early")),
                }
                self.at += 1;
            } else {
                break;
            }
        }
        self.paths.push(Path(steps));
        Ok(())
    }

    fn is_method_next(&self) -> bool {
        matches!((self.after(1), self.after(2)), (Some(Token::Word(_)), Some(Token::Sign("("))))
    }

    fn method(&mut self, name: &str) -> Result<(), Fault> {
        match name {
            "type" | "size" | "double" | "ceiling" | "floor" | "abs" => {
                self.expect("(")?;
                self.expect(")")
            }
            "datetime" => Err(open(
                ".datetime()",
                "compare seconds: $.now_s, $.run.since_s, and the …_s of a declared time",
            )),
            "keyvalue" => Err(open(".keyvalue()", "name the members one by one")),
            other => Err(malformed(&format!("there is no method {other}()"))),
        }
    }

    fn element(&mut self) -> Result<String, Fault> {
        let place = match self.peek() {
            Some(Token::Sign("*")) => return Err(wildcard()),
            Some(Token::Number(number)) if number.bytes().all(|b| b.is_ascii_digit()) => {
                number.clone()
            }
            Some(Token::Word(word)) if word == "last" => word.clone(),
            _ => String::new(),
        };
        self.at += 1;
        if place.is_empty() || !self.took("]") {
            return Err(open(
                "a range or a computed place of a list",
                "name one element: [0], [last]",
            ));
        }
        Ok(place)
    }
}

fn truths(left: Kind, right: Kind) -> Result<Kind, Fault> {
    if left == Kind::Truth && right == Kind::Truth {
        Ok(Kind::Truth)
    } else {
        Err(malformed("&&, || and ! join comparisons, not values"))
    }
}

fn operands(left: Kind, right: Kind) -> Result<Kind, Fault> {
    if left == Kind::Value && right == Kind::Value {
        Ok(Kind::Value)
    } else {
        Err(malformed("a comparison is no number"))
    }
}

fn values(left: Kind, right: Kind) -> Result<Kind, Fault> {
    if left == Kind::Value && right == Kind::Value {
        Ok(Kind::Truth)
    } else {
        Err(malformed("a comparison is no value"))
    }
}

fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn malformed(what: &str) -> Fault {
    Fault::Malformed(what.to_owned())
}

fn open(uses: &str, instead: &'static str) -> Fault {
    Fault::Open { uses: uses.to_owned(), instead }
}

fn filter() -> Fault {
    open("a filter", "inside a filter what is missing is dropped in silence; compare named members")
}

fn wildcard() -> Fault {
    open("a wildcard", "name the members one by one")
}

fn exists() -> Fault {
    open("exists()", "what is missing refuses by itself; ask a declared member for `== null`")
}

fn variable() -> Fault {
    open("a variable", "a rule has none: compare with a setting, $.config.NAME")
}
