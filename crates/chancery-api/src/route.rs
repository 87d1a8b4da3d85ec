//! Routes as data, typed by what they take and give.

use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// How a route is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    /// As HTTP has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// Who may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody: probes, signing in, and what shows its right in the path.
    Open,
    /// Who has this permission; see `identity.permission`.
    Permission(&'static str),
}

/// What an answer is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Json,
    /// Server-Sent Events.
    Events,
    /// Something to keep in a file.
    Bytes,
    Text,
    /// A page for people.
    Html,
    /// How a page looks.
    Style,
}

/// No body is larger, unless its route says so.
pub const MOST_BYTES: usize = 1024 * 1024;

/// A kind of thing that has a schema.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One route.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The name that programs call it by.
    pub id: &'static str,
    pub method: Method,
    /// With `{names}` of what stands in it.
    pub path: &'static str,
    pub access: Access,
    /// One sentence.
    pub summary: &'static str,
    /// Whether it changes something: then it needs an `Idempotency-Key`.
    pub writes: bool,
    /// Whether the principal signs it: then an unsigned one is answered with what to sign.
    pub signed: bool,
    /// The status of a yes.
    pub status: u16,
    /// The status of a yes that changed nothing, where it is another one.
    pub same_status: Option<u16>,
    pub shape: Shape,
    /// The largest body.
    pub most_bytes: usize,
    pub query: Option<SchemaOf>,
    pub body: Option<SchemaOf>,
    pub answer: Option<SchemaOf>,
}

/// A route with the types of its query, body and answer.
pub struct Endpoint<Q, B, A> {
    pub route: Route,
    types: PhantomData<fn(Q, B) -> A>,
}

impl<Q, B, A> std::fmt::Debug for Endpoint<Q, B, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.route.fmt(f)
    }
}

/// Where a route takes or gives nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

const fn plain(
    id: &'static str,
    method: Method,
    path: &'static str,
    access: Access,
    summary: &'static str,
) -> Route {
    Route {
        id,
        method,
        path,
        access,
        summary,
        writes: false,
        signed: false,
        status: 200,
        same_status: None,
        shape: Shape::Json,
        most_bytes: MOST_BYTES,
        query: None,
        body: None,
        answer: None,
    }
}

impl<Q: JsonSchema, A: JsonSchema> Endpoint<Q, Nothing, A> {
    /// A question.
    pub const fn get(
        id: &'static str,
        path: &'static str,
        access: Access,
        summary: &'static str,
    ) -> Self {
        let mut route = plain(id, Method::Get, path, access, summary);
        route.query = Some(SchemaGenerator::subschema_for::<Q>);
        route.answer = Some(SchemaGenerator::subschema_for::<A>);
        Self { route, types: PhantomData }
    }
}

impl<B: JsonSchema, A: JsonSchema> Endpoint<Nothing, B, A> {
    /// Something that changes what is there, once for each key.
    pub const fn post(
        id: &'static str,
        path: &'static str,
        access: Access,
        summary: &'static str,
    ) -> Self {
        let mut route = plain(id, Method::Post, path, access, summary);
        route.writes = true;
        route.body = Some(SchemaGenerator::subschema_for::<B>);
        route.answer = Some(SchemaGenerator::subschema_for::<A>);
        Self { route, types: PhantomData }
    }

    /// With another method.
    pub const fn by(mut self, method: Method) -> Self {
        self.route.method = method;
        self
    }
}

impl<Q, B, A> Endpoint<Q, B, A> {
    /// A post that is safe to repeat without a key, or has one in its body.
    pub const fn keyless(mut self) -> Self {
        self.route.writes = false;
        self
    }

    /// What a principal signs.
    pub const fn signed(mut self) -> Self {
        self.route.signed = true;
        self
    }

    /// A body of another size at most.
    pub const fn at_most(mut self, bytes: usize) -> Self {
        self.route.most_bytes = bytes;
        self
    }

    /// A yes that changed nothing, with another status.
    pub const fn or_status(mut self, status: u16) -> Self {
        self.route.same_status = Some(status);
        self
    }

    /// A yes with another status.
    pub const fn status(mut self, status: u16) -> Self {
        self.route.status = status;
        self
    }

    /// An answer that is not JSON.
    pub const fn shape(mut self, shape: Shape) -> Self {
        self.route.shape = shape;
        self.route.answer = None;
        self
    }
}
