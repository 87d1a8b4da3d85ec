//! Units and their texts, replayed from their history.

use std::collections::HashMap;

use chancery_model::canonical;
use chancery_model::cutter::{Effect, UnitEffect};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::check::Checker;
use super::entry::Story;
use super::rows::Row;
use super::table;

/// The cut that made a unit.
#[derive(Clone, Copy)]
struct Made<'a> {
    /// The change set, once the cut has a ledger.
    set: Option<Row<'a>>,
    change_set_id: &'a str,
    undone: Option<Undone<'a>>,
    effect: &'a Effect,
    unit: &'a UnitEffect,
    unit_kind: &'a str,
    entry_id: &'a str,
    /// The bytes of the source.
    body: &'a [u8],
}

/// What took a cut back, as the histories of its units must say.
#[derive(Clone, Copy)]
struct Undone<'a> {
    change_set_id: &'a str,
    actor: &'a str,
    reason: &'a str,
    tool_revision: &'a str,
}

impl<'a> Checker<'a> {
    /// The units that an entry made are what was approved, or what became of it by drafts and decisions that stand there.
    pub(super) fn units(&mut self, entry: Row<'a>, story: &Story<'a>) {
        const RULE: &str = "ledger_leads_to_its_units";
        let Some(effect) = &story.effect else { return };
        let manifest = story.set.or(story.decision).map_or("", |row| row.text("manifest_id"));
        let envelope = self.rows.one(table::ENVELOPE, "envelope_id", manifest);
        let change_set_id = effect.change_set_id.to_string();
        let voided = story.voided.as_ref().map(|(id, actor)| (id.to_string(), actor));
        let undone = match (story.rollback, &voided) {
            (Some(rollback), _) => Some(Undone {
                change_set_id: rollback.text("change_set_id"),
                actor: rollback.text("emitted_by"),
                reason: rollback.text("rollback_reason"),
                tool_revision: rollback.text("verifier_tool_revision"),
            }),
            (None, Some((change_set_id, actor))) => {
                Some(Undone { change_set_id, actor, reason: "run voided", tool_revision: "none" })
            }
            (None, None) => None,
        };
        let source = entry.text("source_version_id");
        let source = self.rows.one(table::SOURCE, "source_version_id", source);
        let body = source.and_then(|source| source.bytes("body")).unwrap_or_default();
        let mut touched: HashMap<&str, Vec<Row<'a>>> = HashMap::new();
        for set in [story.set, story.rollback].into_iter().flatten() {
            for row in self.rows.of(table::AFFECTED, "change_set_id", set.text("change_set_id")) {
                touched.entry(row.text("target_row_id")).or_default().push(row);
            }
        }
        for unit in &effect.units {
            let id = unit.unit_id.to_string();
            let ledger = touched.remove(id.as_str()).unwrap_or_default();
            let Some(row) = self.rows.one(table::UNIT, "id", &id) else {
                let at = ledger.first().copied().or(story.set).unwrap_or(entry);
                self.wrong(at, RULE, format!("unit {id} is not there"));
                continue;
            };
            let made = Made {
                set: story.set,
                change_set_id: &change_set_id,
                undone,
                effect,
                unit,
                unit_kind: envelope.map_or("", |envelope| envelope.text("unit_kind")),
                entry_id: entry.text("entry_id"),
                body: &body,
            };
            let history = self.unit(row, Some(made));
            for touched in ledger {
                let kind = if touched.text("operation_kind") == "insert" {
                    "created"
                } else {
                    "compensated"
                };
                let change = history.iter().find(|change| {
                    change.text("change_kind") == kind
                        && change.opt("change_set_id") == touched.opt("change_set_id")
                });
                match change {
                    None => self.wrong(touched, RULE, "the unit's history has no such change"),
                    Some(change) => {
                        let digest = change.opt("row_digest");
                        self.expect(touched, RULE, "lifecycle_digest", digest);
                        self.claim(*change);
                    }
                }
            }
            for change in &history {
                // Before there is a ledger, the id of the set is what ties the unit to its run.
                if story.set.is_none() && change.opt("change_set_id") == Some(&change_set_id) {
                    self.claim(*change);
                }
            }
            for change in history {
                if ["created", "compensated"].contains(&change.text("change_kind")) {
                    self.require_claim(change, "change set");
                }
            }
        }
        for row in touched.into_values().flatten() {
            self.wrong(row, RULE, "the manifest has no such unit");
        }
    }

