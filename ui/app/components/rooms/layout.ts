// Places the states of a machine in columns by their distance from the first one: enough for a picture of a few dozen states.
import type { Definition } from './machine.ts'

export interface Placed {
  code: string
  x: number
  y: number
}
/** From so many pairs of states on, a way (stop, void, resume) is no step of the main line. */
const BROAD = 6

export interface Drawn {
  from: string
  to: string
  labels: string[]
  /** Leads from or to nearly everywhere: drawn faintly until one looks at a state of it. */
  broad: boolean
  path: string
}
export interface Picture {
  width: number
  height: number
  states: Placed[]
  edges: Drawn[]
}

export const WIDTH = 148
export const HEIGHT = 34
const GAP_X = 52
const GAP_Y = 18

export function pictureOf(definition: Definition): Picture {
  const codes = definition.states.filter((state) => !state.conceptual).map((state) => state.code)
  const first = definition.states.find((state) => state.initial)?.code ?? codes[0] ?? ''
  const pairs = new Map<string, Set<string>>()
  for (const one of definition.transitions) pairs.set(one.label, (pairs.get(one.label) ?? new Set()).add(`${one.from} ${one.to}`))
  const broad = (label: string) => (pairs.get(label)?.size ?? 0) > BROAD
  const next = new Map<string, string[]>()
  for (const one of definition.transitions) if (one.from !== null && !broad(one.label)) next.set(one.from, [...(next.get(one.from) ?? []), one.to])
  const rank = new Map([[first, 0]])
  for (const code of rank.keys()) {
    for (const to of next.get(code) ?? []) if (!rank.has(to)) rank.set(to, (rank.get(code) ?? 0) + 1)
  }
  // What only such ways lead to stands under the middle of the line.
  const middle = Math.floor(Math.max(...rank.values()) / 2)
  for (const code of codes) if (!rank.has(code)) rank.set(code, middle)
  // An end stands behind everything that leads to it, so that the way to it does not run back.
  for (const end of definition.states.filter((state) => state.terminal)) {
    const before = definition.transitions.filter((one) => one.to === end.code && one.from !== end.code).map((one) => rank.get(one.from ?? '') ?? -1)
    rank.set(end.code, Math.max(0, ...before) + 1)
  }
  const columns: string[][] = []
  for (const code of codes) (columns[rank.get(code) ?? 0] ??= []).push(code)
  const tallest = Math.max(1, ...columns.map((column) => column?.length ?? 0))
  const height = tallest * (HEIGHT + GAP_Y) + 80
  const places = new Map<string, Placed>()
  columns.forEach((column = [], x) => {
    const top = (height - column.length * (HEIGHT + GAP_Y)) / 2
    column.forEach((code, y) => places.set(code, { code, x: 16 + x * (WIDTH + GAP_X), y: top + y * (HEIGHT + GAP_Y) }))
  })
  const edges = new Map<string, Drawn>()
  for (const one of definition.transitions) {
    const [from, to] = [places.get(one.from ?? ''), places.get(one.to)]
    if (!from || !to) continue
    const key = `${from.code} ${to.code}`
    const known = edges.get(key)
    if (known) {
      if (!known.labels.includes(one.label)) known.labels.push(one.label)
      known.broad &&= broad(one.label)
    } else edges.set(key, { from: from.code, to: to.code, labels: [one.label], broad: broad(one.label), path: line(from, to) })
  }
  return { width: columns.length * (WIDTH + GAP_X) + 8, height, states: [...places.values()], edges: [...edges.values()] }
}

function line(from: Placed, to: Placed): string {
  const middle = HEIGHT / 2
  if (from.code === to.code) return `M ${from.x + WIDTH} ${from.y + middle} c 34 -34 34 34 0 8`
  if (to.x > from.x) {
    const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + middle, to.x - 2, to.y + middle]
    const bend = Math.max(24, (x2 - x1) / 2)
    return `M ${x1} ${y1} C ${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`
  }
  if (to.x === from.x) {
    const [x, y1, y2] = [from.x + WIDTH, from.y + middle, to.y + middle]
    return `M ${x} ${y1} C ${x + 40} ${y1} ${x + 40} ${y2} ${x + 2} ${y2}`
  }
  // A way back runs below.
  const [x1, y1, x2, y2] = [from.x + WIDTH / 2, from.y + HEIGHT, to.x + WIDTH / 2, to.y + HEIGHT + 2]
  const low = Math.max(y1, y2) + 34
  return `M ${x1} ${y1} C ${x1} ${low} ${x2} ${low} ${x2} ${y2}`
}
