/** An id as the command line spells it: the UUID behind the prefix. */
export function uuidOf(id: string): string {
  const hex = id.split('_').pop() ?? id
  return /^[0-9a-f]{32}$/.test(hex) ? [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-') : id
}

/** In groups of four, to be read aloud. */
export function grouped(hex: string): string {
  return hex.replace(/(.{4})(?=.)/g, '$1 ')
}
