// Pictures for the README, written to docs/pictures.
import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Person } from './person.mjs'

const folder = join(resolve(dirname(fileURLToPath(import.meta.url)), '../../..'), 'docs/pictures')

export async function pictures({ place, base, browser }) {
  mkdirSync(folder, { recursive: true })
  const shots = [
    { file: 'problems', name: 'hoa', language: 'en', theme: 'light', path: async () => '/governance/problems' },
    { file: 'run', name: 'lan', language: 'vi', theme: 'light', path: async (ask) => `/runs/${(await ask('/v1/workflow-runs?limit=200')).items.find((run) => run.workflow === 'archive_digitisation').run_id}` },
    { file: 'change', name: 'hoa', language: 'en', theme: 'dark', path: async (ask) => `/changes/${(await ask('/v1/changes?limit=200')).items.find((one) => one.state === 'review').change_id}` },
    { file: 'entry', name: 'hoa', language: 'en', theme: 'light', path: async (ask) => `/entries/${(await ask('/v1/entries?limit=200')).items.find((one) => one.status === 'verified_complete').entry_id}` },
  ]
  for (const shot of shots) {
    const person = await Person.arrive({ browser, place, base, by: 'mouse', size: { width: 1280, height: 800 }, key: false, ...shot })
    const ask = async (path) => (await person.context.request.get(path)).json()
    await person.go(await shot.path(ask))
    await person.page.locator('main canvas, main ul, main table, main ol').first().waitFor()
    await person.page.screenshot({ path: join(folder, `${shot.file}.png`) })
    console.log(`docs/pictures/${shot.file}.png`)
    await person.leave()
  }
}
