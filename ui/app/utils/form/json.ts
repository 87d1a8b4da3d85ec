// Text that has to be JSON, and JSON that has to fit the schema that a definition gives. The subset is the one of the database
// (event.value_problems), which judges what is sent; here the same is said before anybody signs.
import type { Fault } from './fault.ts'

type Schema = Record<string, unknown>
type Kind = 'object' | 'array' | 'any'

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
const kindOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** Line and column of a place in a text, from 1. */
function placeOf(text: string, position: number): { line: number; column: number } {
  const before = text.slice(0, position).split('\n')
  return { line: before.length, column: [...(before.at(-1) ?? '')].length + 1 }
}

export function readJson(text: string): { value: unknown; fault?: undefined } | { fault: Fault; value?: undefined } {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    const message = error instanceof Error ? error.message : ''
    const position = /position (\d+)/.exec(message)?.[1]
    return { fault: { key: 'shell.field.not_json', parameters: placeOf(text, position === undefined ? text.length : Number(position)) } }
  }
}

/** What is wrong with a text that has to be JSON; an empty one is another question. */
export function jsonFault(text: string, kind: Kind = 'any', schema?: unknown): Fault | undefined {
  if (text.trim() === '') return undefined
  const read = readJson(text)
  if (read.fault) return read.fault
  if (kind === 'object' && !isObject(read.value)) return { key: 'shell.field.not_object' }
  if (kind === 'array' && !Array.isArray(read.value)) return { key: 'shell.field.not_list' }
  return isObject(schema) ? schemaFault(schema, read.value) : undefined
}

const number = (value: unknown) => (typeof value === 'number' ? value : undefined)
const said = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

/** The first place where a value breaks a schema, at whatever depth. */
export function schemaFault(schema: Schema, value: unknown, at: string[] = []): Fault | undefined {
  const here = (key: string, parameters: Record<string, string | number> = {}): Fault => ({ key, parameters, ...(at.length > 0 ? { at: at.join(' › ') } : {}) })
  const kind = kindOf(value)
  if (schema.type !== undefined) {
    const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).map(String)
    const fits = types.some((type) => type === kind || (type === 'integer' && kind === 'number' && Number.isInteger(value)))
    if (!fits) return types.length === 1 ? here(`shell.field.type_${types[0]}`) : here('shell.field.types', { types: types.join(', ') })
  }
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => JSON.stringify(one) === JSON.stringify(value))) {
    return here('shell.field.none_of', { choices: schema.enum.map(said).join(', ') })
  }
  if (schema.const !== undefined && JSON.stringify(schema.const) !== JSON.stringify(value)) return here('shell.field.none_of', { choices: said(schema.const) })
  if (typeof value === 'number') {
    if ((number(schema.minimum) ?? -Infinity) > value) return here('shell.field.too_small', { least: number(schema.minimum)! })
    if ((number(schema.maximum) ?? Infinity) < value) return here('shell.field.too_large', { most: number(schema.maximum)! })
  }
  if (typeof value === 'string') {
    const length = [...value].length
    if ((number(schema.minLength) ?? 0) > length) return here('shell.field.too_short', { n: length, least: number(schema.minLength)! })
    if ((number(schema.maxLength) ?? Infinity) < length) return here('shell.field.too_long', { n: length, most: number(schema.maxLength)! })
    if (schema.format === 'date-time' && Number.isNaN(Date.parse(value))) return here('shell.field.not_date')
    if (typeof schema.pattern === 'string' && !matches(schema.pattern, value)) return here('shell.field.pattern', { pattern: schema.pattern })
  }
  if (Array.isArray(value)) {
    if ((number(schema.minItems) ?? 0) > value.length) return here('shell.field.too_few', { n: value.length, least: number(schema.minItems)! })
    if ((number(schema.maxItems) ?? Infinity) < value.length) return here('shell.field.too_many', { n: value.length, most: number(schema.maxItems)! })
    if (isObject(schema.items)) {
      for (const [place, item] of value.entries()) {
        const found = schemaFault(schema.items, item, [...at, String(place + 1)])
        if (found) return found
      }
    }
  }
  if (isObject(value)) {
    const properties = isObject(schema.properties) ? schema.properties : {}
    for (const name of Array.isArray(schema.required) ? schema.required.map(String) : []) {
      if (!Object.hasOwn(value, name)) return { key: 'shell.field.lacks', parameters: { name }, ...(at.length > 0 ? { at: at.join(' › ') } : {}) }
    }
    for (const [name, member] of Object.entries(value)) {
      const inner = properties[name]
      if (isObject(inner)) {
        const found = schemaFault(inner, member, [...at, name])
        if (found) return found
      } else if (schema.additionalProperties === false) return here('shell.field.unknown_member', { name })
    }
  }
  return undefined
}

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value)
  } catch {
    // A pattern that only PostgreSQL reads is PostgreSQL's to judge.
    return true
  }
}
