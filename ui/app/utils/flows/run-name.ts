// What tells one run of a workflow from the next: what it was begun with, as far as a person can read it at a glance.

const LONGEST = 48
/** Ids and hashes tell people nothing. */
const OPAQUE = /^[0-9a-f-]{16,}$|^[a-z]{3}_[0-9a-f]{32}$/i

const short = (text: string) => ([...text].length > LONGEST ? `${[...text].slice(0, LONGEST - 1).join('')}…` : text)

/** The first words and numbers among the inputs; nothing when there are none. */
export function inputWords(inputs: unknown, most = 2): string {
  if (typeof inputs !== 'object' || inputs === null) return ''
  const values = Object.values(inputs as Record<string, unknown>).filter((one) => (typeof one === 'string' && one.trim() !== '' && !OPAQUE.test(one)) || typeof one === 'number')
  const words = values.filter((one) => typeof one === 'string')
  return [...words, ...values.filter((one) => typeof one === 'number')].slice(0, most).map((one) => short(String(one))).join(' · ')
}

/** The name of a run: its workflow, and its inputs or else when it was begun. */
export function runName(title: string, inputs: unknown, begun: string): string {
  const words = inputWords(inputs)
  return `${title} · ${words === '' ? begun : words}`
}
