// Names of lanes at the left edge of the window, beside the part of each lane that is in sight: whoever pans along a lane still knows which.
import { inWords, type Scene } from './scene.ts'
import type { Size, Viewport } from './viewport.ts'

/** Lower than this there is no room for a name, in pixels. */
const LOWEST = 44
const WIDE = 22

export class Heads {
  private readonly host: HTMLElement
  private readonly pool: HTMLElement[] = []
  private used = 0

  constructor(host: HTMLElement) {
    this.host = host
  }

  place(scene: Scene, view: Viewport, size: Size, language: string): void {
    let count = 0
    for (const lane of scene.lanes) {
      const name = inWords(lane.title, language)
      for (const box of lane.boxes) {
        const top = Math.max(0, (box.y - view.y) * view.z + size.height / 2)
        const bottom = Math.min(size.height, (box.y + box.h - view.y) * view.z + size.height / 2)
        if (bottom - top < LOWEST) continue
        const left = (box.x - view.x) * view.z + size.width / 2
        const right = left + box.w * view.z
        if (left > size.width || right < WIDE * 2) continue
        this.put(count++, name, Math.max(0, left), top, bottom - top)
      }
    }
    for (let at = count; at < this.used; at++) this.pool[at]!.style.display = 'none'
    this.used = count
  }

  clear(): void {
    this.host.replaceChildren()
    this.pool.length = 0
    this.used = 0
  }

  private put(at: number, name: string, left: number, top: number, height: number): void {
    let head = this.pool[at]
    if (!head) {
      head = document.createElement('span')
      head.className = 'g-lane'
      this.pool.push(head)
      this.host.append(head)
    }
    if (head.textContent !== name) head.textContent = name
    head.style.cssText = `translate:${Math.round(left)}px ${Math.round(top)}px;height:${Math.round(height)}px`
  }
}
