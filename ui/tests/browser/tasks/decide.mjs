// What takes two people.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { id, until } from '../place.mjs'

/** A dead letter runs again: one proposes, another approves, the first runs it, and all see what came of it. */
export async function approveAReplay({ as, place }) {
  const [lan, minh] = [await as('lan'), await as('minh')]
  const key = place.fresh('letter')
  const payload = JSON.stringify({ program: 'nowhere_to_be_found' })
  const job = await place.cli('queue', 'add', '--class', 'command', '--kind', 'thumbnail', '--key', key, '--payload', payload, '--max-attempts', '1', '--as', 'lan')
  await until('the job is dead', async () => (await place.json('queue', 'show', job)).job?.state === 'dead_letter' || (await place.json('queue', 'dead', 'list')).some((one) => one.job_id === job))

  await lan.go(`/governance/problems/dlq/${id('job', job)}`)
  await lan.press(lan.link('gov.letter.propose'))
  await lan.page.waitForURL('**/replays/new**')
  await lan.write(lan.page.getByRole('textbox', { name: lan.word('gov.propose.reason', { whole: false }) }), 'it is there now')
  await lan.press(lan.button('gov.propose.do'))
  await lan.sign(lan.page.getByText(lan.word('gov.replay.stage.proposed')))
  await lan.page.waitForURL(/\/replays\/(?!new)/)
  await lan.settled()
  const replay = new URL(lan.page.url()).pathname

  await minh.go('/inbox')
  const title = minh.page.locator('main li').filter({ hasText: job }).first()
  await minh.press(title.getByRole('link').last())
  await minh.press(minh.button('gov.approval.do.approve'))
  await minh.sign(minh.page.getByText(minh.word('gov.approval.state.approved')))

  // The other one's page hears of it by itself.
  await lan.press(lan.button('gov.replay.run'))
  await lan.sees(lan.word('gov.replay.outcome.dead_letter'), 60)
  if (new URL(lan.page.url()).pathname !== replay) throw new Error('the outcome stands on another page')
}

/** A run of the orchestrator stops at a sovereign gate, is authorised, and goes on before the reader's eyes. */
export async function passAGate({ as, place }) {
  const hoa = await as('hoa')
  const document = place.fresh('gate').replaceAll('_', '-')
  const file = join(place.home, `${document}.md`)
  writeFileSync(file, `# ${document}\n\nWhat it says.\n\n# More\n\nWhat else it says.\n`)
  await place.cli('doc', 'add', file, '--id', document, '--prefix', document.toUpperCase(), '--as', 'lan')
  await place.cli('workflow', 'start', 'cut_a_document', '--input', JSON.stringify({ document }), '--as', 'lan')
  const run = await until('the run stands at its gate', async () =>
    (await place.json('cutter', 'orchestrate', 'list')).find((one) => one.document_id === document && one.state === 'awaiting_cut_authorization'), 60)

  await hoa.go('/inbox')
  await hoa.press(hoa.page.locator('main li').filter({ hasText: run.run_id }).getByRole('link').last())
  await hoa.page.getByText(hoa.word('gov.approval.what')).first().waitFor()
  const { run: { run_uuid: orchestrated } } = await place.json('cutter', 'orchestrate', 'status', '--run-id', run.run_id)
  await hoa.go(`/orchestrator/${id('orc', orchestrated)}`)
  const passed = hoa.page.locator('main [aria-current=step]').filter({ hasText: await hoa.label('orchestrator_run', 'awaiting_lifecycle_authorization') })
  // A gate is passed behind the reviewers' own login, which the server has not: the page names the command for who has it.
  const command = hoa.page.locator('main').getByText(/cutter orchestrate approve --run-id/).last()
  await command.waitFor()
  const words = (await command.textContent()).trim().replace(/^chancery /, '').replace(/--as \S+|--show/, '').split(/\s+/).filter(Boolean)
  await place.cli(...words, '--as', 'hoa')
  // The worker goes on by itself, and so does the page: the second gate is asked for next.
  await passed.waitFor({ timeout: 90_000 })
}

const flow = (name) => ({
  workflow: name,
  title: { en: 'A walk through the archive', vi: 'Một vòng kho lưu trữ' },
  steps: [
    { key: 'open', title: { en: 'Open the door', vi: 'Mở cửa' }, pic: { starter: true } },
    { key: 'look', title: { en: 'Look around', vi: 'Nhìn quanh' }, pic: { starter: true }, tasks: [{ key: 'count', title: { en: 'Count the shelves', vi: 'Đếm giá' }, pic: { class: 'task_pic_human' } }] },
  ],
  relations: [{ from: 'open', to: 'look' }],
})

/** A workflow of two steps that can be started, under a name of its own. */
export async function adopt(place) {
  const name = place.fresh('walk')
  const file = join(place.home, `${name}.json`)
  writeFileSync(file, JSON.stringify(flow(name)))
  const change = await place.cli('workflow', 'propose', file, '--as', 'lan')
  await place.cli('workflow', 'submit', change, '--as', 'lan')
  await place.cli('workflow', 'approve', change, '--class', 'sovereign', '--as', 'hoa')
  await place.cli('workflow', 'merge', change, '--as', 'lan')
  return name
}

/** A step is added to a workflow: written in the browser, compared, approved by somebody else, merged. */
export async function changeAWorkflow({ as, place }) {
  const [lan, hoa] = [await as('lan'), await as('hoa')]
  const name = await adopt(place)
  await lan.go(`/workflows/${name}?propose=1&step=look&view=outline`)
  await lan.press(lan.button('flows.edit.do_after'))
  await lan.write(lan.page.getByLabel(lan.word('flows.field.title_en', { whole: false })), 'Close the door')
  await lan.write(lan.page.getByLabel(lan.word('flows.field.title_vi', { whole: false })), 'Đóng cửa')
  await lan.press(lan.button('flows.edit.apply'))
  await lan.write(lan.page.getByLabel(lan.word('flows.edit.what_for', { whole: false })), `close it, ${name}`)
  await lan.press(lan.button('flows.edit.save'))
  await lan.sign(lan.button('flows.call.change_submit'))
  await lan.page.waitForURL('**/changes/**')
  await lan.settled()
  const closing = lan.language === 'vi' ? 'Đóng cửa' : 'Close the door'
  await lan.page.getByRole('region', { name: lan.word('flows.diff.title') }).getByText(closing).first().waitFor()
  await lan.press(lan.button('flows.call.change_submit'))
  await lan.sign(lan.page.getByText(lan.word('flows.quorum.state.pending')))

  await hoa.go(new URL(lan.page.url()).pathname)
  await hoa.page.getByRole('region', { name: hoa.word('flows.diff.title') }).getByText(closing).first().waitFor()
  await hoa.press(hoa.primary())
  await hoa.page.waitForURL('**/approvals/**')
  await hoa.press(hoa.button('gov.approval.do.approve'))
  await hoa.sign(hoa.page.getByText(hoa.word('gov.approval.state.approved')))

  // The writer's page hears of it by itself.
  await lan.press(lan.page.locator('main button[data-primary]').filter({ hasText: lan.word('flows.call.change_merge') }))
  await lan.sign(lan.link('flows.change.to_workflow'))
  await lan.press(lan.link('flows.change.to_workflow'))
  await lan.page.waitForURL(`**/workflows/${name}**`)
  await lan.settled()
  await until('the second version counts', async () => (await place.json('workflow', 'list')).find((one) => one.workflow === name).version === 2)
}
