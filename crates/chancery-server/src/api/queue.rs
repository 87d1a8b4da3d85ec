//! The queue as people see it.

use std::time::Duration;

use chancery_api::id::{BatchId, JobId};
use chancery_api::queue::{
    DEAD, DEAD_LETTER, DISMISS, DeadLetter, DeadLetterShown, DeadQuery, Dismiss, FREEZE,
    FreezeWorkers, JOB, JobShown, LAG, Lag, LagPair, LagPoint, LagQuery, PROPOSE_REPLAY,
    ProposeReplay, QUEUE, Queue, RUN_REPLAY, Replay, RunReplay, SHOW_REPLAY, THAW, WORKERS,
    Workers, WorkersFrozen,
};
use chancery_api::{Nothing, Page};
use chancery_engine::approval;
use chancery_engine::identity::acting_class;
use chancery_engine::queue::people::{self, Proposal};
use chancery_model::refusal::Code;
use chancery_store::queue::{DeadLetterRow, ReplayRequest};
use serde_json::{Value, json};
use uuid::Uuid;

use super::common::{actions, made_id, refused};
use super::page::{after_time, limit, page, told};
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

/// How long an approval can be given when nobody says.
const VOTING: u32 = 24 * 3600;
/// No trend is longer.
const LONGEST_TREND: u32 = 31 * 24 * 60;

pub(super) fn bind(routes: Routes) -> Routes {
    routes
        .on(&QUEUE, queue)
        .on(&JOB, job)
        .on(&DEAD, dead)
        .on(&DEAD_LETTER, dead_letter)
        .on(&DISMISS, dismiss)
        .on(&PROPOSE_REPLAY, propose)
        .on(&SHOW_REPLAY, replay)
        .on(&RUN_REPLAY, run)
        .on(&WORKERS, workers)
        .on(&FREEZE, freeze)
        .on(&THAW, thaw)
        .on(&LAG, lag)
}

async fn queue(call: Call<Nothing, Nothing>) -> Result<Answered<Queue>, Problem> {
    let store = call.store();
    let depths = store.queue_depth().await?;
    let health = store.queue_health().await?;
    let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    Ok(Queue {
        dead_letters: depths
            .iter()
            .filter(|one| one.state == "dead_letter")
            .map(|one| one.jobs)
            .sum(),
        workers: count(health.len()),
        silent_workers: count(health.iter().filter(|one| one.silent_since.is_some()).count()),
        classes: told(store.executor_classes().await?)?,
        depths: told(depths)?,
    }
    .into())
}

async fn job(call: Call<Nothing, Nothing>) -> Result<Answered<JobShown>, Problem> {
    let (store, id) = (call.store(), call.id::<JobId>("job")?.0);
    let Some(job) = store.job(id).await? else {
        return Err(refused(store, Code::RE011, json!({ "job_id": id })).await);
    };
    Ok(JobShown { job: told(job)?, history: store.queue_history(id).await? }.into())
}

async fn dead(call: Call<DeadQuery, Nothing>) -> Result<Answered<Page<DeadLetter>>, Problem> {
    let DeadQuery { after, limit: most, class, state } = &call.query;
    let (limit, after) = (limit(*most)?, after_time(after.as_deref())?);
    let state = state.as_deref().or(Some("dead_letter")).filter(|state| *state != "all");
    let read =
        call.store().dead_letter_page(class.as_deref(), state, after.as_ref(), limit + 1).await?;
    let place = |row: &DeadLetterRow| (row.died_at.clone(), row.job_id);
    Ok(page(read, limit, place)?.into())
}

async fn dead_letter(call: Call<Nothing, Nothing>) -> Result<Answered<DeadLetterShown>, Problem> {
    let (store, id) = (call.store(), call.id::<JobId>("job")?.0);
    let Some(letter) = store.dead_letter(id).await? else {
        return Err(refused(store, Code::RE011, json!({ "job_id": id })).await);
    };
    let plan = people::preview(store, &[id], 0).await?;
    let against = plan.first().and_then(|one| one["against"].as_str()).map(str::to_owned);
    let what_to_do = match (letter.state.as_str(), &against) {
        ("dead_letter", None) => {
            "Mend what it failed of, then propose a replay: somebody else approves it. Or dismiss it with a reason."
        }
        ("dead_letter", Some(_)) => {
            "It cannot be run again now; `against_replay` says why. Dismiss it, or settle what stands against it."
        }
        _ => "Nothing: it is settled.",
    };
    let shown = DeadLetterShown {
        payload: letter.payload.clone(),
        story: letter.story.clone(),
        history: store.queue_history(id).await?,
        what_to_do: what_to_do.to_owned(),
        against_replay: against,
        actions: actions(&call, "job", id).await?,
        letter: told(letter)?,
    };
    Ok(Answered::from(shown))
}

/// The class to act in: the one that was named, or the only one that fits.
async fn class_of<Q, B>(
    call: &Call<Q, B>,
    named: Option<&String>,
    fitting: &[&str],
) -> Result<String, Problem> {
    match named {
        Some(class) => Ok(class.clone()),
        None => Ok(acting_class(call.store(), call.reader(), fitting).await?),
    }
}

async fn dismiss(call: Call<Nothing, Dismiss>) -> Result<Answered<Value>, Problem> {
    let id = call.id::<JobId>("job")?.0;
    // Nobody is asked to sign about what is not there.
    if call.store().dead_letter(id).await?.is_none() {
        return Err(refused(call.store(), Code::RE011, json!({ "job_id": id })).await);
    }
    let Dismiss { reason, actor_class } = &call.body;
    let class = class_of(&call, actor_class.as_ref(), &people::DISMISSING_CLASSES).await?;
    let actor = call.actor().await?;
    Ok(people::dismiss(call.store(), &actor, &class, id, reason).await?.into())
}

