// UIG-3: a summary is shown with its evidence, or not at all.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasEvidence, hiddenSources } from '../../app/utils/gov/summary.ts'
import { pageOf, problemPage } from '../../app/utils/gov/things.ts'

type Summary = Parameters<typeof hasEvidence>[0]
const sound = {
  source_event_count: 1,
  time_window: { start_at: '2026-11-16T12:00:00Z', end_at: '2026-11-16T12:05:00Z' },
  generated_by: { summarizer_kind: 'deterministic_rule', summarizer_ref: 'governance.summarize_category', summarizer_version: '1' },
  confidence: null,
} as unknown as Summary
const but = (change: object) => ({ ...sound, ...change }) as Summary

test('a rule needs no confidence', () => assert.equal(hasEvidence(sound), true))
test('without a source there is no summary', () => assert.equal(hasEvidence(but({ source_event_count: 0 })), false))
test('without a window there is no summary', () => {
  assert.equal(hasEvidence(but({ time_window: undefined })), false)
  assert.equal(hasEvidence(but({ time_window: { start_at: '2026-11-16T12:00:00Z', end_at: '' } })), false)
})
test('without its maker there is no summary', () => assert.equal(hasEvidence(but({ generated_by: { summarizer_kind: 'sql_fn', summarizer_ref: '', summarizer_version: '1' } })), false))
test('an agent says how sure it is', () => {
  const agent = { generated_by: { summarizer_kind: 'ai_agent', summarizer_ref: 'agent', summarizer_version: '1' } }
  assert.equal(hasEvidence(but(agent)), false)
  assert.equal(hasEvidence(but({ ...agent, confidence: 0.4 })), true)
})
test('what has a page leads there, and ids with a slash stay one part', () => {
  assert.equal(pageOf('step', 'stp_1'), '/steps/stp_1')
  assert.equal(pageOf('job', 'job_1'), undefined)
  assert.equal(problemPage('silent_worker', 'command/hall 2'), '/governance/problems/silent_worker/command%2Fhall%202')
})

test('sources whose story the reader is not told are counted as hidden (UIG-3)', () => {
  const id = (n: number) => `7ecae46b-914e-858a-a66d-00000000000${n}`
  const items = [{ entity_id: id(1), key: `${id(1)}/000000000002` }]
  assert.equal(hiddenSources([`job:${id(1)}`, `job:${id(2)}`], items), 1)
  assert.equal(hiddenSources([`job:${id(1)}`], items), 0)
  assert.equal(hiddenSources(['heartbeat:command/scanner'], []), 0, 'what has no story is not hidden')
})
