//! `chancery governance …`: what is wrong now, and what is said about it.

use chancery_store::Role;
use chancery_store::governance::{Problem, ProblemShown, Problems, Summary, SummaryShown};
use clap::{Args, Subcommand};
use uuid::Uuid;

use crate::Context;
use crate::audit::timeline_table;
use crate::failure::{Failure, Outcome};
use crate::output::{pairs, table, time};
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// What is wrong now: the categories, the problems of one, or one problem
    ///
    /// Problems are not stored: one whose cause is gone is gone. You see what the principal may see; without --as it is the
    /// service that comes with the database, which sees everything.
    #[command(
        after_help = "Example:\n  $ chancery governance problems\n  $ chancery governance problems dlq\n  $ chancery governance problems overdue_step step:0197… --as alice"
    )]
    Problems(Asked),
    /// Summaries: what is said in a line, and what it rests on
    #[command(subcommand, after_help = "Example:\n  $ chancery governance summary list")]
    Summary(SummaryCommand),
}

#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// The category, such as dlq or overdue_step
    category: Option<String>,
    /// One problem of it, as the list names it
    item: Option<String>,
    /// Only problems of this cause
    #[arg(long, value_name = "CAUSE", requires = "category")]
    cause: Option<String>,
    /// Go on behind the page that ended with this cursor
    #[arg(long, value_name = "CURSOR", requires = "category")]
    after: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i32).range(1..=500))]
    limit: i32,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SummaryCommand {
    /// List the newest summary of every category and executor class, red first
    #[command(
        after_help = "Example:\n  $ chancery governance summary list\n  $ chancery governance summary list --category executors"
    )]
    List {
        /// Only summaries of this category, or of executors
        #[arg(long, value_name = "CATEGORY")]
        category: Option<String>,
    },
    /// Show a summary with its evidence and what happened to its sources
    #[command(after_help = "Example:\n  $ chancery governance summary show 0197…")]
    Show {
        /// The summary
        summary: Uuid,
    },
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Problems(asked) => problems(context, &asked).await,
        Command::Summary(SummaryCommand::List { category }) => {
            summaries(context, category.as_deref()).await
        }
        Command::Summary(SummaryCommand::Show { summary }) => shown(context, summary).await,
    }
}

async fn problems(context: &mut Context, asked: &Asked) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let reader = context.config.service().to_owned();
    let Some(category) = asked.category.as_deref() else {
        let problems = store.fn_problems(&reader).await?;
        context.out.answer(&problems, || overview(&problems))?;
        return Ok(Outcome::Done);
    };
    if let Some(item) = &asked.item {
        let problem = store.fn_problem_show(&reader, category, item).await?;
        context.out.answer(&problem, || one(&problem))?;
        return Ok(Outcome::Done);
    }
    let (cause, after) = (asked.cause.as_deref(), asked.after.as_deref());
    let page = store.fn_problem_list(&reader, category, cause, after, Some(asked.limit)).await?;
    if page.items.is_empty() {
        context.out.note("there are no such problems");
    }
    context.out.answer(&page, || {
        let groups = table(
            &["cause", "count", "severity", "oldest"],
            page.groups.iter().map(|group| {
                vec![
                    group.cause.clone(),
                    group.count.to_string(),
                    group.severity.clone(),
                    time(&group.oldest),
                ]
            }),
        );
        let items = table(&["item", "severity", "since", "what"], page.items.iter().map(listed));
        if page.items.is_empty() { groups } else { format!("{groups}\n\n{items}") }
    })?;
    if let (Some(next), false) = (&page.next, context.out.is_json()) {
        context.out.note(&format!("there is more: --after {next}"));
    }
    Ok(Outcome::Done)
}

fn overview(problems: &Problems) -> String {
    let rows = problems.categories.iter().map(|category| {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let count = match category.count {
            Some(count) => count.to_string(),
            None => "may not be seen".to_owned(),
        };
        vec![
            category.category.clone(),
            count,
            category.causes.map(|causes| causes.to_string()).unwrap_or_default(),
            text(&category.severity),
            category.oldest.as_deref().map(time).unwrap_or_default(),
        ]
    });
    let list = table(&["category", "count", "causes", "severity", "oldest"], rows);
    format!("{}\n\n{list}", problems.headline_en)
}

fn listed(problem: &Problem) -> Vec<String> {
    vec![
        problem.item_id.clone(),
        problem.severity.clone(),
        time(&problem.since),
        problem.title_en.clone(),
    ]
}

fn one(shown: &ProblemShown) -> String {
    let problem = &shown.problem;
    let mut text = pairs(&[
        ("problem", problem.title_en.clone()),
        ("category", problem.category.clone()),
        ("item", problem.item_id.clone()),
        ("cause", problem.cause.clone()),
        ("severity", problem.severity.clone()),
        ("since", time(&problem.since)),
        ("trace", problem.trace_id.clone().unwrap_or_default()),
        ("finding", problem.issue_id.map(|id| id.to_string()).unwrap_or_default()),
        ("facts", problem.facts.to_string()),
        ("what to do", shown.what_to_do_en.clone()),
    ]);
    if !shown.timeline.items.is_empty() {
        text.push_str("\n\n");
        text.push_str(&timeline_table(&shown.timeline));
    }
    text
}

async fn summaries(context: &mut Context, category: Option<&str>) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let list = store.fn_summary_list(context.config.service(), category).await?;
    if list.is_empty() {
        context.out.note("nothing was summarized yet; `chancery serve` does it every minute");
    }
    context.out.answer(&list, || {
        table(
            &["summary", "category", "subject", "state", "says", "by", "sure", "sources", "at"],
            list.iter().map(summary_row),
        )
    })?;
    Ok(Outcome::Done)
}

fn summary_row(summary: &Summary) -> Vec<String> {
    vec![
        summary.summary_id.to_string(),
        summary.category.clone(),
        summary.subject.clone(),
        summary.state.clone(),
        summary.text_en.clone(),
        summary.generated_by.summarizer_kind.clone(),
        sure(summary),
        summary.source_event_total.to_string(),
        time(&summary.created_at),
    ]
}

/// How sure its maker is; rules are not asked.
fn sure(summary: &Summary) -> String {
    match summary.confidence {
        Some(share) if summary.low_confidence => format!("{share}, low"),
        Some(share) => share.to_string(),
        None => String::new(),
    }
}

async fn shown(context: &mut Context, summary_id: Uuid) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let shown = store.fn_summary_show(context.config.service(), summary_id, None, None).await?;
    context.out.answer(&shown, || whole(&shown))?;
    Ok(Outcome::Done)
}

fn whole(shown: &SummaryShown) -> String {
    let summary = &shown.summary;
    let by = &summary.generated_by;
    let head = pairs(&[
        ("summary", summary.text_en.clone()),
        ("state", summary.state.clone()),
        ("of", format!("{} {}", summary.category, summary.subject)),
        ("from", time(&summary.time_window.start_at)),
        ("to", time(&summary.time_window.end_at)),
        ("by", format!("{} {} {}", by.summarizer_kind, by.summarizer_ref, by.summarizer_version)),
        ("sure", sure(summary)),
        (
            "sources",
            format!("{} of {}", summary.source_event_refs.len(), summary.source_event_total),
        ),
        ("ended by", summary.resolved_by.map(|id| id.to_string()).unwrap_or_default()),
        ("put by", format!("{}, {}", summary.put_by, time(&summary.created_at))),
    ]);
    if shown.timeline.items.is_empty() {
        return head;
    }
    format!("{head}\n\n{}", timeline_table(&shown.timeline))
}
