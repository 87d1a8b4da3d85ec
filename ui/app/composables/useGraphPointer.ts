// Wheel, drag and pinch on a picture. Nothing needs them: every move is there by keyboard and by button as well.
import type { Ref } from 'vue'
import type { Viewport } from '~/utils/graph/viewport'

interface Hand {
  root: Ref<HTMLElement | null>
  view: () => Viewport
  pan: (view: Viewport) => void
  zoom: (px: number, py: number, factor: number) => void
  press: (px: number, py: number, double: boolean) => void
  hover: (px: number, py: number) => void
}

/** A finger that moved less than this pressed. */
const STILL = 5
const DOUBLE = 350

export function useGraphPointer(hand: Hand) {
  const fingers = new Map<number, { x: number; y: number }>()
  let from: { x: number; y: number; view: Viewport } | undefined
  let apart = 0
  let moved = false
  let lastPress = { at: 0, x: 0, y: 0 }
  const dragging = ref(false)

  const inside = (event: { clientX: number; clientY: number }) => {
    const box = hand.root.value!.getBoundingClientRect()
    return { x: event.clientX - box.left, y: event.clientY - box.top }
  }
  const middle = () => {
    const all = [...fingers.values()]
    return { x: all.reduce((sum, one) => sum + one.x, 0) / all.length, y: all.reduce((sum, one) => sum + one.y, 0) / all.length }
  }
  const spread = () => {
    const [a, b] = [...fingers.values()]
    return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0
  }

  function begin() {
    from = fingers.size > 0 ? { ...middle(), view: hand.view() } : undefined
    apart = spread()
  }

  function down(event: PointerEvent) {
    if (event.pointerType === 'mouse' && event.button !== 0 && event.button !== 1) return
    hand.root.value?.setPointerCapture(event.pointerId)
    fingers.set(event.pointerId, inside(event))
    moved = fingers.size > 1
    begin()
  }

  function move(event: PointerEvent) {
    if (!fingers.has(event.pointerId)) {
      const at = inside(event)
      hand.hover(at.x, at.y)
      return
    }
    fingers.set(event.pointerId, inside(event))
    if (!from) return
    const now = middle()
    if (fingers.size === 2) {
      const wide = spread()
      if (apart > 0 && wide > 0) hand.zoom(now.x, now.y, wide / apart)
      begin()
      return
    }
    if (!moved && Math.hypot(now.x - from.x, now.y - from.y) < STILL) return
    moved = true
    dragging.value = true
    hand.pan({ x: from.view.x - (now.x - from.x) / from.view.z, y: from.view.y - (now.y - from.y) / from.view.z, z: from.view.z })
  }

  function up(event: PointerEvent) {
    if (!fingers.delete(event.pointerId)) return
    dragging.value = false
    if (!moved && event.type === 'pointerup') {
      const at = inside(event)
      const double = event.timeStamp - lastPress.at < DOUBLE && Math.hypot(at.x - lastPress.x, at.y - lastPress.y) < STILL * 2
      lastPress = { at: event.timeStamp, ...at }
      hand.press(at.x, at.y, double)
    }
    begin()
  }

  /** A wheel zooms; a touch pad that goes sideways pans; with Ctrl, which is also how pinching is told, it always zooms. */
  function wheel(event: WheelEvent) {
    event.preventDefault()
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1
    const at = inside(event)
    if (!event.ctrlKey && (event.shiftKey || event.deltaX !== 0)) {
      const view = hand.view()
      const across = event.deltaX || event.deltaY
      const down_ = event.deltaX ? event.deltaY : 0
      hand.pan({ x: view.x + (across * unit) / view.z, y: view.y + (down_ * unit) / view.z, z: view.z })
      return
    }
    hand.zoom(at.x, at.y, Math.exp(-event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.0015)))
  }

  return { dragging, down, move, up, wheel }
}