fn batch(
    batch_id: Uuid,
    requests: Vec<ReplayRequest>,
    approval: Option<Value>,
    replayed: bool,
) -> Result<Replay, Problem> {
    Ok(Replay {
        batch_id: batch_id.into(),
        approval_id: Some(people::approval_of(batch_id).into()),
        requests: told(requests)?,
        approval,
        replayed,
    })
}

async fn propose(call: Call<Nothing, ProposeReplay>) -> Result<Answered<Replay>, Problem> {
    let body = &call.body;
    let class = class_of(&call, body.actor_class.as_ref(), &people::PROPOSING_CLASSES).await?;
    let proposal = Proposal {
        batch_id: Some(made_id(&call, "dlq_replay")),
        job_ids: body.jobs.iter().map(|job| job.0).collect(),
        reason: body.reason.clone(),
        stagger_ms: body.stagger_ms.unwrap_or(1000),
        expires_in: Duration::from_secs(body.expires_in_seconds.unwrap_or(VOTING).into()),
    };
    let actor = call.actor().await?;
    let done = people::propose(call.store(), &actor, &class, &proposal).await?;
    let approval = Some(told(done.approval)?);
    Ok(batch(done.batch.batch_id, done.batch.requests, approval, done.batch.replayed)?.into())
}

fn no_batch() -> Problem {
    Problem::of(Fault::NotFound, "there is no such batch")
}

async fn replay(call: Call<Nothing, Nothing>) -> Result<Answered<Replay>, Problem> {
    let (store, id) = (call.store(), call.id::<BatchId>("batch")?.0);
    let requests = store.replay_batch(id).await?;
    if requests.is_empty() {
        return Err(no_batch());
    }
    let may = call.bearer.as_ref().is_some_and(|bearer| bearer.may("approval.read"));
    let approval = match store.approval(people::approval_of(id)).await?.filter(|_| may) {
        Some(row) => Some(told(approval::show(store, row.approval_id).await?)?),
        None => None,
    };
    Ok(batch(id, requests, approval, false)?.into())
}

async fn run(call: Call<Nothing, RunReplay>) -> Result<Answered<Replay>, Problem> {
    let id = call.id::<BatchId>("batch")?.0;
    if call.store().replay_batch(id).await?.is_empty() {
        return Err(no_batch());
    }
    let RunReplay { approval_id, actor_class } = &call.body;
    let class = class_of(&call, actor_class.as_ref(), &people::PROPOSING_CLASSES).await?;
    let actor = call.actor().await?;
    let done = people::run(call.store(), &actor, &class, id, approval_id.0).await?;
    Ok(batch(done.batch_id, done.requests, None, done.replayed)?.into())
}

async fn workers(call: Call<Nothing, Nothing>) -> Result<Answered<Workers>, Problem> {
    let store = call.store();
    let items = told(store.queue_health().await?)?;
    let actions = told(store.fn_freeze_actions(call.reader()).await?)?;
    Ok(Workers { items, actions }.into())
}

async fn freeze(call: Call<Nothing, FreezeWorkers>) -> Result<Answered<WorkersFrozen>, Problem> {
    set_frozen(&call, true).await
}

async fn thaw(call: Call<Nothing, FreezeWorkers>) -> Result<Answered<WorkersFrozen>, Problem> {
    set_frozen(&call, false).await
}

async fn set_frozen(
    call: &Call<Nothing, FreezeWorkers>,
    frozen: bool,
) -> Result<Answered<WorkersFrozen>, Problem> {
    let (store, class) = (call.store(), call.text("class"));
    let FreezeWorkers { reason, actor_class } = &call.body;
    let actor_class = match actor_class {
        Some(class) => class.clone(),
        None => people::freezing_class(store, call.reader()).await?,
    };
    store.fn_heartbeat_freeze(class, frozen, reason, call.reader(), &actor_class).await?;
    Ok(WorkersFrozen { class: class.to_owned(), frozen, reason: reason.clone() }.into())
}

async fn lag(call: Call<LagQuery, Nothing>) -> Result<Answered<Lag>, Problem> {
    let minutes = call.query.minutes.unwrap_or(60);
    if !(1..=LONGEST_TREND).contains(&minutes) {
        let detail = format!("minutes is between 1 and {LONGEST_TREND}");
        return Err(Problem::of(Fault::QueryInvalid, detail));
    }
    let window = Duration::from_secs(u64::from(minutes) * 60);
    let store = call.store();
    let trend = store.event_lag_trend(window).await?;
    let now = store.fn_event_lag_compute(window).await?;
    let mut pairs: Vec<LagPair> = now
        .into_iter()
        .map(|pair| {
            let own = trend
                .iter()
                .filter(|point| point.producer == pair.producer && point.consumer == pair.consumer);
            Ok(LagPair {
                trend: own.map(told::<LagPoint>).collect::<Result<_, _>>()?,
                producer: pair.producer,
                consumer: pair.consumer,
                count: pair.count,
                p50_ms: pair.p50_ms,
                p95_ms: pair.p95_ms,
                p99_ms: pair.p99_ms,
                max_ms: pair.max_ms,
            })
        })
        .collect::<Result<_, Problem>>()?;
    pairs.sort_by(|a, b| (&a.producer, &a.consumer).cmp(&(&b.producer, &b.consumer)));
    Ok(Lag { pairs }.into())
}
