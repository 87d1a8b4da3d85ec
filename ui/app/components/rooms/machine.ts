// The definition of a machine as the server keeps it. The schema calls it a free object; these are the parts that are shown.

export interface MachineState {
  code: string
  ordinal: number
  class: string
  initial: boolean
  terminal: boolean
  conceptual: boolean
}
export interface MachineGuard {
  name: string
  kind: string
  rule?: string | null
  reads?: string[]
  description: string
}
export interface MachineTransition {
  transition_id: string
  label: string
  from: string | null
  to: string
  actor: string
  trigger_kind: string
  trigger_ref: string
  guards: string[]
  event: string | null
  audit: boolean
  via?: string | null
  rollback_to?: string | null
  proposed?: boolean
}
export interface MachineInvariant {
  id: string
  why: string
}
export interface MachineEvent {
  type: string
  description: string
  schema?: unknown
}
export interface Definition {
  states: MachineState[]
  guards: MachineGuard[]
  transitions: MachineTransition[]
  invariants: MachineInvariant[]
  events: MachineEvent[]
}

function listOf<T>(from: Record<string, unknown>, name: string): T[] {
  const found = from[name]
  return Array.isArray(found) ? (found as T[]) : []
}

export function definitionOf(definition: Record<string, unknown> | undefined): Definition {
  const from = definition ?? {}
  return {
    states: listOf<MachineState>(from, 'states'), guards: listOf<MachineGuard>(from, 'guards'),
    transitions: listOf<MachineTransition>(from, 'transitions'), invariants: listOf<MachineInvariant>(from, 'invariants'),
    events: listOf<MachineEvent>(from, 'events'),
  }
}
