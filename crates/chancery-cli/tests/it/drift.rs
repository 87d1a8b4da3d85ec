//! SEC-3, OPS-10: what becomes of a host whose rules somebody changed, until it is mended or somebody answers for it.

use serde_json::{Value, json};

use crate::place::Place;
use crate::serve::{Host, until};

/// While the rules differ from the release, a host answers whoever reads and decides nothing; an acknowledgement or `migrate` ends that.
#[test]
fn a_host_on_changed_rules_reads_and_decides_nothing() {
    let place = Place::with_database();
    place.done(&["principal", "add", "alice", "--kind", "human", "--class", "pic_human"]);
    place.superuser(
        "set role chancery_owner; update config.dot_config set value = '1' where key = 'drift.check_seconds'",
    );
    place.done(&["doctor"]);
    let host = Host::start(&place);
    let decides = || host.get("/readyz").1["decides"] == true;
    let enqueue = |key: &str| {
        let job =
            json!({ "jobs": [{ "class": "noop", "kind": "trial", "key": key, "payload": {} }] });
        host.post("/v1/queue/jobs", &job)
    };
    let jobs = || place.superuser("select count(*) from queue.job_queue");
    assert!(decides());
    assert_eq!(enqueue("before").0, 201);

    place.superuser("grant update on fsm.run to chancery_app");
    until("the change was noticed", || !decides());
    let (status, body) = enqueue("during");
    assert_eq!((status, &body["problem"]), (503, &json!("rules_differ")), "{body}");
    let detail = body["detail"].as_str().expect("a detail");
    assert_eq!(detail, "table fsm.run rights that this release does not give: chancery_app update");
    assert_eq!(jobs(), "1\n", "nothing was written");
    assert_eq!(host.get("/healthz").0, 200);
    until("it still leads and reads", || host.get("/readyz").0 == 200);
    let said = place.run(&["doctor"]).ends_with(1);
    assert!(said.stdout.contains("table fsm.run"), "{said:?}");

    let known =
        ["doctor", "--acknowledge", "table fsm.run", "--reason", "a trial", "--as", "alice"];
    place.refused("RI057", &[&known[..], &["--hours", "1000"]].concat());
    let noted: Value = place.json(&[&known[..], &["--hours", "1"]].concat());
    assert_eq!(noted["acknowledged_by"], "alice");
    until("somebody answers for it", decides);
    assert_eq!(enqueue("after").0, 201);
    let said = place.done(&["doctor"]);
    assert!(said.stdout.contains("acknowledged by alice"), "{said:?}");
    let other = ["doctor", "--acknowledge", "table fsm.nothing", "--reason", "x", "--as", "alice"];
    assert!(place.run(&other).ends_with(1).stderr.contains("is no difference"));

    place.superuser("drop trigger transition_log_is_append_only on fsm.transition_log");
    until("the other change was noticed", || !decides());
    place.done(&["migrate"]);
    until("it was mended", decides);
    assert_eq!(enqueue("at last").0, 201);
    host.ends_well();
}
