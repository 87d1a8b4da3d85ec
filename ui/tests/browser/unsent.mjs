// What somebody typed and has not sent is not lost, whatever happens to the page; and what they sign is what they typed.
import { begun, formsWorkflow } from './forms/open.mjs'
import { Person } from './person.mjs'
import { until } from './place.mjs'

const NOTE = 'Hồ sơ thiếu bản vẽ tầng 2'

export async function unsent({ claim, place, base, browser, languages }) {
  const workflow = await formsWorkflow(place)
  for (const language of languages) {
    const lan = await Person.arrive({ browser, place, base, name: 'lan', language, by: 'mouse' })
    const { page } = lan
    const note = () => page.locator('form[data-form="note"] textarea')
    const kept = () => page.locator('[data-kept]').first()
    const { step } = await begun(place, workflow)
    const home = `/steps/${step}?part=notes`

    await claim(`a menu click asks, and takes nothing away · ${language}`, async () => {
      await lan.go('/runs')
      await lan.go(home)
      await note().fill(NOTE)
      await page.locator('#rail a[href="/runs"]').click()
      await lan.press(page.locator('[data-stay]'))
      if (!page.url().includes(step) || (await note().inputValue()) !== NOTE) throw new Error('staying did not stay')
      await page.locator('#rail a[href="/runs"]').click()
      await lan.press(page.locator('[data-leave]'))
      await page.waitForURL('**/runs')
    })
    await claim(`Back brings it back, going on asks again, and a reload keeps it · ${language}`, async () => {
      await page.goBack()
      await kept().waitFor()
      if ((await note().inputValue()) !== NOTE) throw new Error('it is gone')
      await page.goForward({ waitUntil: 'commit' })
      await lan.press(page.locator('[data-stay]'))
      if (!page.url().includes(step)) throw new Error('the page went on')
      await page.reload()
      await lan.settled()
      await kept().waitFor()
      if ((await note().inputValue()) !== NOTE) throw new Error('it is gone')
    })
    await claim(`a session that ends is begun again over the page, and the change is made once · ${language}`, async () => {
      await lan.context.clearCookies()
      // The sheet may be there already, for what the page asks by itself; then it covers the button.
      await page.locator('form[data-form="note"]').evaluate((form) => form.requestSubmit())
      const sheet = page.locator('form[data-form="sign-in-again"]')
      await sheet.waitFor()
      if ((await note().inputValue()) !== NOTE) throw new Error('the page behind it is another one')
      await sheet.locator('input[type=password]').fill(place.password('lan'))
      await sheet.locator('input[type=password]').press('Enter')
      await sheet.waitFor({ state: 'detached' })
      await page.getByText(NOTE).first().waitFor()
      await page.waitForFunction((text) => [...document.querySelectorAll('.notes .text')].filter((one) => one.textContent === text).length === 1, NOTE)
      if ((await note().inputValue()) !== '') throw new Error('it was sent and is still there')
      await page.reload()
      await lan.settled()
      if (await kept().count() > 0) throw new Error('what was sent is kept')
    })
    await claim(`the sheet shows the document that was typed, also after a reload · ${language}`, async () => {
      const verdict = `không phản đối ${language}`
      await lan.go(`/steps/${step}`)
      await lan.press(lan.button('flows.call.complete').first())
      const form = page.locator('form[data-form="move"]')
      const field = (name) => form.getByLabel(new RegExp(`^${name}`))
      await field('verdict').fill(verdict)
      await field('plots').fill('[{"area": 12.5}]')
      await page.reload()
      await form.waitFor()
      if ((await field('verdict').inputValue()) !== verdict) throw new Error('the output is gone')
      await form.locator('[type=submit]').click()
      const sheet = page.locator('dialog')
      await sheet.getByText(verdict).waitFor()
      await sheet.getByText('12.5').waitFor()
      await sheet.getByText(lan.word('shell.sign.content')).first().waitFor()
      // Whoever does not sign is back in the form with all that they typed.
      await page.keyboard.press('Escape')
      await sheet.waitFor({ state: 'detached' })
      if ((await field('verdict').inputValue()) !== verdict) throw new Error('not signing took the output away')
      await form.locator('[type=submit]').click()
      await lan.sign(page.locator('main').getByText(await lan.label('step', 'completed')).first())
      const output = await until('the output is there', async () => {
        const shown = await (await lan.context.request.get(`/v1/steps/${step}`)).json()
        return shown.inputs_and_outputs.find((one) => one.kind === 'output')?.document
      })
      if (output.verdict !== verdict || output.plots[0].area !== 12.5) throw new Error(`what was signed is ${JSON.stringify(output)}`)
    })
    await claim(`edits of a workflow survive a reload · ${language}`, async () => {
      await lan.go(`/workflows/${workflow}?propose=1&step=shut&view=outline`)
      await lan.press(lan.button('flows.edit.do_edit'))
      await page.locator('form[data-form="step"] input[lang=en]').fill('Shut it well')
      await lan.press(lan.button('flows.edit.apply'))
      await page.locator('form[data-form="save-draft"]').first().waitFor()
      await page.reload()
      await lan.settled()
      await page.locator('form[data-form="save-draft"]').first().waitFor()
      await lan.press(lan.button('shell.kept.discard').first())
      await page.locator('form[data-form="save-draft"]').first().waitFor({ state: 'detached' })
    })
    await lan.leave()
  }
}
