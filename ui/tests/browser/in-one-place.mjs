// What belongs together stands together, and is said once: a failure with its way on, a lost connection, the counts of a change; nobody is shown
// a form that is refused at its end.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { adopt } from './tasks/decide.mjs'
import { Person } from './person.mjs'
import { id } from './place.mjs'

export async function inOnePlace({ claim, place, base, browser, languages }) {
  const archive = (await place.json('workflow', 'status', '--workflow', 'archive_digitisation'))[0].workflow_run_id
  const failed = (await place.json('step', 'list', archive)).find((one) => one.state_code === 'failed')
  const name = await adopt(place)
  const file = join(place.home, `${name}_2.json`)
  writeFileSync(file, JSON.stringify({
    workflow: name, title: { en: 'A walk through the archive', vi: 'Một vòng kho lưu trữ' },
    steps: [
      { key: 'open', title: { en: 'Open both doors', vi: 'Mở hai cửa' }, pic: { starter: true } },
      { key: 'look', title: { en: 'Look around', vi: 'Nhìn quanh' }, pic: { starter: true }, tasks: [{ key: 'count', title: { en: 'Count the shelves', vi: 'Đếm giá' }, pic: { class: 'task_pic_human' } }] },
      { key: 'shut', title: { en: 'Shut', vi: 'Đóng' }, pic: { starter: true } }, { key: 'lock', title: { en: 'Lock', vi: 'Khóa' }, pic: { starter: true } },
    ],
    relations: [{ from: 'open', to: 'look' }, { from: 'look', to: 'shut' }, { from: 'shut', to: 'lock' }],
  }))
  const change = await place.cli('workflow', 'propose', file, '--as', 'lan')

  for (const language of languages) {
    const who = (person, more = {}) => Person.arrive({ browser, place, base, name: person, language, by: 'mouse', key: false, ...more })
    const [lan, thu] = [await who('lan'), await who('thu')]
    const { page } = lan

    await claim(`a failure has its reason, its dead letter and the way to a replay · ${language}`, async () => {
      for (const path of [`/steps/${id('stp', failed.run_id)}`, `/runs/${id('wfr', archive)}?step=${id('stp', failed.run_id)}`]) {
        await lan.go(path)
        const place_ = page.getByRole('region', { name: lan.word('flows.failure.title') })
        await place_.getByText('scanner ended with 100').waitFor()
        await place_.locator('[data-state=dead_letter]').waitFor()
        await lan.press(place_.getByRole('button', { name: lan.word('gov.letter.propose') }))
        await page.waitForURL('**/replays/new?jobs=job_**')
        await page.locator('form[data-form="propose-replay"]').waitFor()
      }
    })
    await claim(`who may not is shown no form, and why · ${language}`, async () => {
      for (const [path, permission] of [['/changes/new', 'workflow.propose'], [`/replays/new?jobs=job_${'a'.repeat(32)}`, 'queue.replay']]) {
        await thu.go(path)
        await thu.page.locator('main').getByText(permission).waitFor()
        if (await thu.page.locator('main form:not([role=search])').count() > 0) throw new Error(`${path} has a form`)
      }
      await thu.go(`/steps/${id('stp', failed.run_id)}`)
      const button = thu.page.getByRole('button', { name: thu.word('gov.letter.propose') })
      await button.waitFor()
      if (await button.getAttribute('aria-disabled') !== 'true') throw new Error('an observer may propose')
    })
    await claim(`why not is a sentence that says who can · ${language}`, async () => {
      const { items } = await (await thu.context.request.get('/v1/births/permits')).json()
      // Also before the server's sentences have come, no word for programs stands there.
      for (const late of [true, false]) {
        await thu.turnThePage()
        if (late) await thu.page.route('**/v1/words**', (route) => route.abort())
        await thu.go(`/permits/${items[0].permit_id}`)
        const why = thu.page.locator('main .action .against').first()
        await why.waitFor()
        const said = (await why.textContent()).trim()
        if (/^\w+_\w+$/.test(said) || !thu.word('shell.reason.class', { whole: false }).test(said)) throw new Error(`it says “${said}”`)
      }
    })
    await claim(`a collapsed group shows the step that decides it · ${language}`, async () => {
      const graph = await (await lan.context.request.get(`/v1/workflow-runs/${id('wfr', archive)}/graph?width=1280&height=800&lanes=false`)).json()
      await lan.go(`/runs/${id('wfr', archive)}?lanes=off&collapse=${graph.groups.map((one) => one.key).join(',')}`)
      const said = await lan.label('step', 'failed')
      await page.locator(`.g-group.g-stated[aria-label*="${said}"]`).first().waitFor()
      const bare = await page.locator('.g-group:not(.g-stated)').count()
      if (bare > 0) throw new Error(`${bare} groups have neither colour nor silhouette`)
    })
    await claim(`the map is never over the card one is on, and a list of ways goes with its step · ${language}`, async () => {
      await lan.go(`/runs/${id('wfr', archive)}`)
      const graph = page.getByRole('application')
      await graph.focus()
      let lists = 0
      for (const key of ['Home', ...Array(10).fill(['ArrowRight', 'ArrowDown']).flat(), 'End', ...Array(6).fill('ArrowUp')]) {
        await page.keyboard.press(key)
        if (await page.locator('.choices').count() > 0) {
          lists++
          // Somewhere else by another way: the list would lead from there.
          if (lists === 1) {
            await page.keyboard.press('e')
            await page.locator('.choices').waitFor({ state: 'detached' })
            await graph.focus()
            continue
          }
          await page.keyboard.press('Enter')
        }
        await page.waitForFunction(() => {
          const [card, map] = ['.g-cursor', '.map'].map((one) => document.querySelector(one))
          if (!card || !map || map.style.display === 'none') return true
          const [a, b] = [card.getBoundingClientRect(), map.getBoundingClientRect()]
          return b.width === 0 || a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top
        }, undefined, { timeout: 3000 })
      }
      if (lists === 0) throw new Error('no step had several that follow it')
    })
    await claim(`the counts of a change agree · ${language}`, async () => {
      await lan.go(`/changes/${id('chg', change)}`)
      await page.locator('[data-counts=step]').waitFor()
      const counts = await page.locator('[data-counts=step] .badge').allTextContents()
      const marks = await page.locator('.tools > .badge').allTextContents()
      const numbers = (texts) => texts.map((text) => Number(/\d+/.exec(text)?.[0])).sort().join()
      if (numbers(counts) !== numbers(marks) || numbers(counts) !== '0,1,2') throw new Error(`the list says ${counts}, the picture ${marks}`)
    })
    await claim(`a lost connection is told once · ${language}`, async () => {
      const alone = await who('lan')
      await alone.context.route('**/v1/**', (route) => (new URL(route.request().url()).pathname === '/v1/me' ? route.fallback() : route.abort()))
      for (const path of ['/runs', `/steps/${id('stp', failed.run_id)}`, '/workflows/building_permit', '/inbox']) {
        await alone.page.goto(path)
        const told = alone.page.locator('main').getByText(alone.word('shell.problem.unreachable.title'))
        await told.first().waitFor()
        await alone.page.waitForFunction(() => !document.querySelector('main [aria-busy=true]')).catch(() => {})
        if (await told.count() !== 1) throw new Error(`${path} tells it ${await told.count()} times`)
      }
      await alone.leave()
    })
    await claim(`a browser without a key says so; the diagram of a machine zooms · ${language}`, async () => {
      await lan.go('/keys')
      await page.locator('[data-none-here]').waitFor()
      await lan.go('/machines/step')
      const before = await page.locator('figure .frame > svg').evaluate((one) => one.getBoundingClientRect().width)
      await lan.press(page.locator('figure .zoom button').first())
      await page.waitForFunction((was) => document.querySelector('figure .frame > svg').getBoundingClientRect().width > was, before)
      await page.locator('figure .frame').focus()
      await page.keyboard.press('-')
      await page.waitForFunction((was) => document.querySelector('figure .frame > svg').getBoundingClientRect().width === was, before)
    })
    await lan.leave()
    await thu.leave()
  }
}
