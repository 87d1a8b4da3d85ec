//! Tests that need a process of the kit beside them.

mod flow_kills;
