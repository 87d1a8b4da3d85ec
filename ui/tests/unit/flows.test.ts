import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainOf, keyOf, withStep, withStepAfter, withoutStep } from '../../app/utils/flows/definition.ts'
import { diffCounts, diffItems } from '../../app/utils/flows/diff.ts'
import { failureOf } from '../../app/utils/flows/failure.ts'
import { folded } from '../../app/utils/flows/folded.ts'
import { idOf, uuidOf } from '../../app/utils/flows/ids.ts'
import { linkOf } from '../../app/utils/flows/links.ts'
import { inputWords, runName } from '../../app/utils/flows/run-name.ts'
import { needFields } from '../../app/utils/flows/needs.ts'
import { fieldsOf, valuesOf } from '../../app/utils/flows/schema.ts'

const step = (key: string) => ({ key, title: { en: key, vi: key } })
const chain = chainOf('trip', { en: 'Trip', vi: 'Chuyến đi' }, [step('plan'), step('insure'), step('file')])
const ways = (definition: { relations?: { from: string; to: string }[] }) => (definition.relations ?? []).map((one) => `${one.from}>${one.to}`)

test('a new workflow is a chain of its steps', () => {
  assert.deepEqual(ways(chain), ['plan>insure', 'insure>file'])
  assert.equal('relations' in chainOf('one', {}, [step('only')]), false, 'one step has no ways')
})

test('a step is put between another and what follows it, or beside', () => {
  assert.deepEqual(ways(withStepAfter(chain, 'plan', step('ask'), 'between')), ['ask>insure', 'insure>file', 'plan>ask'])
  assert.deepEqual(ways(withStepAfter(chain, 'plan', step('ask'), 'beside')), ['plan>insure', 'insure>file', 'plan>ask'])
  assert.deepEqual(withStepAfter(chain, 'plan', step('ask'), 'between').steps.map((one) => one.key), ['plan', 'ask', 'insure', 'file'])
})

test('ways lead past a step that goes, each once', () => {
  assert.deepEqual(ways(withoutStep(chain, 'insure')), ['plan>file'])
  const both = { ...chain, relations: [...chain.relations!, { from: 'plan', to: 'file' }] }
  assert.deepEqual(ways(withoutStep(both, 'insure')), ['plan>file'])
})

test('ways follow a step that is called otherwise', () => {
  assert.deepEqual(ways(withStep(chain, 'insure', step('insurance'))), ['plan>insurance', 'insurance>file'])
})

test('keys are made of titles without their marks', () => {
  assert.equal(keyOf('Kiểm tra đất đai (lần 2)'), 'kiem_tra_dat_dai_lan_2')
  assert.equal(keyOf('2 photographs'), 's_2_photographs')
})

test('a diff is one list, and its counts are those of the list', () => {
  const items = diffItems({
    workflow: 'trip', base_version: 1, current_version: 1, state: 'draft', runs_on_base: 2, fields: [],
    steps: { added: [step('ask')], removed: [], changed: [{ id: 'plan', fields: [{ field: 'deadline', old: '2 days', new: '3 days' }] }] },
    relations: { added: [{ from: 'plan', to: 'ask' }], removed: [{ from: 'plan', to: 'insure' }], changed: [] },
  })
  assert.deepEqual(items.map((item) => `${item.mark} ${item.name}`), ['changed plan', 'added ask', 'added plan → ask', 'removed plan → insure'])
  assert.deepEqual(diffCounts(items), { added: 1, removed: 0, changed: 1 }, 'steps alone, as the headline counts them')
  assert.deepEqual(diffCounts(items, 'relation'), { added: 1, removed: 1, changed: 0 })
  assert.equal(items[3]?.step, 'plan', 'a way that went is looked for where it began')
})

