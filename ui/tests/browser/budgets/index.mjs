// How quick the picture of a workflow is, at 500 and 5,000 steps, beside an empty page in the same run: a table of figures and budgets.
// Work is time on the processor, so it holds on a busy machine too; what the clock tells wants a machine that does nothing else.
import { gzipSync } from 'node:zlib'
import { id, until } from '../place.mjs'
import { between } from './between.mjs'
import { begun } from './large.mjs'
import { percentile, Table } from './table.mjs'

const TRACED = { categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline'] }
const SECONDS_OF_CHANGES = 60
/** Commits that are followed to the pixel, at each size. */
const COMMITS = 40
/** What a size may cost. Without a figure it is shown and not judged. */
const SIZES = [
  { steps: 500, kilobytes: 60, open: 1500, first: 300, heap: 60, frame: 20, work: 8 },
  { steps: 5000, open: 3000, frame: 33 },
]

export async function budgets({ claim, place, base, browser }) {
  const table = new Table()
  const middle = await between(base)
  try {
    const measure = new Measure({ browser, place, table, middle, base })
    await measure.arrive()
    await measure.empty()
    for (const size of SIZES) {
      const run = await begun(place, size.steps)
      await measure.size({ ...size, uuid: run, run: id('wfr', run), name: `${size.steps.toLocaleString('en')} steps` })
    }
    await measure.leave()
  } finally {
    middle.stop()
  }
  for (const line of table.lines()) console.log(line)
  await claim('every figure is within its budget', () => {
    const wrong = table.wrong()
    if (wrong) throw new Error(wrong)
  })
}

/** Looks at pages from inside: when the first card is there, and how long frames take. */
function watchFromInside() {
  localStorage.setItem('chancery.language', 'vi')
  performance.setResourceTimingBufferSize(3000)
  const seen = new MutationObserver(() => {
    if (document.querySelector('.g-card')) {
      window.firstCard ??= performance.now()
      seen.disconnect()
    }
  })
  seen.observe(document, { childList: true, subtree: true })
  window.countFrames = () => new Promise((done) => {
    const deltas = []
    let last = performance.now()
    window.stopFrames = () => done(deltas)
    const step = (now) => { deltas.push(now - last); last = now; requestAnimationFrame(step) }
    requestAnimationFrame(step)
  })
  // Which cards change, and when the change is on the screen: in the frame after the one that drew it.
  window.watchCards = () => {
    window.touched = new Map()
    new MutationObserver((list) => {
      for (const one of list) {
        const card = (one.target.nodeType === 1 ? one.target : one.target.parentElement)?.closest('.g-card')
        if (!card || window.touched.has(card.id)) continue
        window.touched.set(card.id, NaN)
        requestAnimationFrame(() => requestAnimationFrame(() => window.touched.set(card.id, performance.timeOrigin + performance.now())))
      }
    }).observe(document.querySelector('.g-world'), { subtree: true, childList: true, attributes: true, characterData: true })
  }
}

class Measure {
  constructor(parts) {
    Object.assign(this, parts)
  }

  async arrive() {
    const open = async (baseURL) => {
      const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 }, baseURL })
      await context.addInitScript(watchFromInside)
      const signedIn = await context.request.post('/v1/session', { data: { name: 'lan', password: this.place.password('lan') } })
      if (!signedIn.ok()) throw new Error(`signing in was answered with ${signedIn.status()}`)
      return context
    }
    this.context = await open(this.middle.origin)
    this.straight = await open(this.base)
  }

  async leave() {
    await this.context.close()
    await this.straight.close()
  }

  async opened(path, ready, context = this.context) {
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await session.send('Performance.enable')
    await this.browser.startTracing(page, TRACED)
    await page.goto(path, { waitUntil: 'load' })
    await page.waitForSelector(ready, { timeout: 60_000 })
    const { work } = await this.worked()
    await page.waitForTimeout(1200)
    return { page, session, work }
  }

  /** Tasks of the page since tracing began: milliseconds of the processor, and how many took more than 50 of them. */
  async worked() {
    const { traceEvents } = JSON.parse((await this.browser.stopTracing()).toString())
    const main = new Set(traceEvents.filter((one) => one.name === 'thread_name' && one.args.name === 'CrRendererMain').map((one) => `${one.pid} ${one.tid}`))
    const tasks = traceEvents.filter((one) => one.ph === 'X' && one.name === 'RunTask' && one.tdur !== undefined && main.has(`${one.pid} ${one.tid}`))
    if (tasks.length === 0) throw new Error('the trace has no tasks of the page: nothing was measured')
    const sum = (name) => tasks.reduce((all, one) => all + one[name], 0) / 1000
    this.table.got(sum('tdur') / Math.max(sum('dur'), 1))
    return { work: sum('tdur'), long: tasks.filter((one) => one.tdur > 50_000).length }
  }

  /** Frames and work while a hand drags for a while. */
  async drag(page, box) {
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 }
    await page.mouse.move(middle.x, middle.y)
    await this.browser.startTracing(page, TRACED)
    const deltas = page.evaluate(() => window.countFrames())
    await page.mouse.down()
    for (let step = 0; step < 150; step++) {
      const part = step / 150
      await page.mouse.move(middle.x - 300 * Math.sin(part * 6.28), middle.y - 160 * Math.sin(part * 12.56))
    }
    await page.mouse.up()
    await page.evaluate(() => window.stopFrames())
    const frames = (await deltas).slice(2)
    const { work, long } = await this.worked()
    return { p95: percentile(frames, 0.95), work: work / frames.length, long }
  }

  async empty() {
    const { page, session } = await this.opened('/settings', 'h1')
    const { p95, work } = await this.drag(page, { x: 300, y: 100, width: 900, height: 600 })
    this.table.row('empty page: heap', await heap(session), undefined, 'MB')
    this.table.row('empty page: elements', await elements(page), undefined, '')
    this.table.row('empty page: frame p95 while the mouse moves', p95, undefined, 'ms')
    this.table.row('empty page: work a frame', work, undefined, 'ms')
    await page.close()
  }

  async size(size) {
    await this.answers(size)
    await this.picture(size)
    await this.commits(size)
    if (size.steps === 500) await this.changes(size)
  }

  async answers({ run, name, kilobytes }) {
    const times = []
    let body
    for (let turn = 0; turn < 8; turn++) {
      const started = performance.now()
      const answer = await this.straight.request.get(`/v1/workflow-runs/${run}/graph?width=1280&height=800&lanes=true`)
      body = await answer.body()
      times.push(performance.now() - started)
    }
    this.table.row(`${name}: answer, compressed`, gzipSync(body).length / 1000, kilobytes, 'KB')
    this.table.row(`${name}: answer, warm, with the way there`, Math.min(...times), undefined, 'ms')
  }

  async picture({ run, name, open, first, heap: most, frame, work: budget }) {
    const { table } = this
    const { page, session, work } = await this.opened(`/runs/${run}`, '.g-card', this.straight)
    const seen = await page.evaluate(() => ({
      first: window.firstCard,
      told: Math.max(...performance.getEntriesByType('resource').filter((one) => /\/(graph|rollup|state-tokens)(\?|$)/.test(one.name)).map((one) => one.responseEnd)),
    }))
    table.row(`${name}: page opens, cold`, seen.first, open, 'ms', true)
    table.row(`${name}: page opens, work`, work, open, 'ms')
    table.row(`${name}: first card after the data`, Math.max(0, seen.first - seen.told), first, 'ms', true)
    table.row(`${name}: heap`, await heap(session), most, 'MB')
    const pan = async (level) => {
      table.row(`${name}: elements, ${level}`, await elements(page), 3000, '')
      const { p95, work: spent, long } = await this.drag(page, await page.locator('[role=application]').boundingBox())
      table.row(`${name}: pan ${level}, frame p95`, p95, frame, 'ms', true)
      table.row(`${name}: pan ${level}, work a frame`, spent, budget, 'ms')
      table.row(`${name}: pan ${level}, tasks over 50 ms`, long, 0, '')
    }
    await pan('near')
    await page.goto(`/runs/${run}?z=0.42&x=3000&y=1500`)
    await page.waitForSelector('.g-card')
    await page.waitForTimeout(1200)
    await pan('mid')
    await page.focus('[role=application]')
    await page.keyboard.press('0')
    await page.waitForTimeout(900)
    await pan('far')
    await page.close()
  }

  /** Steps are claimed and given back by the command line; from the time in the log to the frame that shows it, over the real feed. */
  async commits({ run, uuid, name }) {
    const { steps } = await (await this.straight.request.get(`/v1/workflow-runs/${run}/snapshot`)).json()
    const step = steps.find((one) => one.state === 'ready')
    const { page } = await this.opened(`/runs/${run}?step=${step.key}`, '.g-card', this.straight)
    const lived = []
    for (let turn = 0; turn < COMMITS; turn++) {
      await page.evaluate(() => (window.touched ? window.touched.clear() : window.watchCards()))
      await this.place.cli('step', turn % 2 === 0 ? 'claim' : 'release', uuid, step.key, '--as', 'lan', ...(turn % 2 === 0 ? [] : ['--reason', 'measured']))
      const seen = await until('the card shows the move', () => page.evaluate(() => [...window.touched.values()].find((at) => at > 0)), 10)
      const { history } = await (await this.straight.request.get(`/v1/steps/${step.step_id}`)).json()
      lived.push(seen - Math.max(...history.map((one) => Date.parse(one.at))))
    }
    this.table.row(`${name}: commit to pixel, p95 of ${COMMITS}`, percentile(lived, 0.95), 500, 'ms', true)
    this.table.row(`${name}: commit to pixel, slowest`, Math.max(...lived), 1000, 'ms', true)
    await page.close()
  }

  /** Changes as they come from a run: one alone, and fifty a second. */
  async changes({ run }) {
    const { table, middle } = this
    const { page, session } = await this.opened(`/runs/${run}`, '.g-card')
    const { steps } = await (await this.context.request.get(`/v1/workflow-runs/${run}/snapshot`)).json()
    const byTitle = new Map(steps.map((step) => [step.title.vi, step]))
    const titles = await page.locator('.g-card').evaluateAll((cards) => cards.map((card) => card.querySelector('.g-title')?.textContent.replace('◆ ', '')))
    const inSight = titles.map((title) => byTitle.get(title)).filter(Boolean)
    let position = 100
    let seq = 1_000_000
    const move = (step, to) => middle.tell({ position: ++position, type: 'step.started', subject: { kind: 'step', id: step.step_id }, seq: ++seq, from: step.state, to, at: new Date().toISOString(), run: { kind: 'workflow_run', id: run } })
    const scripts = []
    let most = 0
    await page.evaluate(() => window.watchCards())
    for (let turn = 0; turn < 10; turn++) {
      await page.evaluate(() => window.touched.clear())
      const before = await metrics(session)
      move(inSight[turn % inSight.length], ['in_progress', 'waiting', 'ready'][turn % 3])
      await page.waitForFunction(() => [...window.touched.values()].some((at) => at > 0), null, { timeout: 5000 })
      scripts.push(((await metrics(session)).ScriptDuration - before.ScriptDuration) * 1000)
      most = Math.max(most, await page.evaluate(() => window.touched.size))
    }
    table.row('one change: cards touched', most, 1, '')
    table.row('one change: scripting, with asking for it, median', percentile(scripts, 0.5), 4, 'ms')
    const deltas = page.evaluate(() => window.countFrames())
    const states = ['in_progress', 'waiting', 'ready', 'blocked', 'completed']
    for (let turn = 0; turn < SECONDS_OF_CHANGES * 50; turn++) {
      move(steps[(turn * 37) % steps.length], states[turn % states.length])
      await new Promise((done) => setTimeout(done, 20))
    }
    await page.evaluate(() => window.stopFrames())
    table.row(`50 changes a second for ${SECONDS_OF_CHANGES} s: frame p95`, percentile((await deltas).slice(2), 0.95), 33.4, 'ms', true)
    await page.close()
  }
}

const elements = (page) => page.evaluate(() => document.querySelectorAll('*').length)

async function metrics(session) {
  const { metrics: all } = await session.send('Performance.getMetrics')
  return Object.fromEntries(all.map((one) => [one.name, one.value]))
}

async function heap(session) {
  await session.send('HeapProfiler.collectGarbage')
  return (await metrics(session)).JSHeapUsedSize / 1e6
}
