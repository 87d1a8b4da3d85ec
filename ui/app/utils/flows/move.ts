// One call of a machine on a step or task, with what it brings.
import type { Schemas } from '@chancery/api'
import { keyed } from './act.ts'
import type { Json } from './json.ts'
import { useFlowWords } from './words.ts'

export interface Brought {
  evidence?: Json
  document?: Json
  reason?: string
}

/** What was typed into the form of a move is kept under this. */
export const moveKey = (subject: string, action: { name: string; to: string }) => `move:${subject}:${action.name}:${action.to}`

export function useMove(shown: () => Schemas['WorkShown']) {
  const t = useT()
  const say = useSay()
  const api = useApi()
  const act = useAct()
  const { callLabel } = useFlowWords()

  /** Whether it was done. Another one who was faster is a refusal, for the seq that was looked at goes along. */
  async function move(action: Schemas['Action'], brought: Brought = {}): Promise<boolean> {
    const { task_id: task, step_id: step, seq } = shown().work
    const reason = brought.reason?.trim()
    const body: Schemas['MoveWork'] = {
      call: action.name,
      evidence: brought.evidence ?? {},
      actor_class: action.actor_class,
      ...(brought.document ? { document: brought.document } : {}),
      ...(reason ? { reason } : {}),
    }
    const moved = await act.act((headers) => task
      ? api.POST('/v1/tasks/{task}/moves', { params: { path: { task }, header: keyed(headers, seq) }, body })
      : api.POST('/v1/steps/{step}/moves', { params: { path: { step }, header: keyed(headers, seq) }, body }))
    if (moved) say(t('flows.move.done', { what: callLabel(action.name) }))
    return moved !== undefined
  }

  return { move, pending: act.pending, problem: act.problem }
}
