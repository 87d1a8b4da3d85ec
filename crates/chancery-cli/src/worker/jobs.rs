//! `chancery worker --class`: leases jobs, has them done, reports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chancery_engine::loops::SERVICE;
use chancery_engine::queue::{
    self, CallBack, Command, Executor, HeaderSecret, Http, HttpSettings, Noop, Prefix, Program,
    Reached, Settings,
};
use chancery_store::managed::secrets;
use chancery_store::{Role, Store};
use uuid::Uuid;

use super::cutter::Cutter;
use super::{AllowedVariable, Worker};
use crate::Context;
use crate::config::variable;
use crate::failure::{Failure, Outcome};
use crate::session::Session;
use crate::stop::Stop;

/// So many steps of workflows are begun or reported at the same moment.
const STEPS_AT_ONCE: u32 = 3;

pub(super) async fn work(
    context: &mut Context,
    class: &str,
    args: &Worker,
) -> Result<Outcome, Failure> {
    let session = Session::open(context).await?;
    let lease = lease_of(&session.store(Role::App).await?, class).await?;
    // One for the queue, and a few for steps of workflows, which are begun and reported one by one.
    let store = Store::for_repeaters(&session.target, Role::App, 1 + STEPS_AT_ONCE)?;
    let mut principal = context.config.service();
    let executor: Arc<dyn Executor> = match class {
        "command" => Arc::new(Command::new(programs(args)?, lease * 12)),
        "cutter" => {
            // Who cuts is named with --as, and signs; who leases is the service of every worker.
            principal = SERVICE;
            Arc::new(Cutter::open(context, args.verifier.as_deref()).await?)
        }
        "http" => Arc::new(http(context, args)?),
        "noop" => Arc::new(Noop),
        _ => {
            return Err(Failure::Usage(format!(
                "this binary brings no executor of class {class} along; a worker in any language can serve it over the lease protocol of `chancery serve`"
            )));
        }
    };
    let worker = args.name.clone().unwrap_or_else(|| {
        format!("{class}-{}-{}", std::process::id(), &Uuid::now_v7().simple().to_string()[20..])
    });
    let settings = Settings {
        class: class.to_owned(),
        worker: worker.clone(),
        principal: principal.to_owned(),
        concurrency: usize::try_from(args.concurrency).unwrap_or(1),
        prefetch: usize::try_from(args.prefetch).unwrap_or(0),
        lease,
        once: args.once,
        grace: Duration::from_secs(args.grace),
    };
    let stop = Stop::on_signals()?;
    if !args.once {
        context.out.note(&format!("{worker} is at work on class {class}; Ctrl-C ends it"));
    }
    let tally = queue::Worker::new(store, executor, settings).run(stop.wait()).await?;
    context.out.answer(&tally, || {
        format!(
            "{} done, {} failed, {} too late, {} given back",
            tally.succeeded, tally.failed, tally.late, tally.released
        )
    })?;
    Ok(Outcome::Done)
}

fn http(context: &Context, args: &Worker) -> Result<Http, Failure> {
    if args.allow_url.is_empty() {
        return Err(Failure::Usage(
            "nothing may be called: name an address with --allow-url".to_owned(),
        ));
    }
    let home = &context.config.home;
    let reached = match &args.callback_url {
        Some(url) => {
            // Whatever is no address would only be noticed by those who are called.
            url.parse::<Prefix>().map_err(|error| Failure::Usage(format!("{url}: {error}")))?;
            Reached::At(url.clone())
        }
        None => Reached::AsFileSays(home.path().join("serve.address")),
    };
    let key = secrets::ensure_call_back_key(home)?.expose().to_owned();
    let secrets =
        args.allow_env.iter().map(|allowed| secret(args, allowed)).collect::<Result<_, _>>()?;
    Ok(Http::new(HttpSettings {
        allowed: args.allow_url.clone(),
        secrets,
        call_back: Some(CallBack { reached, key }),
        timeout: Duration::from_secs(args.call_timeout),
    }))
}

/// A variable with the one place that it is sent to.
fn secret(args: &Worker, allowed: &AllowedVariable) -> Result<(String, HeaderSecret), Failure> {
    let name = &allowed.name;
    let goes_to = match (&allowed.goes_to, &args.allow_url[..]) {
        (Some(goes_to), _) => goes_to.clone(),
        (None, [only]) => only.clone(),
        (None, _) => {
            return Err(Failure::Usage(format!(
                "several addresses may be called: say which of them gets the variable, with --allow-env {name}=URL"
            )));
        }
    };
    let value = variable(name)
        .ok_or_else(|| Failure::Usage(format!("there is no variable {name}, or it is not text")))?;
    Ok((name.clone(), HeaderSecret { value, goes_to }))
}

/// The programs that jobs may call, each with its options.
fn programs(args: &Worker) -> Result<BTreeMap<String, Program>, Failure> {
    let allowed = args.allow.iter().cloned();
    let mut programs: BTreeMap<String, Program> =
        allowed.map(|(name, path)| (name, Program { path, ..Program::default() })).collect();
    for (name, option) in &args.allow_option {
        let program = programs.get_mut(name).ok_or_else(|| {
            Failure::Usage(format!(
                "--allow-option {name}={option}: there is no --allow {name}=PATH"
            ))
        })?;
        program.options.insert(option.clone());
    }
    Ok(programs)
}

async fn lease_of(store: &Store, class: &str) -> Result<Duration, Failure> {
    let classes = store.executor_classes().await?;
    let known = classes.iter().find(|known| known.executor_class == class && known.active);
    let known = known.ok_or_else(|| {
        let names: Vec<&str> = classes.iter().map(|known| known.executor_class.as_str()).collect();
        Failure::Usage(format!("there is no active class {class}; there are {}", names.join(", ")))
    })?;
    Ok(Duration::from_secs(u64::from(known.lease_seconds.unsigned_abs())))
}
