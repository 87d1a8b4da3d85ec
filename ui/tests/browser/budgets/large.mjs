// A workflow of any size: files go through a chain of checks in parts, side by side, as a large office works.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const LANES = [['reception', 'Reception', 'Tiếp nhận'], ['check', 'Check', 'Kiểm tra'], ['scan', 'Scan', 'Quét'], ['data', 'Data', 'Dữ liệu'], ['board', 'Board', 'Ban lãnh đạo']]
/** A part is so many steps: a chain, a fan of three, and where they meet. */
const PART = 10
const SIDE_BY_SIDE = 5

const both = (en, vi) => ({ en, vi })
const key = (part, step) => `p${String(part).padStart(4, '0')}_${step}`

export function definition(name, size) {
  const parts = size / PART
  const steps = []
  const relations = []
  const chapters = Math.min(parts, 10)
  for (let part = 0; part < parts; part++) {
    for (let step = 0; step < PART; step++) {
      const number = part * PART + step + 1
      steps.push({
        key: key(part, step), title: both(`Check file ${number}`, `Kiểm tra hồ sơ số ${number}`), lane: LANES[(part + step) % LANES.length][0],
        category: `c${Math.floor(part * chapters / parts)}`, pic: { starter: true },
      })
    }
    const way = (from, to) => relations.push({ from: key(part, from), to: key(part, to) })
    for (const [from, to] of [[0, 1], [1, 2], [2, 3], [2, 4], [2, 5], [3, 6], [4, 6], [5, 6], [6, 7], [7, 8], [8, 9]]) way(from, to)
    if (part >= SIDE_BY_SIDE) relations.push({ from: key(part - SIDE_BY_SIDE, 9), to: key(part, 0) })
  }
  return {
    workflow: name,
    title: both(`${size} steps`, `${size} bước`),
    lanes: LANES.map(([code, en, vi]) => ({ key: code, title: both(en, vi) })),
    categories: Array.from({ length: chapters }, (_, at) => ({ key: `c${at}`, title: both(`Part ${at + 1}`, `Phần ${at + 1}`) })),
    steps,
    relations,
    start: Array.from({ length: Math.min(parts, SIDE_BY_SIDE) }, (_, part) => key(part, 0)),
  }
}

/** Proposed, approved by somebody else, merged and begun by the command line; gives the run's id. */
export async function begun(place, size) {
  const name = place.fresh(`steps_${size}`)
  const file = join(place.home, `${name}.json`)
  writeFileSync(file, JSON.stringify(definition(name, size)))
  const change = await place.cli('workflow', 'propose', file, '--as', 'lan')
  await place.cli('workflow', 'submit', change, '--as', 'lan')
  await place.cli('workflow', 'approve', change, '--class', 'sovereign', '--as', 'hoa')
  await place.cli('workflow', 'merge', change, '--as', 'lan')
  return place.cli('workflow', 'start', name, '--as', 'lan')
}
