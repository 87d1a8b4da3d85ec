// What a drawing looks like: colours of the theme and of the states, words in the reader's language. Made by useGraphLook.
import type { Row } from './scene.ts'

export interface Colours {
  page: string
  surface: string
  raised: string
  ink: string
  soft: string
  line: string
  strong: string
  accent: string
}

/** An outline in a box of 24 by 24, filled or drawn as a line. */
export interface Silhouetted {
  d: string
  fill: boolean
}

export interface Shown {
  bg: string
  fg: string
  border: string
  icon: Silhouetted
  label: string
  message: string
}

export interface Look {
  language: string
  /** The reader's own colours: the browser paints over ours, and canvases have to use its names. */
  forced: boolean
  colours: Colours
  /** A block that grew worse keeps its word and silhouette, and has another colour. */
  state: (state: string, severity?: string | null) => Shown
  facet: (state: string, facet: string) => string
  /** Red, blocked, or past its deadline: looked for first, drawn last. */
  isProblem: (row: Row) => boolean
  /** Texts of cards. */
  kind: (row: Row) => string
  relation: (kind: string) => string
  marked: (mark: 'added' | 'removed' | 'changed') => string
  deadline: (at: string) => string
  flag: (name: 'late' | 'critical' | 'milestone' | 'optional' | 'skipped' | 'tainted') => string
  steps: (count: number) => string
  more: (count: number) => string
}

export const GLYPH = { added: '+', removed: '−', changed: '~' } as const

/** What a reader brings to the fore. Everything else steps back, and keeps its words. */
export interface Emphasis {
  states?: Set<string>
  critical: boolean
  tainted?: Set<number>
}

export function stepsBack(row: Row, index: number, emphasis: Emphasis): boolean {
  const { states, critical, tainted } = emphasis
  if (states?.size && !(row.states ? [...row.states.keys()].some((one) => states.has(one)) : row.state && states.has(row.state))) return true
  if (!critical && !tainted) return false
  return !((critical && row.critical) || tainted?.has(index))
}
