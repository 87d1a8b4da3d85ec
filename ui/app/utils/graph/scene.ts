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
  /** A collapsed group: how many of its steps are in which state. */
  states?: Map<string, number>
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
  titles?: Map<string, Words>
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
    const defined = extra.steps?.get(node.id)
    const named = node.kind === 'group' ? extra.groupTitles?.get(key) : extra.titles?.get(node.id) ?? defined?.title
    return {
      key,
      kind: node.kind,
      title: named ?? { en: key, vi: key },
      number: place[index]! + 1,
      seq: -1,
      skipped: false,
      critical: false,
      late: false,
      milestone: defined?.milestone ?? false,
      optional: defined?.optional ?? false,
      executor: defined?.executor,
      subWorkflow: defined?.subWorkflow,
      lane: node.lane ?? undefined,
      group: node.group ?? (node.kind === 'group' ? key : undefined),
      mark: marked(node.mark) ?? extra.marks?.get(node.id),
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
      mark: marked(edge.mark) ?? extra.lineMarks?.get(`${edge.from} → ${edge.to}`), relations: edge.relations ?? 1,
    })
  }
  const strips = (told: Picture['lanes'], titles?: Map<string, Words>) => told.map((strip): Strip => ({
    key: strip.key, title: titles?.get(strip.key) ?? { en: strip.key, vi: strip.key }, boxes: strip.boxes, collapsed: strip.collapsed ?? false,
  }))
  const scene: Scene = {
    digest: picture.digest, width: picture.width, height: picture.height, cards, rows,
    columns: picture.nodes.map((node) => node.rank), bands: picture.nodes.map((node) => node.band),
    lines, leaving, coming, at, byStep: new Map(), order, place,
    lanes: strips(picture.lanes, extra.laneTitles), groups: strips(picture.groups, extra.groupTitles),
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
  return scene
}

/** The text in the reader's language, or in the other one. */
export function inWords(words: Words | undefined, language: string): string {
  if (!words) return ''
  return (language === 'vi' ? words.vi ?? words.en : words.en ?? words.vi) ?? ''
}

export function tell(scene: Scene, rows: number[]): void {
  if (rows.length > 0) for (const hear of scene.heard) hear(rows)
}
