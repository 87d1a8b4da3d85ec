// What every change of this area sends besides its body, and where it leads.
import { isNavigationFailure, NavigationFailureType } from 'vue-router'

export { idOf, uuidOf } from './ids.ts'

/** The headers of a change, typed as the routes want them; with a version it is refused when somebody was faster. */
export function keyed(headers: Record<string, string>, version?: string | number): Record<string, string> & { 'Idempotency-Key': string } {
  return {
    ...headers,
    'Idempotency-Key': headers['Idempotency-Key'] ?? '',
    ...(version === undefined ? {} : { 'If-Match': `"${version}"` }),
  }
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
