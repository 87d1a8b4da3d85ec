//! `dot-birth-admit`, and `chancery birth admit`.

use chancery_engine::admission::{self, End, Object, Rehearsed, Standing, Step};
use chancery_store::birth::{PreBirthCheck, Writer};
use clap::{Args, ValueEnum};
use serde_json::json;
use uuid::Uuid;

use super::Requester;
use crate::address::for_the_driver;
use crate::failure::{Failure, Outcome, refusal_text};
use crate::output::time;
use crate::{Context, document};

pub(crate) const EXAMPLES: &str = "\
Without --commit it is a rehearsal: everything is done in a transaction that the database refuses to commit, deferred constraints \
included, and the result is shown. With --commit the steps are REQUESTED, VALIDATED, RESERVED, CONSUMED, FINALIZED, HANDOFF_ENQ, \
DONE. Repeating the same command goes on where it ended and does nothing twice.

The permit is asked for by the actor; the row is inserted by the login birth_writer, or by one of your own: --writer.

Example:
  $ chancery birth admit --collection shop.film --code F-1 --name 'The Trial' --species FILM --role governed \\
      --actor alice --payload '{\"minutes\": 118}' --commit
  $ dot-birth-admit --collection shop.film --code F-1 --name 'The Trial' --species FILM --role governed \\
      --actor alice --payload @film.json --dry-run";

#[derive(Debug, Args)]
pub(crate) struct Admit {
    /// The table under admission, such as shop.film
    #[arg(long, value_name = "NAME")]
    collection: String,
    /// The code of the object
    #[arg(long, value_name = "CODE")]
    code: String,
    /// What it is called
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Its species
    #[arg(long, value_name = "SPE")]
    species: Option<String>,
    /// What governance has to do with it [default: what the family says]
    #[arg(long, value_enum)]
    role: Option<GovernanceRole>,
    /// Who acts; the same as --as
    #[arg(long, value_name = "PRINCIPAL")]
    actor: Option<String>,
    /// The approval of exactly this birth, where the family asks for one
    #[arg(long, value_name = "UUID")]
    approval: Option<Uuid>,
    /// The row besides its code: a JSON object of columns, or @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// Rehearse; the default
    #[arg(long, conflicts_with = "commit")]
    dry_run: bool,
    /// Do it
    #[arg(long)]
    commit: bool,
    /// The login that inserts, when it is not birth_writer; in the environment its password is hidden from others
    #[arg(long, value_name = "URL", env = "CHANCERY_WRITER_URL", hide_env_values = true)]
    writer: Option<String>,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum GovernanceRole {
    Governed,
    Observed,
    Excluded,
}

impl GovernanceRole {
    pub(super) fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl Admit {
    fn object(&self) -> Result<Object, Failure> {
        let payload = match self.payload.as_deref() {
            Some("-") => Some("@-"),
            other => other,
        };
        let payload = document::read_optional("payload", payload)?;
        if payload.as_ref().is_some_and(|payload| !payload.is_object()) {
            return Err(Failure::Usage("payload is not a JSON object".to_owned()));
        }
        Ok(Object {
            collection: self.collection.clone(),
            code: self.code.clone(),
            name: self.name.clone(),
            species: self.species.clone(),
            role: self.role.map(GovernanceRole::word),
            payload,
        })
    }
}

pub(super) async fn admit(context: &mut Context, args: Admit) -> Result<Outcome, Failure> {
    let object = args.object()?;
    if let Some(actor) = &args.actor {
        context.config.principal = Some(actor.clone());
    }
    let Requester { session, store, actor, class } =
        Requester::open(context, args.class.as_deref()).await?;
    let writer = match args.writer.as_deref().filter(|url| !url.is_empty()) {
        Some(url) => Writer::at(&for_the_driver(url), &session.target)?,
        None => Writer::of(&session.target)?,
    };
    let family = admission::family(&store, &object.collection).await?;
    if !args.commit {
        let given = args.approval.is_some();
        let rehearsed =
            admission::rehearse(&store, &writer, &actor, &class, &family, &object, given).await?;
        return rehearsal(context, &rehearsed);
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut broken = None;
    let end = admission::admit(
        &store,
        &writer,
        &actor,
        &class,
        &family,
        &object,
        args.approval,
        |step| {
            if !context.out.is_json() && broken.is_none() {
                // A reader who is gone stops nothing that has begun.
                broken = context.out.line(&shown(step)).err();
            }
            steps.push(step.clone());
        },
    )
    .await?;
    match end {
        End::Born(born) => {
            let mut answer = json!(born);
            answer["steps"] = json!(steps);
            if context.out.is_json() {
                context.out.json(&answer)?;
            } else if let Some(why) = &born.handoff_waits {
                context.out.note(&format!(
                    "it is born; its handoff is left to the loop of `chancery serve` ({why})"
                ));
            } else if born.replayed {
                context.out.note("it was born before by this very request; nothing was done twice");
            }
            Ok(Outcome::Done)
        }
        End::NotBorn(not_born) => Err(Failure::NotBorn(not_born)),
    }
}

fn shown(step: &Step) -> String {
    let since = if step.before { format!("(since {})", time(&step.at)) } else { String::new() };
    let words = [step.detail.clone(), since].into_iter().filter(|text| !text.is_empty());
    let line = format!("{:<12} {}", step.phase, words.collect::<Vec<_>>().join(" "));
    if step.checks.is_empty() {
        line.trim_end().to_owned()
    } else {
        format!("{}\n{}", line.trim_end(), checks(&step.checks))
    }
}

fn checks(checks: &[PreBirthCheck]) -> String {
    let line = |check: &PreBirthCheck| {
        let word = if check.ok { "ok" } else { "NO" };
        let why = check.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("  {word}  {}{why}", check.check)
    };
    checks.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn rehearsal(context: &mut Context, rehearsed: &Rehearsed) -> Result<Outcome, Failure> {
    let what = format!("{} {}", rehearsed.collection, rehearsed.code);
    let row = rehearsed.row.as_ref().map(ToString::to_string).unwrap_or_default();
    let verdict = match rehearsed.standing {
        Standing::WouldBeBorn => format!("would be born: {what}\n  {row}"),
        Standing::IsBorn => format!("is born: {what}; --commit would do nothing twice"),
        Standing::WouldBeRefused => {
            let refusal = rehearsed.refused.as_ref().map(refusal_text).unwrap_or_default();
            format!("would be {refusal}")
        }
        Standing::WouldBeRejected => {
            let rejected = rehearsed.rejected.as_ref();
            let words = rejected.map(ToString::to_string).unwrap_or_default();
            format!("would be rejected by the table: {words}")
        }
    };
    context.out.answer(rehearsed, || {
        let checks = checks(&rehearsed.checks);
        format!(
            "rehearsal of {what} ({})\n{checks}\n{verdict}\nrequest {}",
            rehearsed.mode, rehearsed.request_hash
        )
    })?;
    let (outcome, note) = match rehearsed.standing {
        Standing::WouldBeBorn => (Outcome::Done, "nothing was changed; --commit does it"),
        Standing::IsBorn => (Outcome::Done, "nothing was changed"),
        Standing::WouldBeRefused | Standing::WouldBeRejected => {
            (Outcome::Refused, "nothing was changed")
        }
    };
    if !context.out.is_json() {
        context.out.note(note);
    }
    Ok(outcome)
}
