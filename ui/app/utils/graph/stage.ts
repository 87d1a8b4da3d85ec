// What moves: one window onto a scene. Panning changes a transform; cards are put in and taken out only when the window comes near the edge
// of what is there.
import { Cards, type CardWorld } from './cards.ts'
import { within, type Box } from './grid.ts'
import { Heads } from './heads.ts'
import type { Emphasis, Look } from './look.ts'
import { Lines } from './lines.ts'
import { paintCards } from './paint.ts'
import type { Scene } from './scene.ts'
import { bounded, contains, levelOf, shown, type Level, type Size, type Viewport } from './viewport.ts'

/** New cards in a frame while one pans. Each costs about a tenth of a millisecond, a chip half of that; each such frame lays out and paints
 *  anew, so chips, of which there are many, come in fewer frames. */
const CARDS_A_FRAME = { far: 24, mid: 96, near: 24 } as const
/** Cards at most, so that all their elements stay few; more only when the window itself shows more. */
const MOST = { far: 0, mid: 360, near: 220 } as const
/** The canvas reaches so much of a window beyond it on each side. */
const CANVAS_MARGIN = 0.25
/** With more cards than this on the canvas, zooming stretches it and draws it when the fingers rest. */
const MANY = 1500
const REST = 140

export interface StageParts {
  world: HTMLElement
  cards: HTMLElement
  canvas: HTMLCanvasElement
  lines: SVGSVGElement
  heads: HTMLElement
  prefix: string
  /** Told while it moves, not in every frame. */
  moving: (view: Viewport, level: Level) => void
  /** Told when it rests. */
  moved: (view: Viewport, level: Level) => void
  /** Told which element stands for the card that one is on, once it is there. */
  pointed: (id: string | undefined) => void
}

export class Stage {
  view: Viewport = { x: 0, y: 0, z: 1 }
  size: Size = { width: 0, height: 0 }
  cursor?: number
  selected?: number
  private scene?: Scene
  private look?: Look
  private emphasis: Emphasis = { critical: false }
  private readonly cards: Cards
  private readonly heads: Heads
  private readonly lines: Lines
  private readonly parts: StageParts
  private told = 0
  private pointed?: string
  private readonly context: CanvasRenderingContext2D
  private drawn?: { area: Box; view: Viewport }
  private mounted?: Box
  private level: Level = 'near'
  private frame = 0
  private rest?: ReturnType<typeof setTimeout>
  private later?: ReturnType<typeof setTimeout>
  private flight = 0
  private dirty = true
  private sharp?: number
  /** New cards are put in before the window is nearer to the edge of what is mounted than this. */
  private slack = 0.2

  constructor(parts: StageParts) {
    this.parts = parts
    this.cards = new Cards(parts.cards, parts.prefix)
    this.heads = new Heads(parts.heads)
    this.lines = new Lines(parts.lines)
    this.context = parts.canvas.getContext('2d')!
    document.fonts.addEventListener('loadingdone', this.lettersCame)
  }

  private readonly lettersCame = (): void => {
    this.cards.forgetLetters()
    this.refresh()
  }

  show(scene: Scene, look: Look): void {
    const before = this.scene
    this.scene = scene
    this.look = look
    if (scene.cards !== before?.cards) {
      this.cards.clear()
      this.tellPointed()
    }
    if (scene.lines !== before?.lines) this.lines.show(scene, this.emphasis)
    this.refresh()
  }

  emphasise(emphasis: Emphasis): void {
    this.emphasis = emphasis
    if (this.scene) this.lines.show(this.scene, emphasis)
    this.refresh()
  }

  resize(size: Size): void {
    this.size = size
    this.drawn = undefined
    this.mounted = undefined
    this.ask()
  }

  /** Looks elsewhere, at once. */
  lookAt(view: Viewport): void {
    cancelAnimationFrame(this.flight)
    this.place(view)
  }

