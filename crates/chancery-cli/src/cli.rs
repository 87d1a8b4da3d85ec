//! The surface: global options and the list of commands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::failure::{Failure, Outcome};
use crate::{
    Context, approval, audit, birth, cutter, db, demo, doc, doctor, governance, kb, key, machine,
    manual, mcp, principal, proposal, queue, relay, run, serve, step, token, worker, workflow,
};

const EXIT_CODES: &str = "\
Exit codes:
  0 done   1 failed   2 wrong usage   3 refused by a rule   4 paused at a gate

Environment:
  DATABASE_URL  an outside PostgreSQL 15+ to use instead of the private one

Example:
  $ chancery demo
  $ chancery run move 0197… --to submitted --as alice";

/// Governed state machines on PostgreSQL: the database refuses every move that no rule declares.
#[derive(Debug, Parser)]
#[command(name = "chancery", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Cuts of documents: mark, sweep, review, cut, verify. The same as `chancery cutter`.
#[derive(Debug, Parser)]
#[command(name = "cutter", version, after_help = cutter::EXAMPLES, max_term_width = 100)]
pub(crate) struct Cutter {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: cutter::Command,
}

/// Brings one object into being, with a permit that the database enforces. The same as `chancery birth admit`.
#[derive(Debug, Parser)]
#[command(name = "dot-birth-admit", version, after_help = birth::ADMIT_EXAMPLES, max_term_width = 100)]
pub(crate) struct DotBirthAdmit {
    // First, or its options would stand under the heading of the global ones.
    #[command(flatten)]
    pub(crate) admit: birth::Admit,
    #[command(flatten)]
    pub(crate) globals: Globals,
}

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Who acts; the key comes from the keystore in the data directory
    #[arg(
        long = "as",
        value_name = "NAME",
        env = "CHANCERY_PRINCIPAL",
        hide_env_values = true,
        global = true
    )]
    pub(crate) principal: Option<String>,
    /// The data directory [default: the platform's]
    #[arg(long, value_name = "DIR", env = "CHANCERY_HOME", hide_env_values = true, global = true)]
    pub(crate) home: Option<PathBuf>,
    /// Say more on stderr; twice for even more
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Walk through a purchase, a cut of a document and a workflow; or fill a system and show it
    #[command(after_help = demo::EXAMPLES)]
    Demo(demo::Demo),
    /// The private PostgreSQL: start, stop, look, connect
    #[command(subcommand, after_help = "Example:\n  $ chancery db start")]
    Db(db::Command),
    /// Bring the database up to this release
    #[command(after_help = "Repeating it changes nothing.\n\nExample:\n  $ chancery migrate")]
    Migrate,
    /// Check the ground everything stands on, and say how to mend it
    #[command(
        after_help = "Example:\n  $ chancery doctor\n  $ chancery doctor --fix\n  $ chancery doctor --acknowledge 'table fsm.run' --hours 24 --reason 'a report reads it until Friday' --as alice"
    )]
    Doctor(doctor::Doctor),
    /// Humans, agents and services that can be held to what they did
    #[command(
        subcommand,
        after_help = "Example:\n  $ chancery principal add alice --kind human --class pic_human"
    )]
    Principal(principal::Command),
    /// The keys principals sign with
    #[command(subcommand, after_help = "Example:\n  $ chancery key new alice")]
    Key(key::Command),
    /// Tokens that programs show the HTTP API
    #[command(
        subcommand,
        after_help = "Example:\n  $ chancery token new --for scanner --label nightly --scope queue.work"
    )]
    Token(token::Command),
    /// State machines: check, apply, show
    #[command(
        subcommand,
        after_help = "Example:\n  $ chancery machine apply purchase_approval.yaml"
    )]
    Machine(machine::Command),
    /// Runs of your own machines: start, move, look
    #[command(
        subcommand,
        after_help = "Example:\n  $ chancery run start --machine purchase_approval --data '{\"amount\": 900}' --as alice"
    )]
    Run(run::Command),
    /// Workflows: propose, approve and merge definitions; start runs and see where they stand
    #[command(
        subcommand,
        after_help = "Example:\n  $ chancery workflow start contract_review --input '{\"value\": 900}' --as alice"
    )]
    Workflow(workflow::Command),
    /// Steps and tasks of workflows: claim, wait, block, complete, and the rest
    #[command(subcommand, after_help = "Example:\n  $ chancery step claim 0197… draft --as alice")]
    Step(step::Command),
    /// Proposals that are not about workflows: propose, approve, carry out
    #[command(subcommand, after_help = "Example:\n  $ chancery proposal list --state review")]
    Proposal(proposal::Command),
    /// Approvals: ask for one, vote, see where it stands
    #[command(
        subcommand,
        after_help = "Example:\n  $ chancery approval vote 0197… --approve --as carol"
    )]
    Approval(approval::Command),
    /// The knowledge base: documents in revisions, signed, and as files
    #[command(
        subcommand,
        after_help = "Example:\n  $ chancery kb put handbook/onboarding onboarding.md --as alice"
    )]
    Kb(kb::Command),
    /// Documents: add, list, look at their units, give them back
    #[command(
        subcommand,
        after_help = "Example:\n  $ chancery doc add policy.md --id policy --prefix POL --as alice"
    )]
    Doc(doc::Command),
    /// Cuts of documents: mark, sweep, review, cut, verify
    #[command(subcommand, after_help = cutter::EXAMPLES)]
    Cutter(cutter::Command),
    /// Births: tables under admission, permits, and what is born with them
    #[command(
        subcommand,
        after_help = "Example:\n  $ chancery birth protect shop.film --code code --enforce --as alice\n  $ chancery birth status"
    )]
    Birth(birth::Command),
    /// Jobs: list, add, cancel, and dead letters that run again
    #[command(
        subcommand,
        after_help = "Example:\n  $ chancery queue add --class noop --kind greet --key greet-42 --as alice"
    )]
    Queue(queue::Command),
    /// What is wrong now, and what is said about it
    #[command(subcommand, after_help = "Example:\n  $ chancery governance problems")]
    Governance(governance::Command),
    /// Host the loops, and give jobs to workers over HTTP
    #[command(after_help = serve::EXAMPLES)]
    Serve(serve::Serve),
    /// Do what waits for an executor or a verifier, again and again
    #[command(after_help = worker::EXAMPLES)]
    Worker(worker::Worker),
    /// Let an AI agent work under its own name, by the Model Context Protocol on stdio
    #[command(after_help = mcp::EXAMPLES)]
    Mcp(mcp::Mcp),
    /// Hand events on to NATS JetStream
    #[command(after_help = relay::EXAMPLES)]
    Relay(relay::Relay),
    /// Prove the log
    #[command(subcommand, after_help = "Example:\n  $ chancery audit verify")]
    Audit(audit::Command),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  $ chancery completions bash > ~/.local/share/bash-completion/completions/chancery"
    )]
    Completions(manual::Completions),
    /// Print the manual page, of the whole or of one command
    #[command(after_help = "Example:\n  $ chancery man run move | man -l -")]
    Man(manual::Man),
}

