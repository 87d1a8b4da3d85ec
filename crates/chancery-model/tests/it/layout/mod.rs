//! The layout of workflows (UIW-7 needs it, RUN-1 gives it its graphs).

mod check;
mod fit;
mod graph;
mod laws;
mod pictures;
