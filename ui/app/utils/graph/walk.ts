// From one card to another by the keyboard.
import type { Scene } from './scene.ts'

export function successors(scene: Scene, index: number): number[] {
  return inOrder(scene, (scene.leaving[index] ?? []).map((line) => scene.lines[line]!.to))
}

export function predecessors(scene: Scene, index: number): number[] {
  return inOrder(scene, (scene.coming[index] ?? []).map((line) => scene.lines[line]!.from))
}

/** As they stand in a column, from top to bottom: that is how they are numbered on the screen. */
function inOrder(scene: Scene, cards: number[]): number[] {
  return [...new Set(cards)].sort((a, b) => scene.columns[a]! - scene.columns[b]! || scene.cards[a]!.y - scene.cards[b]!.y)
}

/** The nearest card above or below: of the same column when there is one, of the same lane rather than of another. */
export function beside(scene: Scene, index: number, direction: -1 | 1): number | undefined {
  const from = scene.cards[index]!
  const lane = scene.rows[index]!.lane
  let best: number | undefined
  let least = Infinity
  scene.cards.forEach((card, other) => {
    const down = (card.y - from.y) * direction
    if (other === index || down <= 0) return
    const strange = scene.rows[other]!.lane === lane ? 0 : 60
    const cost = down + 3 * Math.abs(card.x - from.x) + strange
    if (cost < least) [best, least] = [other, cost]
  })
  return best
}

/** The next card in the order of reading that fits; after the last comes the first. */
export function following(scene: Scene, index: number | undefined, fits: (index: number) => boolean, direction: -1 | 1 = 1): number | undefined {
  const count = scene.order.length
  const start = index === undefined ? (direction === 1 ? -1 : count) : scene.place[index]!
  for (let step = 1; step <= count; step++) {
    const card = scene.order[(start + direction * step + count * 2) % count]!
    if (card !== index && fits(card)) return card
  }
  return index !== undefined && fits(index) ? index : undefined
}
