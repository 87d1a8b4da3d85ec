//! The way into the database: the private server, started when it is not running, or an outside one.

use chancery_model::refusal::{Code, Problem};
use chancery_store::managed::{BinarySearch, Cluster, Options, Started, Status, find_binaries};
use chancery_store::{Error, Release, Role, Store, Target};
use serde_json::Value;

use crate::Context;
use crate::address::for_the_driver;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::Out;

/// One command runs a few statements, one after the other.
const CONNECTIONS: u32 = 2;

/// A database that answers.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) target: Target,
    /// The private server; `None` for an outside one.
    pub(crate) cluster: Option<Cluster>,
}

impl Session {
    /// The database, which must have been made before: a mistyped data directory must not become a new, empty one.
    pub(crate) async fn open(context: &Context) -> Result<Self, Failure> {
        let Config { home, database_url, .. } = &context.config;
        if let Some(url) = database_url {
            let target = Target::outside(&for_the_driver(url), home.clone())?;
            return Ok(Self { target, cluster: None });
        }
        let (cluster, status) = open_cluster(&context.config).await?;
        if !status.initialised {
            return Err(Failure::Failed(format!(
                "there is no database in {} yet; make it with `chancery db start`",
                home.path().display()
            )));
        }
        if !status.running.as_ref().is_some_and(|server| server.ready) {
            start(&context.out, &cluster, &status).await?;
        }
        Ok(Self { target: Target::managed(&cluster)?, cluster: Some(cluster) })
    }

    /// As [`Session::open`]; makes the private cluster when there is none.
    pub(crate) async fn open_or_make(
        context: &Context,
    ) -> Result<(Self, Option<Started>), Failure> {
        if context.config.database_url.is_some() {
            return Ok((Self::open(context).await?, None));
        }
        let (cluster, status) = open_cluster(&context.config).await?;
        let started = start(&context.out, &cluster, &status).await?;
        Ok((Self { target: Target::managed(&cluster)?, cluster: Some(cluster) }, Some(started)))
    }

    /// A login's way in, when the database is of this release.
    pub(crate) async fn store(&self, role: Role) -> Result<Store, Failure> {
        let store = self.unchecked_store(role)?;
        let installed = self.release(&store).await?;
        match installed {
            None => Err(Failure::Failed(
                "Chancery is not installed in this database; run `chancery migrate`".to_owned(),
            )),
            Some(installed) => match difference(&installed, &Release::of_this_binary()) {
                None => Ok(store),
                Some(difference) => Err(Failure::Failed(difference)),
            },
        }
    }

    /// A login's way in, whatever is installed.
    pub(crate) fn unchecked_store(&self, role: Role) -> Result<Store, Failure> {
        Ok(Store::with_connections(&self.target, role, CONNECTIONS)?)
    }

    /// What is installed, if anything is.
    pub(crate) async fn release(&self, store: &Store) -> Result<Option<Release>, Failure> {
        match store.release().await {
            Ok(release) => Ok(Some(release)),
            Err(Error::Schema(_)) => Ok(None),
            // Before the first migration there is no such database, and on our own server no such login either.
            Err(Error::Bug { sqlstate, .. }) if sqlstate == "3D000" => Ok(None),
            Err(Error::Denied(_)) if self.cluster.is_some() => Ok(None),
            Err(other) => Err(other.into()),
        }
    }
}

/// What is wrong with an installed release, and what to do about it.
pub(crate) fn difference(installed: &Release, ours: &Release) -> Option<String> {
    if installed.schema_version > ours.schema_version {
        return Some(format!(
            "the database is of a newer release ({} with schema {}); this binary knows schema {}. Use the newer binary",
            installed.product_version, installed.schema_version, ours.schema_version
        ));
    }
    (installed.bundle_sha256 != ours.bundle_sha256).then(|| {
        format!(
            "the database has other rules than this binary ({} with schema {}; ours is {} with schema {}); run `chancery migrate`",
            installed.product_version, installed.schema_version, ours.product_version, ours.schema_version
        )
    })
}

/// The private cluster as it is; starts nothing.
pub(crate) async fn open_cluster(config: &Config) -> Result<(Cluster, Status), Failure> {
    let config = config.clone();
    blocking(move || {
        let binaries =
            find_binaries(&BinarySearch::on_this_machine(config.path.as_deref(), &config.home))?;
        let cluster = Cluster::open(config.home, binaries, Options::default())?;
        let status = cluster.status()?;
        Ok((cluster, status))
    })
    .await
}

async fn start(out: &Out, cluster: &Cluster, status: &Status) -> Result<Started, Failure> {
    let running = status.running.as_ref().is_some_and(|server| server.ready);
    if !running {
        let making = if status.initialised { "" } else { "making a cluster and " };
        let place = status.data_dir.display();
        out.note(&format!("{making}starting PostgreSQL {} in {place}", status.version));
    }
    let cluster = cluster.clone();
    let started = blocking(move || Ok(cluster.start()?)).await?;
    for repaired in &started.recovered {
        out.note(&format!("recovered: {repaired}"));
    }
    Ok(started)
}

/// Waits for what waits on processes and files.
pub(crate) async fn blocking<T, F>(work: F) -> Result<T, Failure>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, Failure> + Send + 'static,
{
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(Failure::Failed(format!("the work was cut short: {error}"))))
}

/// A refusal in the database's words for what a reader asked after and nobody knows.
pub(crate) async fn refusal(store: &Store, code: Code, facts: Value) -> Failure {
    let facts = match facts {
        Value::Object(facts) => facts,
        other => std::iter::once(("given".to_owned(), other)).collect(),
    };
    let problem = Problem { code, problem: code.problem().to_owned(), facts };
    match store.refusal(code, vec![problem]).await {
        Ok(refusal) => Failure::Refused(Box::new(refusal)),
        Err(error) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(schema_version: i32, bundle: &str) -> Release {
        Release {
            product_version: "1.0.0".to_owned(),
            schema_version,
            bundle_sha256: bundle.to_owned(),
        }
    }

    #[test]
    fn a_newer_database_wants_a_newer_binary_and_another_one_a_migration() {
        let ours = release(5, "ours");
        assert_eq!(difference(&release(5, "ours"), &ours), None);
        assert!(
            difference(&release(6, "theirs"), &ours)
                .is_some_and(|text| text.contains("Use the newer binary"))
        );
        for older in [release(4, "theirs"), release(5, "theirs")] {
            assert!(
                difference(&older, &ours)
                    .is_some_and(|text| text.contains("run `chancery migrate`"))
            );
        }
    }
}
