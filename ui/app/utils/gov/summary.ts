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
