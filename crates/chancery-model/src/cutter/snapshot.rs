//! A unit as a cut makes it, in canonical form.

use std::fmt::Write as _;

use uuid::Uuid;

use crate::canonical::write_string;

/// What `cutter_governance.unit_snapshot` is called with.
pub(super) struct UnitSnapshot<'a> {
    pub(super) address: &'a str,
    pub(super) content_hash: &'a str,
    pub(super) local_id: &'a str,
    pub(super) owner_ref: &'a str,
    pub(super) parent_address: Option<&'a str>,
    pub(super) publication_type: &'a str,
    pub(super) section_type: &'a str,
    pub(super) sort_order: i32,
    pub(super) title: &'a str,
    pub(super) unit_kind: &'a str,
    /// The unit and its first version. Without them the snapshot is a line of the writer's digest.
    pub(super) ids: Option<(Uuid, Uuid)>,
}

impl UnitSnapshot<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = String::with_capacity(384);
        let mut member = |name: &str, value: &str| {
            text.push_str(name);
            write_string(value, &mut text);
        };
        member("{\"address\":", self.address);
        member(",\"content_hash\":", self.content_hash);
        member(",\"local_id\":", self.local_id);
        member(",\"owner_ref\":", self.owner_ref);
        match self.parent_address {
            Some(parent) => member(",\"parent_address\":", parent),
            None => text.push_str(",\"parent_address\":null"),
        }
        let mut member = |name: &str, value: &str| {
            text.push_str(name);
            write_string(value, &mut text);
        };
        member(",\"publication_type\":", self.publication_type);
        member(",\"section_type\":", self.section_type);
        write!(text, ",\"sort_order\":{},\"title\":", self.sort_order)
            .expect("writing to a string cannot fail");
        write_string(self.title, &mut text);
        if let Some((unit_id, _)) = self.ids {
            write!(text, ",\"unit_id\":\"{unit_id}\"").expect("writing to a string cannot fail");
        }
        text.push_str(",\"unit_kind\":");
        write_string(self.unit_kind, &mut text);
        if let Some((_, version_id)) = self.ids {
            write!(text, ",\"version_id\":\"{version_id}\"")
                .expect("writing to a string cannot fail");
        }
        text.push('}');
        text
    }
}

/// A unit that was taken back, as the ledger of a compensation shows it.
pub fn retired_snapshot(unit_id: Uuid) -> String {
    format!("{{\"lifecycle_status\":\"retired\",\"unit_id\":\"{unit_id}\"}}")
}
