// One file an area and language; the name of the file is the first part of its keys.
type Words = { [key: string]: string | Words }

const files = import.meta.glob<Words>('../../i18n/*/*.json', { eager: true, import: 'default' })

export function catalogues(): Record<Language, Words> {
  const all: Record<Language, Words> = { en: {}, vi: {} }
  for (const [path, words] of Object.entries(files)) {
    const [, language, area] = /\/(en|vi)\/([a-z]+)\.json$/.exec(path) ?? []
    if (!language || !area) continue
    const own = words[area]
    const inside = Object.keys(words).length === 1 && typeof own === 'object' ? own : words
    all[language as Language][area] = inside
  }
  return all
}
