//! One row a route: what stands in its path, and what is behind its door.

mod a;
mod b;
mod c;
mod d;

use serde_json::{Value, json};

use super::world::{Who, World};

/// What a change of something that is there may be answered with. The doors decide it by the state of the thing, the classes of who asks and
/// their signature; the tests of each noun are about that. Here it counts that it is one of these, and no defect.
const SAID: &[u16] = &[200, 201, 403, 409, 422, 428];

/// What stands in a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// An id with this prefix; what is there has this word, or there is nothing when it is empty.
    Id(&'static str, &'static str),
    /// A name, which is there.
    Fixed(&'static str),
}

/// How a route is asked, and what it answers to those who may.
pub(crate) struct Row {
    pub(crate) route: &'static str,
    pub(crate) parts: Vec<(&'static str, Part)>,
    pub(crate) query: &'static str,
    pub(crate) body: fn(&World) -> Value,
    /// To those who may, for what is not there.
    pub(crate) missing: &'static [u16],
    /// To those who may, for what is there.
    pub(crate) there: &'static [u16],
    /// The same, where it depends on who asks.
    pub(crate) told: Option<fn(&Who) -> &'static [u16]>,
    /// Whether a request may have any member: what others send is theirs.
    pub(crate) free: bool,
}

impl Row {
    fn part(mut self, name: &'static str, part: Part) -> Self {
        self.parts.push((name, part));
        self
    }

    fn id(self, name: &'static str, prefix: &'static str, word: &'static str) -> Self {
        self.part(name, Part::Id(prefix, word))
    }

    fn query(self, query: &'static str) -> Self {
        Self { query, ..self }
    }

    fn body(self, body: fn(&World) -> Value) -> Self {
        Self { body, ..self }
    }

    fn missing(self, missing: &'static [u16]) -> Self {
        Self { missing, ..self }
    }

    fn told(self, told: fn(&Who) -> &'static [u16]) -> Self {
        Self { told: Some(told), ..self }
    }

    fn free(self) -> Self {
        Self { free: true, ..self }
    }

    fn there(self, there: &'static [u16]) -> Self {
        Self { there, ..self }
    }
}

fn row(route: &'static str) -> Row {
    Row {
        route,
        parts: Vec::new(),
        query: "",
        body: |_| json!({}),
        missing: &[404],
        there: &[200],
        told: None,
        free: false,
    }
}

/// Every row there is. A route without one fails the test.
pub(crate) fn rows() -> Vec<Row> {
    [access(), description(), a::rows(), b::rows(), c::rows(), d::rows()]
        .into_iter()
        .flatten()
        .collect()
}

fn access() -> Vec<Row> {
    vec![
        // A wrong password is told as one, to everybody.
        row("sign_in").body(|_| json!({ "name": "m-nobody", "password": "wrong" })).there(&[401]),
        row("sign_out"),
        // No provider is set up here.
        row("sign_in_elsewhere").there(&[404]),
        row("signed_in_elsewhere").query("code=x&state=x").free().there(&[400, 401, 404]),
        row("me"),
        // Nobody here has a password; who comes by a token can't set one.
        row("set_password")
            .body(|_| json!({ "old_password": "wrong", "new_password": "a better one by far" }))
            .there(&[401, 403, 422]),
        row("tokens"),
        row("new_token")
            .body(|_| json!({ "label": "more", "scopes": ["self.read"], "expires_in_seconds": 60 }))
            .there(&[201, 403, 422]),
        row("revoke_token")
            .id("token", "tok", "token")
            .body(|_| json!({ "reason": "enough" }))
            .told(|who| if who.principal == "m-sovereign" { &[200] } else { &[404] }),
        row("key_requests"),
        row("new_key_request")
            .body(|_| json!({ "public_key": "ab".repeat(32), "possession": "00".repeat(64) }))
            .there(&[201, 403, 409, 422]),
    ]
}

fn description() -> Vec<Row> {
    vec![row("openapi"), row("docs"), row("docs_style")]
}
