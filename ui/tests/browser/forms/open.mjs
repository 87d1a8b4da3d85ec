// Where each form is, and what has to be there for it. A form that is new in the UI has to come here: tests/unit/forms.test.ts compares the names.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { id, until } from '../place.mjs'

const OUTPUT = {
  type: 'object', required: ['verdict', 'plots'], additionalProperties: false,
  properties: {
    verdict: { type: 'string', minLength: 2, maxLength: 40 }, score: { type: 'integer', minimum: 0 },
    plots: { type: 'array', minItems: 1, items: { type: 'object', required: ['area'], properties: { area: { type: 'number' } } } },
  },
}

async function adopt(place, definition) {
  const file = join(place.home, `${definition.workflow}.json`)
  writeFileSync(file, JSON.stringify(definition))
  const change = await place.cli('workflow', 'propose', file, '--as', 'lan')
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
  await place.cli('birth', 'protect', `public.${table}`, '--code', 'code', '--enforce', '--as', 'lan')
  const request = await place.cli('approval', 'request', '--kind', 'block_escalation', '--subject', doing.run, '--title', 'A block that is worse', '--as', 'lan')
  return { workflow, doing, waiting, blocked, job: id('job', job), table, approval: id('apr', request) }
}

const onStep = (call) => async (person, { doing }) => {
  await person.go(`/steps/${doing.step}`)
  await person.press(person.button(`flows.call.${call}`).first())
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
  'save-draft': { who: 'lan', async open(person, made) {
    await editing('do_remove')(person, made)
    await person.press(person.button('flows.edit.do_remove').last())
  } },
  'new-workflow': { who: 'lan', open: (person) => person.go('/changes/new') },
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
  'sign-in': { who: 'lan', async open(person) {
    await person.context.clearCookies()
    await person.page.goto('/sign-in')
  } },
}

/** Forms that are not opened here, each with its reason. */
export const NOT_OPENED = {
  'remove-step': 'it asks for nothing',
  'answer-inbox': 'one field, as answer-wait has it',
  'abandon-entry': 'a reason alone, as move-run asks for one',
  'revoke-permit': 'a reason alone',
  'stop-run': 'a reason alone',
  'revoke-token': 'a reason alone',
  'start-custom-run': 'the same JSON field as custom-move; its check is in tests/unit/forms.test.ts',
  'custom-move': 'wants a machine of one’s own; its check is in tests/unit/forms.test.ts',
  'issue-acknowledge': 'a reason alone',
  freeze: 'a reason alone',
  thaw: 'a reason alone',
  'withdraw-change': 'a reason alone',
  'issue-resolve': 'a reason alone',
  'sign-in-again': 'the fields of sign-in, opened where a session ends',
}
