// A system of its own for the tests: `chancery demo --serve` in a fresh data directory, and the command line beside it.
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..')

/** Starts the demo; gives the place when a browser can come. */
export async function startPlace({ program = join(root, 'target/debug/chancery'), say = () => {} } = {}) {
  if (!existsSync(program)) throw new Error(`there is no ${program}: make build first`)
  const home = mkdtempSync(join(tmpdir(), 'chancery-browser-'))
  // Run by root, the database is another user, who must get through.
  await run('chmod', ['755', home])
  say(`filling ${home}`)
  const environment = { ...process.env, CHANCERY_HOME: home }
  delete environment.DATABASE_URL
  delete environment.CHANCERY_PRINCIPAL
  const child = spawn(program, ['demo', '--serve', '--listen', '127.0.0.1:0', '--json'], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
  const complaints = []
  child.stderr.on('data', (part) => complaints.push(part))
  const ended = new Promise((done) => child.once('exit', done))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`the demo ended: ${complaints.join('')}`)
    return JSON.parse(value)
  }
  const { people } = await next()
  const { url } = await next()
  return {
    ...place({ program, home, url, people }),
    async stop() {
      child.kill('SIGINT')
      await ended
      await run(program, ['db', 'stop'], { env: environment })
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** A demo that is there already; it stays. `signIns` has a line `NAME PASSWORD …` a person. */
export function foundPlace({ program, home, url, signIns }) {
  const lines = readFileSync(signIns, 'utf8').split('\n').map((line) => line.split(/\s+/))
  const people = lines.filter(([name]) => /^[a-z]/.test(name ?? '')).map(([name, password]) => ({ name, password }))
  return { ...place({ program, home, url, people }), stop: async () => {} }
}

function place({ program, home, url, people }) {
  const environment = { ...process.env, CHANCERY_HOME: home }
  delete environment.DATABASE_URL
  delete environment.CHANCERY_PRINCIPAL
  /** What a command prints. */
  const cli = async (...args) => (await run(program, args, { env: environment, maxBuffer: 64 << 20 })).stdout.trim()
  const json = async (...args) => JSON.parse(await cli(...args, '--json'))
  let made = 0
  return {
    url,
    people,
    home,
    cli,
    json,
    /** A name that nothing here has yet. */
    fresh: (what) => `${what}_${Date.now().toString(36)}_${++made}`,
    password: (name) => people.find((one) => one.name === name)?.password,
  }
}

/** An id of the API, made of the one that the command line prints. */
export const id = (kind, uuid) => `${kind}_${uuid.replaceAll('-', '')}`

/** Asks until it is so; says what was waited for when it never is. */
export async function until(what, holds, seconds = 30) {
  const end = Date.now() + seconds * 1000
  for (;;) {
    const answer = await holds()
    if (answer) return answer
    if (Date.now() > end) throw new Error(`gave up after ${seconds} s until ${what}`)
    await new Promise((done) => setTimeout(done, 200))
  }
}
