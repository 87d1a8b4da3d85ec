//! The program `chancery`; everything is in the library, which `cutter` shares.

use std::process::ExitCode;

fn main() -> ExitCode {
    chancery_cli::chancery()
}
