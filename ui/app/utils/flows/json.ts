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

const isScalar = (value: unknown) => typeof value !== 'object' || value === null

/** A value as text: flat objects member by member, deeper ones as JSON. */
export function lineOf(value: unknown): string {
  if (value === null || value === undefined) return '—'
  if (isScalar(value)) return String(value)
  if (Array.isArray(value)) return value.every(isScalar) ? value.join(', ') : JSON.stringify(value, null, 1)
  const members = Object.entries(value)
  return members.every(([, one]) => isScalar(one)) ? members.map(([name, one]) => `${name}: ${String(one)}`).join('\n') : JSON.stringify(value, null, 1)
}

/** Why a text is no object: a sentence of the catalogue, and what the reader of YAML said, which speaks English alone. */
export interface Unreadable {
  key: string
  parameters: Record<string, number>
  detail?: string
}

/** Text as YAML or JSON writes an object; what is wrong comes as `wrong`. */
export async function readObject(text: string): Promise<{ object?: Json; wrong?: Unreadable }> {
  const { parse, YAMLError } = await import('yaml')
  try {
    const read: unknown = parse(text)
    return isObject(read) ? { object: read } : { wrong: { key: 'flows.form.not_object', parameters: {} } }
  } catch (error) {
    const at = error instanceof YAMLError ? error.linePos?.[0] : undefined
    return {
      wrong: {
        key: at ? 'flows.form.unreadable_at' : 'flows.form.unreadable',
        parameters: at ? { line: at.line, column: at.col } : {},
        detail: error instanceof Error ? error.message : String(error),
      },
    }
  }
}
