// What an action still asks for, as fields of a form. Which they are comes from the server with each action.
import { isObject, textOf, type Json } from './json.ts'

export type NeedKind = 'text' | 'choice' | 'approval' | 'document' | 'waits'

export interface NeedField {
  name: string
  kind: NeedKind
  /** What the server says of it. */
  means?: string
  choices: { value: string; label?: { en?: string; vi?: string } }[]
  schema?: unknown
  approvalKind?: string
}

// The word of who asks stands where no other reference is given, and doors fill in what an event carries: nobody is asked for these.
const FILLED = new Set(['audit_ref', 'output_sha256', 'idempotency_key', 'event'])

function nameOf(need: Json): string | undefined {
  return textOf(need.field)?.replace(/^(\$\.)?evidence\./, '')
}

function choicesOf(need: Json): NeedField['choices'] {
  const told = Array.isArray(need.values) ? need.values : []
  return told.flatMap((one: unknown) => {
    if (typeof one === 'string') return [{ value: one }]
    if (!isObject(one) || typeof one.value !== 'string') return []
    const label = isObject(one.label) ? (one.label as { en?: string; vi?: string }) : undefined
    return [{ value: one.value, label }]
  })
}

function kindOf(name: string, choices: unknown[]): NeedKind {
  if (name === 'document' || name === 'waits') return name
  if (name === 'facet' || name === 'facets') return 'waits'
  if (name === 'approval_id') return 'approval'
  return choices.length > 0 ? 'choice' : 'text'
}

/** The fields of a form for what is needed, each once, and what is needed without a field of its own. */
export function needFields(needs: unknown[]): { fields: NeedField[]; others: Json[] } {
  const fields = new Map<string, NeedField>()
  const others: Json[] = []
  for (const need of needs.filter(isObject)) {
    const name = nameOf(need)
    if (name !== undefined && FILLED.has(name)) continue
    if (name === undefined) {
      others.push(need)
      continue
    }
    const choices = choicesOf(need)
    const kind = kindOf(name, choices)
    const before = fields.get(kind === 'waits' ? 'waits' : name)
    fields.set(kind === 'waits' ? 'waits' : name, {
      name: kind === 'waits' ? 'waits' : name,
      kind,
      means: before?.means ?? textOf(need.means),
      choices: choices.length > 0 ? choices : (before?.choices ?? []),
      schema: need.schema ?? before?.schema,
      approvalKind: textOf(need.approval_kind) ?? before?.approvalKind,
    })
  }
  return { fields: [...fields.values()], others }
}
