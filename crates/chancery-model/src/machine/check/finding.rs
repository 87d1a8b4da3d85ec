//! What the checker reports.

use std::fmt;

use serde::Serialize;

use super::super::vocabulary::vocabulary;

/// One thing that is wrong with a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub rule: Rule,
    /// For people; programs look at `rule`.
    pub message: String,
    /// The counter-example: state, label, state, label, … Empty where a path says nothing.
    pub path: Vec<String>,
}

impl Finding {
    pub(super) fn new(rule: Rule, message: impl Into<String>) -> Self {
        Self { rule, message: message.into(), path: Vec::new() }
    }

    pub(super) fn with_path(self, path: Vec<String>) -> Self {
        Self { path, ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.message)?;
        if !self.path.is_empty() {
            write!(f, " [{}]", self.path.join(" "))?;
        }
        Ok(())
    }
}

vocabulary! {
    /// The rules a machine is held to; a finding names the one that is broken.
    pub enum Rule {
        /// The machine's name is not `^[a-z][a-z0-9_]*$`.
        MalformedMachineName = "malformed_machine_name",
        /// The version is not a semantic version.
        MalformedVersion = "malformed_version",
        /// A name would not survive in a transition id, an event subject or a diagram.
        MalformedName = "malformed_name",

        /// Two states share a code.
        DuplicateState = "duplicate_state",
        /// Two transitions of the file share a label.
        DuplicateLabel = "duplicate_label",
        /// Two rows share from, to and actor.
        DuplicateTransition = "duplicate_transition",
        /// Two guards share a name.
        DuplicateGuard = "duplicate_guard",
        /// Two events share a type.
        DuplicateEvent = "duplicate_event",
        /// Two facets of a state share a code.
        DuplicateFacet = "duplicate_facet",
        /// Two facets of a state share an ordinal, so neither comes first.
        DuplicateFacetOrdinal = "duplicate_facet_ordinal",
        /// Two invariants share an id.
        DuplicateInvariant = "duplicate_invariant",
        /// Two roll-up policies share a name.
        DuplicateRollup = "duplicate_rollup",
        /// A transition lists a guard twice.
        RepeatedGuard = "repeated_guard",

        /// A state is named that the machine does not have.
        UnknownState = "unknown_state",
        /// A guard is named that the machine does not declare.
        UnknownGuard = "unknown_guard",
        /// An event is emitted that the machine does not declare.
        UnknownEvent = "unknown_event",
        /// An invariant names a transition the machine does not have.
        UnknownLabel = "unknown_label",
        /// A transition names an actor class in which nobody can ever move a run of this kind.
        ActorNeverActs = "actor_never_acts",
        /// A state has a colour that the palette does not have.
        UnknownColour = "unknown_colour",
        /// A state or facet has an icon that has no silhouette.
        UnknownIcon = "unknown_icon",
        /// A guard is declared and no transition carries it.
        UnusedGuard = "unused_guard",
        /// An event is declared and no transition emits it.
        UnusedEvent = "unused_event",

        /// A text lacks its English form, which every other language falls back to.
        EnglishTextMissing = "english_text_missing",
        /// One text key has two wordings in one language.
        ConflictingText = "conflicting_text",
        /// Roll-up policies stand in a machine that is not a workflow run's.
        RollupOutsideWorkflowRun = "rollup_outside_workflow_run",

        /// No state is initial.
        InitialStateMissing = "initial_state_missing",
        /// More than one state is initial.
        SeveralInitialStates = "several_initial_states",
        /// No transition gives birth to a run.
        BirthMissing = "birth_missing",
        /// A run would be born into a state that is not the initial one.
        BirthNotToInitial = "birth_not_to_initial",
        /// No way from birth leads to the state.
        UnreachableState = "unreachable_state",
        /// A state is not terminal and nothing leaves it.
        DeadEnd = "dead_end",
        /// A state can be left, but no terminal state can ever be reached from it.
        NoWayOut = "no_way_out",
        /// A row leaves a terminal state without saying that it means to.
        UndeclaredTerminalExit = "undeclared_terminal_exit",
        /// A transition is declared a terminal exit and leaves no terminal state.
        TerminalExitWithoutTerminal = "terminal_exit_without_terminal",
        /// A conceptual state is the `via` of no transition.
        ConceptualStateUnused = "conceptual_state_unused",
        /// A conceptual state, which is never stored, has rows of its own.
        ConceptualStateWithEdges = "conceptual_state_with_edges",
        /// A `via` names a state that is stored.
        ViaNotConceptual = "via_not_conceptual",

        /// A step or task machine lacks one of the nine floor states.
        FloorStateMissing = "floor_state_missing",
        /// A floor state has another class, colour or terminal flag than the floor says.
        FloorStateAltered = "floor_state_altered",
        /// A state above the floor does not say what it shrinks to, and why it exists.
        DerivedWithoutFloorEquivalent = "derived_without_floor_equivalent",

        /// A config guard has no rule.
        ConfigGuardWithoutRule = "config_guard_without_rule",
        /// A predicate guard, whose rule is a function, has a rule in the file.
        PredicateGuardWithRule = "predicate_guard_with_rule",
        /// A user's machine asks for a database function.
        PredicateGuardInCustom = "predicate_guard_in_custom",
        /// A guard of a user's machine reads more than the run's parent, children and history.
        ForeignReadInCustom = "foreign_read_in_custom",

        /// A rule is no SQL/JSON path, or one that gives no truth value.
        MalformedRule = "malformed_rule",
        /// A rule uses what could hold although it cannot be answered.
        OpenRule = "open_rule",
        /// A rule reads what no document of its transition has.
        UnknownMember = "unknown_member",
        /// A rule reads what its guard does not declare, so the engine would neither lock nor add it.
        UndeclaredRead = "undeclared_read",

        /// A schema uses what the database's validator does not know.
        SchemaOutsideSubset = "schema_outside_subset",
        /// A payload would carry a body or a secret.
        DeniedPayloadKey = "denied_payload_key",

        /// A declared `never_edge` exists.
        NeverEdgeViolated = "never_edge_violated",
        /// A declared `never_path` exists.
        NeverPathViolated = "never_path_violated",
        /// A state is reached past the state that every way should visit.
        AlwaysViaViolated = "always_via_violated",
        /// One actor class could do both of two separated transitions, or the guard is not there.
        SeparationViolated = "separation_violated",
    }
}
