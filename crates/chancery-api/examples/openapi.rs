//! Prints the OpenAPI document: `make api` writes it to `api/openapi.json`.

use std::io::Write as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let document = chancery_api::openapi::document(env!("CARGO_PKG_VERSION"));
    let mut stdout = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut stdout, &document)?;
    stdout.write_all(b"\n")?;
    Ok(())
}
