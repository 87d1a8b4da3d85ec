// A timeline in which many alike moves of one moment are one line.
import type { Schemas } from '@chancery/api'

export interface Fold {
  first: Schemas['TimelineItem']
  all: Schemas['TimelineItem'][]
}

const MOMENT = 2000

const alike = (one: Schemas['TimelineItem'], other: Schemas['TimelineItem']) =>
  one.entity_kind === other.entity_kind && one.to === other.to && one.event_type === other.event_type && one.principal === other.principal
  && one.reason === other.reason && Math.abs(Date.parse(one.at) - Date.parse(other.at)) < MOMENT

/** Runs of neighbours that differ only in what they happened to. */
export function folded(items: readonly Schemas['TimelineItem'][]): Fold[] {
  const folds: Fold[] = []
  for (const item of items) {
    const last = folds.at(-1)
    if (last && item.to && alike(last.first, item)) last.all.push(item)
    else folds.push({ first: item, all: [item] })
  }
  return folds
}
