// What lies under the cards: lanes, groups and lines. One path for each style and part of the picture, so that there are few elements and the
// browser draws only the parts in sight; it does so beside the script, and panning draws nothing again.
import type { Box } from './grid.ts'
import { GLYPH, stepsBack, type Emphasis } from './look.ts'
import type { Line, Mark, Scene, Strip } from './scene.ts'

const SVG = 'http://www.w3.org/2000/svg'
/** A part of the picture, about a window. */
const PART = { w: 1200, h: 800 }
/** Later ones lie over earlier ones. */
const STYLES = ['back', 'plain', 'changed', 'removed', 'added', 'tainted', 'critical'] as const
type Style = (typeof STYLES)[number]

export function styleOf(scene: Scene, line: Line, emphasis: Emphasis): Style {
  if (line.mark) return line.mark
  const from = scene.rows[line.from]!
  const to = scene.rows[line.to]!
  if (emphasis.critical && from.critical && to.critical) return 'critical'
  if (emphasis.tainted?.has(line.to)) return 'tainted'
  return stepsBack(from, line.from, emphasis) || stepsBack(to, line.to, emphasis) ? 'back' : 'plain'
}

export function wayOf(points: [number, number][]): string {
  let way = ''
  points.forEach(([x, y], at) => { way += `${at === 0 ? 'M' : 'L'}${x} ${y}` })
  return way
}

function tipOf(points: [number, number][]): string {
  const [x, y] = points[points.length - 1]!
  const before = points[points.length - 2] ?? [x - 1, y]
  const back = x - 7 * (Math.sign(x - before[0]) || 1)
  return `M${x} ${y}L${back} ${y - 4}L${back} ${y + 4}Z`
}

function partOf(line: Line): string {
  const [ax, ay] = line.points[0]!
  const [bx, by] = line.points[line.points.length - 1]!
  return `${Math.floor((ax + bx) / 2 / PART.w)} ${Math.floor((ay + by) / 2 / PART.h)}`
}

/** On the longest straight piece, where there is room for it. */
export function middleOf(points: [number, number][]): [number, number] {
  let best = 0
  let at: [number, number] = points[0]!
  for (let point = 1; point < points.length; point++) {
    const [ax, ay] = points[point - 1]!
    const [bx, by] = points[point]!
    const long = Math.abs(bx - ax) + Math.abs(by - ay)
    if (long > best) [best, at] = [long, [(ax + bx) / 2, (ay + by) / 2]]
  }
  return at
}

const boxes = (strips: Strip[]) => strips.flatMap((strip) => strip.boxes).map((box: Box) => `M${box.x} ${box.y}h${box.w}v${box.h}h${-box.w}Z`).join('')

export class Lines {
  private readonly svg: SVGSVGElement

  constructor(svg: SVGSVGElement) {
    this.svg = svg
  }

  show(scene: Scene, emphasis: Emphasis): void {
    this.svg.setAttribute('width', String(scene.width))
    this.svg.setAttribute('height', String(scene.height))
    const ways = new Map<Style, Map<string, string>>(STYLES.map((style) => [style, new Map()]))
    const tips = new Map<string, string>()
    const marked: [Mark, [number, number]][] = []
    for (const line of scene.lines) {
      const part = partOf(line)
      const parts = ways.get(styleOf(scene, line, emphasis))!
      parts.set(part, (parts.get(part) ?? '') + wayOf(line.points))
      tips.set(part, (tips.get(part) ?? '') + tipOf(line.points))
      if (line.mark) marked.push([line.mark, middleOf(line.points)])
    }
    const drawn = [path('l-lane', boxes(scene.lanes)), path('l-group', boxes(scene.groups.filter((group) => !group.collapsed)))]
    for (const style of STYLES) for (const way of ways.get(style)!.values()) {
      drawn.push(path(`l-line l-${style}`, way))
      // Two lines beside each other: seen without colour, and quicker than dashes.
      if (style === 'critical') drawn.push(path('l-line l-inner', way))
    }
    for (const way of tips.values()) drawn.push(path('l-tip', way))
    for (const [mark, at] of marked) drawn.push(...glyph(mark, at))
    this.svg.replaceChildren(...drawn)
  }

  clear(): void {
    this.svg.replaceChildren()
  }
}

function path(name: string, way: string): SVGElement {
  const element = document.createElementNS(SVG, 'path')
  element.setAttribute('class', name)
  element.setAttribute('d', way)
  return element
}

function glyph(mark: Mark, [x, y]: [number, number]): SVGElement[] {
  const round = document.createElementNS(SVG, 'circle')
  const text = document.createElementNS(SVG, 'text')
  round.setAttribute('class', 'l-round')
  text.setAttribute('class', 'l-glyph')
  for (const [element, across, down] of [[round, 'cx', 'cy'], [text, 'x', 'y']] as const) {
    element.setAttribute(across, String(x))
    element.setAttribute(down, String(y))
  }
  round.setAttribute('r', '9')
  text.textContent = GLYPH[mark]
  return [round, text]
}
