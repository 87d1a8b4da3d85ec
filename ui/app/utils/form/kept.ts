// What somebody typed and has not sent yet, kept in this browser for the person who typed it: a menu click, Back, a reload or the end of a
// session take nothing away. Gone when it was sent, given up, or when the person signs out.

const PREFIX = 'chancery.kept.'
/** Older than this, in milliseconds, is not brought back. */
const LONGEST = 7 * 24 * 3600 * 1000

export interface Shelf {
  getItem: (name: string) => string | null
  setItem: (name: string, value: string) => void
  removeItem: (name: string) => void
  key: (at: number) => string | null
  readonly length: number
}

const nameOf = (who: string, key: string) => `${PREFIX}${who}.${key}`

/** What was kept under a name; nothing when it is too old or can't be read. */
export function readKept<T>(shelf: Shelf, who: string, key: string, now = Date.now()): T | undefined {
  try {
    const text = shelf.getItem(nameOf(who, key))
    if (text === null) return undefined
    const read = JSON.parse(text) as { at?: unknown; value?: T }
    if (typeof read.at !== 'number' || now - read.at > LONGEST) {
      shelf.removeItem(nameOf(who, key))
      return undefined
    }
    return read.value
  } catch {
    return undefined
  }
}

/** Whether it could be kept: a browser may keep nothing, or have no room left. */
export function writeKept(shelf: Shelf, who: string, key: string, value: unknown, now = Date.now()): boolean {
  try {
    shelf.setItem(nameOf(who, key), JSON.stringify({ at: now, value }))
    return true
  } catch {
    return false
  }
}

export function dropKept(shelf: Shelf, who: string, key: string): void {
  try {
    shelf.removeItem(nameOf(who, key))
  } catch {
    // A browser that keeps nothing has nothing to drop.
  }
}

/** What is kept of somebody under names that begin so. */
export function keptUnder(shelf: Shelf, who: string, start: string): string[] {
  const begin = nameOf(who, start)
  const found: string[] = []
  try {
    for (let at = 0; at < shelf.length; at++) {
      const name = shelf.key(at)
      if (name?.startsWith(begin)) found.push(name.slice(nameOf(who, '').length))
    }
  } catch {
    return []
  }
  return found.sort()
}

export function dropAllKept(shelf: Shelf, who: string): void {
  for (const key of keptUnder(shelf, who, '')) dropKept(shelf, who, key)
}
