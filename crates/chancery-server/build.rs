//! The pages are inside the binary: it is built anew when they were made anew.

fn main() {
    println!("cargo:rerun-if-changed=../../ui/.output/public");
}
