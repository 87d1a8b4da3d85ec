//! What does not fit, by name.

use serde_json::{Map, Value, json};

/// One difference. Names are never reused.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// `text_differs`, `unit_missing`, …
    pub finding: &'static str,
    /// The address of the unit it is about, when it is about one.
    pub address: Option<String>,
    /// What was expected and what was found.
    pub facts: Map<String, Value>,
}

impl Finding {
    pub(super) fn new(finding: &'static str, facts: Value) -> Self {
        let facts = match facts {
            Value::Object(facts) => facts,
            Value::Null => Map::new(),
            other => std::iter::once(("found".to_owned(), other)).collect(),
        };
        Self { finding, address: None, facts }
    }

    pub(super) fn at(finding: &'static str, address: &str, facts: Value) -> Self {
        Self { address: Some(address.to_owned()), ..Self::new(finding, facts) }
    }

    /// As it stands in a verdict.
    pub fn to_json(&self) -> Value {
        let mut members = Map::new();
        members.insert("finding".to_owned(), json!(self.finding));
        if let Some(address) = &self.address {
            members.insert("address".to_owned(), json!(address));
        }
        members.extend(self.facts.clone());
        Value::Object(members)
    }

    /// Several findings in one line.
    pub(crate) fn list(findings: &[Self]) -> String {
        findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.finding)?;
        if let Some(address) = &self.address {
            write!(f, " at {address}")?;
        }
        if !self.facts.is_empty() {
            write!(f, " {}", Value::Object(self.facts.clone()))?;
        }
        Ok(())
    }
}
