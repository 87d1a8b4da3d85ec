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
    /// The colour of the page in each theme; what is said of a palette holds on it.
    pub pages: Themes<String>,
    pub states: Vec<StateToken>,
}

/// Something for each theme.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Themes<T> {
    pub light: T,
    pub dark: T,
    pub contrast: T,
}

/// Colours as `#RRGGBB`. The database refuses text of less contrast than 4.5 (7 in the theme `contrast`) and a border of less than 3 on
/// the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Colours {
    pub bg: String,
    /// Text and silhouette on `bg`.
    pub fg: String,
    pub border: String,
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
    /// What the colour is in each theme.
    pub palette: Themes<Colours>,
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

/// About what, and in which language.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeadlineQuery {
    /// What the page is about: an id, a name, a path, or `CATEGORY/ITEM` of a problem. Pages of lists have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1000))]
    pub subject: Option<String>,
    /// `en` when it is left out.
    #[serde(default)]
    pub locale: Locale,
}

/// How a sentence is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Something is wrong.
    Bad,
    /// Something wants somebody.
    Warn,
    Good,
    Plain,
}

/// What is true of a page for who asks, in one sentence, and the one thing to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    pub page: String,
    pub subject: Option<String>,
    pub locale: Locale,
    pub tone: Tone,
    pub sentence: String,
    pub action: Option<NextStep>,
    /// When it was true.
    pub at: String,
}

/// The one thing to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    pub label: String,
    /// A path of the pages.
    pub to: String,
}

pub const HEADLINE: Endpoint<HeadlineQuery, Nothing, Headline> = Endpoint::get(
    "headline",
    "/v1/headlines/{page}",
    Access::Permission("self.read"),
    "What is true of a page for the reader, in one sentence, and what to do next.",
);
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

pub(crate) const ROUTES: &[&Route] = &[&HEADLINE.route, &WORDS.route, &TOKENS.route];
