// What a collapsed group stands for: the colour of its roll-up as the one of a run is made (red before yellow before green), and the step that
// decides it. Which state counts as what is the server's to say; here it is only gathered.
import type { SnapshotStep } from './scene.ts'

export interface GroupRollup {
  colour: 'red' | 'yellow' | 'green' | 'gray'
  /** The state of the step that decides, whose colour and silhouette the group has. */
  state: string
  severity?: string | null
}

const UNDER_WAY = 'in_progress'
const RANKS = ['red', 'yellow', 'green', 'gray'] as const

function colourOf(step: SnapshotStep): (typeof RANKS)[number] {
  if (step.class === 'red' || step.blocked_severity === 'red') return 'red'
  return step.class === 'wait' ? 'yellow' : step.class === 'idle' ? 'gray' : 'green'
}

/** The roll-up of the steps of a group. Optional and skipped ones do not count, unless there are no others. */
export function groupRollup(steps: readonly SnapshotStep[]): GroupRollup | undefined {
  const counting = steps.filter((step) => step.mandatory && !step.skipped)
  const counted = (counting.length > 0 ? counting : steps).toSorted((one, other) => one.no - other.no)
  const colour = RANKS.find((rank) => counted.some((step) => colourOf(step) === rank))
  if (!colour) return undefined
  const deciding = counted.filter((step) => colourOf(step) === colour)
  if (colour !== 'green') return { colour, state: deciding[0]!.state, severity: deciding[0]!.blocked_severity ?? null }
  // Green is what is being done, and done only when all of it is: of a group that has begun the rest is under way.
  const isDone = (step: SnapshotStep) => step.floor === 'completed' || step.floor === 'cancelled'
  return { colour, state: counted.every(isDone) ? deciding[0]!.state : deciding.find((step) => !isDone(step))?.state ?? UNDER_WAY, severity: null }
}
