// Where each form is, and what has to be there for it. A form that is new in the UI has to come here: tests/unit/forms.test.ts compares the names.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { id, until } from '../place.mjs'

const PURCHASE = join(import.meta.dirname, '../../../../machines/examples/purchase_approval.yaml')

const OUTPUT = {
  type: 'object', required: ['verdict', 'plots'], additionalProperties: false,
  properties: {
    verdict: { type: 'string', minLength: 2, maxLength: 40 }, score: { type: 'integer', minimum: 0 },
    plots: { type: 'array', minItems: 1, items: { type: 'object', required: ['area'], properties: { area: { type: 'number' } } } },
  },
}

/** A workflow that nobody is going to start. */
export const unwanted = (place) => ({
  workflow: place.fresh('draft'), title: { en: 'Given up', vi: 'Bỏ đi' }, steps: [{ key: 'open', title: { en: 'Open', vi: 'Mở' }, pic: { starter: true } }], relations: [],
})

/** A change that nobody has handed in yet. */
export async function drafted(place, definition) {
  const file = join(place.home, `${definition.workflow}.json`)
  writeFileSync(file, JSON.stringify(definition))
  return place.cli('workflow', 'propose', file, '--as', 'lan')
}

async function adopt(place, definition) {
  const change = await drafted(place, definition)
  await place.cli('workflow', 'submit', change, '--as', 'lan')
  await place.cli('workflow', 'approve', change, '--class', 'sovereign', '--as', 'hoa')
  await place.cli('workflow', 'merge', change, '--as', 'lan')
}

export async function begun(place, workflow) {
  const run = await place.cli('workflow', 'start', workflow, '--input', '{"applicant":"Lan"}', '--as', 'lan')
  const step = await until('its first step is ready', async () => (await place.json('step', 'list', run)).find((one) => one.path === 'open' && one.state_code === 'ready'))
  await place.cli('step', 'claim', run, 'open', '--as', 'lan')
  return { run, step: id('stp', step.run_id) }
}

/** A workflow with inputs, an output that has an inside, and a deadline. */
export async function formsWorkflow(place) {
  const workflow = place.fresh('forms')
  await adopt(place, {
    workflow, title: { en: 'A form for everything', vi: 'Biểu mẫu cho mọi việc' },
    inputs: { type: 'object', required: ['applicant'], properties: { applicant: { type: 'string' }, floors: { type: 'integer', minimum: 1 }, plots: { type: 'array', items: { type: 'object' } } } },
    steps: [
      { key: 'open', title: { en: 'Open', vi: 'Mở' }, pic: { starter: true }, deadline: '2 days', output: OUTPUT },
      { key: 'shut', title: { en: 'Shut', vi: 'Đóng' }, pic: { starter: true } },
    ],
    relations: [{ from: 'open', to: 'shut' }],
  })
  return workflow
}

