// Somebody at a browser, who uses the mouse or nothing but the keyboard.
import { createRequire } from 'node:module'
import { pattern } from './words.mjs'

const require = createRequire(import.meta.url)
const { chromium } = require('playwright-core')

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
/** So long a page may take to show what it is waited for, on a busy machine. */
export const PATIENCE = 30_000
/** Nobody presses Tab more often than this to get anywhere. */
const MOST_TABS = 400

export async function openBrowser(executablePath) {
  return chromium.launch({ executablePath, args: FLAGS })
}

export class Person {
  /** Signs in by the form, and makes a key in this browser when the person signs things. */
  static async arrive({ browser, place, base, name, language, by, size = { width: 1280, height: 720 }, key = true, theme }) {
    const context = await browser.newContext({ viewport: size, baseURL: base, reducedMotion: 'reduce' })
    await context.addInitScript(([chosen, look]) => {
      localStorage.setItem('chancery.language', chosen)
      if (look) localStorage.setItem('chancery.theme', look)
    }, [language, theme])
    const page = await context.newPage()
    page.setDefaultTimeout(PATIENCE)
    const person = new Person({ context, page, place, base, name, language, by })
    await person.signIn()
    if (key && name !== 'thu') await person.makeKey()
    return person
  }

  constructor(parts) {
    Object.assign(this, parts)
    /** What a page asked elsewhere for, and what broke in it. */
    this.elsewhere = []
    this.broken = []
    this.watch()
  }

  /** Goes on in a tab of its own; the one before is closed, with all that it kept. */
  async turnThePage() {
    const before = this.page
    this.page = await this.context.newPage()
    this.page.setDefaultTimeout(PATIENCE)
    this.watch()
    await before.close()
  }

  watch() {
    this.page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.protocol.startsWith('http') && url.origin !== new URL(this.base).origin) this.elsewhere.push(request.url())
    })
    this.page.on('pageerror', (error) => this.broken.push(String(error.stack ?? error)))
  }

  word(key, options) {
    return pattern(this.language, key, options)
  }

  async signIn() {
    await this.page.goto('/sign-in')
    await this.write(this.page.getByLabel(this.word('shell.sign_in.name', { whole: false })), this.name)
    await this.write(this.page.getByLabel(this.word('shell.sign_in.password', { whole: false })), this.place.password(this.name))
    await this.page.keyboard.press('Enter')
    await this.page.waitForURL((url) => !url.pathname.startsWith('/sign-in'))
  }

  async makeKey() {
    await this.go('/keys')
    await this.press(this.page.getByRole('button', { name: this.word('shell.own.make') }))
    // The demo accepts it as an operator would, and the page asks now and then.
    await this.page.getByText(this.word('shell.own.here')).first().waitFor({ timeout: 2 * PATIENCE })
  }

  /** Opens a page and waits until it knows what it shows. */
  async go(path) {
    await this.page.goto(path)
    await this.settled()
  }

  async settled() {
    await this.page.locator('h1').first().waitFor()
    await this.page.waitForFunction(() => !document.querySelector('main [aria-busy=true]') && !/^(—|…)?$/.test(document.querySelector('h1')?.textContent?.trim() ?? ''))
  }

  button(key) {
    return this.page.getByRole('button', { name: this.word(key) })
  }

  link(key) {
    return this.page.getByRole('link', { name: this.word(key) })
  }

  /** The one thing that the page offers to do next. */
  primary() {
    return this.page.locator('main [data-primary]').first()
  }

  /** Presses a button or follows a link. */
  async press(target) {
    await target.waitFor()
    if (this.by === 'mouse') return target.click()
    await this.reach(target)
    await this.page.keyboard.press('Enter')
  }

  /** Writes into a field. */
  async write(target, text) {
    await target.waitFor()
    if (this.by === 'mouse') await target.click()
    else await this.reach(target)
    await this.page.keyboard.press('Control+A')
    await this.page.keyboard.type(text)
  }

  /** Chooses from a list of the browser's own. */
  async choose(target, value) {
    await target.waitFor()
    if (this.by === 'mouse') return target.selectOption(value)
    await this.reach(target)
    await this.page.keyboard.press('Home')
    for (let at = 0; at < 50 && (await target.inputValue()) !== value; at++) await this.page.keyboard.press('ArrowDown')
    if ((await target.inputValue()) !== value) throw new Error(`${value} can't be chosen by keyboard`)
  }

  /** Walks there with Tab, as somebody does who has no mouse. */
  async reach(target) {
    const there = () => target.evaluate((element) => element === document.activeElement, undefined, { timeout: 1000 }).catch(() => false)
    for (let tabs = 0; tabs < MOST_TABS; tabs++) {
      if (await there()) return
      await this.page.keyboard.press('Tab')
    }
    throw new Error(`no way by Tab to ${target}`)
  }

  /** Reads what is to be signed and signs it, until what it leads to is there; some things are signed in several rounds. */
  async sign(until) {
    const sheet = this.page.locator('[data-sign]:not([aria-disabled=true])')
    await sheet.waitFor()
    for (let round = 0; round < 5; round++) {
      await this.press(sheet)
      await sheet.waitFor({ state: 'detached' })
      await sheet.or(until).first().waitFor()
      if (await sheet.count() === 0) return
    }
    throw new Error('it is asked for more and more signatures')
  }

  /** What a state is called in the reader's language, as the server says it. */
  async label(machine, state) {
    this.tokens ??= await (await this.context.request.get('/v1/state-tokens')).json()
    const token = Object.values(this.tokens).flat().find((one) => one.machine === machine && one.state === state)
    if (!token) throw new Error(`there is no token of ${machine} ${state}`)
    return token.label[this.language]
  }

  /** A state that stands on the page in words, beside its silhouette. */
  async sees(text, seconds = 30) {
    await this.page.locator('main').getByText(text).first().waitFor({ timeout: seconds * 1000 })
  }

  async leave() {
    await this.context.close()
  }
}
