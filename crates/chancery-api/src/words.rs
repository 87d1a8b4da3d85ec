//! Words and looks: everything that people read, and how states are shown.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Nothing;
use crate::action::Title;
use crate::route::{Access, Endpoint, Route};

/// Which language.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WordsQuery {
    /// `en` when it is left out.
    #[serde(default)]
    pub locale: Locale,
}

/// A language.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Locale {
    #[default]
    En,
    Vi,
}

impl Locale {
    /// As the database writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Vi => "vi",
        }
    }
}

/// Everything that people read, in one language; what it lacks is in English.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Words {
    pub locale: String,
    /// By key; labels of states are among them.
    pub messages: BTreeMap<String, String>,
    /// By code.
    pub refusals: BTreeMap<String, RefusalWords>,
}

/// The words of a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusalWords {
    pub problem: String,
    pub title: String,
    pub hint: String,
}

/// How states are shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    pub states: Vec<StateToken>,
}

/// How a state of a machine is shown: colour, silhouette and words, always together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateToken {
    pub machine: String,
    pub scope: String,
    pub version: String,
    pub state: String,
    /// `idle`, `active`, `wait`, `red` or `terminal`.
    pub class: String,
    pub terminal: bool,
    pub ordinal: i32,
    /// The floor state that it counts as.
    pub floor: String,
    /// The name of the colour.
    pub colour: String,
    /// The name of the silhouette.
    pub icon: String,
    pub label: Title,
    pub message: Title,
    pub facets: Vec<FacetToken>,
}

/// How a facet of a state is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FacetToken {
    pub facet: String,
    pub icon: String,
    pub label: Title,
}

pub const WORDS: Endpoint<WordsQuery, Nothing, Words> = Endpoint::get(
    "words",
    "/v1/words",
    Access::Permission("self.read"),
    "Every text that people read, in one language.",
);
pub const TOKENS: Endpoint<Nothing, Nothing, Tokens> = Endpoint::get(
    "state_tokens",
    "/v1/state-tokens",
    Access::Permission("self.read"),
    "How the states of every machine are shown.",
);

pub(crate) const ROUTES: &[&Route] = &[&WORDS.route, &TOKENS.route];
