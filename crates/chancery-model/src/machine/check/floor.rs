//! The nine floor states every step and task machine must hold, word for word.

use super::super::expand::{Definition, State};
use super::super::vocabulary::{Scope, SemanticClass};
use super::finding::{Finding, Rule};

struct FloorState {
    code: &'static str,
    class: SemanticClass,
    color: &'static str,
    terminal: bool,
}

const fn floor(
    code: &'static str,
    class: SemanticClass,
    color: &'static str,
    terminal: bool,
) -> FloorState {
    FloorState { code, class, color, terminal }
}

const FLOOR: [FloorState; 9] = [
    floor("not_started", SemanticClass::Idle, "ui.traffic_light.gray", false),
    floor("ready", SemanticClass::Active, "ui.traffic_light.green_pale", false),
    floor("in_progress", SemanticClass::Active, "ui.traffic_light.green", false),
    floor("waiting", SemanticClass::Wait, "ui.traffic_light.yellow", false),
    floor("blocked", SemanticClass::Wait, "ui.traffic_light.yellow_dark", false),
    floor("overdue", SemanticClass::Red, "ui.traffic_light.red_pale", false),
    floor("failed", SemanticClass::Red, "ui.traffic_light.red", false),
    // Deliberately not terminal: a reviewer may reopen it for correction.
    floor("cannot_complete", SemanticClass::Red, "ui.traffic_light.red_dark", false),
    floor("completed", SemanticClass::Active, "ui.traffic_light.green_deep", true),
];

pub(super) fn check(definition: &Definition, findings: &mut Vec<Finding>) {
    if matches!(definition.scope, Scope::Step | Scope::Task) {
        for floor in &FLOOR {
            match definition.state(floor.code) {
                None => {
                    let message = format!("the floor state {} is not there", floor.code);
                    findings.push(Finding::new(Rule::FloorStateMissing, message));
                }
                Some(state) => verbatim(floor, state, findings),
            }
        }
    }
    derived_states(definition, findings);
}

fn verbatim(floor: &FloorState, state: &State, findings: &mut Vec<Finding>) {
    let differences = [
        (state.class != floor.class, format!("class {} instead of {}", state.class, floor.class)),
        (state.color != floor.color, format!("color {} instead of {}", state.color, floor.color)),
        (
            state.terminal != floor.terminal,
            format!("terminal {} instead of {}", state.terminal, floor.terminal),
        ),
        (state.conceptual, "conceptual".to_owned()),
        (state.derived.is_some(), "derived, which a floor state cannot be".to_owned()),
    ];
    for (_, difference) in differences.into_iter().filter(|(differs, _)| *differs) {
        let message = format!("the floor state {} has {difference}", state.code);
        findings.push(Finding::new(Rule::FloorStateAltered, message));
    }
}

fn derived_states(definition: &Definition, findings: &mut Vec<Finding>) {
    let is_floor = |code: &str| FLOOR.iter().any(|floor| floor.code == code);
    let must_derive = match definition.scope {
        Scope::Step | Scope::Task | Scope::WorkflowRun => true,
        Scope::CutRequest
        | Scope::OrchestratorRun
        | Scope::BirthPermit
        | Scope::Job
        | Scope::DlqReplay
        | Scope::Finding
        | Scope::GovernanceCandidate
        | Scope::Proposal
        | Scope::Custom => false,
    };
    for state in definition.states.iter().filter(|state| !is_floor(&state.code)) {
        let code = &state.code;
        let problem = match &state.derived {
            None if must_derive => format!("{code} is above the floor and not derived"),
            Some(derived) if !is_floor(&derived.floor_equivalent) => {
                format!("{code} is derived from {}, no floor state", derived.floor_equivalent)
            }
            Some(derived) if derived.justification.trim().is_empty() => {
                format!("{code} is derived without a justification")
            }
            None | Some(_) => continue,
        };
        findings.push(Finding::new(Rule::DerivedWithoutFloorEquivalent, problem));
    }
}
