// Proves a file of `chancery audit export` with nothing but the file: what `chancery audit verify --bundle` looks at, in the browser.
import { type Json, canonical, isObject, parsed, sha256Hex, uuidOf, wholeNumber } from './bytes.ts'
import { askedAndVoted, documentsHold } from './authority.ts'
import { type Facts, type KeyUse, type Mismatch, Checker, Report, Signers, replay } from './check.ts'
import { entryHolds, legalEntryMove } from './entry.ts'
import { laneHolds } from './lane.ts'
import { sourceHolds } from './manifest.ts'
import { type LogRow, type Value, Row, Rows, artefactDigest, gather } from './rows.ts'
import { pathsOf, runHolds, usedApprovals } from './run.ts'
import * as t from './tables.ts'

const FORMAT = 'chancery.audit-bundle.v1'
export const FILE = 'bundle'

/** One thing that was looked at, and what does not fit about it. */
export interface Link {
  kind: 'file' | 'move' | 'signed' | 'row'
  table: string
  key: string
  /** Who made it and when, where the row says so. */
  who?: string
  at?: string
  mismatches: Mismatch[]
}

export interface Verdict {
  ok: boolean
  entryId?: string
  documentId?: string
  links: Link[]
  good: number
  signatures: { good: number; all: number }
  keys: KeyUse[]
  mismatches: Mismatch[]
}

/** Public keys that the reader trusts: a line NAME=HEX each. Gives what is no such line as well. */
export function readPins(text: string): { pins: Map<string, Set<string>>; malformed: string[] } {
  const pins = new Map<string, Set<string>>()
  const malformed: string[] = []
  for (const line of text.split('\n').map((one) => one.trim()).filter((one) => one !== '' && !one.startsWith('#'))) {
    const found = /^([^=]+)=([0-9a-fA-F]{64})$/.exec(line)
    if (found?.[1] === undefined || found[2] === undefined) malformed.push(line)
    else pins.set(found[1], new Set([...(pins.get(found[1]) ?? []), found[2].toLowerCase()]))
  }
  return { pins, malformed }
}

/** `registry`: what is known of evidence, this release's unless a test looks at a file as a later one would. */
export async function verifyBundle(file: Uint8Array<ArrayBuffer>, pins = new Map<string, Set<string>>(), registry = t.RELEASE): Promise<Verdict> {
  const report = new Report()
  const wrong = (rule: string, facts: Record<string, string> = {}) => report.found({ table: FILE, key: '', rule, facts })
  const end = file.indexOf(10) < 0 ? file.length : file.indexOf(10) + 1
  const line = file.slice(0, end)
  const seal = `sha256:${await sha256Hex(line)}\n`
  if (decode(file.slice(end)) !== seal) wrong('bundle_is_whole')
  const read = readBundle(decode(line), registry)
  if (typeof read === 'string') {
    wrong('bundle_is_readable', { found: read })
    return verdictOf(report, undefined, undefined)
  }
  const { entryId, held, signers } = read
  signers.pins = pins
  const rows = await gather(held, entryId, pathsOf, usedApprovals)
  await digests(rows, signers, report)
  nothingElse(held, rows, report)
  for (const entry of rows.all(t.ENTRY)) {
    const checker = new Checker(rows, signers, report)
    const log = rows.logOf(entry.id('entry_id'))
    const facts: Facts = { row: entry, runId: entry.id('entry_id'), state: 'status', data: entry.json('payload'), birthDigest: undefined }
    await replay(checker, log, facts)
    for (const row of log) legalEntryMove(checker, entry, row)
  }
  for (const run of rows.all(t.ORCHESTRATED)) {
    const checker = new Checker(rows, signers, report)
    const digest = await run.expectedDigest()
    const birthDigest = digest === undefined ? undefined : await artefactDigest([digest])
    await replay(checker, rows.logOf(run.id('run_id')), { row: run, runId: run.id('run_id'), state: 'state_code', data: null, birthDigest })
    await runHolds(checker, run)
    for (const request of rows.all(t.REQUEST)) await askedAndVoted(checker, request)
  }
  const checker = new Checker(rows, signers, report)
  await documentsHold(checker)
  for (const source of rows.all(t.SOURCE)) await sourceHolds(checker, source)
  for (const signature of rows.all(t.SIGNATURE)) await laneHolds(checker, signature)
  const entry = rows.one(t.ENTRY, 'entry_id', entryId)
  if (entry === undefined) report.found({ table: t.ENTRY, key: entryId, rule: 'bundle_has_its_request', facts: {} })
  else await entryHolds(checker, entry)
  return verdictOf(report, held, signers, entryId, entry?.opt('document_id') ?? undefined)
}

