//! `chancery step …`: what people say about the steps and tasks of a run, and what is known of them.

use chancery_engine::workflow::{
    self as engine, Failed, Said, Step, Verb, WaitFor, callback_token, moment, wait_evidence,
};
use chancery_store::workflow::WorkRow;
use clap::{ArgGroup, Args, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::{Failure, Outcome};
use crate::output::table;
use crate::saying::{Saying, position_events, reader, speaker, told_move};
use crate::workflow::{note_of, work_row};
use crate::{Context, document};

mod show;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the steps and tasks of a run
    #[command(
        after_help = "Example:\n  $ chancery step list 0197…\n  $ chancery step list 0197… --state ready"
    )]
    List {
        /// The run
        run: Uuid,
        /// Only those in this state, such as ready; skipped for those whose branch was not taken
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
    },
    /// Show a step or task: what it waits for, its inputs and outputs, and every move it made
    #[command(
        after_help = "Example:\n  $ chancery step show 0197… draft\n  $ chancery step show 0197… review/check_terms"
    )]
    Show(Which),
    /// Take a step up; you are in charge of it from then on
    #[command(after_help = "Example:\n  $ chancery step claim 0197… draft --as alice")]
    Claim(Plain),
    /// Give a step back, so that somebody else can take it up
    #[command(after_help = "Example:\n  $ chancery step release 0197… draft --as alice")]
    Release(Plain),
    /// Say what a step waits for; several options are waited for together
    #[command(after_help = "\
Example:
  $ chancery step wait 0197… draft --for bob --as alice
  $ chancery step wait 0197… draft --until 2h --as alice
  $ chancery step wait 0197… draft --for-step legal_check --callback --as alice")]
    Wait(Wait),
    /// Give a step what it waits for from a person; it goes on when nothing else is waited for
    #[command(after_help = "\
Example:
  $ chancery step resume 0197… draft --proof '{\"answer\": \"the annex is attached\"}' --as bob
  $ chancery step resume 0197… draft --reason 'the annex is attached' --as bob")]
    Resume(Resume),
    /// Say that something a step needs is missing
    #[command(
        after_help = "Example:\n  $ chancery step block 0197… draft --because missing_input --as alice"
    )]
    Block(Block),
    /// Say what removed the blocker
    #[command(
        after_help = "Example:\n  $ chancery step unblock 0197… draft --by 'ticket 117' --as alice"
    )]
    Unblock(Unblock),
    /// Say that a block is worse than it looks: it counts as red from then on
    #[command(
        after_help = "Example:\n  $ chancery step escalate-block 0197… draft --reason 'the client waits' --as alice"
    )]
    EscalateBlock(EscalateBlock),
    /// Complete a step with its output
    #[command(after_help = "\
Example:
  $ chancery step complete 0197… draft --output '{\"pages\": 12}' --as alice
  $ chancery step complete 0197… draft --output @draft.json --as alice")]
    Complete(Complete),
    /// Report that a try failed, under the lease of its job
    #[command(after_help = "\
For executors without a worker of ours. A person says cannot-complete instead.

Example:
  $ chancery step fail 0197… post --job 0198… --lease-no 1 --worker mine --failure-class unavailable --as dora")]
    Fail(Fail),
    /// Declare that a step cannot be done
    #[command(
        after_help = "Example:\n  $ chancery step cannot-complete 0197… draft --declaration 'letter of 3 May' --as alice"
    )]
    CannotComplete(CannotComplete),
    /// Take an overdue step up again
    #[command(after_help = "Example:\n  $ chancery step reengage 0197… draft --as alice")]
    Reengage(Plain),
    /// Move a step's deadline to a later time
    #[command(
        after_help = "Example:\n  $ chancery step extend 0197… draft --until 2d --reason 'the client was away' --as bob"
    )]
    Extend(Extend),
    /// Note how far you have come: what you or somebody else goes on from
    #[command(
        after_help = "Example:\n  $ chancery step checkpoint 0197… draft 'half of it read' --facts '{\"page\": 12}' --as alice"
    )]
    Checkpoint(Note),
    /// Say something about a step or task
    #[command(
        after_help = "Example:\n  $ chancery step comment 0197… draft 'the annex is missing' --as bob"
    )]
    Comment(Note),
    /// Hand a failure up that no retry can mend
    #[command(after_help = "Example:\n  $ chancery step escalate 0197… post --as erin")]
    Escalate(Plain),
    /// Call a step off, with an approval of exactly this
    #[command(after_help = "\
