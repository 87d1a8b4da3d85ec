// No answer is told like a refusal, so that pages have one kind of "no" to show.
import type { Problem } from '@chancery/api'

export const UNREACHABLE = 'unreachable'

export function unreachable(): Problem {
  return { type: 'urn:chancery:fault:unreachable', title: '', status: 0, problem: UNREACHABLE }
}

export function problemOf(error: unknown, response?: Response): Problem {
  if (typeof error === 'object' && error !== null && 'problem' in error) return error as Problem
  const status = response?.status ?? 0
  const request = response?.headers.get('x-request-id')
  return {
    type: 'urn:chancery:fault:internal',
    title: '',
    status,
    problem: status === 404 ? 'not_found' : status >= 500 ? 'internal' : UNREACHABLE,
    ...(request ? { request_id: request } : {}),
  }
}

/** Whether nobody is signed in any more; a wrong password is answered with the same status. */
export function isSessionEnd(problem: Problem): boolean {
  return problem.status === 401 && !['sign_in_refused', 'sign_in_locked'].includes(problem.problem)
}

/** Whether it is unknown if a change was made: then the same key is sent again. */
export function isUncertain(problem: Problem): boolean {
  return problem.problem === UNREACHABLE || problem.problem === 'database_away' || problem.status === 502 || problem.status === 504
}
