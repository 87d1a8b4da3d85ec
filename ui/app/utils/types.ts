// The shapes that the whole UI shares. What the API answers is typed in @chancery/api; these are about asking.
import type { Problem, Schemas } from '@chancery/api'

export type { Problem, Schemas }
export type Me = Schemas['Me']
export type ToSign = Schemas['ToSign']
export type StateToken = Schemas['StateToken']

export interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

export type Headline = Schemas['Headline']
export type Tone = Schemas['Tone']

export interface Page<T> {
  items: T[]
  next?: string | null
}

export interface LiveEvent {
  type: string
  position?: number
  subject?: { kind: string; id: string } | null
  run?: { kind: string; id: string } | null
  from?: string | null
  to?: string | null
  seq?: number | null
  at?: string | null
  trace_id?: string | null
}

export type Paint = Schemas['Colours']
export type Theme = 'light' | 'dark' | 'contrast'
export type Palette = Record<Theme, Paint>
export type Language = 'en' | 'vi'

/** What the server says can be done, from whatever thing it comes. */
export interface Doable {
  name: string
  allowed: boolean
  problems?: unknown[]
  needs?: unknown[]
  label?: string
}
