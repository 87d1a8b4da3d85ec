//! `cutter orchestrate`: one run takes one document from `pending` to `closeout_reported`.

#[allow(dead_code, reason = "nothing feeds it before the runner is there")]
pub(crate) mod progress;
