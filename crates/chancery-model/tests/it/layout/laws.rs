//! Rules that hold for any graph.

use std::collections::BTreeSet;

use chancery_model::layout::{Graph, Mark, Options, Relation, RelationKind, Step, lay_out, union};
use proptest::prelude::*;

use super::check::{bytes, faults, ranks_rise};

/// A graph before it is put in order.
#[derive(Debug, Clone)]
struct Raw {
    lanes: usize,
    steps: Vec<Step>,
    relations: Vec<Relation>,
}

impl Raw {
    fn graph(&self) -> Graph {
        let lanes = (0..self.lanes).map(|lane| format!("lane{lane}")).collect();
        let categories = (0..3).map(|category| format!("part{category}")).collect();
        Graph::new(lanes, categories, self.steps.clone(), self.relations.clone())
            .expect("it names what it has")
    }
}

const KINDS: [RelationKind; 4] =
    [RelationKind::Trigger, RelationKind::And, RelationKind::Condition, RelationKind::Or];

/// Steps in no order of their keys, arrows from lower to higher numbers: no cycle. With `cycles`, arrows in any direction.
fn raw(most: usize, cycles: bool) -> impl Strategy<Value = Raw> {
    (1..most, 0..4usize).prop_flat_map(move |(count, lanes)| {
        let attributes = (0..=lanes, 0..6usize, any::<bool>());
        let steps = prop::collection::vec(attributes, count);
        let arrows = prop::collection::vec((0..count, 0..count, 0..KINDS.len()), 0..count * 2);
        (steps, arrows).prop_map(move |(steps, arrows)| {
            // 7 and 101 have no factor in common, so keys differ and are not in the order of arrows.
            let key = |number: usize| format!("k{:03}", number * 7 % 101);
            let steps =
                steps.iter().enumerate().map(|(number, &(lane, part, sub_workflow))| Step {
                    lane: (lane < lanes).then(|| format!("lane{lane}")),
                    category: (part < 3).then(|| format!("part{part}")),
                    sub_workflow,
                    ..Step::new(key(number))
                });
            let relations =
                arrows.iter().filter(|arrow| cycles || arrow.0 != arrow.1).map(|arrow| {
                    let (from, to) = if cycles || arrow.0 < arrow.1 {
                        (arrow.0, arrow.1)
                    } else {
                        (arrow.1, arrow.0)
                    };
                    Relation { kind: KINDS[arrow.2], ..Relation::new(key(from), key(to)) }
                });
            Raw { lanes, steps: steps.collect(), relations: relations.collect() }
        })
    })
}

fn options() -> impl Strategy<Value = Options> {
    let parts =
        prop::collection::btree_set((0..3usize).prop_map(|part| format!("part{part}")), 0..3);
    (any::<bool>(), parts, prop_oneof![Just((1280, 800)), Just((390, 844)), Just((3000, 300))])
        .prop_map(|(lanes, collapsed, (width, height))| Options { width, height, lanes, collapsed })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing overlaps, lanes and groups hold their nodes, lines run between nodes and end at them.
    #[test]
    fn every_layout_keeps_the_rules(raw in raw(40, false), options in options()) {
        let graph = raw.graph();
        let layout = lay_out(&graph, &options);
        prop_assert_eq!(faults(&graph, &options, &layout), Ok(()));
        if options.collapsed.is_empty() {
            prop_assert!(ranks_rise(&layout));
        }
    }

    /// Cycles, which unions and collapsed groups can have, break none of it.
    #[test]
    fn cycles_keep_the_rules(raw in raw(20, true), options in options()) {
        let graph = raw.graph();
        let layout = lay_out(&graph, &options);
        prop_assert_eq!(faults(&graph, &options, &layout), Ok(()));
    }

    /// The order in which steps and relations are listed leaves no trace.
    #[test]
    fn the_order_of_lists_does_not_matter(
        (raw, steps, relations) in raw(30, false).prop_flat_map(|raw| {
            let steps = Just(raw.steps.clone()).prop_shuffle();
            let relations = Just(raw.relations.clone()).prop_shuffle();
            (Just(raw), steps, relations)
        }),
        options in options(),
    ) {
        let shuffled = Raw { lanes: raw.lanes, steps, relations };
        let first = bytes(&lay_out(&raw.graph(), &options));
        prop_assert_eq!(&first, &bytes(&lay_out(&shuffled.graph(), &options)));
        prop_assert_eq!(&first, &bytes(&lay_out(&raw.graph(), &options)));
    }

    /// A union has what either has, once, marked by who has it.
    #[test]
    fn a_union_marks_what_either_has(base in raw(20, false), proposed in raw(20, false)) {
        // Lanes are those of the larger one, so that both know them.
        let lanes = base.lanes.max(proposed.lanes);
        let base = Raw { lanes, ..base }.graph();
        let proposed = Raw { lanes, ..proposed }.graph();
        let both = union(&base, &proposed);
        let keys = |graph: &Graph| -> BTreeSet<String> {
            graph.steps().iter().map(|step| step.key.clone()).collect()
        };
        let ends = |graph: &Graph| -> BTreeSet<(String, String, RelationKind)> {
            let of = |r: &Relation| (r.from.clone(), r.to.clone(), r.kind);
            graph.relations().iter().map(of).collect()
        };
        let mark = |before: bool, after: bool| match (before, after) {
            (true, true) => Mark::Kept,
            (true, false) => Mark::Removed,
            _ => Mark::Added,
        };
        let all: BTreeSet<String> = keys(&base).union(&keys(&proposed)).cloned().collect();
        prop_assert_eq!(keys(&both), all);
        prop_assert_eq!(both.steps().len(), keys(&both).len());
        for step in both.steps() {
            let expected = mark(keys(&base).contains(&step.key), keys(&proposed).contains(&step.key));
            prop_assert_eq!(step.mark, Some(expected));
        }
        let all: BTreeSet<_> = ends(&base).union(&ends(&proposed)).cloned().collect();
        prop_assert_eq!(ends(&both), all);
        for relation in both.relations() {
            let at = (relation.from.clone(), relation.to.clone(), relation.kind);
            let expected = mark(ends(&base).contains(&at), ends(&proposed).contains(&at));
            prop_assert_eq!(relation.mark, Some(expected));
        }
        let layout = lay_out(&both, &Options::default());
        prop_assert_eq!(faults(&both, &Options::default(), &layout), Ok(()));
    }
}
