// Names of lanes at the left edge of the window: whoever pans along a lane still knows which one it is. All of them lie in one element that
// moves with the picture up and down, and not beyond the edge to the left.
import { inWords, type Scene } from './scene.ts'
import type { Size, Viewport } from './viewport.ts'

/** Lower than this there is no room for a name; a higher strip has its name several times. In pixels. */
const LOWEST = 40
const HIGHEST = 420

export class Heads {
  private readonly host: HTMLElement
  private made?: { scene: Scene; zoom: number; language: string }

  constructor(host: HTMLElement) {
    this.host = host
  }

  place(scene: Scene, view: Viewport, size: Size, language: string, zooming: boolean): void {
    this.host.style.visibility = zooming ? 'hidden' : ''
    if (zooming) return
    if (this.made?.scene.lanes !== scene.lanes || this.made.zoom !== view.z || this.made.language !== language) this.make(scene, view.z, language)
    const left = Math.min(...scene.lanes.flatMap((lane) => lane.boxes.map((box) => box.x)), Infinity)
    const x = Math.max(0, ((Number.isFinite(left) ? left : 0) - view.x) * view.z + size.width / 2)
    this.host.style.transform = `translate(${x}px,${size.height / 2 - view.y * view.z}px)`
  }

  clear(): void {
    this.host.replaceChildren()
    this.made = undefined
  }

  private make(scene: Scene, zoom: number, language: string): void {
    this.made = { scene, zoom, language }
    const heads: HTMLElement[] = []
    for (const lane of scene.lanes) {
      const name = inWords(lane.title, language)
      for (const box of lane.boxes) {
        const height = box.h * zoom
        if (height < LOWEST) continue
        const pieces = Math.ceil(height / HIGHEST)
        for (let piece = 0; piece < pieces; piece++) {
          const head = document.createElement('span')
          head.className = 'g-lane'
          head.style.cssText = `top:${box.y * zoom + (piece * height) / pieces}px;height:${height / pieces}px`
          head.textContent = name
          heads.push(head)
        }
      }
    }
    this.host.replaceChildren(...heads)
  }
}
