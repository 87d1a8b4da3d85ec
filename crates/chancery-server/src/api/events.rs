//! Listening: who asks, to what, and from where on.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use chancery_api::Nothing;
use chancery_api::events::{EVENTS, Listen, METRICS};
use uuid::Uuid;

use super::bind::not_permitted;
use super::{Call, Routes};
use crate::feed::{self, Client, Figures, PREFIXES};
use crate::problem::{Fault, Problem};

const MOST_TOPICS: usize = 20;
/// Who lost the connection comes back after so many milliseconds.
const OPENING: &[u8] = b"retry: 1000\n\n";

pub(super) fn bind(routes: Routes) -> Routes {
    routes.on_raw(&EVENTS, listen).on_raw(&METRICS, metrics)
}

async fn listen(call: Call<Listen, Nothing>) -> Result<Response, Problem> {
    let topics = topics(&call.query.topics)?;
    let asked = asked_after(&call)?;
    let asked_for = call.store().fn_feed_topics(&topics).await?;
    let Some(bearer) = &call.bearer else { unreachable!("the route asks for a permission") };
    if let Some(topic) = asked_for.topics.iter().find(|topic| !bearer.may(&topic.permission)) {
        return Err(not_permitted(&call.host, &bearer.principal, &topic.permission).await);
    }
    let last = asked_for.position;
    let keys: Vec<String> = asked_for.topics.into_iter().map(|topic| topic.key).collect();
    let hub = Arc::clone(call.host.feed());
    let Some((seat, rights, frames)) = hub.enter(bearer, keys.clone(), last) else {
        return Err(Problem::of(Fault::TooMany, "close a stream first: one may carry 20 topics"));
    };
    let mut pending = VecDeque::from([Bytes::from_static(OPENING)]);
    let after = match asked {
        None => {
            pending.push_back(feed::from("hello", last));
            last
        }
        // Of another database, or of a time that a restored one does not know.
        Some(after) if after > last => {
            Figures::one(&hub.figures.gaps);
            pending.push_back(feed::from("gap", last));
            last
        }
        Some(after) => {
            // Approvals have no positions: who comes back looks at them once more.
            if keys.iter().any(|key| feed::APPROVAL_KEYS.contains(&key.as_str())) {
                pending.push_back(feed::approval_changed(None));
            }
            after
        }
    };
    let store = call.host.store().clone();
    let behind = Some(after);
    let client = Client { hub, store, seat, rights, keys, frames, pending, behind };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        // What stands between passes it on at once.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    Ok((headers, client.into_body()).into_response())
}

/// The header goes first: a browser that comes back asks with the address that it began with.
fn asked_after(call: &Call<Listen, Nothing>) -> Result<Option<i64>, Problem> {
    let wrong = || Problem::of(Fault::QueryInvalid, "Last-Event-ID is the position of an event");
    let mut shown = call.headers.get_all("last-event-id").iter();
    let asked = match (shown.next(), shown.next()) {
        (None, _) => call.query.after,
        (Some(shown), None) => {
            let text = shown.to_str().map_err(|_| wrong())?;
            Some(text.parse().map_err(|_| wrong())?)
        }
        (Some(_), Some(_)) => return Err(wrong()),
    };
    if asked.is_some_and(|after| after < 0) { Err(wrong()) } else { Ok(asked) }
}

/// The topics as the database names them.
fn topics(text: &str) -> Result<Vec<String>, Problem> {
    let topics: BTreeSet<&str> = text.split(',').collect();
    if topics.len() > MOST_TOPICS {
        return Err(Problem::of(Fault::QueryInvalid, "topics: at most 20"));
    }
    topics.into_iter().map(topic).collect()
}

fn topic(text: &str) -> Result<String, Problem> {
    let wrong = || {
        let what = "topics: `run:ID` (as other answers show it, or a plain UUID), `workflow:NAME`, `problems`, `inbox` and `approvals`";
        Problem::of(Fault::QueryInvalid, what)
    };
    if matches!(text, "problems" | "inbox" | "approvals") {
        return Ok(text.to_owned());
    }
    match text.split_once(':').ok_or_else(wrong)? {
        ("workflow", name) if (1..=200).contains(&name.len()) => Ok(text.to_owned()),
        // A plain UUID is that of a run of any kind; the database knows which.
        ("run", id) if !id.contains('_') => {
            let plain = id.len() == 36 && !id.bytes().any(|b| b.is_ascii_uppercase());
            let id = Uuid::try_parse(id).ok().filter(|_| plain).ok_or_else(wrong)?;
            Ok(format!("run::{id}"))
        }
        ("run", id) => {
            let (prefix, digits) = id.split_once('_').ok_or_else(wrong)?;
            // Steps and tasks are told with their run.
            let known = PREFIXES[..6].iter().find(|(_, known)| *known == prefix);
            let (kind, _) = known.ok_or_else(wrong)?;
            let plain = digits.len() == 32 && !digits.bytes().any(|b| b.is_ascii_uppercase());
            let id = Uuid::try_parse(digits).ok().filter(|_| plain).ok_or_else(wrong)?;
            Ok(format!("run:{kind}:{id}"))
        }
        _ => Err(wrong()),
    }
}

async fn metrics(call: Call<Nothing, Nothing>) -> Result<Response, Problem> {
    let text = crate::metrics::text(&call.host).await;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_named_by_typed_ids_and_plain_words() {
        let id = "0123456789abcdef0123456789abcdef";
        let kind = |prefix: &str| topic(&format!("run:{prefix}_{id}")).ok();
        let named = Some("run:workflow_run:01234567-89ab-cdef-0123-456789abcdef".to_owned());
        assert_eq!(kind("wfr"), named);
        let plain = "01234567-89ab-cdef-0123-456789abcdef";
        assert_eq!(topic(&format!("run:{plain}")).ok(), Some(format!("run::{plain}")));
        assert!(topic(&format!("run:{}", plain.to_uppercase())).is_err());
        for known in ["run", "orc", "ent", "chg", "prp"] {
            assert!(kind(known).is_some(), "{known}");
        }
        for good in ["problems", "inbox", "approvals", "workflow:a_b"] {
            assert_eq!(topic(good).ok().as_deref(), Some(good));
        }
        for bad in ["", "run", "run:", "run:0123", "run:wfr_", "Problems", "workflow:", "other:x"] {
            assert!(topic(bad).is_err(), "{bad}");
        }
        for foreign in ["stp", "tsk", "job", "iss", "apr", "xyz"] {
            assert_eq!(kind(foreign), None, "{foreign}");
        }
        assert!(topic(&format!("run:wfr_{}", id.to_uppercase())).is_err());
        let many: Vec<String> = (0..21).map(|n| format!("workflow:w{n}")).collect();
        assert!(topics(&many.join(",")).is_err());
        assert_eq!(topics(&many[..20].join(",")).map(|topics| topics.len()).ok(), Some(20));
    }
}
