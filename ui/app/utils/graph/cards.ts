// Cards as elements, only for what can be seen. Made by hand, since a component for each card costs ten times as much to show, and panning
// shows dozens of them in a frame. Elements of cards that left are used again.
import { fitted } from './fit.ts'
import { GLYPH, stepsBack, type Emphasis, type Look } from './look.ts'
import { inWords, type Row, type Scene } from './scene.ts'
import type { Level } from './viewport.ts'

export interface CardWorld {
  scene: Scene
  look: Look
  emphasis: Emphasis
  level: Level
  /** What letters are made for. */
  zoom: number
  cursor?: number
  selected?: number
}

/** So many elements are kept for cards that come next. */
const SPARE = 60
/** A chip in pixels of the screen, as the style sheet has it: letters, a line of them, and what stands beside them. */
const CHIP = { letters: 11, line: 13.75, icon: 16, padding: 6, border: 8 } as const
const SVG = 'http://www.w3.org/2000/svg'

interface Card {
  element: HTMLElement
  icon: SVGSVGElement
  shape: SVGPathElement
  word: HTMLElement
  title: HTMLElement
  foot: HTMLElement
  tag: HTMLElement
  glyph: HTMLElement
}

function piece(name: string): HTMLElement {
  const element = document.createElement('span')
  element.className = name
  return element
}

function newCard(): Card {
  const element = document.createElement('div')
  element.setAttribute('role', 'img')
  const icon = document.createElementNS(SVG, 'svg')
  icon.setAttribute('viewBox', '0 0 24 24')
  icon.setAttribute('class', 'g-icon')
  const shape = document.createElementNS(SVG, 'path')
  icon.append(shape)
  return { element, icon, shape, word: piece('g-word'), title: piece('g-title'), foot: piece('g-foot'), tag: piece('g-tag'), glyph: piece('g-glyph') }
}

/** Puts in exactly these children, and touches nothing when they are there. */
function holds(element: Element, wanted: Element[]): void {
  if (element.children.length === wanted.length && wanted.every((one, at) => element.children[at] === one)) return
  element.replaceChildren(...wanted)
}

