// Why work failed, as its own log tells it: what was said when it did, and the job that carried it.
import { isObject, textOf } from './json.ts'

interface Logged {
  call: string
  to: string
  at: string
  evidence: unknown
}

export interface Failure {
  at: string
  /** In the words of whoever did the work. */
  detail?: string
  job?: string
}

const JOB = /^job:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/

/** The newest failure on record. The job is named where its lease was reported under, or where the work was begun. */
export function failureOf(history: readonly Logged[]): Failure | undefined {
  const newest = [...history].reverse()
  const at = newest.findIndex((move) => move.call === 'executor_failure')
  if (at < 0) return undefined
  const evidenceOf = (move: Logged) => (isObject(move.evidence) ? move.evidence : {})
  const job = newest.slice(at).map((move) => JOB.exec(textOf(evidenceOf(move).audit_ref) ?? '')?.[1]).find(Boolean)
  const detail = textOf(evidenceOf(newest[at]!).detail)
  return { at: newest[at]!.at, ...(detail ? { detail } : {}), ...(job ? { job } : {}) }
}
