// The part of JSON Schema that contracts of workflows use, as form fields. The server judges what is sent; this only draws.
import type { Fault } from '../form/fault.ts'
import { readJson, schemaFault } from '../form/json.ts'
import { isObject, objectOf, textOf, textsOf, type Json } from './json.ts'

export type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'

export interface SchemaField {
  name: string
  kind: FieldKind
  required: boolean
  description?: string
  choices: string[]
  schema: Json
}

function kindOf(schema: Json): FieldKind {
  if (textsOf(schema.enum).length > 0) return 'choice'
  // What may be left out as null is a field that may stay empty.
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((one) => one !== 'null')
  switch (types.length === 1 ? types[0] : undefined) {
    case 'string': return 'text'
    case 'number': return 'number'
    case 'integer': return 'integer'
    case 'boolean': return 'boolean'
    default: return 'json'
  }
}

/** The fields of an object's schema, the required ones first; nothing when it says nothing of its members. */
export function fieldsOf(schema: unknown): SchemaField[] {
  const properties = objectOf(objectOf(schema).properties)
  const required = new Set(textsOf(objectOf(schema).required))
  const fields = Object.entries(properties).filter((entry): entry is [string, Json] => isObject(entry[1])).map(([name, field]) => ({
    name,
    kind: kindOf(field),
    required: required.has(name),
    description: textOf(field.description),
    choices: textsOf(field.enum),
    schema: field,
  }))
  return fields.sort((one, other) => Number(other.required) - Number(one.required))
}

/** What a field of a form holds: number fields give numbers. */
export type Written = string | number | boolean

/** What stands in a form that was drawn from a schema: a value for each field, or a text where the schema names none. */
export interface WrittenDocument {
  fields: Record<string, Written>
  text: string
}

export function unwritten(schema?: unknown): WrittenDocument {
  return { fields: Object.fromEntries(fieldsOf(schema).map((field) => [field.name, field.kind === 'boolean' ? false : ''])), text: '' }
}

/** What a field means; nothing when it is empty. A text that is no JSON where JSON is asked for is a fault, and no value. */
function valueOf(field: SchemaField, written: Written | undefined): { value?: unknown; fault?: Fault } {
  if (field.kind === 'boolean') return written === true || field.required ? { value: written === true } : {}
  if (written === undefined || written === '' || (typeof written === 'string' && written.trim() === '')) return {}
  if (field.kind === 'json') {
    const read = readJson(String(written))
    return read.fault ? { fault: read.fault } : { value: read.value }
  }
  if (field.kind === 'number' || field.kind === 'integer') {
    const number = Number(written)
    return Number.isFinite(number) ? { value: number } : { fault: { key: 'shell.field.not_number' } }
  }
  return { value: String(written) }
}

/** What is wrong with what stands in a field, at whatever depth; whether it is needed is asked elsewhere. */
export function fieldFault(field: SchemaField, written: Written | undefined): Fault | undefined {
  const { value, fault } = valueOf(field, written)
  return fault ?? (value === undefined ? undefined : schemaFault(field.schema, value))
}

/** What stands in the fields, as values; fields that are empty are left out. Only for what has no fault. */
export function valuesOf(fields: SchemaField[], written: Record<string, Written>): Json {
  const values: Json = {}
  for (const field of fields) {
    const { value } = valueOf(field, written[field.name])
    if (value !== undefined) values[field.name] = value
  }
  return values
}

/** The document that was written. Only for what has no fault. */
export function documentOf(schema: unknown, written: WrittenDocument): Json {
  const fields = fieldsOf(schema)
  if (fields.length > 0) return valuesOf(fields, written.fields)
  const read = readJson(written.text.trim() === '' ? '{}' : written.text)
  return objectOf(read.value)
}
