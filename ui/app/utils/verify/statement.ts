// Versions of what is signed. A move's version is that of its log row; every other text names its domain and the version of its list of members,
// `chancery.DOMAIN.vVERSION`. The function of a version is never edited.
import { parsed, textMember } from './bytes.ts'
import type { Checker } from './check.ts'
import type { Row } from './rows.ts'

/** Types of what is signed, by domain; the first one is version 1. */
const TYPES = {
  review: ['application/vnd.chancery.review.v1+json'],
  cutter: ['application/vnd.chancery.cutter.v1+json'],
  approval: ['application/vnd.chancery.approval.v1+json'],
  kb: ['application/vnd.chancery.kb.v1+json'],
}

export interface Statement {
  version: number
  payloadType: string
}

/** The version of a text, or what it names instead. A text that names none is taken for one of version 1, which it will not turn out to be. */
export function statementOf(domain: keyof typeof TYPES, payload: string): Statement | { named: string } {
  const named = textMember(parsed(payload), 'domain')
  const types = TYPES[domain]
  const place = named === null ? 0 : types.findIndex((_, at) => named === `chancery.${domain}.v${at + 1}`)
  const payloadType = types[place]
  return payloadType === undefined ? { named: named ?? '' } : { version: place + 1, payloadType }
}

/** The version of the text in a column; says so when it is none that is known. */
export function statementIn(checker: Checker, row: Row, domain: keyof typeof TYPES, column: string): Statement | undefined {
  const statement = statementOf(domain, row.text(column))
  if (!('named' in statement)) return statement
  checker.wrong(row, 'statement_version_is_known', { column, found: statement.named })
  return undefined
}
