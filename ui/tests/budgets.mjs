// How quick the picture of a workflow is, at 500 and 5,000 steps, beside an empty page in the same run. Prints a table; ends with 1 when
// something is over its budget.
//   node tests/budgets.mjs --base http://127.0.0.1:8080 --as NAME --password PASSWORD
//     [--public .output/public] [--run wfr_… --large wfr_…] [--seconds 10] [--chromium PATH]
// Without --run and --large it takes the runs that it finds with about 500 and with 4,000 and more steps; what is not there is left out.
// With --public the pages come from that folder, and only /v1 from the server.
// Work is time on the processor, so it holds on a busy machine too. What the clock tells is judged only while the browser's tasks get most of
// a processor; otherwise the table says "busy" and what share they got.
import { readFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'

const args = process.argv.slice(2)
const given = (name, otherwise) => (args.includes(`--${name}`) ? args[args.indexOf(`--${name}`) + 1] : otherwise)
const base = new URL(given('base', 'http://127.0.0.1:8080'))
const seconds = Number(given('seconds', '10'))
const FRAME = 1000 / 60

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.svg': 'image/svg+xml', '.woff2': 'font/woff2' }
async function file(path, answer) {
  const folder = given('public')
  for (const one of [normalize(path), '/200.html']) {
    try {
      const body = await readFile(join(folder, one === '/' ? 'index.html' : one))
      answer.writeHead(200, { 'Content-Type': TYPES[extname(one)] ?? (one === '/' ? 'text/html' : 'application/octet-stream') })
      return answer.end(body)
    } catch {
      // Not a file: the page that knows every route.
    }
  }
  answer.writeHead(404)
  answer.end()
}

/** Stands between browser and server, and tells the events itself: so a change comes exactly when the measurement wants it. */
function between() {
  const listening = new Set()
  const server = createServer((asked, answer) => {
    if (asked.url.startsWith('/v1/events')) {
      answer.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
      answer.write('event: hello\ndata: {"position":1}\n\n')
      listening.add(answer)
      asked.on('close', () => listening.delete(answer))
      return
    }
    const { pathname } = new URL(asked.url, base)
    if (given('public') && !pathname.startsWith('/v1')) return void file(pathname, answer)
    const passed = request({ host: base.hostname, port: base.port || 80, path: asked.url, method: asked.method, headers: { ...asked.headers, host: base.host, ...(asked.headers.origin ? { origin: base.origin } : {}) } }, (told) => {
      answer.writeHead(told.statusCode, told.headers)
      told.pipe(answer)
    })
    passed.on('error', () => { answer.writeHead(502); answer.end() })
    asked.pipe(passed)
  })
  const tell = (event) => { for (const one of listening) one.write(`id: ${event.position}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`) }
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done({ origin: `http://127.0.0.1:${server.address().port}`, tell, stop: () => { server.closeAllConnections(); server.close() } })))
}

const percentile = (values, part) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? NaN
const rows = []
/** The least share of a processor that the browser got so far; below MOSTLY the clock tells about the machine, not about the page. */
let share = 1
const MOSTLY = 0.75
function row(what, figure, budget, unit, byClock = false) {
  const ok = budget === undefined || figure <= budget
  rows.push({ what, figure, budget, unit, verdict: budget === undefined ? '' : ok ? 'ok' : byClock && share < MOSTLY ? `busy (${Math.round(share * 100)} %)` : 'OVER' })
}

const proxy = await between()
const browser = await chromium.launch({
  executablePath: given('chromium', '/usr/bin/chromium'),
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
})
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, baseURL: proxy.origin })
await context.addInitScript(() => {
  localStorage.setItem('chancery.language', 'vi')
  performance.setResourceTimingBufferSize(3000)
  // When the first card, or the canvas that stands for all of them, is there.
  const seen = new MutationObserver(() => {
    if (document.querySelector('.g-card')) {
      window.firstCard ??= performance.now()
      seen.disconnect()
    }
  })
  seen.observe(document, { childList: true, subtree: true })
  window.frames_ = () => new Promise((done) => {
    const deltas = []
    let last = performance.now()
    window.stopFrames = () => done(deltas)
    const step = (now) => { deltas.push(now - last); last = now; requestAnimationFrame(step) }
    requestAnimationFrame(step)
  })
})
const signedIn = await context.request.post('/v1/session', { data: { name: given('as', 'lan'), password: given('password', '') } })
if (!signedIn.ok()) {
  console.error(`signing in was answered with ${signedIn.status()}`)
  process.exit(2)
}

async function runs() {
  const found = { small: given('run'), large: given('large') }
  let after
  do {
    const page = await (await context.request.get(`/v1/workflow-runs?limit=500${after ? `&after=${after}` : ''}`)).json()
    for (const run of page.items ?? []) {
      if (run.mandatory >= 400 && run.mandatory <= 700) found.small ??= run.run_id
      if (run.mandatory >= 4000) found.large ??= run.run_id
    }
    after = page.next
  } while (after)
  return found
}