Example:
  $ chancery approval request --kind step_cancel --subject 0198… --title 'Not needed' --as alice
  $ chancery step cancel 0198… --approval 0199… --as bob")]
    Cancel(Cancel),
    /// Open a closed step again for correction, with an approval of exactly this
    #[command(after_help = "\
Its first ending stays on record.

Example:
  $ chancery step reopen 0198… --approval 0199… --because data_error --as bob")]
    Reopen(Reopen),
}

/// Which step or task.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The id of a step or task, or of its run
    #[arg(value_name = "ID")]
    id: Uuid,
    /// With a run, the key there: STEP, or STEP/TASK
    #[arg(value_name = "KEY")]
    at: Option<String>,
}

impl Which {
    fn step(&self) -> Step {
        match &self.at {
            Some(key) => Step::At(self.id, key.clone()),
            None => Step::Id(self.id),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Plain {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").args(["until", "step", "whom", "decision", "callback"]).required(true).multiple(true))]
pub(crate) struct Wait {
    #[command(flatten)]
    which: Which,
    /// A time: a duration from now, such as 90m, or RFC 3339
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Vec<String>,
    /// Another step of the run, by its key
    #[arg(long = "for-step", value_name = "KEY")]
    step: Vec<String>,
    /// A person by name, or whoever it is in words
    #[arg(long = "for", value_name = "WHOM")]
    whom: Vec<String>,
    /// A decision by others about a subject, written KIND:REF as its request has them
    #[arg(long = "for-decision", value_name = "KIND:REF", value_parser = subject)]
    decision: Vec<(String, String)>,
    /// A call from outside; its token is printed, once
    #[arg(long)]
    callback: bool,
    #[command(flatten)]
    saying: Saying,
}

fn subject(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((kind, of)) if !kind.is_empty() && !of.is_empty() => {
            Ok((kind.to_owned(), of.to_owned()))
        }
        _ => Err("a decision is written KIND:REF, such as orchestrator_run:NAME".to_owned()),
    }
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("given").args(["proof", "reason"]).required(true).multiple(true))]
pub(crate) struct Resume {
    #[command(flatten)]
    which: Which,
    /// What proves it: a JSON object, or @FILE, or @- for stdin [default: the reason]
    #[arg(long, value_name = "JSON")]
    proof: Option<String>,
    /// In words
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Which wait, when there are several
    #[arg(long, value_name = "UUID")]
    wait: Option<Uuid>,
    /// The actor class to act in, when you hold several that may
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Block {
    #[command(flatten)]
    which: Which,
    /// A reason of the vocabulary, such as missing_input, missing_approval, missing_iu or config_error
    #[arg(long, value_name = "REASON")]
    because: String,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct Unblock {
    #[command(flatten)]
    which: Which,
    /// What removed the blocker
    #[arg(long, value_name = "REF")]
    by: String,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct EscalateBlock {
    #[command(flatten)]
    which: Which,
    /// The approval, of kind block_escalation, for a block that lasts long
    #[arg(long, value_name = "UUID")]
    approval: Option<Uuid>,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    #[command(flatten)]
    which: Which,
    /// The output: a JSON object, or @FILE, or @- for stdin [default: an empty one]
    #[arg(long, value_name = "JSON")]
    output: Option<String>,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct Fail {
    #[command(flatten)]
    which: Which,
    /// The job
    #[arg(long, value_name = "UUID")]
    job: Uuid,
    /// The number of the lease
    #[arg(long, value_name = "N")]
    lease_no: i32,
    /// The name that the job is leased to
    #[arg(long, value_name = "NAME")]
    worker: String,
    /// What kind of failure, such as unavailable or timeout
    #[arg(long, value_name = "CLASS")]
    failure_class: String,
    /// A retry would not help
    #[arg(long)]
    permanent: bool,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct CannotComplete {
    #[command(flatten)]
    which: Which,
    /// Where it was declared
    #[arg(long, value_name = "REF")]
    declaration: String,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct Extend {
    #[command(flatten)]
    which: Which,
    /// The new deadline: a duration from now, such as 2d, or RFC 3339
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: String,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct Note {
    /// The id of a step or task, or of its run
    id: Uuid,
    /// With a run, the key there: STEP, or STEP/TASK; then the words
    #[arg(value_name = "KEY or TEXT", num_args = 1..=2, required = true)]
    rest: Vec<String>,
    /// What a checkpoint knows: a JSON object, or @FILE, or @- for stdin
    #[arg(long, value_name = "JSON")]
    facts: Option<String>,
    /// The idempotency key [default: the same words are the same note]
    #[arg(long)]
    key: Option<String>,
    /// The actor class to act in, when you hold several that may
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    which: Which,
    /// The approval, of kind step_cancel
    #[arg(long, value_name = "UUID")]
    approval: Uuid,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct Reopen {
    #[command(flatten)]
    which: Which,
    /// The approval, of kind step_reopen
    #[arg(long, value_name = "UUID")]
    approval: Uuid,
    /// A reason of the vocabulary, such as data_error or policy_change
    #[arg(long, value_name = "REASON")]
    because: String,
    #[command(flatten)]
    saying: Saying,
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::List { run, state } => list(context, run, state.as_deref()).await,
        Command::Show(which) => show::show(context, &which.step()).await,
        Command::Claim(args) => act(context, &args.which, &args.saying, Verb::Claim).await,
        Command::Release(args) => act(context, &args.which, &args.saying, Verb::Release).await,
        Command::Checkpoint(args) => note(context, args, true).await,
        Command::Comment(args) => note(context, args, false).await,
        Command::Reengage(args) => act(context, &args.which, &args.saying, Verb::Reengage).await,
        Command::Escalate(args) => act(context, &args.which, &args.saying, Verb::Escalate).await,
        Command::Wait(args) => wait(context, args).await,
        Command::Resume(args) => resume(context, args).await,
        Command::Block(args) => {
            act(context, &args.which, &args.saying, Verb::Block(args.because.clone())).await
        }
        Command::Unblock(args) => {
            act(context, &args.which, &args.saying, Verb::Unblock(args.by.clone())).await
        }
        Command::CannotComplete(args) => {
            let verb = Verb::CannotComplete(args.declaration.clone());
            act(context, &args.which, &args.saying, verb).await
        }
        Command::Cancel(args) => {
            act(context, &args.which, &args.saying, Verb::Cancel(args.approval)).await
        }
        Command::Reopen(args) => {
            let verb = Verb::Reopen(args.approval, args.because.clone());
            act(context, &args.which, &args.saying, verb).await
        }
        Command::Complete(args) => complete(context, args).await,
        Command::Fail(args) => fail(context, args).await,
        Command::Extend(args) => extend(context, args).await,
        Command::EscalateBlock(args) => escalate_block(context, args).await,
    }
}

async fn list(context: &mut Context, run: Uuid, state: Option<&str>) -> Result<Outcome, Failure> {
    let store = reader(context).await?;
    let status = engine::status(&store, run).await?;
    let of_step = |step: &WorkRow| {
        let id = step.run_id;
        status.tasks.iter().filter(move |task| task.step_run_id == id)
    };
    let all = status.steps.iter().flat_map(|step| std::iter::once(step).chain(of_step(step)));
    // What was skipped is not about to start: it is asked for by its own word.
    let is_in = |work: &WorkRow, state: &str| match work.skipped {
        true => state == "skipped",
        false => work.state_code == state,
    };
    let wanted = |work: &&WorkRow| state.is_none_or(|state| is_in(work, state));
    let works: Vec<&WorkRow> = all.filter(wanted).collect();
    if works.is_empty() {
        context.out.note("there are no such steps");
    }
    context.out.answer(&works, || {
        let rows = works.iter().map(|work| {
            let mut row = work_row(work, note_of(work));
            row.push(work.run_id.to_string());
            row
        });
        table(&["step", "state", "who", "since", "deadline", "note", "id"], rows)
    })?;
    Ok(Outcome::Done)
}

async fn act(
    context: &mut Context,
    which: &Which,
    saying: &Saying,
    verb: Verb,
) -> Result<Outcome, Failure> {
    let (store, actor) = speaker(context).await?;
    let work = engine::find(&store, &which.step()).await?;
    let report = engine::act(&store, &actor, &saying.said(), &work, &verb).await?;
    position_events(&store).await;
    told_move(context, &report)
}

async fn wait(context: &mut Context, args: Wait) -> Result<Outcome, Failure> {
    let mut waits: Vec<WaitFor> = Vec::new();
    waits.extend(args.whom.into_iter().map(WaitFor::Person));
    waits.extend(args.decision.into_iter().map(|(kind, of)| WaitFor::Decision { kind, of }));
    waits.extend(args.step.into_iter().map(WaitFor::Step));
    waits.extend(args.until.into_iter().map(WaitFor::Until));
    let token = args.callback.then(|| {
        let (token, token_sha256) = callback_token();
        waits.push(WaitFor::Call { token_sha256 });
        token
    });
    let (store, actor) = speaker(context).await?;
    let work = engine::find(&store, &args.which.step()).await?;
    let verb = Verb::Wait(wait_evidence(&waits));
    let report = engine::act(&store, &actor, &args.saying.said(), &work, &verb).await?;
    position_events(&store).await;
    let Some(token) = token else { return told_move(context, &report) };
    context.out.note("whoever calls back posts to /v1/callbacks/TOKEN of a host, once; the token is not kept anywhere");
    let mut answer = json!(report);
    answer["callback_token"] = json!(token);
    context.out.answer(&answer, || token)?;
    Ok(Outcome::Done)
}

async fn resume(context: &mut Context, args: Resume) -> Result<Outcome, Failure> {
    let proof = document::read_optional("proof", args.proof.as_deref())?;
    let proof = match (proof, &args.reason) {
        (Some(proof), _) => proof,
        (None, reason) => json!({ "said": reason }),
    };
    let (store, actor) = speaker(context).await?;
    let work = engine::find(&store, &args.which.step()).await?;
    let said = engine::Said { class: args.class, ..engine::Said::default() };
    let report = engine::give(&store, &actor, &said, &work, args.wait, &proof).await?;
    position_events(&store).await;
    if report.replayed && !context.out.is_json() {
        context.out.note("given before; nothing was done twice");
    }
    context
        .out
        .answer(&report, || if report.resumed { "resumed" } else { "waiting" }.to_owned())?;
    Ok(Outcome::Done)
}

async fn complete(context: &mut Context, args: Complete) -> Result<Outcome, Failure> {
    let output = document::read_optional("output", args.output.as_deref())?;
    let output: Value = output.unwrap_or_else(|| json!({}));
    let (store, actor) = speaker(context).await?;
    let work = engine::find(&store, &args.which.step()).await?;
    let report = engine::complete(&store, &actor, &args.saying.said(), &work, &output).await?;
    position_events(&store).await;
    told_move(context, &report)
}

async fn fail(context: &mut Context, args: Fail) -> Result<Outcome, Failure> {
    let (store, actor) = speaker(context).await?;
    engine::find(&store, &args.which.step()).await?;
    let failed = Failed {
        job_id: args.job,
        lease_no: args.lease_no,
        worker: args.worker,
        failure_class: args.failure_class,
        classification: if args.permanent { "permanent" } else { "transient" }.to_owned(),
    };
    let report = engine::fail(&store, &actor, &args.saying.said(), &failed).await?;
    position_events(&store).await;
    told_move(context, &report)
}

async fn extend(context: &mut Context, args: Extend) -> Result<Outcome, Failure> {
    let (store, actor) = speaker(context).await?;
    let work = engine::find(&store, &args.which.step()).await?;
    let report = engine::extend(&store, &actor, &args.saying.said(), &work, &args.until).await?;
    position_events(&store).await;
    if !context.out.is_json() {
        let again = if report.replayed { " · done before; nothing was done twice" } else { "" };
        context.out.note(&format!("until {}{again}", args.until));
    }
    context.out.answer(&report, || report.state.clone())?;
    Ok(Outcome::Done)
}

async fn escalate_block(context: &mut Context, args: EscalateBlock) -> Result<Outcome, Failure> {
    let (store, actor) = speaker(context).await?;
    let work = engine::find(&store, &args.which.step()).await?;
    let said = args.saying.said();
    let report = engine::escalate_block(&store, &actor, &said, &work, args.approval).await?;
    context.out.answer(&report, || report.severity.clone().unwrap_or_default())?;
    Ok(Outcome::Done)
}

async fn note(context: &mut Context, args: Note, is_checkpoint: bool) -> Result<Outcome, Failure> {
    let (at, text) = match args.rest.as_slice() {
        [key, text] => (Some(key.clone()), text.clone()),
        [text] => (None, text.clone()),
        _ => return Err(Failure::Usage("a note has one text".to_owned())),
    };
    let (store, actor) = speaker(context).await?;
    let work = engine::find(&store, &Which { id: args.id, at }.step()).await?;
    let said = Said { class: args.class, reason: Some(text), audit_ref: None, key: args.key };
    let noted = if is_checkpoint {
        let facts = document::read_optional("facts", args.facts.as_deref())?;
        let facts = facts.unwrap_or_else(|| json!({}));
        engine::checkpoint(&store, &actor, &said, &work, &facts).await?
    } else {
        engine::comment(&store, &actor, &said, &work).await?
    };
    context.out.answer(&noted, || noted.no.to_string())?;
    Ok(Outcome::Done)
}