/// Does what was asked for.
pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    // Boxed: the commands' futures differ much in size, and the demo dispatches from inside one.
    match command {
        Command::Demo(args) => Box::pin(demo::demo(context, &args)).await,
        Command::Db(command) => Box::pin(db::dispatch(context, command)).await,
        Command::Migrate => Box::pin(db::migrate(context)).await,
        Command::Doctor(doctor) => Box::pin(doctor::doctor(context, &doctor)).await,
        Command::Principal(command) => Box::pin(principal::dispatch(context, command)).await,
        Command::Key(command) => Box::pin(key::dispatch(context, command)).await,
        Command::Token(command) => Box::pin(token::dispatch(context, command)).await,
        Command::Machine(command) => Box::pin(machine::dispatch(context, command)).await,
        Command::Run(command) => Box::pin(run::dispatch(context, command)).await,
        Command::Workflow(command) => Box::pin(workflow::dispatch(context, command)).await,
        Command::Step(command) => Box::pin(step::dispatch(context, command)).await,
        Command::Proposal(command) => Box::pin(proposal::dispatch(context, command)).await,
        Command::Approval(command) => Box::pin(approval::dispatch(context, command)).await,
        Command::Kb(command) => Box::pin(kb::dispatch(context, command)).await,
        Command::Doc(command) => Box::pin(doc::dispatch(context, command)).await,
        Command::Cutter(command) => Box::pin(cutter::dispatch(context, command)).await,
        Command::Birth(command) => Box::pin(birth::dispatch(context, command)).await,
        Command::Queue(command) => Box::pin(queue::dispatch(context, command)).await,
        Command::Governance(command) => Box::pin(governance::dispatch(context, command)).await,
        Command::Serve(args) => Box::pin(serve::serve(context, &args)).await,
        Command::Worker(args) => Box::pin(worker::worker(context, &args)).await,
        Command::Mcp(args) => Box::pin(mcp::mcp(context, &args)).await,
        Command::Relay(args) => Box::pin(relay::relay(context, &args)).await,
        Command::Audit(command) => Box::pin(audit::dispatch(context, command)).await,
        Command::Completions(completions) => manual::completions(context, &completions),
        Command::Man(man) => manual::man(context, &man),
    }
}
