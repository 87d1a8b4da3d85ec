// Where one looks: the middle of the window in the picture's coordinates, and how large a unit is in pixels.
import type { Box } from './grid.ts'

export interface Viewport {
  x: number
  y: number
  z: number
}

export interface Size {
  width: number
  height: number
}

export const SMALLEST = 0.25
export const LARGEST = 2
/** Below this a card is a coloured cell, above `NEAR` it is a whole card, between them a chip. */
export const FAR = 0.4
export const NEAR = 0.75
/** One sees at least so much empty picture around the outermost cards. */
const PADDING = 24

export type Level = 'far' | 'mid' | 'near'

export function levelOf(zoom: number): Level {
  if (zoom < FAR) return 'far'
  return zoom < NEAR ? 'mid' : 'near'
}

/** The whole picture in the window; small pictures are not blown up. */
export function fitted(picture: Size, size: Size): Viewport {
  const across = (size.width - 2 * PADDING) / Math.max(picture.width, 1)
  const down = (size.height - 2 * PADDING) / Math.max(picture.height, 1)
  const z = Math.max(0.01, Math.min(across, down, 1))
  return { x: picture.width / 2, y: picture.height / 2, z }
}

/** Zoom goes from 25 to 200 per cent, and further out when the whole picture needs it. */
export function clampedZoom(z: number, picture: Size, size: Size): number {
  return Math.min(LARGEST, Math.max(Math.min(SMALLEST, fitted(picture, size).z), z))
}

/** Not so far aside that nothing of the picture is left in the window. */
export function bounded(view: Viewport, picture: Size): Viewport {
  return {
    x: Math.min(picture.width, Math.max(0, view.x)),
    y: Math.min(picture.height, Math.max(0, view.y)),
    z: view.z,
  }
}

/** What lies under a pixel of the window. */
export function toPicture(view: Viewport, size: Size, px: number, py: number): { x: number; y: number } {
  return { x: view.x + (px - size.width / 2) / view.z, y: view.y + (py - size.height / 2) / view.z }
}

export function toWindow(view: Viewport, size: Size, x: number, y: number): { x: number; y: number } {
  return { x: (x - view.x) * view.z + size.width / 2, y: (y - view.y) * view.z + size.height / 2 }
}

/** Larger or smaller, with what is under the pixel staying there. */
export function zoomedAt(view: Viewport, picture: Size, size: Size, px: number, py: number, factor: number): Viewport {
  const held = toPicture(view, size, px, py)
  const z = clampedZoom(view.z * factor, picture, size)
  return bounded({ x: held.x - (px - size.width / 2) / z, y: held.y - (py - size.height / 2) / z, z }, picture)
}

/** The part of the picture that the window shows, with so much of a window more on each side. */
export function shown(view: Viewport, size: Size, margin = 0): Box {
  const w = (size.width / view.z) * (1 + 2 * margin)
  const h = (size.height / view.z) * (1 + 2 * margin)
  return { x: view.x - w / 2, y: view.y - h / 2, w, h }
}

export function contains(outer: Box, inner: Box): boolean {
  return outer.x <= inner.x && outer.y <= inner.y
    && outer.x + outer.w >= inner.x + inner.w && outer.y + outer.h >= inner.y + inner.h
}

/** Moved only as far as is needed for a card to be whole in the window, `covered` pixels at the right not counted. */
export function revealing(view: Viewport, size: Size, card: Box, covered = 0, pad = 32): Viewport {
  const free = { width: Math.max(size.width - covered, Math.min(size.width, 200)), height: size.height }
  const left = toWindow(view, size, card.x, card.y)
  const w = card.w * view.z
  const h = card.h * view.z
  const push = (start: number, length: number, room: number) => {
    const edge = Math.max(0, Math.min(pad, (room - length) / 2))
    if (start < edge) return start - edge
    return start + length > room - edge ? start + length - room + edge : 0
  }
  return { x: view.x + push(left.x, w, free.width) / view.z, y: view.y + push(left.y, h, free.height) / view.z, z: view.z }
}

/** Where the map of the whole may lie so that the card that one is on is not under it: below, above, or nowhere. */
export function mapCorner(view: Viewport, size: Size, card: Box | undefined, map: Size, covered = 0, gap = 8): 'below' | 'above' | undefined {
  if (!card) return 'below'
  const at = toWindow(view, size, card.x, card.y)
  const w = card.w * view.z
  const h = card.h * view.z
  const right = size.width - covered - gap
  const hides = (top: number) => at.x < right && at.x + w > right - map.width && at.y < top + map.height && at.y + h > top
  if (!hides(size.height - gap - map.height)) return 'below'
  return hides(gap) ? undefined : 'above'
}

/** With a card in the middle of what is free. */
export function centredOn(card: Box, z: number, covered = 0): Viewport {
  return { x: card.x + card.w / 2 + covered / 2 / z, y: card.y + card.h / 2, z }
}

/** Not beside the picture where it is larger than the window, and in its middle where it is smaller. */
export function settled(view: Viewport, picture: Size, size: Size): Viewport {
  const along = (middle: number, whole: number, room: number) => {
    const half = room / 2 / view.z - PADDING / view.z
    return whole <= 2 * half ? whole / 2 : Math.min(whole - half, Math.max(half, middle))
  }
  return { x: along(view.x, picture.width, size.width), y: along(view.y, picture.height, size.height), z: view.z }
}