test('needs are fields, each once; what doors fill in is nobody’s to bring', () => {
  const { fields, others } = needFields([
    { code: 'RS006', guard: 'G-OUTPUT-CONTRACT', field: 'document', schema: { type: 'object' } },
    { code: 'RS006', guard: 'G-POSTCONDITION', field: 'document' },
    { code: 'RS006', guard: 'G-BLOCK-REASON', field: 'block_reason', values: [{ value: 'missing_iu', label: { en: 'A unit is missing.' } }] },
    { code: 'RS007', field: 'audit_ref' },
    { code: 'RS006', guard: 'G-UNKNOWN', means: 'Something else.' },
  ])
  assert.deepEqual(fields.map((field) => [field.name, field.kind]), [['document', 'document'], ['block_reason', 'choice']])
  assert.deepEqual(fields[0]?.schema, { type: 'object' })
  assert.equal(others.length, 1)
})

test('fields of a form become values of their kind', () => {
  const fields = fieldsOf({ type: 'object', required: ['cost', 'abroad'], properties: { note: { type: 'string' }, cost: { type: 'number' }, abroad: { type: 'boolean' }, kind: { type: 'string', enum: ['a', 'b'] } } })
  assert.deepEqual(fields.map((field) => field.name), ['cost', 'abroad', 'note', 'kind'])
  assert.deepEqual(valuesOf(fields, { cost: 120, abroad: false, note: '', kind: 'b' }), { cost: 120, abroad: false, kind: 'b' })
})

test('many alike moves of one moment are one line', () => {
  const move = (entity_id: string, at: string) => ({ at, source: 'log', key: entity_id, entity_kind: 'step', entity_id, to: 'not_started', principal: 'chancery', signed: false })
  const folds = folded([move('a', '2026-01-01T00:00:00Z'), move('b', '2026-01-01T00:00:01Z'), move('c', '2026-01-01T00:01:00Z')])
  assert.deepEqual(folds.map((fold) => fold.all.length), [2, 1])
})

test('a failure tells its reason and its job, the newest one (UIX-7)', () => {
  const job = '6d7a4573-f0c5-8dbb-ac2e-705e9acfd3e1'
  const move = (call: string, evidence: object) => ({ call, to: 'x', at: call, evidence })
  assert.equal(failureOf([move('step_claim', { audit_ref: `job:${job}#1` })]), undefined)
  assert.deepEqual(failureOf([
    move('executor_failure', { audit_ref: 'job:00000000-0000-8000-a000-000000000000#1', detail: 'an older one' }),
    move('retry_attempt', { audit_ref: `job:${job}#2` }),
    move('executor_failure', { audit_ref: `job:${job}#2`, detail: 'scanner ended with 100' }),
  ]), { at: 'executor_failure', detail: 'scanner ended with 100', job })
  assert.deepEqual(failureOf([move('step_claim', { audit_ref: `job:${job}#1` }), move('executor_failure', { audit_ref: 'dead_letter:x/1' })])?.job, job, 'a lease that was lost is found where it began')
})

test('ids lead to the pages of what they name', () => {
  const uuid = '01a1e476-9cd5-7212-be2a-4ad60882c3a9'
  assert.equal(uuidOf(idOf('wfr', uuid)), uuid)
  assert.equal(linkOf('', idOf('stp', uuid)), `/steps/${idOf('stp', uuid)}`)
  assert.equal(linkOf('run_id', `ictr-20261116T130541Z-${uuid}`), `/orchestrator/${idOf('orc', uuid)}`)
  assert.equal(linkOf('approval_id', uuid), `/approvals/${idOf('apr', uuid)}`)
  assert.equal(linkOf('note', 'nothing'), undefined)
})

test('runs of one workflow are told apart by what they were begun with', () => {
  assert.equal(runName('Building permit', { applicant: 'Trần Thị Mai', floors: 3 }, 'today'), 'Building permit · Trần Thị Mai · 3')
  assert.equal(runName('Digitise', {}, '19 Nov, 20:30'), 'Digitise · 19 Nov, 20:30')
  assert.equal(inputWords({ document: '01a1e476-9cd5-7212-be2a-4ad60882c3a9', digest: 'a'.repeat(64) }), '', 'ids and hashes tell people nothing')
  assert.equal([...inputWords({ note: 'đ'.repeat(900) })].length, 48)
})
