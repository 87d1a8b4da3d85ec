// Reading what the server sends as free JSON, without believing its shape.

export type Json = Record<string, unknown>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {}
}

export function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** A value in one line; objects as JSON. */
export function lineOf(value: unknown): string {
  if (value === null || value === undefined) return '—'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Text as YAML or JSON writes an object; what is wrong comes as `wrong`. */
export async function readObject(text: string): Promise<{ object?: Json; wrong?: string }> {
  try {
    const { parse } = await import('yaml')
    const read: unknown = parse(text)
    return isObject(read) ? { object: read } : { wrong: '' }
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) }
  }
}