/** What the forms are about, made with the command line. */
export async function world(place) {
  const workflow = await formsWorkflow(place)
  const doing = await begun(place, workflow)
  const waiting = await begun(place, workflow)
  await place.cli('step', 'wait', waiting.run, 'open', '--for', 'lan', '--as', 'lan')
  const blocked = await begun(place, workflow)
  await place.cli('step', 'block', blocked.run, 'open', '--because', 'missing_input', '--as', 'lan')
  const key = place.fresh('letter')
  const job = await place.cli('queue', 'add', '--class', 'command', '--kind', 'thumbnail', '--key', key, '--payload', '{"program":"nowhere_to_be_found"}', '--max-attempts', '1', '--as', 'lan')
  await until('the job is dead', async () => (await place.json('queue', 'dead', 'list')).some((one) => one.job_id === job))
  const table = place.fresh('shelf')
  await place.cli('db', 'psql', '--admin', '--', '-qc', `create table public.${table} (code text primary key, title text)`)
  const request = await place.cli('approval', 'request', '--kind', 'block_escalation', '--subject', doing.run, '--title', 'A block that is worse', '--as', 'lan')
  await place.cli('birth', 'protect', `public.${table}`, '--code', 'code', '--enforce', '--ttl', '86400', '--as', 'lan')
  const codes = join(place.home, `${table}.txt`)
  writeFileSync(codes, 'S-1\n')
  await place.cli('birth', 'batch', '--collection', `public.${table}`, '--file', codes, '--as', 'lan')
  const entry = (await place.json('cutter', 'list')).find((one) => one.status === 'review_pending')
  const gate = await until('a run stands at a gate', async () => (await place.json('cutter', 'orchestrate', 'list')).find((one) => one.state.startsWith('awaiting_')))
  const { run: { run_uuid: stands } } = await place.json('cutter', 'orchestrate', 'status', '--run-id', gate.run_id)
  const change = await drafted(place, unwanted(place))
  // Its worker ticks all the time, so it is never among the silent ones that others look at.
  await place.cli('queue', 'freeze', 'noop', '--reason', 'nothing is to be begun', '--class', 'reviewer', '--as', 'minh')
  const token = place.fresh('token')
  await place.cli('token', 'new', 'lan', '--label', token, '--scope', 'self.read')
  await place.cli('machine', 'apply', PURCHASE)
  const custom = await place.cli('run', 'start', '--machine', 'purchase_approval', '--data', '{"amount":1}', '--as', 'lan')
  return {
    workflow, doing, waiting, blocked, job: id('job', job), table, approval: id('apr', request), entry: id('ent', entry.entry_id), gate: id('orc', stands),
    change: id('chg', change), token, machine: 'purchase_approval', custom: id('run', custom),
  }
}

const onStep = (call) => async (person, { doing }) => {
  await person.go(`/steps/${doing.step}`)
  await person.press(person.button(`flows.call.${call}`).first())
}
const onFinding = (call) => async (person) => {
  const { items } = await (await person.context.request.get('/v1/problems/silent_worker')).json()
  await person.go(`/governance/problems/silent_worker/${encodeURIComponent(items[0].item_id)}`)
  await person.press(person.button(`gov.finding.${call}`))
}
const onWorkers = (call) => async (person) => {
  await person.go('/workers')
  await person.press(person.button(`gov.worker.${call}`).first())
}
const editing = (button) => async (person, { workflow }) => {
  await person.go(`/workflows/${workflow}?propose=1&step=open&view=outline`)
  await person.press(person.button(`flows.edit.${button}`))
}

