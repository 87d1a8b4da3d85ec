// What stands behind the hashes of a statement. A person signs a digest; here the content that it is the digest of is found among what was
// sent and what the page shows, and is shown in its place. The digest is computed in this browser: the server's word is not taken for it.
import { canonical, isObject, sha256Hex, type Json } from './verify/bytes.ts'

export type Contents = Map<string, Json>

/** Nobody sends more parts than this in one change; the rest would only take time. */
const MOST_PARTS = 2000

/** Every object, list and text in what is given, the given ones first. */
function partsOf(given: readonly unknown[]): Json[] {
  const parts = given.filter((one) => one !== undefined) as Json[]
  for (let at = 0; at < parts.length && parts.length < MOST_PARTS; at++) {
    const one = parts[at]!
    if (Array.isArray(one)) parts.push(...one)
    else if (isObject(one)) parts.push(...Object.values(one))
  }
  return parts
}

const DIGEST = /^(?:sha256:)?([0-9a-f]{64})$/

function digestsIn(value: Json, into = new Set<string>()): Set<string> {
  const found = typeof value === 'string' ? DIGEST.exec(value)?.[1] : undefined
  if (found) into.add(found)
  else if (Array.isArray(value)) for (const one of value) digestsIn(one, into)
  else if (isObject(value)) for (const one of Object.values(value)) digestsIn(one, into)
  return into
}

/** For each digest in the statements: the content that it is the digest of, as canonical JSON or as text. */
export async function contentsOf(payloads: readonly string[], given: readonly unknown[]): Promise<Contents> {
  const contents: Contents = new Map()
  const wanted = new Set<string>()
  for (const payload of payloads) {
    try {
      digestsIn(JSON.parse(payload) as Json, wanted)
    } catch {
      // A payload that is no JSON is shown as it is.
    }
  }
  if (wanted.size === 0) return contents
  for (const part of partsOf(given)) {
    if (typeof part === 'number' || typeof part === 'boolean' || part === null) continue
    const digest = await sha256Hex(canonical(part))
    if (wanted.has(digest)) contents.set(digest, part)
    if (typeof part !== 'string') continue
    const ofText = await sha256Hex(part)
    if (wanted.has(ofText)) contents.set(ofText, part)
  }
  return contents
}

export const digestOf = (text: string) => DIGEST.exec(text)?.[1]
