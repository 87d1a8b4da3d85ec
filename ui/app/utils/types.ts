// The shapes that the whole UI shares. What the API answers is typed in @chancery/api; these are about asking.
import type { Problem, Schemas } from '@chancery/api'

export type { Problem, Schemas }
export type Me = Schemas['Me']
export type ToSign = Schemas['ToSign']
export type StateToken = Schemas['StateToken'] & { palette?: Palette }

export interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

export type Tone = 'bad' | 'warn' | 'good' | 'plain'

export interface Headline {
  page: string
  subject?: string | null
  locale: string
  tone: Tone
  sentence: string
  action: { label: string; to: string } | null
  at: string
}

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

export interface Paint {
  bg: string
  fg: string
  border: string
}
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
