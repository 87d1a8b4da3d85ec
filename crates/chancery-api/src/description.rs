//! The API about itself.

use serde_json::{Map, Value};

use crate::route::{Access, Endpoint, Nothing, Route, Shape};

pub const OPENAPI: Endpoint<Nothing, Nothing, Map<String, Value>> = Endpoint::get(
    "openapi",
    "/v1/openapi.json",
    Access::Open,
    "This description, as OpenAPI 3.1 has it.",
);
pub const DOCS: Endpoint<Nothing, Nothing, Nothing> =
    Endpoint::get("docs", "/docs", Access::Open, "This description, as a page.").shape(Shape::Html);
pub const DOCS_STYLE: Endpoint<Nothing, Nothing, Nothing> =
    Endpoint::get("docs_style", "/docs/style.css", Access::Open, "How the page looks.")
        .shape(Shape::Style);

pub(crate) const ROUTES: &[&Route] = &[&OPENAPI.route, &DOCS.route, &DOCS_STYLE.route];