    /// A unit that no cut made; its history alone speaks for it.
    pub(super) fn unit_by_hand(&mut self, unit: Row<'a>) {
        for change in self.unit(unit, None) {
            if let Some(set) = change.opt("change_set_id") {
                let what = format!("change set {set} has no row for its unit");
                self.wrong(change, "ledger_leads_to_its_units", what);
            }
        }
    }

    /// Replays a unit's history and compares unit and texts with where it ends. Gives the history.
    fn unit(&mut self, unit: Row<'a>, made: Option<Made<'_>>) -> Vec<Row<'a>> {
        let history: Vec<Row<'a>> =
            self.rows.of(table::LIFECYCLE, "unit_id", unit.text("id")).collect();
        let versions: HashMap<&str, Row<'a>> = self
            .rows
            .of(table::VERSION, "unit_id", unit.text("id"))
            .map(|version| (version.text("id"), version))
            .collect();
        let mut texts = Texts { versions: &versions, current: None, profile: Value::Null };
        let mut before: Option<Row<'a>> = None;
        for (n, change) in history.iter().copied().enumerate() {
            self.link(change, n, before);
            self.change(unit, change, &mut texts, made);
            before = Some(change);
        }
        let (Some(first), Some(last)) = (history.first().copied(), before) else {
            self.wrong(unit, "unit_is_what_its_history_says", "it has no history");
            return history;
        };
        self.compare(unit, first, last, made);
        self.texts(&history, &versions);
        history
    }

    /// The rows of a history are numbered and linked.
    fn link(&mut self, change: Row<'_>, place: usize, before: Option<Row<'_>>) {
        const RULE: &str = "history_links";
        let seq = (place + 1).to_string();
        self.expect_all(
            change,
            RULE,
            &[
                ("seq", Some(&seq)),
                ("prev_digest", before.and_then(|before| before.opt("row_digest"))),
                ("from_lifecycle", before.and_then(|before| before.opt("to_lifecycle"))),
            ],
        );
        if place == 0 {
            self.expect(change, RULE, "change_kind", Some("created"));
        }
    }

    /// One change of a unit: allowed in its place, with its cause, and with the digests of unit and text as they were then.
    fn change(
        &mut self,
        unit: Row<'a>,
        change: Row<'a>,
        texts: &mut Texts<'_, 'a>,
        made: Option<Made<'_>>,
    ) {
        const RULE: &str = "change_has_its_cause";
        let id = change.text("unit_version_id");
        let Some(version) = texts.versions.get(id).copied() else {
            return self.wrong(change, RULE, format!("the text {id} is not there"));
        };
        let kind = change.text("change_kind");
        let (from, to) = match kind {
            "created" => (None, "draft"),
            "edited" => (Some("draft"), "draft"),
            "enacted" => (Some("draft"), "enacted"),
            "compensated" => (Some("draft"), "retired"),
            other => return self.wrong(change, RULE, format!("nothing is called {other}")),
        };
        self.expect_all(change, RULE, &[("from_lifecycle", from), ("to_lifecycle", Some(to))]);
        match kind {
            "created" => self.created(unit, change, version, texts, made),
            "edited" => self.edited(change, version, texts),
            _ => {
                let current = texts.current.and_then(|current| current.opt("id"));
                self.expect(change, RULE, "unit_version_id", current);
                self.expect(change, RULE, "edit_draft_id", None);
            }
        }
        if kind == "enacted" {
            self.enacted(change, made);
        } else {
            self.expect(change, RULE, "review_decision_id", None);
        }
        if kind == "edited" {
            self.expect(change, RULE, "change_set_id", None);
            self.expect(change, RULE, "tool_revision", None);
        }
        if kind == "compensated" {
            let undone = made.and_then(|made| made.undone);
            self.expect_all(
                change,
                RULE,
                &[
                    ("change_set_id", undone.map(|undone| undone.change_set_id)),
                    ("actor", undone.map(|undone| undone.actor)),
                    ("reason", undone.map(|undone| undone.reason)),
                    ("tool_revision", undone.map(|undone| undone.tool_revision)),
                ],
            );
        }
        texts.current = Some(version);
        self.as_it_was(unit, change, version, texts);
    }

    fn created(
        &mut self,
        unit: Row<'a>,
        change: Row<'a>,
        version: Row<'a>,
        texts: &mut Texts<'_, 'a>,
        made: Option<Made<'_>>,
    ) {
        const RULE: &str = "unit_is_what_was_approved";
        texts.profile = unit.json("identity_profile");
        self.expect_all(version, RULE, &[("version_seq", Some("1"))]);
        self.expect(change, RULE, "edit_draft_id", None);
        let Some(made) = made else { return };
        let range = usize::try_from(made.unit.start).ok().zip(usize::try_from(made.unit.end).ok());
        let text = range
            .and_then(|(start, end)| made.body.get(start..end))
            .and_then(|bytes| std::str::from_utf8(bytes).ok());
        let id = made.unit.version_id.to_string();
        self.expect_all(
            version,
            RULE,
            &[
                ("id", Some(&id)),
                ("title", Some(&made.unit.title)),
                ("body", text),
                ("content_hash", Some(&made.unit.content_hash)),
                ("content_profile", Some(&made.unit.content_profile)),
            ],
        );
        self.expect_all(
            change,
            RULE,
            &[
                ("change_set_id", Some(made.change_set_id)),
                ("unit_version_id", Some(&id)),
                ("reason", None),
            ],
        );
        if let Some(set) = made.set {
            self.expect_all(
                change,
                RULE,
                &[
                    ("actor", set.opt("emitted_by")),
                    ("tool_revision", set.opt("executor_tool_revision")),
                ],
            );
        }
        texts.profile = serde_json::from_str(&made.unit.identity_profile).unwrap_or_default();
    }

    /// A text that replaced another one is that of its draft, which was written against the other one.
    fn edited(&mut self, change: Row<'a>, version: Row<'a>, texts: &Texts<'_, 'a>) {
        const RULE: &str = "text_is_that_of_its_draft";
        let id = change.text("edit_draft_id");
        let Some(draft) = self.rows.one(table::DRAFT, "draft_id", id) else {
            return self.wrong(change, RULE, format!("the draft {id} is not there"));
        };
        let base = texts.current;
        self.expect_all(
            draft,
            RULE,
            &[
                ("unit_id", change.opt("unit_id")),
                ("base_version_id", base.and_then(|base| base.opt("id"))),
            ],
        );
        let seq = base.and_then(|base| base.number("version_seq")).unwrap_or_default();
        let seq = seq.saturating_add(1).to_string();
        let mut profile = base.map_or(Value::Null, |base| base.json("content_profile"));
        if let Value::Object(members) = &mut profile {
            members.insert("edit_draft_id".to_owned(), id.into());
        }
        let profile = canonical::to_string(&profile);
        self.expect_all(
            version,
            RULE,
            &[
                ("title", draft.opt("title")),
                ("body", draft.opt("body")),
                ("version_seq", Some(&seq)),
                ("content_profile", Some(&profile)),
            ],
        );
    }

    /// An enactment rests on a decision that was made for it.
    fn enacted(&mut self, change: Row<'_>, made: Option<Made<'_>>) {
        const RULE: &str = "enactment_has_its_decision";
        let id = change.text("review_decision_id");
        let Some(decision) = self.rows.one(table::DECISION, "review_decision_id", id) else {
            return self.wrong(change, RULE, format!("the decision {id} is not there"));
        };
        let fits = decision.text("governance_event_kind") == "lifecycle_enactment"
            && decision.text("verdict") == "approve"
            && made.is_some_and(|made| decision.text("entry_id") == made.entry_id);
        if !fits {
            self.wrong(change, RULE, "the decision allows no enactment of this unit");
        }
    }

    /// The digests in a row of the history are those of unit and text as they were after that change.
    fn as_it_was(
        &mut self,
        unit: Row<'a>,
        change: Row<'a>,
        version: Row<'a>,
        texts: &mut Texts<'_, 'a>,
    ) {
        const RULE: &str = "history_shows_unit_and_text";
        let to = change.text("to_lifecycle");
        if let Value::Object(members) = &mut texts.profile {
            members.insert("title".to_owned(), version.text("title").into());
        }
        let profile = canonical::to_string(&texts.profile);
        let retired = change.text("change_kind") == "compensated";
        let unit_digests = unit.digests_with(&[
            ("lifecycle_status", Some(to)),
            ("content_anchor_ref", change.opt("unit_version_id")),
            ("version_anchor_ref", change.opt("unit_version_id")),
            ("identity_profile", Some(&profile)),
            ("updated_at", change.opt("at")),
            ("updated_by", change.opt("actor")),
            ("deleted_at", unit.opt("deleted_at").filter(|_| retired)),
        ]);
        let enacted = to == "enacted";
        let version_digests = version.digests_with(&[
            ("lifecycle_status", Some(if enacted { "enacted" } else { "draft" })),
            ("enacted_at", change.opt("at").filter(|_| enacted)),
        ]);
        // Which of the two was changed is said by the row whose own digest does not fit.
        for (column, digests) in
            [("unit_digest", unit_digests), ("version_digest", version_digests)]
        {
            let digests: Vec<String> = digests.into_iter().map(hex::encode).collect();
            let fitting = digests.iter().find(|digest| change.opt(column) == Some(digest));
            self.expect(
                change,
                RULE,
                column,
                fitting.or_else(|| digests.first()).map(String::as_str),
            );
        }
    }

    /// The unit is where its history ends, and what it was born as.
    fn compare(&mut self, unit: Row<'_>, first: Row<'_>, last: Row<'_>, made: Option<Made<'_>>) {
        const RULE: &str = "unit_is_what_its_history_says";
        self.expect_all(
            unit,
            RULE,
            &[
                ("lifecycle_status", last.opt("to_lifecycle")),
                ("version_anchor_ref", last.opt("unit_version_id")),
                ("content_anchor_ref", last.opt("unit_version_id")),
                ("updated_at", last.opt("at")),
                ("updated_by", last.opt("actor")),
                ("created_at", first.opt("at")),
                ("created_by", first.opt("actor")),
                ("conformance_status", Some("open")),
                ("row_digest", last.opt("unit_digest")),
            ],
        );
        let retired = last.text("change_kind") == "compensated";
        if unit.opt("deleted_at").is_some() != retired {
            self.wrong(unit, RULE, "deleted_at does not follow from its history");
        }
        let (prefix, code) = unit.text("canonical_address").split_once('/').unwrap_or_default();
        self.expect_all(unit, RULE, &[("doc_code", Some(prefix)), ("section_code", Some(code))]);
        let Some(made) = made else { return };
        let parent = made.unit.parent_id.map(|id| id.to_string());
        let order = made.unit.sort_order.to_string();
        self.expect_all(
            unit,
            "unit_is_what_was_approved",
            &[
                ("canonical_address", Some(&made.unit.address)),
                ("unit_kind", Some(made.unit_kind)),
                ("owner_ref", Some(&made.effect.owner_ref)),
                ("parent_or_container_ref", parent.as_deref()),
                ("section_type", Some(&made.unit.section_type)),
                ("sort_order", Some(&order)),
            ],
        );
    }

    /// Every text is one that the history names, and what its hash says.
    fn texts(&mut self, history: &[Row<'_>], versions: &HashMap<&str, Row<'_>>) {
        const RULE: &str = "text_is_what_its_history_says";
        let mut ids: Vec<&str> = versions.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let version = versions[id];
            let hash = hex::encode(Sha256::digest(version.text("body").as_bytes()));
            self.expect(version, RULE, "content_hash", Some(&hash));
            let of = |kinds: &[&str]| {
                history.iter().find(|change| {
                    change.text("unit_version_id") == id
                        && kinds.contains(&change.text("change_kind"))
                })
            };
            let Some(origin) = of(&["created", "edited"]) else {
                self.wrong(version, RULE, "no change of the unit brought this text");
                continue;
            };
            let last = history.iter().rfind(|change| change.text("unit_version_id") == id);
            let enacted = of(&["enacted"]);
            let status = if enacted.is_some() { "enacted" } else { "draft" };
            self.expect_all(
                version,
                RULE,
                &[
                    ("created_at", origin.opt("at")),
                    ("created_by", origin.opt("actor")),
                    ("lifecycle_status", Some(status)),
                    ("enacted_at", enacted.and_then(|enacted| enacted.opt("at"))),
                    ("row_digest", last.and_then(|last| last.opt("version_digest"))),
                ],
            );
        }
    }
}

/// The texts of a unit while its history is replayed.
struct Texts<'m, 'a> {
    versions: &'m HashMap<&'a str, Row<'a>>,
    current: Option<Row<'a>>,
    /// The unit's identity profile, whose title follows the text.
    profile: Value,
}