async function opened(path, ready) {
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable')
  await browser.startTracing(page, TRACED)
  await page.goto(path, { waitUntil: 'load' })
  await page.waitForSelector(ready, { timeout: 60_000 })
  const { work } = await worked()
  await page.waitForTimeout(1200)
  return { page, session, work }
}
async function metrics(session) {
  const { metrics: all } = await session.send('Performance.getMetrics')
  return Object.fromEntries(all.map((one) => [one.name, one.value]))
}
async function heap(session) {
  await session.send('HeapProfiler.collectGarbage')
  return (await metrics(session)).JSHeapUsedSize / 1e6
}

const TRACED = { categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline'] }
/** Tasks of the page since tracing began: milliseconds of the processor, and how many took more than 50 of them. */
async function worked() {
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString())
  const main = new Set(traceEvents.filter((one) => one.name === 'thread_name' && one.args.name === 'CrRendererMain').map((one) => `${one.pid} ${one.tid}`))
  const tasks = traceEvents.filter((one) => one.ph === 'X' && one.name === 'RunTask' && one.tdur !== undefined && main.has(`${one.pid} ${one.tid}`))
  if (tasks.length === 0) throw new Error('the trace has no tasks of the page: nothing was measured')
  const sum = (name) => tasks.reduce((all, one) => all + one[name], 0) / 1000
  share = Math.min(share, sum('tdur') / Math.max(sum('dur'), 1))
  return { work: sum('tdur'), long: tasks.filter((one) => one.tdur > 50_000).length }
}

/** Frames and work while a hand drags for a while. */
async function drag({ page }, box) {
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 }
  await page.mouse.move(middle.x, middle.y)
  await browser.startTracing(page, TRACED)
  const deltas = page.evaluate(() => window.frames_())
  await page.mouse.down()
  for (let step = 0; step < 150; step++) {
    const part = step / 150
    await page.mouse.move(middle.x - 300 * Math.sin(part * 6.28), middle.y - 160 * Math.sin(part * 12.56))
  }
  await page.mouse.up()
  await page.evaluate(() => window.stopFrames())
  const frames = (await deltas).slice(2)
  const { work, long } = await worked()
  return { p95: percentile(frames, 0.95), work: work / frames.length, long }
}
const elements = (page) => page.evaluate(() => document.querySelectorAll('*').length)
const boxOf = (page) => page.locator('[role=application]').boundingBox()

const found = await runs()
console.log(`500 steps: ${found.small ?? 'no such run'}; 5,000 steps: ${found.large ?? 'no such run'}`)

const empty = await opened('/settings', 'h1')
const emptyHeap = await heap(empty.session)
const emptyDrag = await drag(empty, { x: 300, y: 100, width: 900, height: 600 })
row('empty page: heap', emptyHeap, undefined, 'MB')
row('empty page: elements', await elements(empty.page), undefined, '')
row('empty page: frame p95 while the mouse moves', emptyDrag.p95, undefined, 'ms')
row('empty page: work a frame', emptyDrag.work, undefined, 'ms')
await empty.page.close()
/** A machine that is busy with something else drops frames of an empty page too; those are not the picture's. */
const allowed = (budget) => Math.max(budget, emptyDrag.p95) + 1

async function answers(run, name, most) {
  const times = []
  let body
  for (let turn = 0; turn < 8; turn++) {
    const begun = performance.now()
    const answer = await context.request.get(`/v1/workflow-runs/${run}/graph?width=1280&height=800&lanes=true`)
    body = await answer.body()
    times.push(performance.now() - begun)
  }
  row(`${name}: answer, compressed`, gzipSync(body).length / 1000, most.kilobytes, 'KB')
  row(`${name}: answer, warm, with the way there`, Math.min(...times), most.answer, 'ms')
}

async function picture(run, name, most) {
  const at = await opened(`/runs/${run}`, '.g-card')
  const { page, session, work } = at
  const shown = await page.evaluate(() => ({
    first: window.firstCard,
    told: Math.max(...performance.getEntriesByType('resource').filter((one) => /\/(graph|rollup|state-tokens)(\?|$)/.test(one.name)).map((one) => one.responseEnd)),
  }))
  row(`${name}: page opens, cold`, shown.first, most.open, 'ms', true)
  row(`${name}: page opens, work`, work, most.open, 'ms')
  row(`${name}: first card after the data`, Math.max(0, shown.first - shown.told), most.first, 'ms', true)
  row(`${name}: heap`, await heap(session), most.heap, 'MB')
  row(`${name}: elements, near`, await elements(page), 3000, '')
  const near = await drag(at, await boxOf(page))
  row(`${name}: pan near, frame p95`, near.p95, allowed(most.frame), 'ms', true)
  row(`${name}: pan near, work a frame`, near.work, most.work, 'ms')
  row(`${name}: pan near, tasks over 50 ms`, near.long, 0, '')
  await page.focus('[role=application]')
  await page.goto(`/runs/${run}?z=0.42&x=3000&y=1500`)
  await page.waitForSelector('.g-card')
  await page.waitForTimeout(1200)
  row(`${name}: elements, mid`, await elements(page), 3000, '')
  const mid = await drag(at, await boxOf(page))
  row(`${name}: pan mid, frame p95`, mid.p95, allowed(most.frame), 'ms', true)
  row(`${name}: pan mid, work a frame`, mid.work, most.work, 'ms')
  row(`${name}: pan mid, tasks over 50 ms`, mid.long, 0, '')
  await page.focus('[role=application]')
  await page.keyboard.press('0')
  await page.waitForTimeout(900)
  row(`${name}: elements, far`, await elements(page), 3000, '')
  const far = await drag(at, await boxOf(page))
  row(`${name}: pan far, frame p95`, far.p95, allowed(most.frame), 'ms', true)
  row(`${name}: pan far, work a frame`, far.work, most.work, 'ms')
  row(`${name}: pan far, tasks over 50 ms`, far.long, 0, '')
  await page.close()
}

