// What a statement says, line by line, and whether the bytes to be signed say the same.
import { digestOf, type Contents } from './signed-content.ts'

export interface Fact {
  label: string
  value: string
  depth: number
  mono: boolean
  /** A hash whose content follows, or of which nothing but the hash is here. */
  hash?: 'content' | 'only'
  /** What was given is empty: a person should see that they sign nothing. */
  empty?: boolean
}

const DIGEST = /^[0-9a-f]{16,}$|^[0-9a-f-]{32,}$|^[a-z]{3}_[0-9a-f]{32}$/
const wordsOf = (name: string) => name.replaceAll('_', ' ')

function walk(label: string, value: unknown, depth: number, into: Fact[], contents?: Contents) {
  const digest = contents && typeof value === 'string' ? digestOf(value) : undefined
  if (digest !== undefined) {
    const known = contents!.has(digest)
    into.push({ label, value: String(value), depth, mono: true, hash: known ? 'content' : 'only' })
    if (known) content(contents!.get(digest), depth + 1, into)
    return
  }
  if (Array.isArray(value)) {
    if (value.every((one) => (typeof one !== 'object' || one === null) && !(contents && typeof one === 'string' && digestOf(one)))) {
      into.push({ label, value: value.map(String).join(', ') || '—', depth, mono: value.some((one) => DIGEST.test(String(one))) })
      return
    }
    into.push({ label, value: String(value.length), depth, mono: false })
    value.forEach((one, at) => walk(`${at + 1}`, one, depth + 1, into, contents))
  } else if (typeof value === 'object' && value !== null) {
    if (label !== '') into.push({ label, value: '', depth, mono: false })
    for (const [name, inner] of Object.entries(value)) walk(wordsOf(name), inner, label === '' ? depth : depth + 1, into, contents)
  } else {
    const text = value === null || value === '' ? '—' : String(value)
    into.push({ label, value: text, depth, mono: DIGEST.test(text) })
  }
}

/** What a hash stands for. It holds no statement itself, so hashes in it are only shown. */
function content(value: unknown, depth: number, into: Fact[]) {
  const before = into.length
  if (Array.isArray(value)) value.forEach((one, at) => walk(`${at + 1}`, one, depth, into))
  else if (typeof value === 'object' && value !== null) for (const [name, inner] of Object.entries(value)) walk(name, inner, depth, into)
  else walk('', value, depth, into)
  if (into.length === before) into.push({ label: '', value: '', depth, mono: false, empty: true })
}

/** The lines of a statement; where the content behind a hash is known, it follows the hash. */
export function factsOf(payload: string, contents?: Contents): Fact[] {
  const facts: Fact[] = []
  try {
    walk('', JSON.parse(payload), 0, facts, contents)
  } catch {
    facts.push({ label: '', value: payload, depth: 0, mono: true })
  }
  return facts
}

/** DSSE: "DSSEv1", the length and text of the type, the length and text of the payload. What is signed must be what is shown. */
export function saysTheSame(statement: { payload_type: string; payload: string; bytes: string }): boolean {
  const length = (text: string) => new TextEncoder().encode(text).length
  const { payload_type: type, payload } = statement
  const wanted = new TextEncoder().encode(`DSSEv1 ${length(type)} ${type} ${length(payload)} ${payload}`)
  let given: string
  try {
    given = atob(statement.bytes)
  } catch {
    return false
  }
  return given.length === wanted.length && wanted.every((byte, at) => byte === given.charCodeAt(at))
}
