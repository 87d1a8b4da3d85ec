// The words of the UI, from its own catalogues: a test looks for what a reader sees, in either language.
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = resolve(dirname(fileURLToPath(import.meta.url)), '../../i18n')

function catalogue(language) {
  const all = {}
  for (const file of readdirSync(join(folder, language)).filter((name) => name.endsWith('.json'))) {
    const area = file.replace('.json', '')
    const words = JSON.parse(readFileSync(join(folder, language, file), 'utf8'))
    const keys = Object.keys(words)
    all[area] = keys.length === 1 && keys[0] === area ? words[area] : words
  }
  return all
}
const catalogues = { en: catalogue('en'), vi: catalogue('vi') }
const literal = (text) => text.replace(/[.*+?^$()|[\]\\]/g, '\\$&')

/** The text under a key, as a pattern: any of its plural forms, anything where something is filled in. */
export function pattern(language, key, { whole = true } = {}) {
  const text = key.split('.').reduce((part, name) => part?.[name], catalogues[language])
  if (typeof text !== 'string') throw new Error(`there is no word ${key} in ${language}`)
  const forms = text.split(' | ').map((form) => form
    .replaceAll(/\{'(.)'\}/g, '$1')
    .split(/\{[a-z_]+\}/i).map(literal).join('.*'))
  return new RegExp(whole ? `^\\s*(${forms.join('|')})\\s*$` : `(${forms.join('|')})`)
}
