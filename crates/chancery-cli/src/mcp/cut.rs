//! Long texts and long lists are cut, with a note that says how to read on: what an agent reads has to fit where it thinks.

use serde_json::{Value, json};

/// From here on an answer is cut harder.
const MOST_BYTES: usize = 48 * 1024;
/// How many characters of a text and how many members of a list stay, ever fewer until the answer fits.
const LIMITS: [(usize, usize); 4] = [(4_000, 50), (1_000, 20), (300, 8), (80, 3)];
/// So much of one text or list is shown when somebody reads on.
const PART: (usize, usize) = (16_000, 50);

/// The answer, cut where it is too long. `cut` then names each place, and from where to read on.
pub(super) fn shortened(answer: &Value) -> Value {
    let mut shorter = Value::Null;
    for (n, (text, list)) in LIMITS.into_iter().enumerate() {
        let mut cuts = Vec::new();
        shorter = shorten(answer, "", text, list, &mut cuts);
        if let (Value::Object(members), false) = (&mut shorter, cuts.is_empty()) {
            let note = "show with part and from reads on: from is where the shown part ends";
            members.insert("cut".to_owned(), json!({ "note": note, "places": cuts }));
        }
        if n + 1 == LIMITS.len() || shorter.to_string().len() <= MOST_BYTES {
            break;
        }
    }
    shorter
}

fn shorten(value: &Value, at: &str, text: usize, list: usize, cuts: &mut Vec<Value>) -> Value {
    // Enough places are named to go on from; the rest comes to light then.
    let mut cut = |shown: usize, of: usize| {
        if cuts.len() < 20 {
            cuts.push(json!({ "part": at, "shown": shown, "of": of }));
        }
    };
    match value {
        Value::String(long) if long.chars().nth(text).is_some() => {
            cut(text, long.chars().count());
            Value::String(long.chars().take(text).collect())
        }
        Value::Array(members) => {
            if members.len() > list {
                cut(list, members.len());
            }
            let shown = members.iter().take(list).enumerate();
            shown.map(|(n, one)| shorten(one, &format!("{at}/{n}"), text, list, cuts)).collect()
        }
        Value::Object(members) => members
            .iter()
            .map(|(name, one)| {
                let place = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                (name.clone(), shorten(one, &place, text, list, cuts))
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// One text or list of an answer, from a place on; nothing when there is no such part.
pub(super) fn part(answer: &Value, pointer: &str, from: usize) -> Option<Value> {
    let found = answer.pointer(pointer)?;
    let (value, shown, of) = match found {
        Value::String(text) => {
            let value: String = text.chars().skip(from).take(PART.0).collect();
            let shown = value.chars().count();
            (json!(value), shown, text.chars().count())
        }
        Value::Array(members) => {
            let value: Vec<&Value> = members.iter().skip(from).take(PART.1).collect();
            let shown = value.len();
            (shorten(&json!(value), pointer, PART.0, PART.1, &mut Vec::new()), shown, members.len())
        }
        other => return Some(json!({ "part": pointer, "value": other })),
    };
    let next = from + shown;
    Some(json!({
        "part": pointer, "from": from, "of": of, "next": (next < of).then_some(next), "value": value,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_read_in_parts_without_loss() {
        let text: String = (0..40_000).map(|n| if n % 7 == 0 { 'đ' } else { 'a' }).collect();
        let answer = json!({ "unit": { "body": text.clone(), "short": "x" }, "n": 1 });
        let shown = shortened(&answer);
        assert_eq!(shown["unit"]["short"], "x");
        let place = &shown["cut"]["places"][0];
        assert_eq!(place, &json!({ "part": "/unit/body", "shown": 4_000, "of": 40_000 }));
        let mut read = shown["unit"]["body"].as_str().expect("a text").to_owned();
        let mut from = Some(4_000);
        while let Some(at) = from {
            let one = part(&answer, "/unit/body", at).expect("a part");
            read.push_str(one["value"].as_str().expect("a text"));
            from = one["next"].as_u64().and_then(|next| usize::try_from(next).ok());
        }
        assert_eq!(read, text);
        assert_eq!(part(&answer, "/nothing", 0), None);
    }

    #[test]
    fn a_long_list_is_cut_and_what_is_short_is_left_alone() {
        let short = json!({ "history": [1, 2, 3] });
        assert_eq!(shortened(&short), short);
        let moves: Vec<Value> =
            (0..2_000).map(|n| json!({ "seq": n, "why": "y".repeat(900) })).collect();
        let answer = json!({ "history": moves });
        let shown = shortened(&answer);
        assert!(shown.to_string().len() <= MOST_BYTES, "{}", shown.to_string().len());
        let rest = part(&answer, "/history", 1_990).expect("a part");
        assert_eq!((&rest["value"][9]["seq"], &rest["next"]), (&json!(1_999), &Value::Null));
    }
}
