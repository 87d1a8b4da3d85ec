// axe on every page, in each theme, language and width: nothing serious, nothing critical.
import { createRequire } from 'node:module'
import { Person } from './person.mjs'
import { OPEN, routes } from './routes.mjs'

const require = createRequire(import.meta.url)
const { AxeBuilder } = require('@axe-core/playwright')

/** The themes follow the system until somebody chooses one, so a page need not be loaded anew for each. */
const LOOKS = {
  light: { colorScheme: 'light', contrast: 'no-preference', forcedColors: 'none' },
  dark: { colorScheme: 'dark', contrast: 'no-preference', forcedColors: 'none' },
  contrast: { colorScheme: 'light', contrast: 'more', forcedColors: 'none' },
  'forced-colors': { colorScheme: 'light', contrast: 'no-preference', forcedColors: 'active' },
}
const WIDTHS = [{ width: 1280, height: 720 }, { width: 360, height: 740 }]
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

export async function axe({ claim, place, base, browser, languages, only }) {
  for (const language of languages) {
    for (const size of WIDTHS) {
      const person = await Person.arrive({ browser, place, base, name: 'hoa', language, by: 'mouse', size, key: false })
      for (const path of [...await routes(person.context), ...OPEN]) {
        if (only && !path.startsWith(only)) continue
        if (OPEN.includes(path)) await person.context.clearCookies()
        await claim(`axe ${path} · ${language} · ${size.width}`, async () => {
          await person.turnThePage()
          await person.page.emulateMedia(LOOKS.light)
          await person.go(path)
          const found = []
          for (const [look, media] of Object.entries(LOOKS)) {
            await person.page.emulateMedia(media)
            const { violations } = await new AxeBuilder({ page: person.page }).withTags(TAGS).analyze()
            for (const one of violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')) {
              found.push(`${look}: ${one.id} ${one.nodes.slice(0, 3).map((node) => node.target.join(' ')).join(' ; ')}`)
            }
          }
          const wide = await person.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
          if (wide > 0) found.push(`the page scrolls sideways by ${wide} px`)
          if (found.length > 0) throw new Error(found.join('\n'))
        })
      }
      await claim(`nothing is asked elsewhere · ${language} · ${size.width}`, () => {
        if (person.elsewhere.length > 0) throw new Error(person.elsewhere.join(' '))
      })
      await person.leave()
    }
  }
}
