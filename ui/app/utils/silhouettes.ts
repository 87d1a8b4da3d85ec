// The outlines of the server's silhouettes, in a box of 24 × 24: one path each, filled by the even-odd rule or stroked with 2.
// The nine floor states differ by outline alone, so that they can be told apart without colour.
export interface Outline {
  d: string
  fill: boolean
}

const stroked = (d: string): Outline => ({ d, fill: false })
const filled = (d: string): Outline => ({ d, fill: true })
const DISC = 'M12 2a10 10 0 1 0 0 20a10 10 0 1 0 0-20Z'
const RING = 'M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18Z'
const OCTAGON = 'M7.9 2h8.2L22 7.9v8.2L16.1 22H7.9L2 16.1V7.9Z'

const OUTLINES: Record<string, Outline> = {
  circle_hollow: stroked(RING),
  play_outline: stroked('M6 4l14 8-14 8Z'),
  play_filled: filled('M5 2.5l17 9.5-17 9.5Z'),
  hourglass: stroked('M5 3h14M5 21h14M7 3c0 5 5 6 5 9s-5 4-5 9M17 3c0 5-5 6-5 9s5 4 5 9'),
  warn_filled: filled('M12 1l11 11-11 11L1 12ZM10.8 6v7.5h2.4V6ZM10.8 15.3v2.5h2.4v-2.5Z'),
  warn_outline: stroked('M12 2.5l9.5 9.5-9.5 9.5L2.500 12ZM12 7.500v5.500M12 16.300v.1'),
  clock_alert: stroked('M12 4a8.500 8.500 0 1 0 0 17a8.500 8.500 0 1 0 0-17ZM12 8v4.500l3 2M2 5l3-3M22 5l-3-3'),
  clock_rewind: stroked('M4 6v5h5M4.500 11a8.500 8.500 0 1 1 1 6M12 8v4.500l3 2'),
  calendar_clock: stroked('M4 5h16v15H4ZM4 9h16M8 3v3M16 3v3M12 12v3l2 1.500'),
  timer_off: stroked('M12 5a8 8 0 1 0 0 16a8 8 0 1 0 0-16ZM9 2h6M3 3l18 19'),
  cross_filled: filled('M2 2h20v20H2ZM8 6.300L6.300 8l4 4-4 4L8 17.700l4-4 4 4 1.700-1.700-4-4 4-4L16 6.300l-4 4Z'),
  stop_filled: filled(`${OCTAGON}M7 10.500v3h10v-3Z`),
  stop_outline: stroked('M8.300 3h7.400L21 8.300v7.400L15.700 21H8.300L3 15.700V8.300ZM8 12h8'),
  hand_filled: filled(`${OCTAGON}M11 6v6h2V6ZM11 14v3h2v-3Z`),
  check_filled: filled(`${DISC}M7.300 11.300l-1.600 1.600 4.600 4.600 8-8-1.600-1.600-6.400 6.400Z`),
  cancel_filled: filled(`${DISC}M7.500 5.800L5.800 7.500l10.700 10.700 1.700-1.700Z`),
  pause_filled: filled('M5 3h5v18H5ZM14 3h5v18h-5Z'),
  archive: stroked('M3 4h18v5H3ZM5 9v11h14V9M10 13h4'),
  arrow_back: stroked('M9 6l-6 6 6 6M3 12h12a6 6 0 0 1 6 6'),
  bookmark: stroked('M6 3h12v18l-6-5-6 5Z'),
  box_empty: stroked('M4 4h16v16H4Z'),
  bug: stroked('M8 8a4 4 0 0 1 8 0v8a4 4 0 0 1-8 0ZM3 7l5 3M21 7l-5 3M3 13h5M16 13h5M3 19l5-3M21 19l-5-3'),
  clipboard_check: stroked('M5 5h14v16H5ZM9 3h6v4H9ZM9 14l2 2 4-4'),
  eye: stroked('M2 12c4-7 16-7 20 0c-4 7-16 7-20 0ZM12 9a3 3 0 1 0 0 6a3 3 0 1 0 0-6Z'),
  gavel: stroked('M13 3l8 8M10 6l8 8M11.500 4.500l-5 5M19.500 12.500l-5 5M12 12L3 21'),
  globe: stroked(`${RING}M3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18`),
  grid_check: stroked('M3 3h18v18H3ZM3 12h18M12 3v18M14.500 16.500l1.500 1.500 3-3'),
  key: stroked('M8 11a4.500 4.500 0 1 0 0 9a4.500 4.500 0 1 0 0-9ZM11.200 12.300L20 3.500M16 7.500l3 3'),
  ledger: stroked('M4 3h16v18H4ZM8 3v18M11 8h6M11 12h6M11 16h6'),
  link: stroked('M10 14a4 4 0 0 1 0-6l3-3a4 4 0 0 1 6 6l-1.500 1.500M14 10a4 4 0 0 1 0 6l-3 3a4 4 0 0 1-6-6l1.500-1.500'),
  magnifier: stroked('M10.500 3.500a7 7 0 1 0 0 14a7 7 0 1 0 0-14ZM16 16l5 5'),
  mail: stroked('M3 5h18v14H3ZM3 6l9 7 9-7'),
  pin: stroked('M9 3h6l-1 7 4 4H6l4-4ZM12 14v7'),
  scissors_filled: filled('M6 2a4 4 0 1 0 2.500 7.100L10.800 12l-2.300 2.900A4 4 0 1 0 10 18c0-.5-.1-1-.3-1.500L22 4h-4l-5.600 6-2.700-2.500A4 4 0 0 0 6 2ZM13.800 13.500L18 20h4l-6-8.500Z'),
  scissors_outline: stroked('M6 3a3 3 0 1 0 0 6a3 3 0 1 0 0-6ZM6 15a3 3 0 1 0 0 6a3 3 0 1 0 0-6ZM8.300 8L20 20M8.300 16L20 4'),
  seal_filled: filled('M12 1l2.600 2.500 3.600-.4.800 3.500 3.100 1.900-1.400 3.300 1.400 3.400-3.100 1.800-.8 3.600-3.600-.4L12 23l-2.600-2.800-3.600.4-.8-3.600-3.100-1.800 1.400-3.400-1.400-3.300 3.100-1.900.8-3.500 3.600.4ZM8 10.800l-1.500 1.500 4.200 4.200 6.800-6.800L16 8.200l-5.300 5.300Z'),
  seal_outline: stroked('M12 3a6.500 6.500 0 1 0 0 13a6.500 6.500 0 1 0 0-13ZM8 15l-1.500 7 5.500-3 5.500 3L16 15'),
  thumb_up: stroked('M3 11h4v9H3ZM7 11l4-8c2 0 3 1.500 2.500 4L13 10h6.500L18 20H7'),
  ticket: stroked('M3 6h18v4a2 2 0 0 0 0 4v4H3v-4a2 2 0 0 0 0-4Z'),
  ticket_punched: filled('M2 5h20v5a2 2 0 0 0 0 4v5H2v-5a2 2 0 0 0 0-4ZM12 8.500a3.500 3.500 0 1 0 0 7a3.500 3.500 0 1 0 0-7Z'),
  truck: stroked('M2 5h12v12H2ZM14 9h4l4 4v4h-8M6.500 15.500a2 2 0 1 0 0 4a2 2 0 1 0 0-4ZM17.500 15.500a2 2 0 1 0 0 4a2 2 0 1 0 0-4Z'),
  user: stroked('M12 3a4.500 4.500 0 1 0 0 9a4.500 4.500 0 1 0 0-9ZM3.500 21c1-8 16-8 17 0'),
  waves: stroked('M2 8c3-4 5-4 10 0s7 4 10 0M2 16c3-4 5-4 10 0s7 4 10 0'),
}

/** The outline of an icon of the server (`icon.play_filled`); one that is unknown here is a hollow circle. */
export function silhouette(icon: string): Outline {
  return OUTLINES[icon.replace(/^icon\./, '')] ?? stroked(RING)
}
