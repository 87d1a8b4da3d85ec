// What changed in a run, put into the rows that it is about. Nothing is laid out anew and no other row is touched.
import { tell, wordsOf, type Row, type Scene, type SnapshotStep } from './scene.ts'

export interface StepMoved {
  stepId: string
  to: string
  seq: number
}

/** One event. An older one than what is known changes nothing. */
export function patchMove(scene: Scene, moved: StepMoved): boolean {
  const index = scene.byStep.get(moved.stepId)
  if (index === undefined) return false
  const row = scene.rows[index]!
  if (moved.seq <= row.seq) return false
  // Facet, severity and the like belong to the state that was left; the next snapshot tells those of the new one.
  if (row.state !== moved.to) Object.assign(row, { facet: null, severity: null })
  row.state = moved.to
  row.seq = moved.seq
  tell(scene, [index])
  return true
}

function differs(row: Row, step: SnapshotStep): boolean {
  return row.state !== step.state || row.facet !== (step.facet ?? null) || row.severity !== (step.blocked_severity ?? null)
    || row.skipped !== step.skipped || row.critical !== step.critical || row.late !== step.past_deadline || row.pic !== (step.pic ?? null)
    || row.deadline !== (step.deadline ?? null) || row.number !== step.no || row.milestone !== step.milestone || row.optional === step.mandatory
}

/** Everything that a snapshot says. Rows that already say so are not told about. */
export function patchSteps(scene: Scene, steps: SnapshotStep[]): number[] {
  const changed: number[] = []
  const inGroups = new Map<number, Map<string, number>>()
  for (const step of steps) {
    const index = scene.at.get(step.key)
    if (index === undefined) {
      const group = scene.at.get(`group:${step.category}`)
      if (group === undefined) continue
      scene.byStep.set(step.step_id, group)
      const counts = inGroups.get(group) ?? new Map<string, number>()
      counts.set(step.state, (counts.get(step.state) ?? 0) + 1)
      inGroups.set(group, counts)
      continue
    }
    const row = scene.rows[index]!
    scene.byStep.set(step.step_id, index)
    if (step.seq < row.seq) continue
    const news = differs(row, step)
    Object.assign(row, {
      stepId: step.step_id, title: wordsOf(step.title) ?? row.title, number: step.no, seq: step.seq, state: step.state, facet: step.facet ?? null,
      severity: step.blocked_severity ?? null, skipped: step.skipped, critical: step.critical, late: step.past_deadline,
      pic: step.pic ?? null, deadline: step.deadline ?? null, milestone: step.milestone, optional: !step.mandatory, executor: step.executor,
    })
    if (news) changed.push(index)
  }
  for (const [group, counts] of inGroups) {
    scene.rows[group]!.states = counts
    changed.push(group)
  }
  tell(scene, changed)
  return changed
}

/** How many steps are in which state; those of collapsed groups count one by one. */
export function counted(scene: Scene): Map<string, number> {
  const counts = new Map<string, number>()
  const add = (state: string, more: number) => counts.set(state, (counts.get(state) ?? 0) + more)
  for (const row of scene.rows) {
    if (row.states) for (const [state, count] of row.states) add(state, count)
    else if (row.state) add(row.state, 1)
  }
  return counts
}
