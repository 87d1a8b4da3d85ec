// What a page offers somebody is not refused at its end for want of a right: every button that can be pressed is pressed, on every page, as
// each person; what opens is filled in and sent. What needs a signature is asked for without one, so nothing changes: the server judges
// first and asks for the signature afterwards. What needs none is held back here, and its permission compared.
import { Person } from './person.mjs'
import { begun, formsWorkflow } from './forms/open.mjs'
import { routes } from './routes.mjs'
import { id } from './place.mjs'

const PEOPLE = ['lan', 'minh', 'hoa', 'thu']
/** Refusals that say who may not; each other one is about what was filled in, or has changed since. */
const RIGHTS = new Set(['RI001', 'RI002', 'RI003', 'RI004', 'RI040', 'RI046', 'RA004', 'RA010', 'RW002'])
/** Only opens something, or chooses what is shown. */
const LOOKING = 'nav, [role=tablist], [role=application], figure, [role=search], [aria-pressed], [role=tab], [aria-haspopup], .copy'
const MOST_BUTTONS = 15

/** Fills what is required with something, whatever it is about. */
function fill() {
  for (const form of document.querySelectorAll('form[data-form]')) {
    for (const control of form.elements) {
      if (!control.willValidate || !control.required && control.type !== 'radio') continue
      const put = (value) => { control.value = value; for (const kind of ['input', 'change']) control.dispatchEvent(new Event(kind, { bubbles: true })) }
      if (control.type === 'radio') { if (![...form.querySelectorAll(`[name="${control.name}"]`)].some((one) => one.checked)) control.click() }
      else if (control.type === 'checkbox') { if (!control.checked) control.click() }
      else if (control.tagName === 'SELECT') put([...control.options].find((one) => one.value)?.value ?? '')
      else if (control.value) continue
      else if ('json' in control.dataset) put('{"a": 1}')
      else if (control.type === 'number') put(control.min || '1')
      else if (control.type === 'datetime-local') put('2031-05-06T07:08')
      else put('vi_du')
    }
  }
}

/** The route of the document that a request is of. */
function routeOf(document, request) {
  const { pathname } = new URL(request.url())
  const parts = pathname.split('/')
  for (const [path, ways] of Object.entries(document.paths)) {
    const wanted = path.split('/')
    const way = ways[request.method().toLowerCase()]
    if (way && wanted.length === parts.length && wanted.every((part, at) => part.startsWith('{') || part === parts[at])) return { path, way }
  }
  return undefined
}

export async function offers({ claim, place, base, browser, languages, only }) {
  const [language] = languages
  const workflow = await formsWorkflow(place)
  const own = await begun(place, workflow)
  for (const name of PEOPLE) {
    if (only && only !== name) continue
    const person = await Person.arrive({ browser, place, base, name, language, by: 'mouse', key: false })
    const { context } = person
    const document = await (await context.request.get('/v1/openapi.json')).json()
    const { permissions } = await (await context.request.get('/v1/me')).json()
    let against = []
    let tried = 0
    await context.route('**/v1/**', async (route) => {
      const request = route.request()
      if (request.method() === 'GET') return route.fallback()
      const found = routeOf(document, request)
      if (!found) return route.abort()
      tried++
      const permission = found.way['x-permission']
      const signs = (found.way.parameters ?? []).some((one) => one.name === 'Chancery-Signature')
      if (!signs) {
        if (permission && !permissions.includes(permission)) against.push(`${found.path}: without ${permission}`)
        return found.path.endsWith('/preview') ? route.fallback() : route.abort()
      }
      const response = await route.fetch()
      const answer = await response.json().catch(() => ({}))
      const codes = [answer.code, ...(answer.problems ?? []).map((one) => one.code)].filter((code) => RIGHTS.has(code))
      if (codes.length > 0 || response.ok() && response.status() !== 200) against.push(`${found.path}: ${response.status()} ${codes.join(' ')} ${JSON.stringify(answer.problems ?? '')}`)
      return route.fulfill({ response })
    })
    const paths = [...await routes(context), `/steps/${own.step}`, `/runs/${id('wfr', own.run)}`]
    for (const path of paths) {
      await claim(`what ${path} offers ${name} is not refused for want of a right`, async () => {
        against = []
        await person.turnThePage()
        await person.go(path)
        const buttons = () => person.page.locator('main button.button:not([aria-disabled=true]):not([disabled])')
        const texts = await buttons().evaluateAll((all, looking) => all.map((one) => (one.closest(looking) || !one.checkVisibility() ? '' : one.textContent.trim())), LOOKING)
        const seen = new Set()
        for (const [at, text] of texts.entries()) {
          if (!text || seen.has(text) || seen.size >= MOST_BUTTONS) continue
          seen.add(text)
          if (seen.size > 1) {
            await person.turnThePage()
            await person.go(path)
          }
          const button = buttons().nth(at)
          if ((await button.textContent({ timeout: 3000 }).catch(() => '')).trim() !== text) continue
          await button.click({ timeout: 3000 }).catch(() => {})
          const form = person.page.locator('form[data-form]')
          await form.or(person.page.locator('dialog')).first().waitFor({ timeout: 400 }).catch(() => {})
          for (let at = 0; at < await form.count(); at++) {
            await person.page.evaluate(fill)
            await form.nth(at).evaluate((element) => element.requestSubmit()).catch(() => {})
            await person.page.waitForTimeout(250)
          }
          if (against.length > 0) throw new Error(`“${text}”: ${against.join('; ')}`)
        }
      })
    }
    await claim(`${name} was offered ${name === 'thu' ? 'nothing that changes something' : 'what can be done'}`, () => {
      if (name !== 'thu' && tried < 5) throw new Error(`only ${tried} things were tried`)
    })
    await person.leave()
  }
}
