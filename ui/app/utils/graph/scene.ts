// A picture of the server as plain arrays: what lies where, and one row of what is known for each card. Vue does not look inside;
// whoever shows a scene is told which rows changed.
import type { Schemas } from '@chancery/api'
import { gridOf, type Box, type Grid } from './grid.ts'

export type Picture = Schemas['Graph']
export type SnapshotStep = Schemas['SnapshotStep']

export interface Words {
  en?: string | null
  vi?: string | null
}

export type Mark = 'added' | 'removed' | 'changed'

/** What is known of the step, or of the steps, that a card stands for. */
export interface Row {
  key: string
  kind: string
  title: Words
  /** Its number in the run, or in the order of reading. */
  number: number
  stepId?: string
  state?: string
  facet?: string | null
  severity?: string | null
  seq: number
  skipped: boolean
  critical: boolean
  late: boolean
  milestone: boolean
  optional: boolean
  pic?: string | null
  deadline?: string | null
  /** Who does it, as the definition says. */
  executor?: string
  subWorkflow?: string
  lane?: string
  group?: string
  mark?: Mark
  /** A collapsed group: how many of its steps are in which state, and how many of these blocks count as red. */
  states?: Map<string, number>
  severe?: number
}

export interface Line {
  from: number
  to: number
  kind: string
  points: [number, number][]
  label?: Words
  mark?: Mark
  relations: number
}

export interface Strip {
  key: string
  title: Words
  boxes: Box[]
  collapsed: boolean
}

export interface Scene {
  digest: string
  width: number
  height: number
  cards: Box[]
  rows: Row[]
  columns: number[]
  bands: number[]
  lines: Line[]
  /** Lines that leave a card, and that come to it. */
  leaving: number[][]
  coming: number[][]
  at: Map<string, number>
  byStep: Map<string, number>
  /** Cards in the order of reading, and the place of each in it. */
  order: number[]
  place: number[]
  lanes: Strip[]
  groups: Strip[]
  grid: Grid
  heard: Set<(rows: number[]) => void>
}

/** What a definition, a comparison or a snapshot adds to a picture. */
export interface Extra {
  laneTitles?: Map<string, Words>
  groupTitles?: Map<string, Words>
  /** Steps of the definition, by key. */
  steps?: Map<string, DefinedStep>
  marks?: Map<string, Mark>
  lineMarks?: Map<string, Mark>
}

export interface DefinedStep {
  title?: Words
  executor?: string
  subWorkflow?: string
  optional?: boolean
  milestone?: boolean
  category?: string
}

const GROUP = 'group:'

function marked(told: string | null | undefined): Mark | undefined {
  return told === 'added' || told === 'removed' || told === 'changed' ? told : undefined
}

export function wordsOf(told: unknown): Words | undefined {
  if (typeof told === 'string' && told !== '') return { en: told, vi: told }
  if (typeof told !== 'object' || told === null) return undefined
  const { en, vi } = told as Words
  return en || vi ? { en, vi } : undefined
}

export function sceneOf(picture: Picture, extra: Extra = {}): Scene {
  const cards = picture.nodes.map(({ x, y, w, h }): Box => ({ x, y, w, h }))
  const at = new Map(picture.nodes.map((node, index) => [node.id, index]))
  const order = picture.topo_order.map((id) => at.get(id)).filter((index) => index !== undefined)
  const place = new Array<number>(cards.length).fill(0)
  order.forEach((index, position) => { place[index] = position })
  const rows = picture.nodes.map((node, index): Row => {
    const key = node.kind === 'group' ? node.id.slice(GROUP.length) : node.id
    return {
      key,
      kind: node.kind,
      title: { en: key, vi: key },
      number: place[index]! + 1,
      seq: -1,
      skipped: false,
      critical: false,
      late: false,
      milestone: false,
      optional: false,
      lane: node.lane ?? undefined,
      group: node.group ?? (node.kind === 'group' ? key : undefined),
      mark: marked(node.mark),
      states: node.kind === 'group' ? new Map() : undefined,
    }
  })
  const lines: Line[] = []
  const leaving = cards.map((): number[] => [])
  const coming = cards.map((): number[] => [])
  for (const edge of picture.edges) {
    const from = at.get(edge.from)
    const to = at.get(edge.to)
    if (from === undefined || to === undefined) continue
    leaving[from]!.push(lines.length)
    coming[to]!.push(lines.length)
    lines.push({
      from, to, kind: edge.kind, points: edge.points as [number, number][], label: wordsOf(edge.label),
      mark: marked(edge.mark), relations: edge.relations ?? 1,
    })
  }
  const strips = (told: Picture['lanes']) => told.map((strip): Strip => ({
    key: strip.key, title: { en: strip.key, vi: strip.key }, boxes: strip.boxes, collapsed: strip.collapsed ?? false,
  }))
  const scene: Scene = {
    digest: picture.digest, width: picture.width, height: picture.height, cards, rows,
    columns: picture.nodes.map((node) => node.rank), bands: picture.nodes.map((node) => node.band),
    lines, leaving, coming, at, byStep: new Map(), order, place,
    lanes: strips(picture.lanes), groups: strips(picture.groups),
    grid: gridOf(cards, picture.width), heard: new Set(),
  }
  for (const state of picture.states ?? []) {
    const index = at.get(state.id)
    if (index === undefined) continue
    scene.byStep.set(state.step_id, index)
    Object.assign(rows[index]!, {
      stepId: state.step_id, title: wordsOf(state.title) ?? rows[index]!.title, state: state.state, facet: state.facet,
      severity: state.blocked_severity, skipped: state.skipped, critical: state.critical, late: state.past_deadline,
      pic: state.pic, deadline: state.deadline,
    })
  }
  return withExtra(scene, extra)
}

/** The same picture with what was learned since. Nothing lies elsewhere, and arrays that say nothing new are the same ones. */
export function withExtra(scene: Scene, extra: Extra): Scene {
  const rows = scene.rows.map((row): Row => {
    const defined = row.kind === 'group' ? undefined : extra.steps?.get(row.key)
    const named = row.kind === 'group' ? extra.groupTitles?.get(row.key) : row.stepId ? undefined : defined?.title
    if (!defined && !named && !extra.marks?.has(row.key)) return row
    return {
      ...row,
      title: named ?? row.title,
      milestone: defined?.milestone ?? row.milestone,
      optional: defined?.optional ?? row.optional,
      executor: defined?.executor ?? row.executor,
      subWorkflow: defined?.subWorkflow ?? row.subWorkflow,
      mark: row.mark ?? extra.marks?.get(row.key),
    }
  })
  const titled = (strips: Strip[], titles?: Map<string, Words>) => strips.map((strip) => ({ ...strip, title: titles?.get(strip.key) ?? strip.title }))
  const { lineMarks } = extra
  const lines = lineMarks?.size
    ? scene.lines.map((line) => ({ ...line, mark: line.mark ?? lineMarks.get(`${scene.rows[line.from]!.key} → ${scene.rows[line.to]!.key}`) }))
    : scene.lines
  return { ...scene, rows, lines, lanes: titled(scene.lanes, extra.laneTitles), groups: titled(scene.groups, extra.groupTitles) }
}

/** The text in the reader's language, or in the other one. */
export function inWords(words: Words | undefined, language: string): string {
  if (!words) return ''
  return (language === 'vi' ? words.vi ?? words.en : words.en ?? words.vi) ?? ''
}

export function tell(scene: Scene, rows: number[]): void {
  if (rows.length > 0) for (const hear of scene.heard) hear(rows)
}