/** Every row carries the digest of its own columns. */
async function digests(rows: Rows, signers: Signers, report: Report) {
  const checker = new Checker(rows, signers, report)
  for (const row of rows.every()) {
    if (row.version() === undefined) {
      checker.wrong(row, 'digest_version_is_known', { found: row.opt('digest_version') ?? 'null' })
      continue
    }
    for (const column of row.beyondVersion()) checker.wrong(row, 'column_is_of_the_version', { column, found: String(row.version()) })
    const expected = await row.expectedDigest()
    if (expected === undefined || row.digest() !== expected) {
      checker.wrong(row, 'digest_is_of_the_row', { found: row.digest() ?? 'null', expected: expected ?? 'null' })
    }
  }
}

/** A row that nothing leads to proves nothing, and may be there to impress. */
function nothingElse(held: Rows, reached: Rows, report: Report) {
  const rule = 'bundle_has_nothing_else'
  const keys = new Set(reached.every().map((row) => `${row.table.name} ${row.key()}`))
  const seen = new Set<string>()
  for (const row of held.every()) {
    const key = `${row.table.name} ${row.key()}`
    if (!keys.has(key) || seen.has(key)) report.found({ table: row.table.name, key: row.key(), rule, facts: {} })
    seen.add(key)
  }
  for (const [run, log] of held.log) {
    const first = log[0]
    if (first !== undefined && reached.logOf(run).length === 0) report.found({ table: t.LOG, key: `${run}/${first.seq}`, rule, facts: {} })
  }
}

interface Read {
  entryId: string
  held: Rows
  signers: Signers
}

function decode(bytes: Uint8Array<ArrayBuffer>): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** What the first line says, or the part of it that cannot be read. */
function readBundle(text: string | undefined, registry: t.Registry): Read | string {
  if (text === undefined || !text.endsWith('\n')) return 'text'
  const document = parsed(text.slice(0, -1))
  if (!isObject(document)) return 'json'
  if (document.format !== FORMAT) return 'format'
  if (`${canonical(document)}\n` !== text) return 'canonical'
  const entryId = typeof document.entry_id === 'string' ? uuidOf(document.entry_id) : undefined
  if (entryId === undefined) return 'entry_id'
  const held = new Rows()
  // What came after version 1 may be missing: the version too, and then it is 1.
  const later = [...t.laterOf(registry.log), 'hash_version']
  const log = readRows(document.log, (columns) => {
    const known = t.logColumns(registry.log)
    return columns.every((column) => known.includes(column)) && known.every((column) => later.includes(column) || columns.includes(column))
  })
  if (log === undefined) return 'log'
  for (const values of log.rows) {
    const row = logRow(log.columns, values, t.laterOf(registry.log))
    if (row === undefined) return 'log'
    held.log.set(row.runId, [...(held.log.get(row.runId) ?? []), row])
  }
  if (!isObject(document.tables)) return 'tables'
  for (const [name, table] of Object.entries(document.tables)) {
    const known = registry.tables.find((one) => one.tag === name)
    if (known === undefined) return name
    // Columns are known from here and not from the file: no digest is over what a value is called. Of a file of an older release those that came
    // later are missing, and others have the names that they had.
    const current = (columns: string[]) => columns.map((column) => t.currentName(known, column))
    const rows = readRows(table, (columns) => {
      const names = current(columns)
      return new Set(names).size === names.length && names.every((column) => t.columnsOf(known).includes(column))
    })
    if (rows === undefined) return name
    const places = new Map(current(rows.columns).map((column, place) => [column, place]))
    for (const values of rows.rows) held.add(new Row(known, values, places), true)
  }
  const signers = readSigners(document)
  if (signers === undefined) return 'keys'
  signers.registry = registry
  return { entryId, held, signers }
}

/** Columns, ascending, and rows with a value for each of them; nothing where these are not the right columns. */
function readRows(held: Json | undefined, right: (columns: string[]) => boolean): { columns: string[]; rows: Value[][] } | undefined {
  if (!isObject(held) || !Array.isArray(held.columns) || !Array.isArray(held.rows)) return undefined
  if (!held.columns.every((column) => typeof column === 'string')) return undefined
  const columns = held.columns as string[]
  if (canonical([...new Set(columns)].sort()) !== canonical(columns) || !right(columns)) return undefined
  const rows = held.rows as Json[]
  const fits = rows.every((row) => Array.isArray(row) && row.length === columns.length && row.every((value) => value === null || typeof value === 'string'))
  return fits ? { columns, rows: rows as Value[][] } : undefined
}

function are(columns: string[]): (found: string[]) => boolean {
  return (found) => canonical(found) === canonical(columns)
}

function readSigners(document: { [member: string]: Json }): Signers | undefined {
  const signers = new Signers()
  const keys = readRows(document.keys, are(t.KEY_COLUMNS))?.rows
  const principals = readRows(document.principals, are(t.PRINCIPAL_COLUMNS))?.rows
  const kinds = document.kinds_that_sign
  if (keys === undefined || principals === undefined || !Array.isArray(kinds)) return undefined
  for (const [id, principal, publicKey, registered, revoked] of keys) {
    const keyId = uuidOf(id)
    const registeredAt = wholeNumber(registered)
    const revokedAt = wholeNumber(revoked)
    if (keyId === undefined || !principal || !publicKey || registeredAt === undefined || (revoked && revokedAt === undefined)) return undefined
    signers.keys.set(keyId, { keyId, principal, publicKey, registeredAt, revokedAt })
  }
  for (const [kind, name] of principals) {
    if (!kind || !name) return undefined
    signers.principals.set(name, kind)
  }
  if (!kinds.every((kind) => typeof kind === 'string')) return undefined
  signers.kindsThatSign = kinds as string[]
  return signers
}

