// Every form of the UI with what it must not send: nothing, the wrong type, too much, broken JSON. Nothing is asked of the server that changes
// anything, no sheet opens to sign, and the field says why, in the reader's language.
import { pattern } from '../words.mjs'
import { Person } from '../person.mjs'
import { FORMS, world } from './open.mjs'

const PAUSE = 2000

/** What is wrong on purpose: for each control that can be, what is put into it and the sentence that has to stand at it. */
async function casesOf(form) {
  return form.evaluate((element) => {
    const cases = []
    for (const control of element.elements) {
      if (!control.willValidate || !control.id && control.type !== 'radio') continue
      const { id, type, dataset } = control
      const add = (what, value, key) => cases.push({ id, name: control.name, type, what, value, key })
      if (type === 'radio') {
        if (control.required && !cases.some((one) => one.name === control.name)) add('empty', null, 'shell.field.choose')
        continue
      }
      if (control.required) add('empty', '', 'shell.field.required')
      if (dataset.most) add('too long', 'Đ'.repeat(Number(dataset.most) + 1), 'shell.field.too_long')
      if (dataset.least) add('too short', 'x', 'shell.field.too_short')
      if (type === 'number') add('wrong type', 'e', 'shell.field.not_number')
      if (type === 'number' && control.min) add('too small', String(Number(control.min) - 1), 'shell.field.too_small')
      if (type === 'datetime-local') add('wrong type', '0', 'shell.field.not_date')
      if (type === 'datetime-local' && control.min) add('too early', '2020-01-01T00:00', 'shell.field.too_early')
      if (control.pattern) add('wrong form', '9 Không phải tên', 'shell.field.not_a_name')
      if ('json' in dataset) add('broken JSON', '{"a": [1, }', 'shell.field.not_json')
    }
    return cases
  })
}

/** Puts a value where it stands also when nobody could type it, and lets the browser do what it does with it. */
async function put(page, one) {
  if (one.type === 'radio') return page.evaluate((name) => { for (const radio of document.getElementsByName(name)) radio.checked = false }, one.name)
  const field = page.locator(`[id="${one.id}"]`)
  await field.evaluate((element) => { const shut = element.closest('details:not([open])'); if (shut) shut.open = true })
  if (one.what === 'wrong type') {
    // Keys that a browser lets through, and makes nothing of.
    await field.evaluate((element) => { element.value = ''; element.dispatchEvent(new Event('input', { bubbles: true })) })
    await field.focus()
    await page.keyboard.press(one.type === 'number' ? '-' : '1')
    if (one.type === 'number') await page.keyboard.press('e')
    return
  }
  if (one.type === 'select-one') return field.evaluate((element) => { element.value = ''; element.dispatchEvent(new Event('change', { bubbles: true })) })
  await field.evaluate((element, value) => { element.value = value; element.dispatchEvent(new Event('input', { bubbles: true })) }, one.value)
}

async function told(page, one) {
  const error = one.type === 'radio' ? page.locator(`[id="${one.name}-error"]`) : page.locator(`[id="${one.id}-error"]`)
  await error.waitFor({ timeout: PAUSE })
  return (await error.textContent()).trim()
}

export async function forms({ claim, place, base, browser, languages, only }) {
  const made = await world(place)
  for (const language of languages) {
    const people = new Map()
    const as = async (name) => {
      if (!people.has(name)) people.set(name, await Person.arrive({ browser, place, base, name, language, by: 'mouse' }))
      return people.get(name)
    }
    for (const [name, { who, open, also = [], alone = true, asksNothing = false }] of Object.entries(FORMS)) {
      if (only && only !== name) continue
      await claim(`form ${name} · ${language}`, async () => {
        const person = await as(who)
        const { page } = person
        await open(person, made)
        const form = page.locator(`form[data-form="${name}"]`).first()
        await form.waitFor()
        const cases = [...await casesOf(form), ...also]
        if (asksNothing) {
          // What has no fields can't be filled in wrongly; it is there, it is one, and it says what it does.
          if (cases.length > 0 || !(await form.textContent()).trim() || await form.locator('[type=submit]').count() !== 1) throw new Error('it is said to ask for nothing')
          return
        }
        if (cases.length === 0) throw new Error('no control of it can be wrong')
        for (const one of cases) {
          const sent = []
          const hear = (request) => { if (request.method() !== 'GET') sent.push(`${request.method()} ${request.url()}`) }
          page.on('request', hear)
          if (one.field) Object.assign(one, await form.evaluate((element, at) => { const field = [...element.elements].filter((each) => 'json' in each.dataset || each.tagName === 'TEXTAREA')[at]; return { id: field.id, type: field.type } }, one.field - 1))
          const before = one.id ? await page.locator(`[id="${one.id}"]`).inputValue() : ''
          await put(page, one)
          await form.evaluate((element) => { const button = element.querySelector('[type=submit]') ?? document.querySelector(`[form="${element.id}"]`); if (button) button.click(); else element.requestSubmit() })
          const said = await told(page, one)
          page.off('request', hear)
          if (!pattern(language, one.key, { whole: false }).test(said)) throw new Error(`${one.what} in ${one.id || one.name}: it says “${said}”`)
          if (sent.length > 0) throw new Error(`${one.what}: sent ${sent.join(', ')}`)
          if (await page.locator('[data-sign]').count() > 0) throw new Error(`${one.what}: it is asked for a signature`)
          if (one.id) {
            const field = page.locator(`[id="${one.id}"]`)
            if ((await field.getAttribute('aria-invalid')) !== 'true' || !(await field.getAttribute('aria-describedby'))?.includes(`${one.id}-error`)) throw new Error(`${one.what}: a screen reader is not told`)
            if (one.what === 'too long' && (await field.inputValue()).length !== one.value.length) throw new Error('what was typed is cut off')
            await field.evaluate((element, value) => { element.value = value; element.dispatchEvent(new Event('input', { bubbles: true })); element.dispatchEvent(new Event('change', { bubbles: true })) }, before)
          }
        }
        if (alone) await person.page.evaluate(() => localStorage.getItem('chancery.language')).then((kept) => { if (kept !== language) throw new Error('the language changed') })
      })
    }
    for (const person of people.values()) await person.leave()
  }
}