  /** Goes there, so that the eye can follow; at once for who wants no motion. */
  flyTo(view: Viewport, still: boolean): void {
    cancelAnimationFrame(this.flight)
    if (still) return this.place(view)
    const from = this.view
    const begun = performance.now()
    const step = (now: number) => {
      const part = Math.min(1, (now - begun) / 180)
      const eased = 1 - (1 - part) ** 3
      const between = (a: number, b: number) => a + (b - a) * eased
      this.place({ x: between(from.x, view.x), y: between(from.y, view.y), z: between(from.z, view.z) })
      if (part < 1) this.flight = requestAnimationFrame(step)
    }
    this.flight = requestAnimationFrame(step)
  }

  point(cursor: number | undefined, selected: number | undefined): void {
    const before = [this.cursor, this.selected]
    this.cursor = cursor
    this.selected = selected
    this.mounted = undefined
    for (const index of new Set([...before, cursor, selected])) if (index !== undefined) this.againCard(index)
    this.ask()
  }

  /** Rows changed: their cards are drawn again, and the canvas when they are on it. */
  changed(rows: number[]): void {
    if (this.level === 'far') {
      this.dirty = true
      this.ask()
    }
    for (const row of rows) this.againCard(row)
    if (this.emphasis.critical || this.emphasis.tainted || this.emphasis.states?.size) this.linesSoon()
  }

  get cardCount(): number {
    return this.cards.count
  }

  stop(): void {
    document.fonts.removeEventListener('loadingdone', this.lettersCame)
    cancelAnimationFrame(this.frame)
    cancelAnimationFrame(this.flight)
    clearTimeout(this.rest)
    clearTimeout(this.later)
    this.cards.clear()
    this.scene = undefined
  }

  /** What is brought to the fore may have moved; lines follow twice a second at most. */
  private linesSoon(): void {
    this.later ??= setTimeout(() => {
      this.later = undefined
      if (this.scene) this.lines.show(this.scene, this.emphasis)
    }, 500)
  }

  private tellPointed(): void {
    const pointed = this.cursor !== undefined && this.cards.has(this.cursor) ? this.cards.idOf(this.cursor) : undefined
    if (pointed === this.pointed) return
    this.pointed = pointed
    this.parts.pointed(pointed)
  }

  private world(): CardWorld {
    return { scene: this.scene!, look: this.look!, emphasis: this.emphasis, level: this.level, zoom: this.sharp ?? this.view.z, cursor: this.cursor, selected: this.selected }
  }

  private againCard(index: number): void {
    if (this.scene && this.look) this.cards.again(this.world(), index)
  }

  private refresh(): void {
    this.dirty = true
    this.mounted = undefined
    if (this.scene && this.look) this.cards.allAgain(this.world())
    this.ask()
  }

  private place(view: Viewport): void {
    this.view = this.scene ? bounded(view, this.scene) : view
    clearTimeout(this.rest)
    this.rest = setTimeout(() => this.settle(), REST)
    this.ask()
  }

  /** The world is a layer of its own, which makes panning cheap. Such a layer keeps the size that it was drawn in, so after zooming it is
   *  given up for a frame: then it is drawn anew, and sharp. */
  private settle(): void {
    const { world } = this.parts
    if (this.sharp !== this.view.z) {
      this.sharpen()
      this.dirty = true
      if (this.level === 'mid' && this.scene && this.look) this.cards.allAgain(this.world())
      world.style.willChange = 'auto'
      requestAnimationFrame(() => requestAnimationFrame(() => { world.style.willChange = 'transform' }))
    }
    this.ask()
    this.parts.moved(this.view, this.level)
  }

  /** Letters and lines are made for this zoom. While one zooms they only grow and shrink with the world, which costs nothing. */
  private sharpen(): void {
    this.sharp = this.view.z
    this.parts.world.style.setProperty('--z', String(this.view.z))
  }

