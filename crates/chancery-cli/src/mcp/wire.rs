//! The wire: JSON-RPC 2.0, one message a line, from stdin to stdout.

use std::io::{self, Write as _};

use chancery_model::strict_json;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// No message is longer. A definition of a workflow of thousands of steps fits.
pub(super) const MOST_BYTES: usize = 4 * 1024 * 1024;

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
/// Of this protocol: there is no such resource.
pub(super) const RESOURCE_NOT_FOUND: i64 = -32002;

/// What came in.
#[derive(Debug)]
pub(super) enum Incoming {
    Line(Vec<u8>),
    /// A line that was longer than a message may be; it is gone.
    TooLong,
}

/// A message that makes sense as far as the wire is concerned.
#[derive(Debug)]
pub(super) enum Message {
    /// Asks for an answer.
    Request { id: Value, method: String, params: Value },
    /// Asks for nothing.
    Notification,
}

/// An error of the wire: its code and its words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault(pub(super) i64, pub(super) String);

/// Reads lines in a thread of their own, until there are no more. A reader that is slow holds the sender up, not our memory.
pub(super) fn lines() -> mpsc::Receiver<Incoming> {
    let (sender, receiver) = mpsc::channel(4);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        while let Ok(Some(line)) = read_line(&mut stdin) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn read_line(reader: &mut impl io::BufRead) -> io::Result<Option<Incoming>> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let there = reader.fill_buf()?;
        if there.is_empty() {
            // What ends without a line's end was cut off: nothing is done for half a message.
            return Ok(None);
        }
        let end = there.iter().position(|byte| *byte == b'\n');
        let part = &there[..end.unwrap_or(there.len())];
        is_too_long |= line.len() + part.len() > MOST_BYTES;
        if is_too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(if is_too_long { Incoming::TooLong } else { Incoming::Line(line) }));
        }
    }
}

/// What a line says; nothing for an empty one. A fault comes with the id it is about, as far as there is one.
pub(super) fn read(line: &[u8]) -> Result<Option<Message>, (Value, Fault)> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    // The parser goes 128 levels deep and no deeper.
    let message = strict_json::from_slice(line)
        .map_err(|error| (Value::Null, Fault(PARSE_ERROR, format!("this is not JSON: {error}"))))?;
    let invalid = |id: Value, why: &str| (id, Fault(INVALID_REQUEST, why.to_owned()));
    let Value::Object(mut message) = message else {
        return Err(invalid(Value::Null, "a message is one JSON object; there are no batches"));
    };
    let id = message.remove("id");
    let known = match &id {
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        _ => Value::Null,
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid(known, "jsonrpc is \"2.0\""));
    }
    let method = match message.remove("method") {
        Some(Value::String(method)) => method,
        // An answer: this server asks nothing, so it expects none.
        None if message.contains_key("result") || message.contains_key("error") => return Ok(None),
        _ => return Err(invalid(known, "method is a text")),
    };
    let params = message.remove("params").unwrap_or_else(|| json!({}));
    match id {
        None => Ok(Some(Message::Notification)),
        Some(id @ (Value::String(_) | Value::Number(_))) => {
            Ok(Some(Message::Request { id, method, params }))
        }
        Some(_) => Err(invalid(Value::Null, "an id is a text or a number")),
    }
}

/// Sends an answer. False when nobody reads any more.
pub(super) fn send(id: &Value, answer: Result<Value, Fault>) -> bool {
    let message = match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(Fault(code, message)) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
    };
    // JSON in one line: a line's end inside a text is written as two characters.
    let mut line = message.to_string();
    line.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_one_is_read() {
        let mut text = vec![b'x'; MOST_BYTES + 1];
        text.extend_from_slice(b"\n{}\nhalf");
        let mut reader = io::BufReader::with_capacity(1024, &text[..]);
        assert!(matches!(read_line(&mut reader), Ok(Some(Incoming::TooLong))));
        assert!(matches!(read_line(&mut reader), Ok(Some(Incoming::Line(line))) if line == b"{}"));
        assert!(matches!(read_line(&mut reader), Ok(None)), "half a message is none");
    }

    #[test]
    fn what_is_no_message_is_told_why() {
        let fault = |line: &str| match read(line.as_bytes()) {
            Err((id, Fault(code, _))) => Some((id, code)),
            Ok(_) => None,
        };
        assert_eq!(fault("{"), Some((Value::Null, PARSE_ERROR)));
        assert_eq!(fault("[]"), Some((Value::Null, INVALID_REQUEST)));
        assert_eq!(fault(r#"{"id":1,"method":"ping"}"#), Some((json!(1), INVALID_REQUEST)));
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":"a"}"#), Some((json!("a"), INVALID_REQUEST)));
        let no_id = r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#;
        assert_eq!(fault(no_id), Some((Value::Null, INVALID_REQUEST)));
        let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(fault(&deep), Some((Value::Null, PARSE_ERROR)));
        for nothing in ["", "  ", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#] {
            assert!(matches!(read(nothing.as_bytes()), Ok(None)), "{nothing}");
        }
    }
}