function write(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

/** All that is told about a card, as one sentence for who does not see it. */
export function spoken(row: Row, look: Look): string {
  const parts = [inWords(row.title, look.language)]
  if (row.states?.size) {
    if (row.state) parts.push(look.state(row.state, row.severity).label)
    for (const [state, count] of row.states) parts.push(`${look.state(state).label} ${count}`)
  } else if (row.state) {
    const { label, message } = look.state(row.state, row.severity)
    parts.push(message ? `${label} · ${message}` : label)
    if (row.facet) parts.push(look.facet(row.state, row.facet))
  } else parts.push(look.kind(row))
  if (row.mark) parts.push(look.marked(row.mark))
  for (const flag of ['late', 'critical', 'milestone', 'optional', 'skipped'] as const) if (row[flag]) parts.push(look.flag(flag))
  return parts.join(', ')
}

export class Cards {
  private readonly shown = new Map<number, Card>()
  private readonly spare: Card[] = []
  private readonly host: HTMLElement
  private readonly prefix: string
  private readonly widths = new Map<string, number>()
  private pen?: CanvasRenderingContext2D

  constructor(host: HTMLElement, prefix: string) {
    this.host = host
    this.prefix = prefix
  }

  /** Letters came that are wider or narrower than those before. */
  forgetLetters(): void {
    this.widths.clear()
    this.pen = undefined
  }

  get count(): number {
    return this.shown.size
  }

  idOf(index: number): string {
    return `${this.prefix}-${index}`
  }

  has(index: number): boolean {
    return this.shown.has(index)
  }

  /** Shows these cards and no others; of those that are new at most `most`. Returns how many are left for the next frame. */
  show(world: CardWorld, wanted: number[], most: number): number {
    const keep = new Set(wanted)
    for (const [index, card] of this.shown) {
      if (keep.has(index)) continue
      this.shown.delete(index)
      this.spare.push(card)
    }
    let left = 0
    for (const index of wanted) {
      if (this.shown.has(index)) continue
      if (most <= 0) {
        left++
        continue
      }
      most--
      const card = this.spare.pop() ?? newCard()
      this.shown.set(index, card)
      this.fill(world, index, card)
      if (!card.element.isConnected) this.host.append(card.element)
    }
    for (const card of this.spare) card.element.remove()
    this.spare.length = Math.min(this.spare.length, SPARE)
    return left
  }

  /** Draws one card again, if it is there. */
  again(world: CardWorld, index: number): void {
    const card = this.shown.get(index)
    if (card) this.fill(world, index, card)
  }

  allAgain(world: CardWorld): void {
    for (const [index, card] of this.shown) this.fill(world, index, card)
  }

  clear(): void {
    this.host.replaceChildren()
    this.shown.clear()
    this.spare.length = 0
  }

  private fill(world: CardWorld, index: number, card: Card): void {
    const { scene, look, emphasis, level } = world
    const row = scene.rows[index]!
    const box = scene.cards[index]!
    const { element } = card
    const back = stepsBack(row, index, emphasis)
    const shown = row.state ? look.state(row.state, row.severity) : undefined
    element.id = this.idOf(index)
    element.className = ['g-card', `g-${row.kind}`, back && 'g-back', row.skipped && 'g-skipped', shown && 'g-stated', row.mark && `g-${row.mark}`,
      emphasis.critical && row.critical && 'g-critical', emphasis.tainted?.has(index) && 'g-tainted',
      world.cursor === index && 'g-cursor', world.selected === index && 'g-selected'].filter(Boolean).join(' ')
    const paints = shown && !back ? `--bg:${shown.bg};--fg:${shown.fg};--bd:${shown.border};` : ''
    element.style.cssText = `left:${box.x}px;top:${box.y}px;width:${box.w}px;height:${box.h}px;${paints}`
    const said = spoken(row, look)
    element.setAttribute('aria-label', said)
    const title = `${row.milestone ? '◆ ' : ''}${inWords(row.title, look.language)}`
    write(card.title, level === 'mid' ? this.short(title, box, world.zoom, Boolean(shown)) : title)
    const pieces: Element[] = []
    if (shown) {
      card.shape.setAttribute('d', shown.icon.d)
      card.shape.setAttribute('class', shown.icon.fill ? 'g-filled' : 'g-lines')
      pieces.push(card.icon)
    }
    if (level !== 'mid') {
      write(card.word, this.word(row, look))
      pieces.push(card.word)
    }
    pieces.push(card.title)
    if (level !== 'mid') {
      const foot = this.foot(world, row, index)
      if (foot) {
        write(card.foot, foot)
        pieces.push(card.foot)
      }
      const tag = this.tag(scene, look, index)
      if (tag) {
        write(card.tag, tag)
        pieces.push(card.tag)
      }
    }
    if (row.mark) {
      write(card.glyph, GLYPH[row.mark])
      pieces.push(card.glyph)
    }
    holds(element, pieces)
  }

  /** What fits into a chip, in one line or two. */
  private short(title: string, box: { w: number; h: number }, zoom: number, icon: boolean): string {
    const width = (box.w - CHIP.border) * zoom - CHIP.padding - (icon ? CHIP.icon : 0)
    const most = box.h * zoom >= 2 * CHIP.line ? 2 : 1
    return fitted(title, width, most, (text) => this.wide(text)).join('\n')
  }

  private wide(text: string): number {
    let width = this.widths.get(text)
    if (width === undefined) {
      if (!this.pen) {
        this.pen = document.createElement('canvas').getContext('2d')!
        this.pen.font = `500 ${CHIP.letters}px ${getComputedStyle(this.host).fontFamily}`
      }
      width = this.pen.measureText(text).width
      this.widths.set(text, width)
    }
    return width
  }

  private word(row: Row, look: Look): string {
    if (row.states?.size) {
      const steps = look.steps([...row.states.values()].reduce((sum, count) => sum + count, 0))
      return row.state ? `${look.state(row.state).label} · ${steps}` : steps
    }
    if (row.state) return row.facet ? look.facet(row.state, row.facet) : look.state(row.state).label
    return look.kind(row)
  }

  private foot({ look, emphasis }: CardWorld, row: Row, index: number): string {
    const parts: string[] = []
    if (row.mark) parts.push(look.marked(row.mark))
    if (emphasis.tainted?.has(index)) parts.push(look.flag('tainted'))
    if (row.late) parts.push(look.flag('late'))
    if (row.skipped) parts.push(look.flag('skipped'))
    if (row.states) parts.push([...row.states].map(([state, count]) => `${look.state(state).label} ${count}`).join(' · '))
    if (row.pic) parts.push(row.pic)
    if (!row.state && row.executor) parts.push(row.executor)
    if (row.deadline && !row.late && row.state !== 'completed') parts.push(look.deadline(row.deadline))
    if (row.optional) parts.push(look.flag('optional'))
    return parts.filter(Boolean).join(' · ')
  }

  /** The words of the lines that come to a card: when it is taken, or how ways meet. */
  private tag(scene: Scene, look: Look, index: number): string {
    const texts = new Set<string>()
    for (const line of scene.coming[index] ?? []) {
      const { label, kind } = scene.lines[line]!
      const text = label ? inWords(label, look.language) : look.relation(kind)
      if (text) texts.add(text)
    }
    const [first, ...rest] = texts
    if (!first) return ''
    return rest.length > 0 ? `${first} ${look.more(rest.length)}` : first
  }
}
