//! Roll-up, critical path and downstream-of-blocker by looking at every step (seed C §3.1 MP-D4, §5, §6.3.3, §6.3.4).
//!
//! The database keeps counts and flags as steps move. This reads the whole run each time and keeps nothing, so that both can be held
//! against each other.

/// A step as the roll-up sees it. Its number is its place in the list; relations lead from lower to higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub state: State,
    pub optional: bool,
    /// The branch that leads here was not taken.
    pub skipped: bool,
    pub block: Block,
}

/// The floor and the derived states that a step can be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    NotStarted,
    Ready,
    InProgress,
    Waiting,
    Blocked,
    Overdue,
    Failed,
    CannotComplete,
    Completed,
    Cancelled,
}

/// What makes a block worse than it looks; without meaning for a step in another state, but for the deadline: work past it is late in
/// every state in which it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// It has lasted longer than its class of workflow bears.
    pub too_old: bool,
    pub on_critical_path: bool,
    pub deadline_passed: bool,
    pub escalated: bool,
}

/// A way from one step to a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relation {
    pub from: usize,
    pub to: usize,
    /// It was taken or not, and is not asked again.
    pub decided: bool,
}

/// What the active row of `rollup_policy_def` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    pub blocked_escalation_treats_as_red: bool,
    pub late_treats_as_red: bool,
}

/// Worse is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    Gray,
    Green,
    Yellow,
    Red,
}

/// What the steps of a run add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollup {
    pub colour: Colour,
    pub red: usize,
    pub yellow: usize,
    pub green: usize,
    pub skipped: usize,
    /// Optional steps that were not skipped.
    pub optional_excluded: usize,
    /// The steps that were considered.
    pub basis: Vec<usize>,
    /// The first of the worst, when there is something wrong.
    pub decisive: Option<usize>,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 10] = [
        Self::NotStarted,
        Self::Ready,
        Self::InProgress,
        Self::Waiting,
        Self::Blocked,
        Self::Overdue,
        Self::Failed,
        Self::CannotComplete,
        Self::Completed,
        Self::Cancelled,
    ];

    /// The code that the registry has for it.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Ready => "ready",
            Self::InProgress => "in_progress",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Overdue => "overdue",
            Self::Failed => "failed",
            Self::CannotComplete => "cannot_complete",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }

    fn is_finished(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled)
    }

    /// It keeps what comes after it from beginning, and does not go on by itself.
    fn holds_up(self) -> bool {
        matches!(
            self,
            Self::Waiting | Self::Blocked | Self::Overdue | Self::Failed | Self::CannotComplete
        )
    }
}

impl Colour {
    /// The word that is stored.
    pub fn code(self) -> &'static str {
        match self {
            Self::Gray => "gray",
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Red => "red",
        }
    }
}

impl Step {
    /// What the step says about its run; nothing when it has no say or its turn has not come.
    pub fn colour(&self, policy: Policy) -> Option<Colour> {
        if self.optional || self.skipped {
            return None;
        }
        match self.state {
            State::NotStarted => None,
            State::Ready | State::InProgress | State::Waiting
                if self.block.deadline_passed && policy.late_treats_as_red =>
            {
                Some(Colour::Red)
            }
            State::Ready | State::InProgress | State::Completed => Some(Colour::Green),
            State::Waiting => Some(Colour::Yellow),
            State::Blocked => {
                let Block { too_old, on_critical_path, deadline_passed, escalated } = self.block;
                let red = too_old || on_critical_path || deadline_passed || escalated;
                let red = red && policy.blocked_escalation_treats_as_red;
                Some(if red { Colour::Red } else { Colour::Yellow })
            }
            State::Overdue | State::Failed | State::CannotComplete | State::Cancelled => {
                Some(Colour::Red)
            }
        }
    }

    fn has_not_begun(&self) -> bool {
        self.state == State::NotStarted && !self.skipped
    }
}

///
pub fn rollup(steps: &[Step], policy: Policy) -> Rollup {
    let says: Vec<Option<Colour>> = steps.iter().map(|step| step.colour(policy)).collect();
    let with = |colour| says.iter().filter(|&&says| says == Some(colour)).count();
    let colour = says.iter().flatten().copied().max().unwrap_or(Colour::Gray);
    Rollup {
        colour,
        red: with(Colour::Red),
        yellow: with(Colour::Yellow),
        green: with(Colour::Green),
        skipped: steps.iter().filter(|step| step.skipped).count(),
        optional_excluded: steps.iter().filter(|step| step.optional && !step.skipped).count(),
        basis: (0..steps.len()).filter(|&n| says[n].is_some()).collect(),
        decisive: (colour >= Colour::Yellow)
            .then(|| says.iter().position(|&says| says == Some(colour)))
            .flatten(),
    }
}

/// The longest chain of dependencies that leads to the earliest mandatory step that is not finished. Of several as long, the one whose last
/// link comes from the lowest number, and so back to its beginning.
pub fn critical_path(steps: &[Step], relations: &[Relation]) -> Vec<usize> {
    let Some(target) =
        steps.iter().position(|step| !step.optional && !step.skipped && !step.state.is_finished())
    else {
        return Vec::new();
    };
    let mut chain = vec![target];
    let mut at = target;
    while let Some(before) = into(relations, at)
        .filter(|&from| !steps[from].skipped)
        // The first of the longest: `max_by_key` alone would take the last.
        .min_by_key(|&from| (std::cmp::Reverse(depth(steps, relations, from)), from))
    {
        chain.push(before);
        at = before;
    }
    chain.reverse();
    chain
}

/// The steps that have not begun and that something before them holds up, each with the first that does. What holds up is undecided: a way
/// that was decided leads on whatever becomes of where it came from, and a step that has begun is not held up by what was before it.
pub fn downstream(steps: &[Step], relations: &[Relation]) -> Vec<(usize, usize)> {
    let mut held = Vec::new();
    for step in (0..steps.len()).filter(|&n| steps[n].has_not_begun()) {
        if let Some(by) = holders(steps, relations, step).into_iter().min() {
            held.push((step, by));
        }
    }
    held
}

/// How many links the longest chain to a step has, without skipped steps.
fn depth(steps: &[Step], relations: &[Relation], step: usize) -> usize {
    let mut depths = vec![0; step + 1];
    for at in 0..=step {
        depths[at] = into(relations, at)
            .filter(|&from| !steps[from].skipped)
            .map(|from| depths[from] + 1)
            .max()
            .unwrap_or(0);
    }
    depths[step]
}

/// Every step that holds this one up, near or far.
fn holders(steps: &[Step], relations: &[Relation], step: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut seen = vec![false; steps.len()];
    let mut to_ask = vec![step];
    while let Some(at) = to_ask.pop() {
        for relation in relations.iter().filter(|relation| relation.to == at && !relation.decided) {
            let from = relation.from;
            if std::mem::replace(&mut seen[from], true) {
                continue;
            }
            if steps[from].state.holds_up() {
                found.push(from);
            } else if steps[from].has_not_begun() {
                to_ask.push(from);
            }
        }
    }
    found
}

fn into(relations: &[Relation], step: usize) -> impl Iterator<Item = usize> {
    relations.iter().filter(move |relation| relation.to == step).map(|relation| relation.from)
}