export const FORMS = {
  'start-run': { who: 'lan', open: (person, { workflow }) => person.go(`/workflows/${workflow}?start=1`) },
  // Deeper than fields go: a member of a member, at the field that holds it.
  'move': { who: 'lan', open: onStep('complete'), also: [
    { what: 'wrong type inside', field: 1, value: '[{"area": "wide"}]', key: 'shell.field.type_number' },
    { what: 'lacks a member', field: 1, value: '[{}]', key: 'shell.field.lacks' },
  ] },
  'extend': { who: 'lan', open: onStep('extend') },
  'note': { who: 'lan', open: (person, { doing }) => person.go(`/steps/${doing.step}?part=notes`) },
  'answer-wait': { who: 'lan', async open(person, { waiting }) {
    await person.go(`/steps/${waiting.step}`)
    await person.press(person.button('flows.wait.answer').first())
  } },
  'escalate-block': { who: 'lan', async open(person, { blocked }) {
    await person.go(`/steps/${blocked.step}`)
    await person.press(person.button('flows.call.escalate_block').first())
  } },
  'move-run': { who: 'minh', async open(person, { doing }) {
    await person.go(`/runs/${id('wfr', doing.run)}`)
    await person.press(person.button('flows.call.pause').first())
    await person.page.locator('form[data-form="move-run"]').waitFor()
  } },
  'step': { who: 'lan', open: editing('do_edit') },
  'definition-text': { who: 'lan', open: editing('do_text'), also: [{ what: 'broken YAML', field: 1, value: 'steps:\n  - key: [a\nx: y', key: 'flows.form.unreadable_at' }, { what: 'no object', field: 1, value: '- a', key: 'flows.form.not_object' }] },
  // Before the draft that takes the step away.
  'remove-step': { who: 'lan', asksNothing: true, open: editing('do_remove') },
  'save-draft': { who: 'lan', async open(person, made) {
    await editing('do_remove')(person, made)
    await person.press(person.button('flows.edit.do_remove').last())
  } },
  'new-workflow': { who: 'lan', open: (person) => person.go('/changes/new') },
  'withdraw-change': { who: 'lan', async open(person, { change }) {
    await person.go(`/changes/${change}`)
    await person.press(person.button('flows.call.change_withdraw'))
  } },
  'propose-replay': { who: 'lan', open: (person, { job }) => person.go(`/replays/new?jobs=${job},${job}`) },
  'dismiss-letter': { who: 'minh', async open(person, { job }) {
    await person.go(`/governance/problems/dlq/${job}`)
    await person.press(person.button('gov.letter.dismiss').first())
  } },
  'vote': { who: 'minh', open: (person, { approval }) => person.go(`/approvals/${approval}`) },
  'ask-permit': { who: 'lan', async open(person) {
    await person.go('/permits')
    await person.press(person.button('rooms.permit.ask').first())
  } },
  'sign-document': { who: 'lan', async open(person) {
    await person.go('/kb/handbook/onboarding')
    await person.press(person.button('rooms.kb.sign').first())
  } },
  'password': { who: 'lan', open: (person) => person.go('/keys') },
  'new-token': { who: 'lan', async open(person) {
    await person.go('/keys')
    await person.press(person.button('shell.own.new_token').first())
  } },
  'answer-inbox': { who: 'lan', async open(person, { waiting }) {
    await person.go('/inbox')
    const row = person.page.locator('main li').filter({ has: person.page.locator(`a[href="/runs/${id('wfr', waiting.run)}"]`) })
    await person.press(row.getByRole('button', { name: person.word('gov.inbox.answer') }))
  } },
  'abandon-entry': { who: 'hoa', async open(person, { entry }) {
    await person.go(`/entries/${entry}`)
    await person.press(person.button('rooms.entry.abandon'))
  } },
  'revoke-permit': { who: 'minh', async open(person, { table }) {
    const { items } = await (await person.context.request.get('/v1/births/permits?limit=200')).json()
    await person.go(`/permits/${items.find((one) => one.collection.endsWith(table)).permit_id}`)
    await person.press(person.button('rooms.permit.revoke'))
  } },
  'stop-run': { who: 'hoa', async open(person, { gate }) {
    await person.go(`/orchestrator/${gate}`)
    await person.press(person.button('rooms.run.stop'))
  } },
  'revoke-token': { who: 'lan', async open(person, { token }) {
    await person.go('/keys')
    await person.press(person.page.locator('main tr').filter({ hasText: token }).getByRole('button', { name: person.word('shell.own.revoke') }))
  } },
  'start-custom-run': { who: 'lan', async open(person, { machine }) {
    await person.go(`/machines/${machine}?tab=runs`)
    await person.press(person.button('rooms.machine.start'))
  } },
  'custom-move': { who: 'lan', async open(person, { machine, custom }) {
    await person.go(`/machines/${machine}/runs/${custom}`)
    await person.press(person.page.locator('main .actions button:not([aria-disabled=true])').first())
  } },
  'freeze': { who: 'minh', open: onWorkers('freeze') },
  'thaw': { who: 'minh', open: onWorkers('thaw') },
  'issue-acknowledge': { who: 'minh', open: onFinding('issue_acknowledge') },
  'issue-resolve': { who: 'minh', open: onFinding('issue_resolve') },
  'sign-in-again': { who: 'minh', async open(person) {
    await person.go('/runs')
    const cookies = await person.context.cookies()
    await person.context.clearCookies()
    // The sheet may be there already, for what the page asks by itself; then it covers the link.
    await person.page.locator('#rail a[href="/workflows"]').evaluate((link) => link.click())
    await person.page.locator('form[data-form="sign-in-again"]').waitFor()
    // Whoever comes after this form is signed in.
    await person.context.addCookies(cookies)
  } },
  // Last, because it signs out whoever opens it.
  'sign-in': { who: 'lan', async open(person) {
    await person.context.clearCookies()
    await person.page.goto('/sign-in')
  } },
}
