//! Source documents and the units that live.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{SourceVersionId, UnitId, UnitVersionId};
use crate::page::{Page, PageQuery};
use crate::route::{Access, Endpoint, Nothing, Route, Shape};

const READ: Access = Access::Permission("doc.read");

/// A document with its newest version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Its name.
    pub document_id: String,
    /// What the addresses of its units begin with.
    pub prefix: String,
    pub created_by: String,
    pub created_at: String,
    pub versions: i64,
    pub newest_version: i32,
    pub newest_source_version_id: SourceVersionId,
    /// Hex.
    pub newest_sha256: String,
    pub newest_bytes: i32,
    pub media_type: String,
    /// Units that live under its prefix.
    pub units: i64,
}

/// A document that is to be stored, or a new version of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDocument {
    #[schemars(length(min = 1, max = 63))]
    pub document_id: String,
    /// May be left out for a new version.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub prefix: Option<String>,
    /// `text/markdown` or `text/plain`; the former when it is left out.
    #[serde(default)]
    #[schemars(length(max = 50))]
    pub media_type: Option<String>,
    /// Its source, kept byte for byte. A body of a request is at most 1 MiB; larger ones come by the command line.
    pub text: String,
    /// What its text looks like when it is left out.
    #[serde(default)]
    pub profile: Option<Profile>,
}

/// How a document is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    Markdown,
    LegalEn,
    LegalVi,
}

/// A version that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    pub document_id: String,
    pub prefix: String,
    pub source_version_id: SourceVersionId,
    pub version_seq: i32,
    pub media_type: String,
    /// Hex.
    pub content_sha256: String,
    pub byte_length: i32,
    /// The same bytes were there before.
    pub replayed: bool,
    /// How many units it would be cut into.
    pub would_cut: usize,
}

/// Which version of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichSource {
    /// The newest one when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub version: Option<i32>,
}

/// A unit without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unit {
    pub unit_id: UnitId,
    pub address: String,
    pub unit_kind: String,
    pub section_type: String,
    pub title: String,
    pub lifecycle_status: String,
    /// The address of the unit that contains it.
    pub parent: Option<String>,
    pub sort_order: i32,
    pub version_id: UnitVersionId,
    pub version_seq: i32,
    pub content_hash: String,
}

/// A unit with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitShown {
    #[serde(flatten)]
    pub unit: Unit,
    pub owner_ref: String,
    pub document_id: Option<String>,
    pub newest_version_seq: i32,
    pub retired: bool,
    pub created_at: String,
    pub body: String,
}

/// Which text of a unit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichText {
    /// The version that a step pinned; the one that holds when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_id: Option<UnitVersionId>,
}

pub const DOCUMENTS: Endpoint<PageQuery, Nothing, Page<Document>> =
    Endpoint::get("documents", "/v1/documents", READ, "Source documents, by name.");
pub const ADD: Endpoint<Nothing, NewDocument, Added> = Endpoint::post(
    "add_document",
    "/v1/documents",
    Access::Permission("doc.write"),
    "Store a document, or a new version of one. The same bytes are the same version, so it needs no key.",
)
.keyless()
.status(201);
pub const DOCUMENT: Endpoint<Nothing, Nothing, Document> = Endpoint::get(
    "document",
    "/v1/documents/{document}",
    READ,
    "A document with its newest version.",
);
pub const UNITS: Endpoint<PageQuery, Nothing, Page<Unit>> = Endpoint::get(
    "document_units",
    "/v1/documents/{document}/units",
    READ,
    "Its live units, in its order.",
);
pub const SOURCE: Endpoint<WhichSource, Nothing, String> = Endpoint::get(
    "document_source",
    "/v1/documents/{document}/source",
    READ,
    "The bytes of a version, as they were given.",
)
.shape(Shape::Bytes);
pub const UNIT: Endpoint<WhichText, Nothing, UnitShown> =
    Endpoint::get("unit", "/v1/units/{unit}", READ, "A unit with its text.");

pub(crate) const ROUTES: &[&Route] =
    &[&DOCUMENTS.route, &ADD.route, &DOCUMENT.route, &UNITS.route, &SOURCE.route, &UNIT.route];
