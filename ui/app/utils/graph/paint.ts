// The canvas under the cards: lanes, groups, lines, and from far away the cards themselves.
import { touches, within, type Box } from './grid.ts'
import { GLYPH, stepsBack, type Emphasis, type Look } from './look.ts'
import type { Line, Scene, Strip } from './scene.ts'
import { levelOf, type Viewport } from './viewport.ts'

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

/** Draws what lies in the area. The context's unit is the picture's. */
export function paint(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const { scene, look, area, view } = drawing
  context.clearRect(area.x, area.y, area.w, area.h)
  for (const lane of scene.lanes) paintStrip(context, drawing, lane, true)
  for (const group of scene.groups) if (!group.collapsed) paintStrip(context, drawing, group, false)
  paintLines(context, drawing)
  if (levelOf(view.z) === 'far') paintCards(context, drawing)
  context.globalAlpha = 1
  context.fillStyle = look.colours.ink
}

function paintStrip(context: CanvasRenderingContext2D, { look, area, view }: Drawing, strip: Strip, lane: boolean): void {
  const pixel = 1 / view.z
  for (const box of strip.boxes) {
    if (!touches(box, area)) continue
    context.lineWidth = pixel
    context.strokeStyle = look.colours.line
    if (lane) {
      context.fillStyle = look.colours.surface
      context.fillRect(box.x, box.y, box.w, box.h)
    }
    context.strokeRect(box.x, box.y, box.w, box.h)
  }
}

type Style = 'plain' | 'back' | 'critical' | 'tainted' | 'added' | 'removed' | 'changed'

function styleOf({ scene, emphasis }: Drawing, line: Line): Style {
  if (line.mark) return line.mark
  const { rows } = scene
  if (emphasis.tainted?.has(line.to) && (emphasis.tainted.has(line.from) || !rows[line.from]!.critical)) return 'tainted'
  if (emphasis.critical && rows[line.from]!.critical && rows[line.to]!.critical) return 'critical'
  return stepsBack(rows[line.from]!, line.from, emphasis) || stepsBack(rows[line.to]!, line.to, emphasis) ? 'back' : 'plain'
}

/** One path for each style: a stroke a style costs less than a stroke a line, and an overlap is not darker. */
function paintLines(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const { scene, look, area, view } = drawing
  const byStyle = new Map<Style, Line[]>()
  for (const line of scene.lines) {
    if (!touches(boundsOf(line), area)) continue
    const style = styleOf(drawing, line)
    const lines = byStyle.get(style)
    if (lines) lines.push(line)
    else byStyle.set(style, [line])
  }
  const pixel = 1 / view.z
  const stroke = (lines: Line[], colour: string, width: number) => {
    context.beginPath()
    for (const { points } of lines) {
      context.moveTo(points[0]![0], points[0]![1])
      for (let at = 1; at < points.length; at++) context.lineTo(points[at]![0], points[at]![1])
    }
    context.strokeStyle = colour
    context.lineWidth = width
    context.stroke()
  }
  context.lineJoin = 'round'
  const { colours } = look
  stroke(byStyle.get('back') ?? [], colours.line, Math.max(1, pixel))
  stroke(byStyle.get('plain') ?? [], colours.strong, Math.max(1.25, pixel))
  stroke(byStyle.get('changed') ?? [], colours.ink, Math.max(1.5, pixel))
  stroke(byStyle.get('removed') ?? [], colours.soft, Math.max(1.5, pixel))
  stroke(byStyle.get('added') ?? [], colours.ink, Math.max(3, 2 * pixel))
  stroke(byStyle.get('tainted') ?? [], colours.accent, Math.max(3, 2 * pixel))
  // Two lines beside each other: seen without colour, and no dashes, which are slow.
  const critical = byStyle.get('critical') ?? []
  stroke(critical, colours.ink, Math.max(5, 4 * pixel))
  stroke(critical, colours.page, Math.max(2, 1.6 * pixel))
  if (view.z < 0.2) return
  paintTips(context, look, [...byStyle.values()].flat(), pixel)
  for (const mark of ['added', 'removed', 'changed'] as const) for (const line of byStyle.get(mark) ?? []) paintGlyph(context, look, line, GLYPH[mark], view.z)
}

const bounds = new WeakMap<Line, Box>()

function boundsOf(line: Line): Box {
  const known = bounds.get(line)
  if (known) return known
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const [x, y] of line.points) {
    left = Math.min(left, x)
    right = Math.max(right, x)
    top = Math.min(top, y)
    bottom = Math.max(bottom, y)
  }
  const box = { x: left, y: top, w: right - left, h: bottom - top }
  bounds.set(line, box)
  return box
}

function paintTips(context: CanvasRenderingContext2D, look: Look, lines: Line[], pixel: number): void {
  const long = Math.max(6, 4 * pixel)
  context.beginPath()
  for (const { points } of lines) {
    const [x, y] = points[points.length - 1]!
    const before = points[points.length - 2] ?? [x - 1, y]
    const way = Math.sign(x - before[0]) || 1
    context.moveTo(x, y)
    context.lineTo(x - way * long, y - long * 0.6)
    context.lineTo(x - way * long, y + long * 0.6)
    context.closePath()
  }
  context.fillStyle = look.colours.soft
  context.fill()
}

/** On the longest straight piece, where there is room for it. */
function paintGlyph(context: CanvasRenderingContext2D, look: Look, line: Line, glyph: string, zoom: number): void {
  let best = 0
  let at: [number, number] = line.points[0]!
  for (let point = 1; point < line.points.length; point++) {
    const [ax, ay] = line.points[point - 1]!
    const [bx, by] = line.points[point]!
    const long = Math.abs(bx - ax) + Math.abs(by - ay)
    if (long > best) [best, at] = [long, [(ax + bx) / 2, (ay + by) / 2]]
  }
  const round = Math.max(8, 7 / zoom)
  context.beginPath()
  context.arc(at[0], at[1], round, 0, Math.PI * 2)
  context.fillStyle = look.colours.page
  context.fill()
  context.strokeStyle = look.colours.ink
  context.lineWidth = 1 / zoom
  context.stroke()
  context.fillStyle = look.colours.ink
  context.font = `700 ${round * 1.6}px sans-serif`
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.fillText(glyph, at[0], at[1])
}

interface Cell {
  index: number
  box: Box
}

/** Cards from far away: a cell in the colour of its state with its silhouette. What has a problem lies on top. */
function paintCards(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const { scene, look, emphasis, area, view } = drawing
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
  context.fill()
  const round = Math.max(2.5 / scale, 30)
  scene.rows.forEach((row, index) => {
    if (!look.isProblem(row) || !row.state) return
    const box = scene.cards[index]!
    context.beginPath()
    context.arc(box.x + box.w / 2, box.y + box.h / 2, round, 0, Math.PI * 2)
    context.fillStyle = look.forced ? 'CanvasText' : look.state(row.state, row.severity).bg
    context.fill()
    context.strokeStyle = look.colours.ink
    context.lineWidth = 0.75 / scale
    context.stroke()
  })
}
