// The diff of the server as one list that can be walked: what is added, removed and changed, each with its place.
import type { Schemas } from '@chancery/api'
import { listOf, objectOf, textOf, type Json } from './json.ts'

export type DiffMark = 'added' | 'removed' | 'changed'

export interface FieldChange {
  field: string
  old: unknown
  new: unknown
}

export interface DiffItem {
  id: string
  of: 'workflow' | 'step' | 'relation'
  mark: DiffMark
  /** Its key, or the two ends of a relation. */
  name: string
  title?: { en?: string; vi?: string }
  /** The step to look at in the picture. */
  step?: string
  fields: FieldChange[]
}

const isMark = (mark: string): mark is DiffMark => mark === 'added' || mark === 'removed' || mark === 'changed'

function fieldsOf(told: unknown): FieldChange[] {
  return listOf(told).map((one) => ({ field: textOf(one.field) ?? '', old: one.old, new: one.new }))
}

/** A whole object that came or went, member by member. */
function wholeOf(object: Json, mark: DiffMark): FieldChange[] {
  return Object.entries(object).filter(([field]) => field !== 'key').map(([field, value]) => ({
    field, old: mark === 'removed' ? value : undefined, new: mark === 'added' ? value : undefined,
  }))
}

function itemOf(of: 'step' | 'relation', mark: DiffMark, told: Json): DiffItem {
  const name = mark === 'changed' ? (textOf(told.id) ?? '') : of === 'step' ? (textOf(told.key) ?? '') : `${textOf(told.from) ?? ''} → ${textOf(told.to) ?? ''}`
  return {
    id: `${of} ${mark} ${name}`,
    of,
    mark,
    name,
    title: mark === 'changed' ? undefined : (objectOf(told.title) as { en?: string; vi?: string }),
    step: of === 'step' ? name : name.split(' → ')[mark === 'removed' ? 0 : 1],
    fields: mark === 'changed' ? fieldsOf(told.fields) : wholeOf(told, mark),
  }
}

export function diffItems(diff: Schemas['Diff'] | undefined): DiffItem[] {
  if (!diff) return []
  const items: DiffItem[] = []
  for (const [of, told] of [['step', diff.steps], ['relation', diff.relations]] as const) {
    for (const mark of ['changed', 'added', 'removed'].filter(isMark)) {
      items.push(...listOf(objectOf(told)[mark]).map((one) => itemOf(of, mark, one)))
    }
  }
  const fields = fieldsOf(diff.fields)
  if (fields.length > 0) items.push({ id: 'workflow', of: 'workflow', mark: diff.base_version === null || diff.base_version === undefined ? 'added' : 'changed', name: diff.workflow, fields })
  return items
}

/** How many of one kind: steps and ways are counted apart, as the headline, the picture and the request for approval count them. */
export function diffCounts(items: DiffItem[], of: DiffItem['of'] = 'step'): Record<DiffMark, number> {
  const counts = { added: 0, removed: 0, changed: 0 }
  for (const item of items) if (item.of === of) counts[item.mark]++
  return counts
}
