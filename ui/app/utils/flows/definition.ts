// Edits of a definition of a workflow, as forms make them. What may be in one is judged by the database when it is proposed.

export interface Words {
  en?: string
  vi?: string
}

export interface StepDefinition {
  key: string
  title?: Words
  [field: string]: unknown
}

export interface RelationDefinition {
  from: string
  to: string
  kind?: string
  [field: string]: unknown
}

export interface Definition {
  workflow: string
  title?: Words
  steps: StepDefinition[]
  relations?: RelationDefinition[]
  [field: string]: unknown
}

/** A definition as the server tells it; what is no object becomes an empty one. */
export function asDefinition(told: unknown): Definition {
  const object = typeof told === 'object' && told !== null ? (told as Record<string, unknown>) : {}
  return {
    ...object,
    workflow: typeof object.workflow === 'string' ? object.workflow : '',
    steps: Array.isArray(object.steps) ? (object.steps as StepDefinition[]) : [],
  }
}

export function stepOf(definition: Definition, key: string): StepDefinition | undefined {
  return definition.steps.find((step) => step.key === key)
}

function relationsOf(definition: Definition): RelationDefinition[] {
  return definition.relations ?? []
}

function withRelations(definition: Definition, relations: RelationDefinition[]): Definition {
  const { relations: _, ...rest } = definition
  return (relations.length > 0 ? { ...rest, relations } : rest) as Definition
}

/** The step with that key as it should be. Its relations follow when the key changes. */
export function withStep(definition: Definition, key: string, step: StepDefinition): Definition {
  const steps = definition.steps.map((one) => (one.key === key ? step : one))
  const renamed = (name: string) => (name === key ? step.key : name)
  const relations = relationsOf(definition).map((one) => ({ ...one, from: renamed(one.from), to: renamed(one.to) }))
  return withRelations({ ...definition, steps }, relations)
}

/** A new step behind another: in its way (what came after now comes after the new one), or as a branch beside it. */
export function withStepAfter(definition: Definition, after: string, step: StepDefinition, place: 'between' | 'beside'): Definition {
  const index = definition.steps.findIndex((one) => one.key === after)
  const steps = [...definition.steps.slice(0, index + 1), step, ...definition.steps.slice(index + 1)]
  const moved = place === 'between'
    ? relationsOf(definition).map((one) => (one.from === after ? { ...one, from: step.key } : one))
    : relationsOf(definition)
  return withRelations({ ...definition, steps }, [...moved, { from: after, to: step.key }])
}

/** Without a step. What led to it leads to what came after it, unless such a way is there already. */
export function withoutStep(definition: Definition, key: string): Definition {
  const steps = definition.steps.filter((step) => step.key !== key)
  const relations = relationsOf(definition)
  const kept = relations.filter((one) => one.from !== key && one.to !== key)
  const known = new Set(kept.map((one) => `${one.from} ${one.to}`))
  for (const before of relations.filter((one) => one.to === key)) {
    for (const behind of relations.filter((one) => one.from === key)) {
      const name = `${before.from} ${behind.to}`
      if (known.has(name)) continue
      known.add(name)
      kept.push({ ...before, to: behind.to })
    }
  }
  return withRelations({ ...definition, steps }, kept)
}

/** A new workflow whose steps follow one another. */
export function chainOf(name: string, title: Words, steps: StepDefinition[]): Definition {
  const relations = steps.slice(1).map((step, index) => ({ from: steps[index]!.key, to: step.key }))
  return withRelations({ workflow: name, title, steps }, relations)
}

/** A key out of a title: what the database takes as one, as far as letters go. */
export function keyOf(title: string): string {
  return title.toLowerCase().replace(/đ/g, 'd').normalize('NFD').replace(/[\u0300-\u036f]/g, '')
    .replace(/[^a-z0-9]+/g, '_').replace(/^_+|_+$/g, '').replace(/^(\d)/, 's_$1').slice(0, 63)
}

/** Without members that a form left empty. */
export function filled<T extends Record<string, unknown>>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) =>
    value !== undefined && value !== '' && value !== false && !(Array.isArray(value) && value.length === 0))) as T
}
