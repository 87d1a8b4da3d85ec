//! A database of one's own for one test.

use std::sync::Mutex;

use chancery_engine::registry;
use chancery_model::machine::{Definition, File};
use chancery_store::{Role, Store, Target};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use tokio::runtime::{self, Handle, RuntimeFlavor};
use uuid::Uuid;

use crate::TestCluster;

/// A clone of the template; dropped with the value.
#[derive(Debug)]
pub struct TestDb {
    cluster: TestCluster,
    target: Target,
    stores: Mutex<Vec<(Role, runtime::Id, Store)>>,
    superusers: Mutex<Vec<(runtime::Id, PgConnection)>>,
}

impl TestDb {
    /// A fresh database.
    ///
    /// # Panics
    /// When it cannot be had.
    pub async fn new() -> Self {
        let cluster = TestCluster::started().await;
        let name = format!("test_{}", Uuid::now_v7().simple());
        let mut admin = cluster
            .target()
            .with_database("postgres")
            .admin_options()
            .connect()
            .await
            .expect("the admin");
        let clone = format!(
            "create database \"{name}\" template \"{}\" strategy file_copy",
            cluster.template()
        );
        if let Err(error) = admin.execute(AssertSqlSafe(clone.clone())).await {
            // Whoever comes first makes the template.
            let code = error.as_database_error().and_then(|error| error.code());
            assert_eq!(code.as_deref(), Some("3D000"), "{error}");
            cluster.ensure_template().await;
            admin.execute(AssertSqlSafe(clone)).await.expect("a clone of the template");
        }
        admin.close().await.expect("the admin leaves");
        let target = cluster.target().with_database(&name);
        // Rights on a database do not come along with a clone.
        target.apply_database_settings().await.expect("the database's own settings");
        Self { cluster, target, stores: Mutex::default(), superusers: Mutex::default() }
    }

    /// The database as the product sees it.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// A login's way in, as the product has it. There is one for each login: a new connection costs a process of the server, which has
    /// to read all it needs of the catalogue, and was a third of what the tests computed.
    ///
    /// # Panics
    /// When the password file cannot be used.
    pub fn store(&self, role: Role) -> Store {
        let runtime = Handle::current().id(); // connections are driven by the runtime that opened them
        let mut stores = self.stores.lock().expect("nobody panics with the lock");
        let known = stores.iter().find(|(of, on, _)| *of == role && *on == runtime);
        if let Some((_, _, store)) = known {
            return store.clone();
        }
        let store = self.fresh_store(role);
        stores.push((role, runtime, store.clone()));
        store
    }

    /// A login's way in with connections of its own, for tests about connections.
    ///
    /// # Panics
    /// When the password file cannot be used.
    pub fn fresh_store(&self, role: Role) -> Store {
        Store::with_connections(&self.target, role, 32).expect("a store")
    }

    /// A login's bare connection, for statements written by hand.
    ///
    /// # Panics
    /// When the login is refused.
    pub async fn connect(&self, role: Role) -> PgConnection {
        self.target.options(role).expect("options").connect().await.expect("the login gets in")
    }

    /// A superuser's bare connection.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn superuser(&self) -> PgConnection {
        self.target.admin_options().connect().await.expect("the superuser gets in")
    }

    /// A superuser's connection that was used before, or a new one: for queries that leave nothing behind in their session.
    pub(crate) async fn borrow_superuser(&self) -> PgConnection {
        let runtime = Handle::current().id();
        let free = {
            let mut superusers = self.superusers.lock().expect("nobody panics with the lock");
            let at = superusers.iter().position(|(on, _)| *on == runtime);
            at.map(|at| superusers.swap_remove(at).1)
        };
        match free {
            Some(connection) => connection,
            None => self.superuser().await,
        }
    }

    pub(crate) fn give_back(&self, connection: PgConnection) {
        let runtime = Handle::current().id();
        let mut superusers = self.superusers.lock().expect("nobody panics with the lock");
        superusers.push((runtime, connection));
    }

    /// Adds a service principal, whose moves need no signature.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn service(&self, name: &str, classes: &[&str]) {
        let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
        self.store(Role::Migrator)
            .fn_principal_add(name, "service", &classes, None)
            .await
            .expect("a principal");
    }

    /// Applies and activates a machine given as YAML.
    ///
    /// # Panics
    /// When it is no machine or refused.
    pub async fn machine(&self, yaml: &str) -> Definition {
        let definition = Definition::from(&File::parse(yaml).expect("a machine file"));
        assert_eq!(chancery_model::machine::check(&definition), [], "the test's machine is sound");
        self.definition(&definition).await;
        definition
    }

    /// Applies and activates a definition.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn definition(&self, definition: &Definition) {
        let store = self.store(Role::Migrator);
        registry::apply_definition(&store, definition, "test", true)
            .await
            .expect("the machine is applied");
    }

    /// Applies and activates a custom machine that names classes in which nobody acts on one, such as those of the cutter's duties. It is refused
    /// today; earlier releases took it, and it is there for the logins that act in one class only.
    ///
    /// # Panics
    /// When it is refused for another reason.
    pub async fn definition_in_any_class(&self, definition: &Definition) {
        let now =
            self.text("select pg_get_functiondef('fsm.can_act(text,text)'::regprocedure)").await;
        let mut admin = self.superuser().await;
        let anybody = "create or replace function fsm.can_act(p_actor_class text, p_scope text) returns boolean language sql stable as 'select true'";
        admin.execute(anybody).await.expect("the superuser may");
        self.definition(definition).await;
        admin.execute(AssertSqlSafe(now)).await.expect("the superuser may");
    }

    /// Digest of every row of every table of ours, for "nothing changed". One statement: it is asked thousands of times.
    ///
    /// # Panics
    /// When it cannot be read.
    pub async fn fingerprint(&self) -> String {
        let mut admin = self.borrow_superuser().await;
        let digests: Option<String> = sqlx::query_scalar(
            "select string_agg(t.name || ' ' || (xpath('//digest/text()', query_to_xml(format(
                      'select md5(string_agg(md5(t::text), '''' order by md5(t::text))) as digest from %s t', t.name), true, false, '')))[1], e'\\n' order by t.name)
               from (select c.oid::regclass::text as name
                       from pg_class c join pg_namespace n on n.oid = c.relnamespace
                      where n.nspowner = 'chancery_owner'::regrole and c.relkind = 'r' and pg_relation_size(c.oid) > 0) t",
        )
        .fetch_one(&mut admin)
        .await
        .expect("digests");
        self.give_back(admin);
        digests.expect("a database of ours has rows")
    }
}

impl Drop for TestDb {
    fn drop(&mut self) {
        let options = self.cluster.target().with_database("postgres").admin_options();
        let statement =
            format!("drop database if exists \"{}\" with (force)", self.target.database());
        // A thread of its own: a destructor cannot wait inside the test's runtime.
        let dropped = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                let mut admin = options.connect().await.ok()?;
                admin.execute(AssertSqlSafe(statement)).await.ok()
            })
        });
        // PostgreSQL waits until a login that is half-way in has ended, and that login may be a task of this very runtime: its other
        // tasks go on meanwhile, where it has threads for them.
        let threads = Handle::try_current()
            .is_ok_and(|here| here.runtime_flavor() == RuntimeFlavor::MultiThread);
        // A database that stays behind costs disk, not truth; the next `make test` starts from a fresh cluster.
        drop(if threads { tokio::task::block_in_place(|| dropped.join()) } else { dropped.join() });
    }
}
