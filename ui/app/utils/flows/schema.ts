// The part of JSON Schema that contracts of workflows use, as form fields. The server judges what is sent; this only draws.
import { isObject, objectOf, textOf, textsOf, type Json } from './json.ts'

export type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'

export interface SchemaField {
  name: string
  kind: FieldKind
  required: boolean
  description?: string
  choices: string[]
  minimum?: number
  maximum?: number
  minLength?: number
}

function kindOf(schema: Json): FieldKind {
  if (textsOf(schema.enum).length > 0) return 'choice'
  switch (schema.type) {
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
    minimum: typeof field.minimum === 'number' ? field.minimum : undefined,
    maximum: typeof field.maximum === 'number' ? field.maximum : undefined,
    minLength: typeof field.minLength === 'number' ? field.minLength : undefined,
  }))
  return fields.sort((one, other) => Number(other.required) - Number(one.required))
}

/** What a field of a form holds: number fields give numbers. */
export type Written = string | number | boolean

/** What stands in the fields, as values; fields that are empty are left out. */
export function valuesOf(fields: SchemaField[], written: Record<string, Written>): Json {
  const values: Json = {}
  for (const field of fields) {
    const text = written[field.name]
    if (field.kind === 'boolean') {
      if (typeof text === 'boolean' && (text || field.required)) values[field.name] = text
      else if (field.required) values[field.name] = false
    } else if (typeof text === 'number') {
      values[field.name] = text
    } else if (typeof text === 'string' && text !== '') {
      values[field.name] = field.kind === 'number' || field.kind === 'integer' ? Number(text) : field.kind === 'json' ? read(text) : text
    }
  }
  return values
}

function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
