//! The closed words of a machine file.
//!
//! Each word has one spelling, the same in YAML, JSON and PostgreSQL.

/// What stands in `from` when a transition is the birth of a run.
pub const BIRTH: &str = "∅";

/// What an invariant writes for "every stored state".
pub const ANY_STATE: &str = "*";

/// Defines a closed enum together with its code words.
macro_rules! vocabulary {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $code:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $( $(#[$variant_meta])* #[serde(rename = $code)] $variant, )+
        }

        impl $name {
            /// Every word, in the order of declaration.
            pub const ALL: &[Self] = &[$( Self::$variant, )+];

            /// The word as it stands in files, JSON and the database.
            pub const fn code(self) -> &'static str {
                match self { $( Self::$variant => $code, )+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.code())
            }
        }
    };
}
pub(super) use vocabulary;

vocabulary! {
    /// What kind of thing a machine moves.
    pub enum Scope {
        /// A step of a workflow run; bound to the nine floor states.
        Step = "step",
        /// A task inside a step; bound to the nine floor states.
        Task = "task",
        /// A whole workflow run, whose colour is rolled up from its steps.
        WorkflowRun = "workflow_run",
        /// An entry of the cutter's decision backlog.
        CutRequest = "cut_request",
        /// One run of the cutting orchestrator.
        OrchestratorRun = "orchestrator_run",
        /// A single-use permit to admit one object.
        BirthPermit = "birth_permit",
        /// A born object on its way to governance.
        GovernanceCandidate = "governance_candidate",
        /// A piece of work in the queue.
        Job = "job",
        /// The proposal to run a dead job again.
        DlqReplay = "dlq_replay",
        /// A problem that somebody has to look at.
        Finding = "finding",
        /// A proposal, from its draft to its merge.
        Proposal = "proposal",
        /// A machine of a user; its guards are rules in data, never functions.
        Custom = "custom",
    }
}

vocabulary! {
    /// What sets a transition off.
    pub enum TriggerKind {
        /// Something was reported.
        Event = "event",
        /// Somebody asked for it by name.
        Rpc = "rpc",
        /// A point in time passed.
        Timer = "timer",
        /// A condition that was waited for became true.
        ConditionResolved = "condition_resolved",
    }
}

vocabulary! {
    /// What a state means to roll-ups and to the eye, whatever its name.
    pub enum SemanticClass {
        /// Nothing happens yet.
        Idle = "idle",
        /// Work goes on, or went well.
        Active = "active",
        /// Something outside must happen first.
        Wait = "wait",
        /// Something went wrong and wants attention.
        Red = "red",
        /// The end, neither good nor bad by itself.
        Terminal = "terminal",
    }
}

vocabulary! {
    /// The stream an event is published on.
    pub enum Stream {
        /// Remarks of people and agents.
        Comment = "comment",
        /// Decisions asked for and given.
        Review = "review",
        /// Ordinary progress.
        Update = "update",
        /// Objects coming into being.
        Birth = "birth",
        /// Work to be done.
        Task = "task",
        /// What somebody must look at now.
        Alert = "alert",
        /// Signs of life of processes.
        Health = "health",
    }
}

vocabulary! {
    /// How urgently an event is delivered.
    pub enum Lane {
        /// As soon as it is committed.
        Immediate = "immediate",
        /// With the next batch.
        Delayed = "delayed",
    }
}

vocabulary! {
    /// Where a guard's rule lives.
    pub enum GuardKind {
        /// A predicate over the context document, kept as data in the machine file.
        Config = "config",
        /// A registered database function; only its name stands in the file.
        PredicateFn = "predicate_fn",
    }
}

vocabulary! {
    /// In what capacity somebody acts; a transition row names exactly one.
    pub enum ActorClass {
        /// The engine itself: timers, sweeps, resolved conditions.
        System = "system",
        /// The person in charge of a step.
        PicHuman = "pic_human",
        /// The person in charge of a task, who need not be the step's.
        TaskPicHuman = "task_pic_human",
        /// Decides reopenings, cancellations and other approved exceptions.
        Reviewer = "reviewer",
        /// A process that carries out steps and tasks.
        ExecutorWorker = "executor_worker",
        /// Drives workflow runs and their sub-workflows.
        MowOrchestrator = "mow_orchestrator",
        /// Takes over what failed for good.
        EscalationHandler = "escalation_handler",
        /// The human who owns the outcome and may stop or void.
        Sovereign = "sovereign",
        /// Approves, defers or rejects a cut.
        ReviewAuthority = "review_authority",
        /// Applies an approved cut; never verifies one.
        ExecutorDot991 = "executor_dot991",
        /// Verifies an applied cut; never applies one.
        VerifierDot992 = "verifier_dot992",
        /// Reads only.
        Observer = "observer",
    }
}

impl ActorClass {
    /// Whether anybody can ever move a run of this kind in this class: a login of the database acts for it, and where the kind has no
    /// commands of its own, that login may begin and move its runs. The database derives the same from its grants (`fsm.can_act`); a
    /// test compares.
    #[must_use]
    pub const fn can_act(self, scope: Scope) -> bool {
        !matches!(
            (self, scope),
            (Self::Observer, _)
                | (
                    Self::ReviewAuthority | Self::ExecutorDot991 | Self::VerifierDot992,
                    Scope::Custom
                )
        )
    }
}
