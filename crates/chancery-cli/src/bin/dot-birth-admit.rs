//! The program `dot-birth-admit`: `chancery birth admit` under a name of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    chancery_cli::dot_birth_admit()
}
