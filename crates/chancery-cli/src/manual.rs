//! `chancery completions` and `chancery man`: generated from the command line's own description.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man as Page;
use serde_json::json;

use crate::Context;
use crate::cli::Cli;
use crate::failure::{Failure, Outcome};

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// A command, such as `run move`
    command: Vec<String>,
}

pub(crate) fn completions(context: &mut Context, args: &Completions) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "chancery", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    context
        .out
        .answer(&json!({ "shell": args.shell.to_string(), "script": script }), || script.clone())?;
    Ok(Outcome::Done)
}

pub(crate) fn man(context: &mut Context, args: &Man) -> Result<Outcome, Failure> {
    let mut command = Cli::command();
    // Names and global options reach the subcommands only now.
    command.build();
    let mut command = &command;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            Failure::Usage(format!("there is no command {}", args.command.join(" ")))
        })?;
    }
    let name = command.get_display_name().unwrap_or("chancery").to_owned();
    let mut page = Vec::new();
    Page::new(command.clone())
        .title(name.to_uppercase())
        .render(&mut page)
        .map_err(|error| Failure::Failed(format!("the page can't be made: {error}")))?;
    let page = String::from_utf8_lossy(&page).into_owned();
    context.out.answer(&json!({ "name": name, "page": page }), || page.clone())?;
    Ok(Outcome::Done)
}
