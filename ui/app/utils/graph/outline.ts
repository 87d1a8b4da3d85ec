// The same workflow as rows: its lanes, or else its groups, and under each its steps in the order of reading.
import type { Scene, Words } from './scene.ts'

export interface OutlineRow {
  id: string
  level: 1 | 2
  /** A heading, or the card of a step. */
  index?: number
  title?: Words
  /** For headings: how many steps are under it. */
  count: number
  open?: boolean
  /** Place among the rows beside it, from 1, and how many these are. */
  place: number
  beside: number
}

function sorted(scene: Scene, keyOf: (index: number) => string | undefined): Map<string | undefined, number[]> {
  const found = new Map<string | undefined, number[]>()
  for (const index of scene.order) {
    const key = keyOf(index)
    const cards = found.get(key)
    if (cards) cards.push(index)
    else found.set(key, [index])
  }
  return found
}

export function outlineOf(scene: Scene, closed: Set<string>, fits: (index: number) => boolean = () => true): OutlineRow[] {
  const byLane = scene.lanes.length > 0
  const strips = byLane ? scene.lanes : scene.groups
  const cards = sorted(scene, (index) => {
    const row = scene.rows[index]!
    return byLane ? row.lane : row.group
  })
  const step = (index: number, level: 1 | 2, place: number, beside: number): OutlineRow => ({ id: `step:${scene.rows[index]!.key}`, level, index, count: 0, place: place + 1, beside })
  if (strips.length === 0) {
    const all = scene.order.filter(fits)
    return all.map((index, place) => step(index, 1, place, all.length))
  }
  const known = new Set(strips.map((strip) => strip.key))
  const loose = scene.order.filter((index) => !known.has((byLane ? scene.rows[index]!.lane : scene.rows[index]!.group) ?? '') && fits(index))
  const rows: OutlineRow[] = []
  const filled = strips.map((strip) => ({ strip, inside: (cards.get(strip.key) ?? []).filter(fits) })).filter(({ inside }) => inside.length > 0)
  const tops = filled.length + loose.length
  filled.forEach(({ strip, inside }, place) => {
    const open = !closed.has(strip.key)
    rows.push({ id: `strip:${strip.key}`, level: 1, title: strip.title, count: inside.length, open, place: place + 1, beside: tops })
    if (open) inside.forEach((index, at) => rows.push(step(index, 2, at, inside.length)))
  })
  loose.forEach((index, at) => rows.push(step(index, 1, filled.length + at, tops)))
  return rows
}
