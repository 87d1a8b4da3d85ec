//! Machines.

use axum::response::Response;
use chancery_api::machines::{DIAGRAM, MACHINE, MACHINES, Machine, MachineRules, WhichVersion};
use chancery_api::{Nothing, Page, PageQuery};

use chancery_model::machine::{Definition, diagram};
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::fsm::MachineRow;
use serde_json::json;

use super::bind::bytes;
use super::page::{after, limit, page, told};
use super::refusal::refused;
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

pub(super) fn bind(routes: Routes) -> Routes {
    routes.on(&MACHINES, list).on(&MACHINE, show).on_raw(&DIAGRAM, picture)
}

async fn list(call: Call<PageQuery, Nothing>) -> Result<Answered<Page<Machine>>, Problem> {
    let limit = limit(call.query.limit)?;
    let before: Option<String> = after(call.query.after.as_deref())?;
    // There are a few dozen at most, in an order that PostgreSQL knows: numbers of versions.
    let mut machines = call.store().machines().await?;
    if let Some(before) = before {
        let at = machines.iter().position(|machine| machine.state_machine_id == before);
        let Some(at) = at else {
            return Err(Problem::of(Fault::QueryInvalid, "after names no machine"));
        };
        machines.drain(..=at);
    }
    machines.truncate(usize::try_from(limit + 1).unwrap_or(usize::MAX));
    Ok(page(machines, limit, |machine| machine.state_machine_id.clone())?.into())
}

async fn show(call: Call<WhichVersion, Nothing>) -> Result<Answered<MachineRules>, Problem> {
    let machine = find(call.store(), call.text("name"), call.query.version.as_deref()).await?;
    Ok(Answered::from(told::<MachineRules>(&machine)?).version(machine.definition_sha256))
}

async fn picture(call: Call<WhichVersion, Nothing>) -> Result<Response, Problem> {
    let machine = find(call.store(), call.text("name"), call.query.version.as_deref()).await?;
    let definition = Definition::from_document(&machine.definition)
        .map_err(|_| Problem::of(Fault::SchemaDiffers, "run `chancery migrate`"))?;
    Ok(bytes("text/plain; charset=utf-8", diagram(&definition)))
}

/// The machine of that name: the version that is asked for, or the active one, or else the newest.
async fn find(store: &Store, name: &str, version: Option<&str>) -> Result<MachineRow, Problem> {
    let mut machines = store.machines().await?;
    let named = |machine: &MachineRow| machine.name == name;
    let chosen = match version {
        Some(version) => {
            machines.iter().position(|machine| named(machine) && machine.version == version)
        }
        None => machines
            .iter()
            .position(|machine| named(machine) && machine.active)
            // Oldest version first.
            .or_else(|| machines.iter().rposition(named)),
    };
    match chosen {
        Some(index) => Ok(machines.swap_remove(index)),
        None => {
            let facts = json!({ "machine": name, "version": version });
            Err(refused(store, Code::RS018, facts).await)
        }
    }
}