function logRow(columns: string[], values: Value[], later: string[]): LogRow | undefined {
  const get = (column: string): Value => values[columns.indexOf(column)] ?? null
  const hex = (column: string) => get(column) === null || /^([0-9a-f]{2})*$/.test(get(column) ?? '')
  const [runId, logId, seq, at] = [uuidOf(get('run_id')), uuidOf(get('log_id')), wholeNumber(get('seq')), wholeNumber(get('at_micros'))]
  const due = ['run_kind', 'state_machine_id', 'transition_id', 'to_state', 'principal', 'actor_class', 'trigger_kind', 'trigger_ref', 'evidence',
    'idempotency_key', 'hash']
  if (runId === undefined || logId === undefined || seq === undefined || at === undefined || due.some((column) => get(column) === null)) return undefined
  if (!['artefact_digest', 'signature', 'prev_hash', 'hash'].every(hex)) return undefined
  const keyId = uuidOf(get('key_id'))
  if (get('key_id') !== null && keyId === undefined) return undefined
  const text = (column: string) => get(column) ?? ''
  const hashVersion = columns.includes('hash_version') ? text('hash_version') : '1'
  if (!/^-?[0-9]{1,5}$/.test(hashVersion) || String(new Int16Array([Number(hashVersion)])[0]) !== hashVersion) return undefined
  return {
    runId, logId, seq, at, keyId, runKind: text('run_kind'), machine: text('state_machine_id'), transitionId: text('transition_id'),
    from: get('from_state'), to: text('to_state'), facet: get('facet'), principal: text('principal'), actorClass: text('actor_class'),
    triggerKind: text('trigger_kind'), triggerRef: text('trigger_ref'), reason: get('reason'), evidence: text('evidence'),
    eventType: get('event_type'), artefactDigest: get('artefact_digest'), idempotencyKey: text('idempotency_key'), signature: get('signature'),
    prevHash: get('prev_hash'), hash: text('hash'), hashVersion,
    more: Object.fromEntries(later.map((column) => [column, get(column)])),
  }
}

const SIGNED = new Set([t.DECISION, t.SIGNATURE, t.REQUEST, t.VOTE, t.UNDER])
const WHO = ['reviewer_identity', 'signer_principal', 'proposer', 'voter', 'signer', 'author', 'emitted_by', 'verified_by', 'actor', 'created_by', 'started_by', 'swept_by', 'used_by']
const WHEN = ['decision_at', 'signed_at', 'voted_at', 'recorded_at', 'emitted_at', 'verified_at', 'created_at', 'at', 'swept_at', 'used_at']

/** Every row and move as a link of the chain, each with what does not fit about it. */
function verdictOf(report: Report, held: Rows | undefined, signers: Signers | undefined, entryId?: string, documentId?: string): Verdict {
  const links: Link[] = [{ kind: 'file', table: FILE, key: '', mismatches: [] }]
  for (const [run, log] of held?.log ?? []) {
    for (const row of log) links.push({ kind: 'move', table: t.LOG, key: `${run}/${row.seq}`, who: row.principal, at: timeOf(String(row.at)), mismatches: [] })
  }
  for (const row of held?.every() ?? []) {
    const who = WHO.map((column) => row.opt(column)).find((value) => value !== null)
    const when = WHEN.map((column) => row.opt(column)).find((value) => value !== null)
    const kind = SIGNED.has(row.table.name) ? 'signed' : 'row'
    links.push({ kind, table: row.table.name, key: row.key(), who: who ?? undefined, at: timeOf(when), mismatches: [] })
  }
  const places = new Map(links.map((link) => [`${link.table} ${link.key}`, link]))
  for (const mismatch of report.mismatches) {
    const place = `${mismatch.table} ${mismatch.key}`
    const link = places.get(place) ?? { kind: 'row', table: mismatch.table, key: mismatch.key, mismatches: [] }
    if (!places.has(place)) {
      places.set(place, link)
      links.push(link)
    }
    link.mismatches.push(mismatch)
  }
  return {
    ok: report.mismatches.length === 0, entryId, documentId, links, good: links.filter((link) => link.mismatches.length === 0).length,
    signatures: { good: report.signatures, all: report.signaturesChecked }, keys: signers?.uses() ?? [], mismatches: report.mismatches,
  }
}

/** Microseconds since 1970 as a time. */
function timeOf(micros: Value | undefined): string | undefined {
  const number = wholeNumber(micros)
  return number === undefined ? undefined : new Date(number / 1000).toISOString()
}
