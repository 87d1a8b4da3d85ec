// The headline, the chip and the text under it are one picture: after each change they say the same, without a reload.
import { begun, formsWorkflow } from './forms/open.mjs'
import { Person } from './person.mjs'

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
    await lan.leave()
  }
}
