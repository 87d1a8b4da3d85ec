//! `chancery queue add`: one job from arguments, or many from lines of JSON.

use std::io::Read as _;
use std::time::Duration;

use chancery_engine::queue::people::{self, key_or_new};
use chancery_model::strict_json;
use chancery_store::Role;
use chancery_store::queue::{Enqueued, NewJob};
use clap::Args;
use serde_json::Value;

use crate::acting::Acting;
use crate::failure::{Failure, Outcome};
use crate::{Context, document};

/// So many jobs go into one call: the database takes no more (`queue.enqueue.max_jobs`).
const AT_ONCE: usize = 10_000;

pub(super) const EXAMPLES: &str = "\
The same key in a class is the same job: a repeated command changes nothing. With --stdin each line is a job as a JSON object \
(class, kind, key, payload, payload_ref, source_ref, target_ref, priority, run_at, delay_ms, max_attempts, trace_id, correlation_id); \
what the options say fills what a line leaves out. All jobs of 10,000 lines are taken or none.

Example:
  $ chancery queue add --class noop --kind greet --key greet-42 --payload '{\"whom\": \"doc/42\"}' --as alice
  $ chancery queue add --class noop --kind greet --delay 10m --priority 5 --as alice
  $ chancery queue add --class noop --kind greet --stdin --as alice < jobs.ndjson";

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The executor class that can do it
    #[arg(long, value_name = "CLASS", required_unless_present = "stdin")]
    class: Option<String>,
    /// What is to be done
    #[arg(long, value_name = "KIND", required_unless_present = "stdin")]
    kind: Option<String>,
    /// The idempotency key [default: a new one]
    #[arg(long, conflicts_with = "stdin")]
    key: Option<String>,
    /// What the worker is told, references rather than contents: a JSON object, or @FILE, or @- for stdin
    #[arg(long, value_name = "JSON", conflicts_with = "stdin")]
    payload: Option<String>,
    /// Lower numbers go first [default: 100]
    #[arg(long, value_name = "N")]
    priority: Option<i32>,
    /// Not before so long from now, such as 500ms, 10s or 2h
    #[arg(long, value_name = "DURATION", conflicts_with = "at", value_parser = delay)]
    delay: Option<Duration>,
    /// Not before this time, RFC 3339
    #[arg(long, value_name = "TIME")]
    at: Option<jiff::Timestamp>,
    /// How often it is tried at most [default: what the policy of the class says]
    #[arg(long, value_name = "N")]
    max_attempts: Option<i32>,
    /// Read jobs from stdin, one JSON object a line
    #[arg(long)]
    stdin: bool,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    actor: Option<String>,
}

/// A number with ms, s, m, h or d behind it.
pub(super) fn delay(text: &str) -> Result<Duration, String> {
    let wrong = || "a duration is a number with ms, s, m, h or d behind it, such as 10s".to_owned();
    let (number, millis) =
        [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]
            .into_iter()
            .find_map(|(unit, millis)| Some((text.strip_suffix(unit)?, millis)))
            .ok_or_else(wrong)?;
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(millis).map(Duration::from_millis).ok_or_else(wrong)
}

impl Add {
    fn jobs(&self) -> Result<Vec<NewJob>, Failure> {
        if !self.stdin {
            let payload = document::read_optional("payload", self.payload.as_deref())?;
            let mut job = self.filled(NewJob { payload, ..NewJob::default() });
            job.key = key_or_new(self.key.clone());
            return Ok(vec![job]);
        }
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|error| Failure::Usage(format!("stdin can't be read: {error}")))?;
        let lines = text.lines().zip(1_usize..).filter(|(line, _)| !line.trim().is_empty());
        let jobs: Vec<NewJob> =
            lines.map(|(line, number)| self.line(line, number)).collect::<Result<_, _>>()?;
        if jobs.is_empty() {
            return Err(Failure::Usage("stdin has no jobs".to_owned()));
        }
        Ok(jobs)
    }

    fn line(&self, line: &str, number: usize) -> Result<NewJob, Failure> {
        let wrong = |why: String| Failure::Usage(format!("line {number} is no job: {why}"));
        let mut job = strict_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        let members = job.as_object_mut().ok_or_else(|| wrong("not a JSON object".to_owned()))?;
        for (member, value) in [("class", &self.class), ("kind", &self.kind)] {
            if let Some(value) = value {
                members.entry(member).or_insert_with(|| Value::String(value.clone()));
            }
        }
        members.entry("key").or_insert_with(|| Value::String(key_or_new(None)));
        let job: NewJob = serde_json::from_value(job).map_err(|error| wrong(error.to_string()))?;
        Ok(self.filled(job))
    }

    /// What the options say, where the job says nothing.
    fn filled(&self, mut job: NewJob) -> NewJob {
        let fill = |own: &mut String, given: &Option<String>| {
            if own.is_empty() {
                own.clone_from(given.as_ref().unwrap_or(&String::new()));
            }
        };
        fill(&mut job.class, &self.class);
        fill(&mut job.kind, &self.kind);
        job.priority = job.priority.or(self.priority);
        job.max_attempts = job.max_attempts.or(self.max_attempts);
        if job.delay_ms.is_none() && job.run_at.is_none() {
            job.delay_ms =
                self.delay.map(|delay| i64::try_from(delay.as_millis()).unwrap_or(i64::MAX));
            job.run_at = self.at.map(|at| at.to_string());
        }
        job
    }
}

pub(super) async fn add(context: &mut Context, args: Add) -> Result<Outcome, Failure> {
    let jobs = args.jobs()?;
    let Acting { store, actor, mut class } =
        Acting::open(context, args.actor.as_deref(), &[], &[Role::App]).await?;
    if args.actor.is_none() {
        class = people::enqueuing_class(&store, &actor.principal).await?.unwrap_or(class);
    }
    let mut taken: Vec<Enqueued> = Vec::with_capacity(jobs.len());
    for some in jobs.chunks(AT_ONCE) {
        taken.extend(people::enqueue(&store, &actor, &class, some).await?);
    }
    let replayed = taken.iter().filter(|job| job.replayed).count();
    if replayed > 0 && !context.out.is_json() {
        context.out.note(&format!("{replayed} there before; nothing is done twice"));
    }
    context.out.answer(&taken, || {
        taken.iter().map(|job| job.job_id.to_string()).collect::<Vec<_>>().join("\n")
    })?;
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_has_its_unit() {
        assert_eq!(delay("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(delay("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(delay("2h"), Ok(Duration::from_secs(7_200)));
        assert_eq!(delay("0s"), Ok(Duration::ZERO));
        for wrong in ["", "10", "s", "-1s", "1w", "1.5s", "99999999999999999999d"] {
            assert!(delay(wrong).is_err(), "{wrong}");
        }
    }
}
