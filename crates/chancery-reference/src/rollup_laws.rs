//! Laws of the roll-up over random runs: who has no say changes nothing, and worse never looks better.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::rollup::{
    Block, Colour, Policy, Relation, State, Step, critical_path, downstream, rollup,
};

const POLICY: Policy = Policy { blocked_escalation_treats_as_red: true, late_treats_as_red: true };

/// From good to bad, as the traffic light has it.
const WORSE: [State; 5] =
    [State::NotStarted, State::InProgress, State::Waiting, State::Blocked, State::Failed];

fn block() -> impl Strategy<Value = Block> {
    any::<[bool; 4]>().prop_map(|[too_old, on_critical_path, deadline_passed, escalated]| Block {
        too_old,
        on_critical_path,
        deadline_passed,
        escalated,
    })
}

fn step() -> impl Strategy<Value = Step> {
    (select(&State::ALL[..]), any::<bool>(), any::<bool>(), block())
        .prop_map(|(state, optional, skipped, block)| Step { state, optional, skipped, block })
}

/// Steps with relations from lower to higher numbers.
fn run() -> impl Strategy<Value = (Vec<Step>, Vec<Relation>)> {
    vec(step(), 1..20).prop_flat_map(|steps| {
        let count = steps.len();
        let relation = (0..count, 0..count, any::<bool>());
        let relations = vec(relation, 0..30).prop_map(|list| {
            let mut relations: Vec<Relation> = list
                .into_iter()
                .filter(|(from, to, _)| from < to)
                .map(|(from, to, decided)| Relation { from, to, decided })
                .collect();
            relations.sort_by_key(|relation| (relation.from, relation.to));
            relations.dedup_by_key(|relation| (relation.from, relation.to));
            relations
        });
        (Just(steps), relations)
    })
}

proptest! {
    /// RUN-15, R-3 and R-4: an optional or a skipped step changes neither the colour nor what decides it.
    #[test]
    fn who_has_no_say_changes_nothing((steps, _) in run(), mut extra in step(), skipped: bool) {
        if skipped { extra.skipped = true } else { extra.optional = true }
        let before = rollup(&steps, POLICY);
        let mut more = steps.clone();
        more.push(extra);
        let after = rollup(&more, POLICY);
        prop_assert_eq!((after.colour, after.decisive, after.basis), (before.colour, before.decisive, before.basis));
    }

    /// RUN-15, R-1 and R-2: a mandatory step that gets worse never makes the run look better.
    #[test]
    fn worse_never_looks_better((mut steps, _) in run(), at: usize, from in 0..WORSE.len(), by in 0..WORSE.len(), block in block()) {
        let at = at % steps.len();
        let to = (from + by).min(WORSE.len() - 1);
        steps[at] = Step { state: WORSE[from], optional: false, skipped: false, block };
        let before = rollup(&steps, POLICY).colour;
        steps[at].state = WORSE[to];
        prop_assert!(rollup(&steps, POLICY).colour >= before);
    }

    /// RUN-15: the colour is that of the decisive step, and the counts are of those who were considered.
    #[test]
    fn the_colour_is_explained((steps, _) in run()) {
        let found = rollup(&steps, POLICY);
        prop_assert_eq!(found.red + found.yellow + found.green, found.basis.len());
        prop_assert_eq!(found.decisive.is_some(), found.colour >= Colour::Yellow);
        if let Some(decisive) = found.decisive {
            prop_assert_eq!(steps[decisive].colour(POLICY), Some(found.colour));
        }
    }

    /// RUN-16: the critical path is a chain of relations to a mandatory step that is not finished, and no chain to it is longer.
    #[test]
    fn the_critical_path_is_a_longest_chain((steps, relations) in run()) {
        let path = critical_path(&steps, &relations);
        for pair in path.windows(2) {
            prop_assert!(relations.iter().any(|relation| (relation.from, relation.to) == (pair[0], pair[1])));
        }
        if let Some(&target) = path.last() {
            prop_assert!(!steps[target].optional && !steps[target].skipped);
            prop_assert_eq!(path.len(), longest(&steps, &relations, target));
        }
    }

    /// RUN-16: what is held up has not begun, and what holds it up comes before it and does not go on by itself.
    #[test]
    fn what_is_held_up_waits((steps, relations) in run()) {
        for (held, by) in downstream(&steps, &relations) {
            prop_assert!(by < held);
            prop_assert!(steps[held].state == State::NotStarted && !steps[held].skipped);
            prop_assert!(![State::NotStarted, State::Ready, State::InProgress, State::Completed, State::Cancelled].contains(&steps[by].state));
        }
    }
}

/// By trying every chain.
fn longest(steps: &[Step], relations: &[Relation], to: usize) -> usize {
    1 + relations
        .iter()
        .filter(|relation| relation.to == to && !steps[relation.from].skipped)
        .map(|relation| longest(steps, relations, relation.from))
        .max()
        .unwrap_or(0)
}

/// RUN-7: each thing that makes a block worse counts, by itself, and only where the policy says so.
#[test]
fn a_block_is_red_for_any_one_reason() {
    let plain = Block::default();
    let reasons = [
        Block { too_old: true, ..plain },
        Block { on_critical_path: true, ..plain },
        Block { deadline_passed: true, ..plain },
        Block { escalated: true, ..plain },
    ];
    let lenient = Policy { blocked_escalation_treats_as_red: false, ..POLICY };
    let step = |block| Step { state: State::Blocked, optional: false, skipped: false, block };
    assert_eq!(rollup(&[step(plain)], POLICY).colour, Colour::Yellow);
    for block in reasons {
        assert_eq!(rollup(&[step(block)], POLICY).colour, Colour::Red, "{block:?}");
        assert_eq!(rollup(&[step(block)], lenient).colour, Colour::Yellow, "{block:?}");
    }
}
