// What one person does alone.
import { join } from 'node:path'
import { id, until } from '../place.mjs'
import { adopt } from './decide.mjs'

/** From a run to the text that a step works on. */
export async function drillDown({ as, place }) {
  const minh = await as('minh')
  const run = (await place.json('workflow', 'status', '--workflow', 'building_permit'))[0].workflow_run_id
  await minh.go('/runs')
  await minh.press(minh.page.locator(`main a[href*="${id('wfr', run)}"]`).first())
  await minh.page.waitForURL(`**/runs/${id('wfr', run)}**`)
  await minh.settled()
  const title = minh.language === 'vi' ? 'Kiểm tra thực địa' : 'Visit the site'
  await minh.write(minh.page.getByRole('combobox', { name: minh.word('graph.search') }), title)
  await minh.page.getByRole('option', { name: title }).first().waitFor()
  await minh.page.keyboard.press('Enter')
  await minh.page.getByRole('application').press('Enter')
  const unit = minh.page.locator('a[href*="/units/"]').first()
  await minh.press(unit)
  await minh.page.waitForURL('**/units/**')
  await minh.sees('Quy chế này quy định')
  await minh.sees(minh.word('rooms.unit.hash_fits'))
}

/** A task is taken up and completed. */
export async function doATask({ as, place }) {
  const lan = await as('lan')
  const workflow = await adopt(place)
  const run = await place.cli('workflow', 'start', workflow, '--as', 'lan')
  const reach = (key, state) => until(`${key} is ${state}`, async () => (await place.json('step', 'list', run)).some((one) => one.path === key && one.state_code === state))
  await reach('open', 'ready')
  await place.cli('step', 'claim', run, 'open', '--as', 'lan')
  await place.cli('step', 'complete', run, 'open', '--as', 'lan')
  await reach('look/count', 'ready')
  await place.cli('step', 'claim', run, 'look', '--as', 'lan')
  const task = (await place.json('step', 'list', run)).find((one) => one.path === 'look/count')

  await lan.go(`/tasks/${id('tsk', task.run_id)}`)
  for (const [call, state] of [['claim', 'in_progress'], ['complete', 'completed']]) {
    const form = lan.page.locator('main form.move')
    await lan.press(lan.button(`flows.call.${call}`).first())
    // What has to be told goes into a form; what has not is signed at once.
    await form.or(lan.page.locator('[data-sign]')).first().waitFor()
    if (await form.count() > 0) await lan.press(form.getByRole('button', { name: lan.word(`flows.call.${call}`) }))
    await lan.sign(lan.page.locator('main').getByText(await lan.label('task', state)))
  }
  await reach('look/count', 'completed')
  await lan.sees(await lan.label('task', 'completed'))
}

/** A table is protected; a permit for it is asked for in the browser and runs out before one's eyes. */
export async function watchAPermit({ as, place }) {
  const lan = await as('lan')
  const table = place.fresh('shelf')
  await place.cli('db', 'psql', '--admin', '--', '-qc', `create table public.${table} (code text primary key, title text)`)
  await place.cli('birth', 'protect', `public.${table}`, '--code', 'code', '--name-column', 'title', '--enforce', '--ttl', '20', '--as', 'lan')
  await lan.go('/permits')
  await lan.press(lan.button('rooms.permit.ask'))
  await lan.choose(lan.page.locator('main form:not([role=search])').getByRole('combobox', { name: lan.word('rooms.permit.table', { whole: false }) }), `public.${table}`)
  await lan.write(lan.page.locator('main form:not([role=search])').getByRole('textbox', { name: lan.word('rooms.permit.code', { whole: false }) }).first(), 'S-1')
  await lan.press(lan.page.locator('main form:not([role=search])').getByRole('button', { name: lan.word('rooms.permit.ask') }))
  await lan.sign(lan.page.locator('main').getByText('S-1'))
  await until('the permit is there', async () => (await place.json('birth', 'status', `public.${table}`)).permits?.length > 0)
  // The page may still be on its way to the permit; whoever is left on the list follows the link.
  const link = lan.page.locator('main a[href^="/permits/"]').filter({ hasText: 'S-1' }).first()
  const there = lan.page.waitForURL(/\/permits\/[a-z]+_/)
  await Promise.race([there, link.waitFor()])
  if (!/\/permits\/[a-z]+_/.test(lan.page.url())) await lan.press(link).catch(() => {})
  await there
  await lan.settled()
  await lan.page.locator('main [aria-current=step]').filter({ hasText: await lan.label('birth_permit', 'EXPIRED') }).waitFor({ timeout: 60_000 })
}

/** A file that proves an entry is checked in the browser, and a file that somebody changed is found out. */
export async function verifyABundle({ as, place }) {
  const thu = await as('thu')
  const file = join(place.home, `${place.fresh('entry')}.bundle`)
  await place.cli('audit', 'export', 'records-policy', '-o', file)
  await thu.go('/audit')
  await thu.press(thu.button('rooms.audit.bundle'))
  const chooser = thu.page.waitForEvent('filechooser')
  await thu.press(thu.page.locator('main button[data-primary]').first())
  await (await chooser).setFiles(file)
  await thu.sees(thu.word('rooms.bundle.fits'))
}

/** A step is found by its Vietnamese name, typed without any marks. */
export async function findWithoutDiacritics({ as }) {
  const lan = await as('lan')
  await lan.go('/runs')
  if (lan.by === 'mouse') await lan.press(lan.page.getByRole('button', { name: lan.word('shell.search.open', { whole: false }) }).first())
  else await lan.page.keyboard.press('/')
  const box = lan.page.getByRole('combobox', { name: lan.word('shell.search.title') })
  await box.waitFor()
  await lan.page.keyboard.type('kiem tra anh quet xa ky anh')
  const title = lan.language === 'vi' ? 'Kiểm tra ảnh quét xã Kỳ Anh' : 'Check the scans, Kỳ Anh'
  const hit = lan.page.getByRole('option').filter({ hasText: title }).first()
  await hit.waitFor()
  if (lan.by === 'mouse') await hit.click()
  else await lan.page.keyboard.press('Enter')
  await lan.page.waitForURL(/step|steps/)
  await lan.page.getByText(title).first().waitFor()
}
