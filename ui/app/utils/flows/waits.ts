// What a step or task shall wait for, as a form holds it and as the evidence of a wait says it.
import type { Json } from './json.ts'

export interface WrittenWait {
  facet: string
  until: string
  step: string
  of: string
  token: string
  digest: string
}

export const unwrittenWait = (): WrittenWait => ({ facet: '', until: '', step: '', of: '', token: '', digest: '' })

/** The facet and what it waits for. Only for what has no fault: a wait without its subject is no evidence. */
export function waitEvidence(wait: WrittenWait): Json {
  const what = subjectOf(wait)
  return what ? { facets: [wait.facet], waits: [{ facet: wait.facet, ...what }] } : {}
}

function subjectOf(wait: WrittenWait): Json | undefined {
  switch (wait.facet) {
    case 'waiting_time_gate': return wait.until === '' ? undefined : { until: new Date(wait.until).toISOString() }
    case 'waiting_dependency': return wait.step === '' ? undefined : { step: wait.step }
    case 'waiting_human': return wait.of.trim() === '' ? undefined : { of: wait.of.trim() }
    case 'waiting_external': return wait.digest === '' ? undefined : { token_sha256: wait.digest }
    default: return undefined
  }
}
