//! One cluster for every test process of this user, started by whoever comes first.

use std::path::PathBuf;

use chancery_store::managed::{BinarySearch, Cluster, Env, Home, Options, find_binaries};
use chancery_store::{Release, Target};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};

/// The shared cluster and the template database of this schema.
#[derive(Debug, Clone)]
pub struct TestCluster {
    cluster: std::sync::Arc<Cluster>,
    template: String,
}

/// Durability is off: tests kill processes, never the power. Whoever tests durability starts a cluster of their own.
const FAST: &[(&str, &str)] = &[
    ("fsync", "off"),
    ("full_page_writes", "off"),
    ("max_connections", "300"),
    ("autovacuum_naptime", "10s"),
];

impl TestCluster {
    fn home() -> PathBuf {
        // Below the system's temporary folder and not in the checkout: the server's user must be able to reach it.
        std::env::temp_dir()
            .join(format!("chancery-testkit-{}", rustix::process::getuid().as_raw()))
    }

    /// The cluster, not started.
    ///
    /// # Panics
    /// When there are no server binaries: the tests need a real PostgreSQL.
    pub fn open() -> Self {
        let home = Home::resolve(Some(Self::home()), &Env::default())
            .expect("a home for the test cluster");
        let path = std::env::var_os("PATH");
        let binaries = find_binaries(&BinarySearch::on_this_machine(path.as_deref(), &home))
            .expect("PostgreSQL server binaries");
        let options = Options {
            extra_settings: FAST.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..Options::default()
        };
        let cluster = Cluster::open(home, binaries, options).expect("the test cluster opens");
        Self { cluster: std::sync::Arc::new(cluster), template: template_of_today() }
    }

    /// The cluster, running.
    ///
    /// # Panics
    /// When it cannot be had.
    pub(crate) async fn started() -> Self {
        let this = Self::open();
        let cluster = std::sync::Arc::clone(&this.cluster);
        tokio::task::spawn_blocking(move || cluster.start().expect("the test cluster starts"))
            .await
            .expect("the start does not panic");
        this
    }

    /// Where data directories that were prepared for tests lie, of this release and this day.
    pub fn prepared_homes() -> PathBuf {
        Self::home().join("homes").join(template_of_today())
    }

    /// Stops the cluster and removes what was prepared; for the end of a test session.
    ///
    /// # Panics
    /// When it does not stop.
    pub fn stop(&self) -> bool {
        let _ = std::fs::remove_dir_all(Self::home().join("homes"));
        self.cluster.stop().expect("the test cluster stops")
    }

    pub(crate) fn target(&self) -> Target {
        Target::managed(&self.cluster).expect("the superuser's password file is there")
    }

    pub(crate) fn template(&self) -> &str {
        &self.template
    }

    /// The first process migrates, the others wait for it; the template is renamed into place when it is whole.
    pub(crate) async fn ensure_template(&self) {
        let name = &self.template;
        let mut admin = self
            .target()
            .with_database("postgres")
            .admin_options()
            .connect()
            .await
            .expect("the admin gets in");
        let exists = "select exists (select from pg_database where datname = $1)";
        let there: bool =
            sqlx::query_scalar(exists).bind(name).fetch_one(&mut admin).await.expect("an answer");
        if !there {
            admin.execute("select pg_advisory_lock(4242)").await.expect("the template lock");
            let there: bool = sqlx::query_scalar(exists)
                .bind(name)
                .fetch_one(&mut admin)
                .await
                .expect("an answer");
            if !there {
                let draft = format!("{name}_draft");
                admin
                    .execute(AssertSqlSafe(format!(
                        "drop database if exists \"{draft}\" with (force)"
                    )))
                    .await
                    .expect("a left-over draft goes");
                self.target().with_database(&draft).migrate().await.expect("the schema installs");
                admin
                    .execute(AssertSqlSafe(format!(
                        "alter database \"{draft}\" rename to \"{name}\""
                    )))
                    .await
                    .expect("the template is renamed into place");
            }
        }
        admin.close().await.expect("the admin leaves");
    }
}

/// The template of this schema and this day: a release makes the partitions of the days ahead of it, so one of yesterday has a
/// partition too many.
fn template_of_today() -> String {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    let release = Release::of_this_binary();
    format!("template_{}_{}", &release.bundle_sha256[..16], since.as_secs() / 86_400)
}
