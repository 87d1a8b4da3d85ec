//! The program `cutter`: `chancery cutter` under a name of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    chancery_cli::cutter()
}
