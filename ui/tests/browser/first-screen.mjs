// What a page says and what it offers to do first are seen without scrolling, on a small window and on a telephone.
import { Person } from './person.mjs'
import { routes } from './routes.mjs'

const SIZES = [{ width: 1280, height: 720 }, { width: 360, height: 740 }]

export async function firstScreen({ claim, place, base, browser, languages, only }) {
  for (const language of languages) {
    for (const size of SIZES) {
      const person = await Person.arrive({ browser, place, base, name: 'hoa', language, by: 'mouse', size, key: false })
      for (const path of await routes(person.context)) {
        if (only && !path.startsWith(only)) continue
        await claim(`first screen of ${path} · ${language} · ${size.width}×${size.height}`, async () => {
          await person.go(path)
          await person.page.evaluate(() => scrollTo(0, 0))
          const seen = await person.page.evaluate(() => {
            const inside = (element) => {
              const { top, bottom, left, right, width, height } = element.getBoundingClientRect()
              return width > 0 && height > 0 && top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth + 1
            }
            const title = document.querySelector('main h1')
            // What sends a form stands below its fields; on a telephone these fill the screen.
            const primary = [...document.querySelectorAll('main [data-primary]')].find((one) => innerWidth > 600 || one.type !== 'submit')
            return { title: Boolean(title && inside(title)), primary: !primary || inside(primary), titles: document.querySelectorAll('h1').length }
          })
          if (seen.titles !== 1) throw new Error(`the page has ${seen.titles} h1`)
          if (!seen.title) throw new Error('the headline is not on the first screen')
          if (!seen.primary) throw new Error('the primary action is not on the first screen')
        })
      }
      await person.leave()
    }
  }
}