/** Changes as they come from a run: one alone, and fifty a second. */
async function changes(run) {
  const { page, session } = await opened(`/runs/${run}`, '.g-card')
  const { steps } = await (await context.request.get(`/v1/workflow-runs/${run}/snapshot`)).json()
  const byTitle = new Map(steps.map((step) => [step.title.vi, step]))
  const inSight = (await page.locator('.g-card').evaluateAll((cards) => cards.map((card) => card.querySelector('.g-title')?.textContent.replace('◆ ', '')))).map((title) => byTitle.get(title)).filter(Boolean)
  let position = 100
  let seq = 1_000_000
  const move = (step, to) => proxy.tell({ position: ++position, type: 'step.started', subject: { kind: 'step', id: step.step_id }, seq: ++seq, from: step.state, to, at: new Date().toISOString(), run: { kind: 'workflow_run', id: run } })
  await page.evaluate(() => {
    window.touched = new Set()
    new MutationObserver((list) => {
      for (const one of list) {
        const card = (one.target.nodeType === 1 ? one.target : one.target.parentElement)?.closest('.g-card')
        if (card) window.touched.add(card.id)
      }
      window.touchedAt ??= performance.timeOrigin + performance.now()
    }).observe(document.querySelector('.g-world'), { subtree: true, childList: true, attributes: true, characterData: true })
  })
  const waits = []
  const scripts = []
  let most = 0
  for (let turn = 0; turn < 10; turn++) {
    await page.evaluate(() => { window.touched.clear(); window.touchedAt = undefined })
    const before = await metrics(session)
    const sent = Date.now()
    move(inSight[turn % inSight.length], ['in_progress', 'waiting', 'ready'][turn % 3])
    await page.waitForFunction(() => window.touchedAt !== undefined, null, { timeout: 5000, polling: 5 })
    waits.push((await page.evaluate(() => window.touchedAt)) - sent)
    scripts.push(((await metrics(session)).ScriptDuration - before.ScriptDuration) * 1000)
    most = Math.max(most, await page.evaluate(() => window.touched.size))
  }
  row('one change: cards touched', most, 1, '')
  row('one change: from the server to the page, p95', percentile(waits, 0.95), 500, 'ms', true)
  row('one change: scripting, with asking for it, median', percentile(scripts, 0.5), 4, 'ms')
  const deltas = page.evaluate(() => window.frames_())
  const states = ['in_progress', 'waiting', 'ready', 'blocked', 'completed']
  for (let turn = 0; turn < seconds * 50; turn++) {
    move(steps[(turn * 37) % steps.length], states[turn % states.length])
    await new Promise((done) => setTimeout(done, 20))
  }
  await page.evaluate(() => window.stopFrames())
  row(`50 changes a second for ${seconds} s: frame p95`, percentile((await deltas).slice(2), 0.95), Math.max(33.4, emptyDrag.p95 + FRAME), 'ms', true)
  await page.close()
}

if (found.small) {
  await answers(found.small, '500 steps', { kilobytes: 60, answer: undefined })
  await picture(found.small, '500 steps', { open: 1500, first: 300, heap: 60, frame: FRAME, work: 8 })
  await changes(found.small)
}
if (found.large) {
  await answers(found.large, '5,000 steps', {})
  await picture(found.large, '5,000 steps', { open: 3000, first: undefined, heap: undefined, frame: 33, work: undefined })
}
await browser.close()
proxy.stop()

const shown = (value) => (value === undefined ? '' : Number.isInteger(value) ? String(value) : value.toFixed(1))
const wide = Math.max(...rows.map((one) => one.what.length))
for (const one of rows) {
  const budget = one.budget === undefined ? '' : `≤ ${shown(one.budget)}`
  console.log(`${one.what.padEnd(wide)}  ${shown(one.figure).padStart(8)} ${one.unit.padEnd(2)}  ${budget.padStart(9)}  ${one.verdict}`)
}
const over = rows.filter((one) => one.verdict === 'OVER')
const unjudged = rows.filter((one) => one.verdict.startsWith('busy'))
const verdict = over.length > 0 ? `${over.length} over` : unjudged.length > 0 ? 'none over' : 'all within their budgets'
console.log(`${verdict}${unjudged.length > 0 ? `; ${unjudged.length} by the clock not judged, since the machine was busy: the browser got ${Math.round(share * 100)} % of a processor` : ''}`)
process.exit(over.length === 0 ? 0 : 1)
