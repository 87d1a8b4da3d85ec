// Finding without diacritics: who types "kiem tra" means "Kiểm tra".

export function folded(text: string): string {
  return text.toLowerCase().replaceAll('đ', 'd').normalize('NFD').replace(/[\u0300-\u036f]/g, '')
}

/** Texts that have every word of what was typed; those that begin with it come first. */
export function matching<T>(items: T[], textOf: (item: T) => string, typed: string, limit = 20): T[] {
  const words = folded(typed).split(/\s+/).filter((word) => word !== '')
  if (words.length === 0) return []
  const hits = items.map((item) => ({ item, text: folded(textOf(item)) })).filter(({ text }) => words.every((word) => text.includes(word)))
  const begins = (text: string) => (text.startsWith(words[0]!) ? 0 : 1)
  return hits.sort((a, b) => begins(a.text) - begins(b.text)).slice(0, limit).map(({ item }) => item)
}
