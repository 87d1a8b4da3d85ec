// What changed in a run, put into the rows that it is about. Nothing is laid out anew and no other row is touched.
import { groupRollup } from './rollup.ts'
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
  // A card that stands for many has the state of none of them; the next snapshot tells its roll-up.
  if (row.states || moved.seq <= row.seq) return false
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
  const inGroups = new Map<number, SnapshotStep[]>()
  for (const step of steps) {
    const index = scene.at.get(step.key)
    if (index === undefined) {
      const group = scene.at.get(`group:${step.category}`)
      if (group === undefined) continue
      scene.byStep.set(step.step_id, group)
      const inside = inGroups.get(group)
      if (inside) inside.push(step)
      else inGroups.set(group, [step])
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
  for (const [group, inside] of inGroups) {
    const states = new Map<string, number>()
    for (const step of inside) states.set(step.state, (states.get(step.state) ?? 0) + 1)
    const rollup = groupRollup(inside)
    Object.assign(scene.rows[group]!, {
      states, severe: inside.filter((step) => step.blocked_severity === 'red').length, state: rollup?.state, severity: rollup?.severity ?? null,
    })
    changed.push(group)
  }
  tell(scene, changed)
  return changed
}

export interface Segment {
  state: string
  severity: string | null
  count: number
}

/** As `counted`, with blocks that count as red apart: they have another colour, on the card as in the bar. */
export function segmentsOf(scene: Scene): Segment[] {
  const severe = scene.rows.reduce((sum, row) => sum + (row.states ? row.severe ?? 0 : row.severity === 'red' ? 1 : 0), 0)
  return [...counted(scene)].flatMap(([state, count]) => {
    const red = state === 'blocked' ? severe : 0
    const parts: Segment[] = [{ state, severity: null, count: count - red }, { state, severity: 'red', count: red }]
    return parts.filter((part) => part.count > 0)
  })
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
