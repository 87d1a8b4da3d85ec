//! How states look: the colours and silhouettes that a machine may name.
//!
//! The database has both, in `config.colour` and `config.silhouette`, and refuses any other when a machine is applied. They stand here as
//! well because a file is checked without a database; a test compares the lists, and the outlines of the pages with them.

/// The colours of the palette, in alphabetical order.
pub const COLOURS: &[&str] = &[
    "ui.traffic_light.gray",
    "ui.traffic_light.green",
    "ui.traffic_light.green_deep",
    "ui.traffic_light.green_pale",
    "ui.traffic_light.red",
    "ui.traffic_light.red_dark",
    "ui.traffic_light.red_pale",
    "ui.traffic_light.yellow",
    "ui.traffic_light.yellow_dark",
];

/// The silhouettes, in alphabetical order.
pub const ICONS: &[&str] = &[
    "icon.archive",
    "icon.arrow_back",
    "icon.bookmark",
    "icon.box_empty",
    "icon.bug",
    "icon.calendar_clock",
    "icon.cancel_filled",
    "icon.check_filled",
    "icon.circle_hollow",
    "icon.clipboard_check",
    "icon.clock_alert",
    "icon.clock_rewind",
    "icon.cross_filled",
    "icon.eye",
    "icon.gavel",
    "icon.globe",
    "icon.grid_check",
    "icon.hand_filled",
    "icon.hourglass",
    "icon.key",
    "icon.ledger",
    "icon.link",
    "icon.magnifier",
    "icon.mail",
    "icon.pause_filled",
    "icon.pin",
    "icon.play_filled",
    "icon.play_outline",
    "icon.scissors_filled",
    "icon.scissors_outline",
    "icon.seal_filled",
    "icon.seal_outline",
    "icon.stop_filled",
    "icon.stop_outline",
    "icon.thumb_up",
    "icon.ticket",
    "icon.ticket_punched",
    "icon.timer_off",
    "icon.truck",
    "icon.user",
    "icon.warn_filled",
    "icon.warn_outline",
    "icon.waves",
];
