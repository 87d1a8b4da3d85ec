import type { Schemas } from '@chancery/api'

type Summary = Schemas['Summary']

/** Whether a summary says what it rests on. One that does not is not shown, whoever wrote it. */
export function hasEvidence(summary: Summary): boolean {
  const { source_event_count: count, time_window: window, generated_by: by, confidence } = summary
  return count >= 1
    && Boolean(window?.start_at && window?.end_at)
    && Boolean(by?.summarizer_kind && by?.summarizer_ref && by?.summarizer_version)
    && (by.summarizer_kind !== 'ai_agent' || typeof confidence === 'number')
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Sources of a summary whose story the reader is not told. What has no story for anybody, as a heartbeat, is not among them. */
export function hiddenSources(refs: readonly string[], items: readonly { entity_id: string; key: string }[]): number {
  const told = new Set(items.flatMap((item) => [item.entity_id, item.key.split('/')[0]!]))
  return refs.filter((ref) => {
    const id = UUID.exec(ref)?.[0]
    return id !== undefined && !told.has(id)
  }).length
}
