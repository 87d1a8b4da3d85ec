// Which cards touch a rectangle, without looking at all of them.

export interface Box {
  x: number
  y: number
  w: number
  h: number
}

export interface Grid {
  cells: Map<number, number[]>
  columns: number
}

/** About three cards by six: few cells for a screen, few cards in a cell. */
const CELL = 512

function cellAt(grid: Grid, column: number, row: number): number {
  return row * grid.columns + column
}

export function gridOf(boxes: Box[], width: number): Grid {
  const grid: Grid = { cells: new Map(), columns: Math.floor(Math.max(width, 1) / CELL) + 2 }
  boxes.forEach((box, index) => {
    for (let row = Math.floor(box.y / CELL); row <= Math.floor((box.y + box.h) / CELL); row++) {
      for (let column = Math.floor(box.x / CELL); column <= Math.floor((box.x + box.w) / CELL); column++) {
        const key = cellAt(grid, column, row)
        const cell = grid.cells.get(key)
        if (cell) cell.push(index)
        else grid.cells.set(key, [index])
      }
    }
  })
  return grid
}

export function touches(a: Box, b: Box): boolean {
  return a.x <= b.x + b.w && b.x <= a.x + a.w && a.y <= b.y + b.h && b.y <= a.y + a.h
}

/** Indices of the boxes that touch the rectangle, each once. */
export function within(grid: Grid, boxes: Box[], area: Box): number[] {
  const found: number[] = []
  const seen = new Set<number>()
  const first = Math.max(0, Math.floor(area.x / CELL))
  const last = Math.min(grid.columns - 1, Math.floor((area.x + area.w) / CELL))
  for (let row = Math.max(0, Math.floor(area.y / CELL)); row <= Math.floor((area.y + area.h) / CELL); row++) {
    for (let column = first; column <= last; column++) {
      for (const index of grid.cells.get(cellAt(grid, column, row)) ?? []) {
        if (seen.has(index)) continue
        seen.add(index)
        if (touches(boxes[index]!, area)) found.push(index)
      }
    }
  }
  return found
}
