// The canvas that shows the cards from far away, and the whole picture in a corner.
import { within, type Box } from './grid.ts'
import { GLYPH, stepsBack, type Emphasis, type Look } from './look.ts'
import type { Scene } from './scene.ts'
import type { Viewport } from './viewport.ts'

export interface Drawing {
  scene: Scene
  look: Look
  emphasis: Emphasis
  area: Box
  view: Viewport
}

/** A card that somebody has to find is never smaller than this, in pixels. */
const LEAST = 6
/** Below this many pixels a silhouette is a smudge. */
const READABLE = 6

const paths = new Map<string, Path2D>()

function pathOf(d: string): Path2D {
  const known = paths.get(d)
  if (known) return known
  const made = new Path2D(d)
  paths.set(d, made)
  return made
}

interface Cell {
  index: number
  box: Box
}

/** The context's unit is the picture's. Each card is a cell in the colour of its state with its silhouette; what has a problem lies on top. */
export function paintCards(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const { scene, look, emphasis, area, view } = drawing
  context.clearRect(area.x, area.y, area.w, area.h)
  const calm = new Map<string, Cell[]>()
  const alarming: Cell[] = []
  for (const index of within(scene.grid, scene.cards, area)) {
    const row = scene.rows[index]!
    const box = scene.cards[index]!
    if (look.isProblem(row)) {
      alarming.push({ index, box: atLeast(box, LEAST / view.z) })
      continue
    }
    const back = stepsBack(row, index, emphasis)
    const name = back ? '' : row.state ?? '?'
    const cells = calm.get(name)
    if (cells) cells.push({ index, box })
    else calm.set(name, [{ index, box }])
  }
  for (const [name, cells] of calm) {
    const known = name !== '' && name !== '?'
    const shown = known ? look.state(name) : undefined
    paintCells(context, drawing, cells, shown?.bg ?? look.colours.raised, shown?.border ?? look.colours.strong)
  }
  for (const cell of alarming) {
    const row = scene.rows[cell.index]!
    const shown = row.state ? look.state(row.state, row.severity) : undefined
    const back = stepsBack(row, cell.index, emphasis)
    paintCells(context, drawing, [cell], back ? look.colours.raised : shown?.bg ?? look.colours.raised, shown?.border ?? look.colours.strong)
  }
}

function atLeast(box: Box, least: number): Box {
  const w = Math.max(box.w, least)
  const h = Math.max(box.h, least)
  return { x: box.x - (w - box.w) / 2, y: box.y - (h - box.h) / 2, w, h }
}

function paintCells(context: CanvasRenderingContext2D, drawing: Drawing, cells: Cell[], fill: string, border: string): void {
  const { scene, look, view, emphasis } = drawing
  context.beginPath()
  for (const { box } of cells) context.rect(box.x, box.y, box.w, box.h)
  context.fillStyle = look.forced ? 'Canvas' : fill
  context.fill()
  context.strokeStyle = look.forced ? 'CanvasText' : border
  context.lineWidth = 1 / view.z
  context.stroke()
  for (const { index, box } of cells) {
    const row = scene.rows[index]!
    if (row.mark) {
      paintCellGlyph(context, look, box, GLYPH[row.mark])
      continue
    }
    const side = Math.min(box.w, box.h) * 0.9
    if (!row.state || side * view.z < READABLE) continue
    const { icon, fg } = look.state(row.state, row.severity)
    const back = stepsBack(row, index, emphasis)
    context.save()
    context.translate(box.x + box.w / 2 - side / 2, box.y + box.h / 2 - side / 2)
    context.scale(side / 24, side / 24)
    context.fillStyle = context.strokeStyle = look.forced ? 'CanvasText' : back ? look.colours.soft : fg
    context.lineWidth = 2.4
    if (icon.fill) context.fill(pathOf(icon.d), 'evenodd')
    else context.stroke(pathOf(icon.d))
    context.restore()
  }
}

function paintCellGlyph(context: CanvasRenderingContext2D, look: Look, box: Box, glyph: string): void {
  context.fillStyle = look.colours.ink
  context.font = `700 ${box.h}px sans-serif`
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.fillText(glyph, box.x + box.w / 2, box.y + box.h / 2)
}

/** The whole picture in a corner: cards as faint cells, what has a problem as a dot. */
export function paintMap(context: CanvasRenderingContext2D, scene: Scene, look: Look, scale: number): void {
  context.clearRect(0, 0, scene.width, scene.height)
  context.beginPath()
  for (const box of scene.cards) context.rect(box.x, box.y, box.w, box.h)
  context.fillStyle = look.colours.strong
  // Faint, so that the dots are seen by their strength as well as by their colour.
  context.globalAlpha = 0.5
  context.fill()
  context.globalAlpha = 1
  const round = Math.max(3 / scale, 30)
  scene.rows.forEach((row, index) => {
    if (!look.isProblem(row) || !row.state) return
    const box = scene.cards[index]!
    context.beginPath()
    context.arc(box.x + box.w / 2, box.y + box.h / 2, round, 0, Math.PI * 2)
    context.fillStyle = look.forced ? 'Highlight' : look.state(row.state, row.severity).bg
    context.fill()
    context.strokeStyle = look.colours.ink
    context.lineWidth = 1.25 / scale
    context.stroke()
  })
}
