// Which action of several stands out. Only an order for the eye; what may be done is the server's to say.
import type { Schemas } from '@chancery/api'

/** What ends the work comes first, then what takes it up. */
export const isForward = (action: Schemas['Action']) => action.to === 'completed' || action.to === 'in_progress'

export const hasForward = (actions: readonly Schemas['Action'][]) => actions.some((action) => action.allowed && isForward(action))
