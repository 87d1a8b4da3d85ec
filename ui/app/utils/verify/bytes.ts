// Bytes, digests and canonical JSON, as the product computes them. Everything here is WebCrypto and plain JavaScript.

export type Json = null | boolean | number | string | Json[] | { [member: string]: Json }

const encoder = new TextEncoder()

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text)
}

export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0')
  return text
}

/** The bytes of a text in hex; nothing where it is none. */
export function fromHex(text: string | null | undefined): Uint8Array<ArrayBuffer> | undefined {
  if (text === null || text === undefined || text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text)) return undefined
  const bytes = new Uint8Array(text.length / 2)
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(text.slice(at * 2, at * 2 + 2), 16)
  return bytes
}

export async function sha256(data: Uint8Array<ArrayBuffer> | string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', typeof data === 'string' ? utf8(data) : data))
}

export async function sha256Hex(data: Uint8Array<ArrayBuffer> | string): Promise<string> {
  return toHex(await sha256(data))
}

/** RFC 8785: members ordered by UTF-16 code units, numbers as ECMAScript writes them. */
export function canonical(value: Json | undefined): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value === 'object') {
    const members = Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)
    return `{${members.join(',')}}`
  }
  return JSON.stringify(value)
}

export async function canonicalSha256(value: Json): Promise<string> {
  return sha256Hex(canonical(value))
}

/** What a text of JSON says; null where it is none. */
export function parsed(text: string | null | undefined): Json {
  if (text === null || text === undefined) return null
  try {
    return JSON.parse(text) as Json
  } catch {
    return null
  }
}

/** A member of an object; null where there is none. */
export function member(value: Json | undefined, name: string): Json {
  if (value === null || value === undefined || typeof value !== 'object' || Array.isArray(value)) return null
  return Object.hasOwn(value, name) ? (value[name] ?? null) : null
}

export function textMember(value: Json | undefined, name: string): string | null {
  const found = member(value, name)
  return typeof found === 'string' ? found : null
}

export function isObject(value: Json | undefined): value is { [member: string]: Json } {
  return value !== null && value !== undefined && typeof value === 'object' && !Array.isArray(value)
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export const NIL = '00000000-0000-0000-0000-000000000000'

/** An id as PostgreSQL writes it; nothing where it is none. */
export function uuidOf(text: string | null | undefined): string | undefined {
  const lower = text?.toLowerCase()
  return lower !== undefined && UUID.test(lower) ? lower : undefined
}

/** The id of a part, which follows from the id of the whole. */
export async function derivedUuid(whole: string, part: string): Promise<string> {
  const digest = await sha256(`chancery.id.v1,${whole},${part}`)
  const bytes = digest.slice(0, 16)
  const of = fromHex(whole.replaceAll('-', '')) ?? new Uint8Array(16)
  bytes.set(of.subarray(0, 6), 0)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = toHex(bytes)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** A whole number; nothing where it is none. */
export function wholeNumber(text: string | null | undefined): number | undefined {
  return text !== null && text !== undefined && /^[+-]?[0-9]+$/.test(text) ? Number(text) : undefined
}
