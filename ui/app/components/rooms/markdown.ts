// Cuts Markdown into blocks that a page shows as text. What is not understood stays as it was written.

export interface Inline {
  kind: 'text' | 'code' | 'strong' | 'em'
  text: string
}

export type Block =
  | { kind: 'heading'; level: number; parts: Inline[] }
  | { kind: 'paragraph' | 'quote'; parts: Inline[] }
  | { kind: 'code'; text: string }
  | { kind: 'list'; ordered: boolean; items: Inline[][] }
  | { kind: 'table'; rows: Inline[][][] }
  | { kind: 'rule' }

export function inlineOf(text: string): Inline[] {
  const parts: Inline[] = []
  let rest = text
  while (rest !== '') {
    const found = /`([^`]+)`|\*\*([^*]+)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])/.exec(rest)
    if (found === null) {
      parts.push({ kind: 'text', text: rest })
      break
    }
    if (found.index > 0) parts.push({ kind: 'text', text: rest.slice(0, found.index) })
    if (found[1] !== undefined) parts.push({ kind: 'code', text: found[1] })
    else if (found[2] !== undefined) parts.push({ kind: 'strong', text: found[2] })
    else parts.push({ kind: 'em', text: found[3] ?? '' })
    rest = rest.slice(found.index + found[0].length)
  }
  return parts
}

const ITEM = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/

export function blocksOf(text: string): Block[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const blocks: Block[] = []
  let at = 0
  const take = (belongs: (line: string) => boolean): string[] => {
    const taken: string[] = []
    for (let line = lines[at]; line !== undefined && belongs(line); line = lines[at]) {
      taken.push(line)
      at += 1
    }
    return taken
  }
  const starts = (line: string) => /^(#{1,6}\s|```|\s*([-*+]|\d+[.)])\s|>|\|)/.test(line)
  while (at < lines.length) {
    const line = lines[at] ?? ''
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line)
    if (line.trim() === '') at += 1
    else if (line.startsWith('```')) {
      at += 1
      blocks.push({ kind: 'code', text: take((one) => !one.startsWith('```')).join('\n') })
      at += 1
    } else if (heading !== null) {
      blocks.push({ kind: 'heading', level: heading[1]?.length ?? 1, parts: inlineOf(heading[2] ?? '') })
      at += 1
    } else if (/^(-{3,}|\*{3,}|_{3,})\s*$/.test(line)) {
      blocks.push({ kind: 'rule' })
      at += 1
    } else if (ITEM.test(line)) {
      const ordered = ITEM.exec(line)?.[1] !== undefined
      const items: string[] = []
      for (const one of take((next) => ITEM.test(next) || /^\s{2,}\S/.test(next))) {
        const item = ITEM.exec(one)
        if (item !== null) items.push(item[2] ?? '')
        else items.push(`${items.pop() ?? ''} ${one.trim()}`)
      }
      blocks.push({ kind: 'list', ordered, items: items.map(inlineOf) })
    } else if (line.startsWith('>')) {
      blocks.push({ kind: 'quote', parts: inlineOf(take((one) => one.startsWith('>')).map((one) => one.replace(/^>\s?/, '')).join('\n')) })
    } else if (line.startsWith('|')) {
      const rows = take((one) => one.startsWith('|')).filter((one) => !/^\|[\s:|-]+\|?$/.test(one))
      blocks.push({ kind: 'table', rows: rows.map((row) => row.replace(/^\||\|\s*$/g, '').split('|').map((cell) => inlineOf(cell.trim()))) })
    } else {
      const first = at
      const words = take((one) => one.trim() !== '' && (at === first || !starts(one)))
      blocks.push({ kind: 'paragraph', parts: inlineOf(words.join('\n')) })
    }
  }
  return blocks
}
