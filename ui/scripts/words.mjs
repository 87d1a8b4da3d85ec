// Whether both languages say everything: the same keys with the same parameters in en and vi, every key that a page uses,
// and no text in a template that did not come from a catalogue, attributes for screen readers among them. Icons have to be there, too.
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse as parseSfc } from 'vue/compiler-sfc'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const LANGUAGES = ['en', 'vi']
const SPOKEN = new Set(['aria-label', 'aria-description', 'aria-roledescription', 'aria-valuetext', 'aria-placeholder', 'title', 'alt', 'placeholder', 'label', 'text', 'confirm', 'caption', 'hint', 'kicker'])
// Signs that are the same in every language.
const NO_WORD = /^[\s\d\p{P}\p{S}]*$/u

const failures = []
const fail = (text) => failures.push(text)

function flat(words, prefix, into) {
  for (const [key, value] of Object.entries(words)) {
    const name = prefix ? `${prefix}.${key}` : key
    if (typeof value === 'string') into.set(name, value)
    else flat(value, name, into)
  }
  return into
}

function catalogue(language) {
  const all = new Map()
  const folder = join(root, 'i18n', language)
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.json')).sort()) {
    const area = file.slice(0, -5)
    const words = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    const only = Object.keys(words).length === 1 && typeof words[area] === 'object'
    flat(only ? words[area] : words, area, all)
  }
  return all
}

const parameters = (text) => [...new Set([...text.matchAll(/\{\s*([A-Za-z_][\w]*)\s*\}/g)].map((found) => found[1]))].sort().join(', ')

const [en, vi] = LANGUAGES.map(catalogue)
for (const key of en.keys()) if (!vi.has(key)) fail(`vi lacks ${key}`)
for (const key of vi.keys()) if (!en.has(key)) fail(`en lacks ${key}`)
for (const [key, text] of en) {
  const other = vi.get(key)
  if (other === undefined) continue
  if (text.trim() === '' || other.trim() === '') fail(`${key} is empty`)
  if (parameters(text) !== parameters(other)) fail(`${key} has other parameters: en {${parameters(text)}}, vi {${parameters(other)}}`)
  for (const [language, said] of [['en', text], ['vi', other]]) {
    const bare = said.replace(/\{'[^']*'\}/g, '')
    if (bare.includes('@')) fail(`${key} (${language}): write @ as {'@'}`)
  }
}

function files(folder, into = []) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) files(path, into)
    else if (/\.(vue|ts)$/.test(entry.name)) into.push(path)
  }
  return into
}

const icons = JSON.parse(readFileSync(join(root, 'node_modules/@iconify-json/lucide/icons.json'), 'utf8'))
const isIcon = (name) => name in icons.icons || name in (icons.aliases ?? {})

const areas = new Set([...en.keys()].map((key) => key.split('.')[0]))
const isKey = (key) => en.has(key)
const beginsKeys = (start) => [...en.keys()].some((key) => key.startsWith(start))

for (const path of files(join(root, 'app'))) {
  const source = readFileSync(path, 'utf8')
  const where = (line) => `${relative(root, path)}:${line}`
  const lineOf = (at) => source.slice(0, at).split('\n').length
  for (const found of source.matchAll(/\bt\(\s*'([a-z][\w.]*)'/g)) if (!isKey(found[1])) fail(`${where(lineOf(found.index))} uses ${found[1]}, which no catalogue has`)
  for (const found of source.matchAll(/\bt\(\s*`([a-z][\w.]*)\$\{/g)) {
    if (areas.has(found[1].split('.')[0]) && !beginsKeys(found[1])) fail(`${where(lineOf(found.index))} uses keys beginning with ${found[1]}, which no catalogue has`)
  }
  for (const found of source.matchAll(/lucide:([a-z0-9-]+)/g)) if (!isIcon(found[1])) fail(`${where(lineOf(found.index))} uses the icon ${found[1]}, which there is not`)
  if (!path.endsWith('.vue')) continue
  const { descriptor, errors } = parseSfc(source, { filename: path })
  for (const error of errors) fail(`${where(1)} ${error.message}`)
  if (descriptor.template?.ast) walk(descriptor.template.ast, where)
}

function walk(node, where) {
  // 1 element, 2 text, 6 attribute: the numbers of Vue's own tree.
  if (node.type === 2 && !NO_WORD.test(node.content)) fail(`${where(node.loc.start.line)} has raw text: ${node.content.trim().slice(0, 60)}`)
  if (node.type === 5 && /^\s*['"`][^'"`]*\p{L}{2,}[^'"`]*['"`]\s*$/u.test(node.content?.loc?.source ?? '')) fail(`${where(node.loc.start.line)} has raw text: ${node.content.loc.source}`)
  for (const prop of node.props ?? []) {
    if (prop.type === 6 && SPOKEN.has(prop.name) && prop.value && !NO_WORD.test(prop.value.content)) fail(`${where(prop.loc.start.line)} has raw text in ${prop.name}: ${prop.value.content}`)
    if (prop.type === 7 && prop.name === 'bind' && SPOKEN.has(prop.arg?.content) && /^\s*'[^']*\p{L}{2,}[^']*'\s*$/u.test(prop.exp?.loc?.source ?? '')) fail(`${where(prop.loc.start.line)} has raw text in ${prop.arg.content}: ${prop.exp.loc.source}`)
  }
  for (const child of node.children ?? []) walk(child, where)
}

if (failures.length > 0) {
  for (const text of failures) console.error(text)
  console.error(`words: ${failures.length} failed`)
  process.exit(1)
}
console.log(`words: ${en.size} keys in ${LANGUAGES.join(' and ')}, the same parameters, no raw text`)
