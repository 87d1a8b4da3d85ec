// The headline, the chip and the text under it are one picture: after each change they say the same, without a reload.
import { begun, drafted, formsWorkflow, unwanted } from './forms/open.mjs'
import { Person } from './person.mjs'
import { id } from './place.mjs'

export async function consistent({ claim, place, base, browser, languages }) {
  const workflow = await formsWorkflow(place)
  for (const language of languages) {
    const lan = await Person.arrive({ browser, place, base, name: 'lan', language, by: 'mouse' })
    const { page } = lan
    const { step } = await begun(place, workflow)
    /** What a page says that is opened anew: nobody may have to do that. */
    const fresh = async () => {
      const other = await lan.context.newPage()
      await other.goto(`/steps/${step}`)
      await other.waitForFunction(() => document.querySelector('main [data-state]') && !/^(—|…)?$/.test(document.querySelector('h1')?.textContent?.trim() ?? ''))
      await other.waitForFunction(() => !document.querySelector('main [aria-busy=true]'))
      const said = await saying(other)
      await other.close()
      return said
    }
    const saying = (from) => from.evaluate(() => ({
      head: document.querySelector('h1').textContent.trim().replace(/\d+/g, '#'),
      chip: document.querySelector('main .chip.medium[data-state]').dataset.state,
      deadline: document.querySelector('main time[datetime]')?.getAttribute('datetime') ?? null,
      why: document.querySelector('main .why') ? true : false,
    }))
    const agrees = async (what) => {
      const wanted = await fresh()
      try {
        await page.waitForFunction((one) => document.querySelector('h1').textContent.trim().replace(/\d+/g, '#') === one.head
          && document.querySelector('main .chip.medium[data-state]').dataset.state === one.chip
          && (document.querySelector('main time[datetime]')?.getAttribute('datetime') ?? null) === one.deadline
          && Boolean(document.querySelector('main .why')) === one.why, wanted, { timeout: 5000 })
      } catch {
        throw new Error(`${what}: the page says ${JSON.stringify(await saying(page))}, opened anew ${JSON.stringify(wanted)}`)
      }
      return wanted
    }
    const call = async (name, fill) => {
      await lan.press(lan.button(`flows.call.${name}`).first())
      if (fill) await fill(page.locator('form[data-form="move"], form[data-form="extend"]'))
    }
    const block = async (form) => {
      await form.locator('select').selectOption({ index: 1 })
      await form.locator('[type=submit]').click()
    }

    await claim(`a deadline that moved is moved everywhere · ${language}`, async () => {
      await lan.go(`/steps/${step}`)
      await call('extend', async (form) => {
        await form.locator('input[type=datetime-local]').fill('2031-05-06T07:08')
        await form.locator('input[type=text]').fill('the surveyor is ill')
        await form.locator('[type=submit]').click()
      })
      await page.locator('form[data-form="extend"]').waitFor({ state: 'detached' })
      const { deadline } = await agrees('extended')
      if (!deadline?.startsWith('2031')) throw new Error(`the deadline is ${deadline}`)
    })
    for (const round of ['blocked', 'blocked again']) {
      await claim(`a step is ${round}, and unblocked · ${language}`, async () => {
        await lan.go(`/steps/${step}`)
        await call('block', block)
        await lan.sign(page.locator('main .chip.medium[data-state=blocked]').first())
        const held = await agrees(round)
        if (held.chip !== 'blocked' || !held.why) throw new Error(`nothing says why: ${JSON.stringify(held)}`)
        await call('blocker_resolved', async (form) => {
          await form.locator('input[type=text]').first().fill('the drawing came')
          await form.locator('[type=submit]').click()
        })
        await lan.sign(page.locator('main .chip.medium[data-state=in_progress]').first())
        const free = await agrees(`${round}, and lifted`)
        if (free.why) throw new Error('it is unblocked and still says why it is blocked')
      })
    }
    await claim(`a draft that is withdrawn says so, and offers nothing more · ${language}`, async () => {
      const change = await drafted(place, unwanted(place))
      await lan.go(`/changes/${id('chg', change)}`)
      const before = await page.locator('h1').textContent()
      await lan.press(lan.button('flows.call.change_withdraw'))
      const form = page.locator('form[data-form="withdraw-change"]')
      await form.locator('textarea').fill('nobody wants it')
      await form.locator('[type=submit]').click()
      await lan.sign(page.locator('main .chip[data-state=withdrawn]').first())
      await form.waitFor({ state: 'detached' })
      await page.waitForFunction((one) => document.querySelector('h1').textContent !== one, before)
      for (const gone of ['change_withdraw', 'change_submit']) {
        if (await lan.button(`flows.call.${gone}`).count() > 0) throw new Error(`it still offers ${gone}`)
      }
    })
    await lan.leave()
    const minh = await Person.arrive({ browser, place, base, name: 'minh', language, by: 'mouse', key: false })
    await claim(`a class that is frozen says so and can be thawed, and the other way round · ${language}`, async () => {
      await minh.go('/workers')
      for (const [call, back] of [['freeze', 'thaw'], ['thaw', 'freeze']]) {
        await minh.press(minh.button(`gov.worker.${call}`).filter({ hasText: 'http' }))
        const form = minh.page.locator(`form[data-form="${call}"]`)
        await form.locator('textarea').fill('the line is being repaired')
        await form.locator('[type=submit]').click()
        const card = minh.page.locator('main .card').filter({ has: minh.page.getByRole('heading', { name: 'http', exact: true }) })
        await minh.button(`gov.worker.${back}`).filter({ hasText: 'http' }).waitFor()
        const frozen = await card.getByText(minh.word('gov.worker.frozen')).count() > 0
        if (frozen !== (call === 'freeze')) throw new Error(`after ${call} it ${frozen ? 'says' : 'does not say'} that it is frozen`)
      }
    })
    await minh.leave()
  }
}
