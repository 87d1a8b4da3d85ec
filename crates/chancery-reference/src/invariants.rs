//! What holds of every run at every moment.

use crate::model::Model;

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    #[error("run {run}: entry {place} of the history carries seq {seq}")]
    SeqNotDense { run: String, place: usize, seq: u64 },
    #[error("run {run}: entry {seq} starts in {from:?}, the one before ended in {ended:?}")]
    HistoryBroken { run: String, seq: u64, from: Option<&'static str>, ended: Option<&'static str> },
    #[error("run {run} is in {state}, its history replays to {replayed:?}")]
    StateDisagrees { run: String, state: &'static str, replayed: Option<&'static str> },
    #[error("run {run}: {transition} left the terminal state {from} at {seq}")]
    TerminalLeft { run: String, seq: u64, from: &'static str, transition: &'static str },
    #[error("run {run} is in {state} with facet {facet:?}")]
    FacetDisagrees { run: String, state: &'static str, facet: Option<&'static str> },
    #[error("run {run}: the outbox does not carry the events of its history")]
    OutboxDisagrees { run: String },
}

impl Model {
    /// Every invariant below.
    pub fn check_invariants(&self) -> Result<(), Violation> {
        self.seq_is_dense()?;
        self.history_replays_to_state()?;
        self.terminal_states_are_left_by_exits_only()?;
        self.facet_agrees_with_state()?;
        self.outbox_agrees_with_history()
    }

    /// The history is numbered 1, 2, 3 … up to the run's seq.
    pub fn seq_is_dense(&self) -> Result<(), Violation> {
        for (name, run) in &self.runs {
            let numbers = run.history.iter().map(|entry| entry.seq);
            for (place, seq) in (1..).zip(numbers.chain([run.seq + 1])) {
                if place as u64 != seq {
                    return Err(Violation::SeqNotDense { run: name.clone(), place, seq });
                }
            }
        }
        Ok(())
    }

    /// Each entry starts where the one before ended, the first from ∅, the last ends in the state.
    pub fn history_replays_to_state(&self) -> Result<(), Violation> {
        for (name, run) in &self.runs {
            let mut ended = None;
            for entry in &run.history {
                if entry.from != ended {
                    let (seq, from) = (entry.seq, entry.from);
                    return Err(Violation::HistoryBroken { run: name.clone(), seq, from, ended });
                }
                ended = Some(entry.to);
            }
            if ended != Some(run.state) {
                let (state, replayed) = (run.state, ended);
                return Err(Violation::StateDisagrees { run: name.clone(), state, replayed });
            }
        }
        Ok(())
    }

    /// A terminal state is left only by one of the machine's declared exits.
    pub fn terminal_states_are_left_by_exits_only(&self) -> Result<(), Violation> {
        let is_terminal =
            |code: &&str| self.machine.state(code).is_some_and(|state| state.terminal);
        for (name, run) in &self.runs {
            for entry in &run.history {
                let Some(from) = entry.from.filter(is_terminal) else { continue };
                if !self.machine.terminal_exits.contains(&(from, entry.transition)) {
                    let (seq, transition) = (entry.seq, entry.transition);
                    return Err(Violation::TerminalLeft {
                        run: name.clone(),
                        seq,
                        from,
                        transition,
                    });
                }
            }
        }
        Ok(())
    }

    /// A run carries a facet of its state exactly when the state has facets.
    pub fn facet_agrees_with_state(&self) -> Result<(), Violation> {
        for (name, run) in &self.runs {
            let facets = self.machine.state(run.state).map_or(&[][..], |state| state.facets);
            let agrees = match run.facet {
                None => facets.is_empty(),
                Some(facet) => facets.contains(&facet),
            };
            if !agrees {
                let (state, facet) = (run.state, run.facet);
                return Err(Violation::FacetDisagrees { run: name.clone(), state, facet });
            }
        }
        Ok(())
    }

    /// One event for each entry that names one, in the order of the history, and no other.
    pub fn outbox_agrees_with_history(&self) -> Result<(), Violation> {
        if let Some(stray) = self.outbox.iter().find(|sent| !self.runs.contains_key(&sent.run)) {
            return Err(Violation::OutboxDisagrees { run: stray.run.clone() });
        }
        for (name, run) in &self.runs {
            let sent = self.outbox.iter().filter(|sent| &sent.run == name);
            let promised = run.history.iter().filter_map(|entry| Some((entry.seq, entry.event?)));
            if !sent.map(|sent| (sent.seq, sent.event)).eq(promised) {
                return Err(Violation::OutboxDisagrees { run: name.clone() });
            }
        }
        Ok(())
    }
}
