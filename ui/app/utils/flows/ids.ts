// Ids as the API writes them: a prefix that says of what, and a UUID without dashes.

/** The UUID behind an id with a prefix; approvals name their subject so. */
export function uuidOf(id: string): string {
  const hex = id.replace(/^[a-z]+_/, '').replaceAll('-', '')
  return /^[0-9a-f]{32}$/.test(hex) ? hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') : id
}

/** An id with its prefix, of a UUID. */
export function idOf(prefix: string, uuid: string): string {
  return uuid.startsWith(`${prefix}_`) ? uuid : `${prefix}_${uuid.replaceAll('-', '')}`
}