  private ask(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.draw())
  }

  private draw(): void {
    this.frame = 0
    const { scene, look, size, view } = this
    if (!scene || !look || size.width === 0) return
    const level = levelOf(view.z)
    const other = level !== this.level
    this.level = level
    const { world } = this.parts
    if (other || world.dataset.level !== level) {
      world.dataset.level = level
      this.cards.clear()
      this.mounted = undefined
      this.dirty = true
    }
    world.style.transform = `translate(${size.width / 2 - view.x * view.z}px,${size.height / 2 - view.y * view.z}px) scale(${view.z})`
    if (other || this.sharp === undefined) this.sharpen()
    this.drawCanvas(scene, look)
    this.putCards(scene)
    this.tellPointed()
    this.heads.place(scene, view, size, look.language, this.sharp !== view.z)
    const now = performance.now()
    if (now - this.told > 90) {
      this.told = now
      this.parts.moving(view, level)
    }
  }

  /** Only from far away; nearer, the cards are elements. */
  private drawCanvas(scene: Scene, look: Look): void {
    const { view, size, drawn } = this
    const { canvas } = this.parts
    canvas.hidden = this.level !== 'far'
    if (canvas.hidden) return
    const whole = { x: 0, y: 0, w: scene.width, h: scene.height }
    const outside = !drawn || (!contains(drawn.area, shown(view, size)) && !contains(drawn.area, whole))
    const zoomed = drawn?.view.z !== view.z
    const stretched = zoomed && drawn !== undefined && !outside && scene.cards.length > MANY
    if (this.dirty || outside || (zoomed && !stretched)) this.paintCanvas(scene, look)
    const from = this.drawn!
    const left = (from.area.x - view.x) * view.z + size.width / 2
    const top = (from.area.y - view.y) * view.z + size.height / 2
    canvas.style.transform = `translate(${left}px,${top}px) scale(${view.z / from.view.z})`
  }

  private paintCanvas(scene: Scene, look: Look): void {
    const { view, size, context } = this
    const { canvas } = this.parts
    const area = shown(view, size, CANVAS_MARGIN)
    const pixels = Math.min(window.devicePixelRatio || 1, 2)
    const width = Math.ceil(area.w * view.z * pixels)
    const height = Math.ceil(area.h * view.z * pixels)
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width
      canvas.height = height
      canvas.style.width = `${width / pixels}px`
      canvas.style.height = `${height / pixels}px`
    }
    const scale = view.z * pixels
    context.setTransform(scale, 0, 0, scale, -area.x * scale, -area.y * scale)
    paintCards(context, { scene, look, emphasis: this.emphasis, area, view })
    this.drawn = { area, view: { ...view } }
    this.dirty = false
  }

  private putCards(scene: Scene): void {
    const { view, size, level, mounted } = this
    if (mounted && contains(mounted, shown(view, size, this.slack))) return
    const always = [this.cursor, this.selected].filter((index) => index !== undefined)
    let wanted: number[] = []
    let area = shown(view, size, 0.5)
    if (level !== 'far') {
      // Fewer around the window when there are too many; in the window always all.
      for (const margin of [0.5, 0.35, 0.2, 0]) {
        area = shown(view, size, margin)
        this.slack = margin * 0.4
        wanted = within(scene.grid, scene.cards, area)
        if (wanted.length <= MOST[level]) break
      }
      const distance = (index: number) => Math.abs(scene.cards[index]!.x - view.x) + Math.abs(scene.cards[index]!.y - view.y)
      wanted.sort((a, b) => distance(a) - distance(b))
    }
    wanted = [...new Set([...always, ...wanted])]
    const first = this.cards.count === 0
    const left = this.cards.show(this.world(), wanted, first ? Math.max(CARDS_A_FRAME[level], within(scene.grid, scene.cards, shown(view, size)).length) : CARDS_A_FRAME[level])
    if (left > 0) this.ask()
    else this.mounted = level === 'far' ? { x: -1e9, y: -1e9, w: 2e9, h: 2e9 } : area
  }
}
