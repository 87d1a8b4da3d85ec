//! The layout as it is sent: whole numbers, stable names.

use serde::Serialize;
use serde_json::Value;

use super::graph::{Mark, RelationKind};

/// Where everything is. The origin is the upper left corner, x runs to the right, y runs down.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Layout {
    pub width: i32,
    pub height: i32,
    /// Nodes by key; a collapsed group stands where its first step would.
    pub nodes: Vec<Node>,
    /// Edges by the keys of their ends.
    pub edges: Vec<Edge>,
    pub bands: Vec<Band>,
    /// Lanes that have a node, in the order of the definition; none when lanes are not shown.
    pub lanes: Vec<Lane>,
    /// Categories that have a node, by key.
    pub groups: Vec<Group>,
    /// Ids in the order of reading: no step comes before one that leads to it.
    pub topo_order: Vec<String>,
}

/// A card on the picture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    /// The step's key; for a collapsed group `group:` and the category's.
    pub id: String,
    pub x: i32,
    pub y: i32,
    pub w: i32,
    pub h: i32,
    /// The column, counted through all bands. An edge leads to a higher one unless it closes a cycle.
    pub rank: usize,
    pub band: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub kind: NodeKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// What a card stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    Step,
    SubWorkflow,
    /// All steps of a collapsed category.
    Group,
}

/// A line from the right side of a node to the left side of another, of horizontal and vertical pieces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub kind: RelationKind,
    pub points: Vec<[i32; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// How many relations a collapsed group has merged into it.
    #[serde(skip_serializing_if = "is_one")]
    pub relations: usize,
}

/// A line of the text that the picture is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Band {
    pub y: i32,
    pub h: i32,
}

/// A lane, with one rectangle in each band where it has a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lane {
    pub key: String,
    pub boxes: Vec<Box>,
}

/// A category, with one rectangle for each contiguous piece. A rectangle has no node of another category in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    pub key: String,
    pub collapsed: bool,
    pub boxes: Vec<Box>,
}

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Box {
    pub x: i32,
    pub y: i32,
    pub w: i32,
    pub h: i32,
}

impl Layout {
    /// How much it is made smaller (never larger) to be seen whole in a window of so many pixels.
    pub fn fitted_scale(&self, width: u32, height: u32) -> f64 {
        let across = f64::from(width) / f64::from(self.width.max(1));
        let down = f64::from(height) / f64::from(self.height.max(1));
        across.min(down).min(1.0)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(count: &usize) -> bool {
    *count == 1
}
