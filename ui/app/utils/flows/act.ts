// What every change of this area sends besides its body, and where it leads.
import { isNavigationFailure, NavigationFailureType } from 'vue-router'

/** The headers of a change, typed as the routes want them; with a version it is refused when somebody was faster. */
export function keyed(headers: Record<string, string>, version?: string | number): Record<string, string> & { 'Idempotency-Key': string } {
  return {
    ...headers,
    'Idempotency-Key': headers['Idempotency-Key'] ?? '',
    ...(version === undefined ? {} : { 'If-Match': `"${version}"` }),
  }
}

/** The UUID behind an id with a prefix; approvals name their subject so. */
export function uuidOf(id: string): string {
  const hex = id.replace(/^[a-z]+_/, '').replaceAll('-', '')
  return /^[0-9a-f]{32}$/.test(hex) ? hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') : id
}

/** An id with its prefix, of a UUID. */
export function idOf(prefix: string, uuid: string): string {
  return uuid.startsWith(`${prefix}_`) ? uuid : `${prefix}_${uuid.replaceAll('-', '')}`
}

/** A part of the path as one text. */
export function pathText(value: unknown): string {
  return queryText(value) ?? ''
}

/** A value of a query as one text; a list counts as its first. */
export function queryText(value: unknown): string | undefined {
  const one: unknown = Array.isArray(value) ? value[0] : value
  return typeof one === 'string' && one !== '' ? one : undefined
}

/** Goes there, also when the picture writes its viewport into the address at that very moment and so calls the first try off. */
export async function goTo(path: string): Promise<void> {
  for (let tries = 0; tries < 3; tries++) {
    const failure = await navigateTo(path)
    if (!(failure instanceof Error) || !isNavigationFailure(failure, NavigationFailureType.cancelled)) return
  }
}
