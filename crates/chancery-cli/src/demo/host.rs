//! `chancery demo --fill` and `--serve`: a populated system, and the host that shows it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use chancery_engine::loops::{LOOPS, Loops};
use chancery_store::{Role, Store};
use clap::Parser as _;
use rand::Rng as _;
use serde_json::json;
use tokio::sync::watch;
use uuid::Uuid;

use super::fill::{Fill, PEOPLE, ground};
use super::hands::Hands;
use super::{CONNECTIONS, Demo};
use crate::Context;
use crate::cli::{Cli, Command};
use crate::failure::{Failure, Outcome};
use crate::output::table;
use crate::serve;
use crate::session::Session;
use crate::stop::Stop;

/// Where the demo listens: the first of these that is free.
const PORTS: std::ops::Range<u16> = 8080..8100;
/// Without those that are easily taken for another one.
const LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";

/// Fills; then serves, when that was asked for.
pub(super) async fn populate(context: &mut Context, args: &Demo) -> Result<Outcome, Failure> {
    let address = free_address(args.listen)?;
    let stop = Stop::on_signals()?;
    let hands = tokio::select! {
        filled = filled(context, address) => filled?,
        () = stop.wait() => {
            return Err(Failure::Failed("stopped; what was done stays, and the same command goes on".to_owned()));
        }
    };
    if !args.serve {
        hands.dismiss().await;
        context.out.note("filled; look at it with `chancery demo --serve`");
        return Ok(Outcome::Done);
    }
    let served = show(context, address).await;
    hands.dismiss().await;
    served
}

/// Fills with the loops running; gives the workers.
async fn filled(context: &Context, address: SocketAddr) -> Result<Hands, Failure> {
    let began = Instant::now();
    ground(context).await?;
    let fill = Fill::new(context, address, began).await?;
    let session = Session::open(context).await?;
    let store = Store::with_connections(&session.target, Role::App, CONNECTIONS)?;
    let (end, stop) = watch::channel(false);
    let loops = Loops::start(LOOPS, &store, &format!("demo:{}", Uuid::now_v7()), &stop);
    let hands = fill.run().await;
    end.send_replace(true);
    loops.ended().await;
    store.close().await;
    hands
}

async fn show(context: &mut Context, address: SocketAddr) -> Result<Outcome, Failure> {
    let operator = Session::open(context).await?.store(Role::Migrator).await?;
    let mut people = Vec::new();
    for person in &PEOPLE {
        let password = password();
        let how = chancery_server::fresh_salt();
        let hash = chancery_server::hashed_password(password.as_bytes(), how)
            .ok_or_else(|| Failure::Failed("argon2id has no memory".to_owned()))?;
        operator.fn_password_set(person.name, how, &hash, None, None).await?;
        people.push((person.name, password, person.role));
    }
    if context.out.is_json() {
        let list: Vec<_> = people
            .iter()
            .map(|(name, password, role)| json!({ "name": name, "password": password, "role": role }))
            .collect();
        context.out.line(&json!({ "people": list }).to_string())?;
    } else {
        let rows = people.iter().map(|(name, password, role)| {
            vec![(*name).to_owned(), password.clone(), (*role).to_owned()]
        });
        let list = table(&["name", "password", "who"], rows);
        context.out.line(&format!("\nSign in as one of these. The passwords are new each time, and are kept nowhere.\n\n{list}"))?;
        context.out.line(
            "A browser makes a signing key of its own. While this demo runs, it accepts the keys of these four and says so; elsewhere an \
             operator compares the fingerprint first, and types `chancery key accept ID`.\n\nCtrl-C ends it. The demo listens at",
        )?;
    }
    let accepting = tokio::spawn(accept_keys(context.out.clone(), operator));
    let listen = address.to_string();
    let cli = Cli::try_parse_from(["chancery", "serve", "--listen", &listen]);
    let Ok(Cli { command: Command::Serve(args), .. }) = cli else {
        return Err(Failure::Failed(format!(
            "`chancery serve --listen {listen}` is no command any more"
        )));
    };
    let served = serve::serve(context, &args).await;
    accepting.abort();
    served
}

/// Accepts what the people of the demo ask for, as an operator would.
async fn accept_keys(out: crate::output::Out, operator: Store) {
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        // A database that is away is the host's to report.
        let Ok(requests) = operator.key_requests(None).await else { continue };
        for request in requests.into_iter().filter(|request| request.outcome.is_none()) {
            let of_the_demo = PEOPLE.iter().any(|person| person.name == request.principal);
            if of_the_demo
                && operator.fn_key_request_settle(request.request_id, true, None).await.is_ok()
            {
                let id = request.request_id;
                let print: String = request.fingerprint.chars().take(16).collect();
                out.note(&format!(
                    "accepted a key of {}, fingerprint {print}… (chancery key accept {id})",
                    request.principal
                ));
            }
        }
    }
}

/// Where to listen. It is settled before the fill, which puts jobs for this address into the queue.
fn free_address(wanted: Option<SocketAddr>) -> Result<SocketAddr, Failure> {
    let taken = |address: SocketAddr| TcpListener::bind(address).and_then(|it| it.local_addr());
    if let Some(address) = wanted {
        return taken(address)
            .map_err(|error| Failure::Failed(format!("can't listen at {address}: {error}")));
    }
    PORTS
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .find_map(|it| taken(it).ok())
        .ok_or_else(|| {
            Failure::Failed(
                "the ports 8080 to 8099 are all taken; name one with --listen".to_owned(),
            )
        })
}

/// Sixteen letters in four groups: easily copied by hand, and 79 bits.
fn password() -> String {
    let mut random = rand::rngs::OsRng;
    let groups: Vec<String> = (0..4)
        .map(|_| (0..4).map(|_| char::from(LETTERS[random.gen_range(0..LETTERS.len())])).collect())
        .collect();
    groups.join("-")
}
