// node run.mjs [STEP…] [--only NAME] [--lang vi|en] [--by mouse|keyboard]
//
// Steps: tasks (the ten core tasks), forms, offers, unsent, consistent, in-one-place, axe, first-screen, budgets, pictures.
// Without any: all but budgets and pictures.
// The system is made anew: a data directory of its own, filled by `chancery demo --serve`. To look at one that runs already:
// --base URL (where the pages are) --home DIR --sign-ins FILE (a line `NAME PASSWORD` a person).
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { openBrowser, Person } from './person.mjs'
import { foundPlace, startPlace } from './place.mjs'
import { TASKS } from './tasks/index.mjs'
import { axe } from './axe.mjs'
import { budgets } from './budgets/index.mjs'
import { forms } from './forms/index.mjs'
import { offers } from './offers.mjs'
import { consistent } from './consistent.mjs'
import { inOnePlace } from './in-one-place.mjs'
import { unsent } from './unsent.mjs'
import { firstScreen } from './first-screen.mjs'
import { pictures } from './pictures.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' }, lang: { type: 'string' }, by: { type: 'string' }, base: { type: 'string' }, home: { type: 'string' },
    'sign-ins': { type: 'string' }, chancery: { type: 'string' }, chromium: { type: 'string', default: '/usr/bin/chromium' }, keep: { type: 'boolean', default: false },
  },
})
const steps = positionals.length > 0 ? positionals : ['tasks', 'forms', 'offers', 'unsent', 'consistent', 'in-one-place', 'axe', 'first-screen']
if (!existsSync(options.chromium)) {
  console.error(`there is no ${options.chromium}: bin/browser-tools installs it`)
  process.exit(2)
}
const languages = options.lang ? [options.lang] : ['vi', 'en']
const ways = options.by ? [options.by] : ['mouse', 'keyboard']

const place = options.home
  ? foundPlace({ program: options.chancery ?? 'chancery', home: options.home, url: options.base, signIns: options['sign-ins'] })
  : await startPlace({ ...(options.chancery ? { program: options.chancery } : {}), say: (text) => console.log(text) })
const base = options.base ?? place.url
const browser = await openBrowser(options.chromium)
const counted = { passed: 0, failed: 0 }
const people = new Map()

/** One claim, counted. */
async function claim(name, prove) {
  const began = Date.now()
  const seconds = () => `${((Date.now() - began) / 1000).toFixed(1)} s`
  try {
    await prove()
    counted.passed++
    console.log(`ok    ${name}  ${seconds()}`)
  } catch (error) {
    counted.failed++
    console.log(`FAIL  ${name}  ${seconds()}\n      ${String(error.stack ?? error).split('\n').slice(0, 6).join('\n      ')}`)
    for (const person of people.values()) {
      if (person.page.isClosed()) continue
      await person.page.screenshot({ path: `/tmp/browser-fail-${person.name}.png` }).catch(() => {})
    }
  }
}

/** The people of one round: each keeps their browser, with the key in it. */
function round(language, by) {
  return {
    place, base, browser, language, by,
    async as(name) {
      const key = `${name} ${language} ${by}`
      if (!people.has(key)) people.set(key, await Person.arrive({ browser, place, base, name, language, by }))
      return people.get(key)
    },
  }
}

try {
  if (steps.includes('tasks')) {
    for (const language of languages) {
      for (const by of ways) {
        for (const [name, task] of Object.entries(TASKS)) {
          if (options.only && options.only !== name) continue
          await claim(`${name} · ${language} · ${by}`, () => task(round(language, by)))
        }
        for (const [key, person] of people) {
          await claim(`nothing is asked elsewhere, nothing breaks · ${key}`, () => {
            if (person.elsewhere.length > 0) throw new Error(`asked elsewhere: ${person.elsewhere.join(' ')}`)
            if (person.broken.length > 0) throw new Error(person.broken.join('\n'))
          })
          await person.leave()
          people.delete(key)
        }
      }
    }
  }
  if (steps.includes('forms')) await forms({ claim, place, base, browser, languages, only: options.only })
  if (steps.includes('offers')) await offers({ claim, place, base, browser, languages, only: options.only })
  if (steps.includes('unsent')) await unsent({ claim, place, base, browser, languages })
  if (steps.includes('consistent')) await consistent({ claim, place, base, browser, languages })
  if (steps.includes('in-one-place')) await inOnePlace({ claim, place, base, browser, languages })
  if (steps.includes('axe')) await axe({ claim, place, base, browser, languages, only: options.only })
  if (steps.includes('first-screen')) await firstScreen({ claim, place, base, browser, languages, only: options.only })
  if (steps.includes('budgets')) await budgets({ claim, place, base, browser })
  if (steps.includes('pictures')) await pictures({ place, base, browser })
} finally {
  await browser.close()
  if (options.keep) console.log(`kept ${place.home} at ${place.url}`)
  else await place.stop()
}
console.log(`${counted.passed} passed, ${counted.failed} failed`)
process.exitCode = counted.failed > 0 ? 1 : 0
