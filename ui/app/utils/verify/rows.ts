// Rows of evidence in memory, and which of them prove an entry.
import { type Json, derivedUuid, fromHex, NIL, parsed, sha256, textMember, toHex, utf8, uuidOf, wholeNumber } from './bytes.ts'
import * as t from './tables.ts'

export type Value = string | null

export class Row {
  readonly table: t.Table
  readonly values: Value[]
  private readonly places: Map<string, number>

  constructor(table: t.Table, values: Value[], places: Map<string, number>) {
    this.table = table
    this.values = values
    this.places = places
  }

  columns(): string[] {
    return [...this.places.keys()]
  }

  opt(column: string): Value {
    const place = this.places.get(column)
    return place === undefined ? null : (this.values[place] ?? null)
  }

  /** The value, or nothing at all for null. */
  text(column: string): string {
    return this.opt(column) ?? ''
  }

  uuid(column: string): string | undefined {
    return uuidOf(this.opt(column))
  }

  /** The id, or nil where there is none: then nothing that should have it will fit. */
  id(column: string): string {
    return this.uuid(column) ?? NIL
  }

  number(column: string): number | undefined {
    return wholeNumber(this.opt(column))
  }

  bytes(column: string): Uint8Array<ArrayBuffer> | undefined {
    return fromHex(this.opt(column))
  }

  /** A digest in hex, where it is one. */
  sha(column: string): string | undefined {
    const bytes = this.bytes(column)
    return bytes?.length === 32 ? toHex(bytes) : undefined
  }

  json(column: string): Json {
    return parsed(this.opt(column))
  }

  digest(): string | undefined {
    return this.sha('row_digest')
  }

  /** The version of the row's digest; rows that were read before there was one are of version 1. Nothing where it is none that is known. */
  version(): number | undefined {
    const named = this.places.has('digest_version') ? this.opt('digest_version') : '1'
    const place = this.table.versions.findIndex((_, at) => named === String(at + 1))
    return place < 0 ? undefined : place + 1
  }

  /** The digest that the row must carry; nothing where it is of no known version or lacks a column. */
  async expectedDigest(): Promise<string | undefined> {
    const version = this.version()
    return version === undefined ? undefined : this.digestOf(version, {})
  }

  /** The digests that the row can have carried with other values in some columns: of its version, and of those before it, the newest first. */
  async digestsWith(changed: Record<string, Value>): Promise<string[]> {
    const digests: string[] = []
    for (let version = this.version() ?? 0; version > 0; version -= 1) {
      const digest = await this.digestOf(version, changed)
      if (digest !== undefined) digests.push(digest)
    }
    return digests
  }

  /** Columns that have a value although the digest of the row's version is not over them. */
  beyondVersion(): string[] {
    const pinned = this.table.versions[(this.version() ?? 0) - 1]
    if (pinned === undefined) return []
    return [...new Set(this.table.versions.flat())].filter((column) => !pinned.includes(column) && this.opt(column) !== null)
  }

  private async digestOf(version: number, changed: Record<string, Value>): Promise<string | undefined> {
    const pinned = this.table.versions[version - 1]
    if (pinned === undefined || !pinned.every((column) => this.places.has(column))) return undefined
    const parts = pinned
      .map((column) => (Object.hasOwn(changed, column) ? (changed[column] ?? null) : this.opt(column)))
      .map((value) => (value === null ? undefined : utf8(value)))
    const lengths = parts.map((part) => (part === undefined ? '-1' : String(part.length)))
    return toHex(await sha256(joined([utf8(`chancery.row.v${version},${this.table.tag},${lengths.join(',')}:`), ...parts])))
  }

  key(): string {
    return this.table.key.map((column) => this.text(column)).join('/')
  }
}

function joined(parts: (Uint8Array<ArrayBuffer> | undefined)[]): Uint8Array<ArrayBuffer> {
  const there = parts.filter((part) => part !== undefined)
  const whole = new Uint8Array(there.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of there) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** One digest for all rows that a move wrote: over their digests, ascending. */
export async function artefactDigest(digests: string[]): Promise<string> {
  const sorted = [...digests].sort()
  return toHex(await sha256(fromHex(sorted.join('')) ?? new Uint8Array()))
}

export interface LogRow {
  runId: string
  seq: number
  logId: string
  runKind: string
  machine: string
  transitionId: string
  from: Value
  to: string
  facet: Value
  principal: string
  actorClass: string
  triggerKind: string
  triggerRef: string
  reason: Value
  evidence: string
  eventType: Value
  artefactDigest: Value
  idempotencyKey: string
  keyId: string | undefined
  signature: Value
  at: number
  prevHash: Value
  hash: string
  /** What the hash and the signed statement are over; as it is written, since it may be none that is known. */
  hashVersion: string
  /** Columns that came after version 1. */
  more: Record<string, Value>
}

/** The version of a log row; nothing where it is none that is known. */
export function logVersion(row: LogRow, log: t.LogVersion[]): t.LogVersion | undefined {
  return log.find((_, at) => row.hashVersion === String(at + 1))
}

/** Columns of a log row that have a value although its hash is not over them. */
export function beyondHash(row: LogRow, version: t.LogVersion): string[] {
  return Object.keys(row.more).filter((column) => row.more[column] !== null && ![...version.plain, ...version.texts].includes(column)).sort()
}

/** The hash that a log row of a version must carry, over every stored column but the hash itself. */
export async function expectedHash(row: LogRow, version: t.LogVersion): Promise<string> {
  const values: Record<string, Value> = {
    run_id: row.runId, seq: String(row.seq), log_id: row.logId, key_id: row.keyId ?? null, at_micros: String(row.at), prev_hash: row.prevHash,
    artefact_digest: row.artefactDigest, signature: row.signature, run_kind: row.runKind, state_machine_id: row.machine,
    transition_id: row.transitionId, from_state: row.from, to_state: row.to, facet: row.facet, principal: row.principal, actor_class: row.actorClass,
    trigger_kind: row.triggerKind, trigger_ref: row.triggerRef, reason: row.reason, evidence: row.evidence, event_type: row.eventType,
    idempotency_key: row.idempotencyKey, ...row.more,
  }
  const head = version.plain.map((column) => `${values[column] ?? ''},`).join('')
  const texts = version.texts.map((column) => values[column] ?? null)
  const lengths = texts.map((text) => (text === null ? '-1' : String(utf8(text).length)))
  return toHex(await sha256(`chancery.log.v${row.hashVersion},${head}${lengths.join(',')}:${texts.map((text) => text ?? '').join('')}`))
}

export function evidenceOf(row: LogRow): Json {
  return parsed(row.evidence)
}

/** The sweep that a move is of. */
export function sweptBy(row: LogRow): string | undefined {
  return row.triggerRef === 'sweep' ? uuidOf(textMember(evidenceOf(row), 'sweep_id')) : undefined
}

export class Rows {
  private readonly tables = new Map<string, Row[]>()
  private readonly index = new Map<string, Row[]>()
  private readonly seen = new Set<string>()
  readonly log = new Map<string, LogRow[]>()

  /** Adds a row; the same one twice only when it is asked for. */
  add(row: Row, twice = false): boolean {
    const name = row.table.name
    const known = `${name} ${row.key()}`
    if (this.seen.has(known) && !twice) return false
    this.seen.add(known)
    const rows = this.tables.get(name)
    if (rows === undefined) this.tables.set(name, [row])
    else rows.push(row)
    row.columns().forEach((column) => {
      const value = row.opt(column)
      // Long texts are looked for by nobody.
      if (value === null || value.length > 400) return
      const place = `${name} ${column} ${value}`
      const there = this.index.get(place)
      if (there === undefined) this.index.set(place, [row])
      else there.push(row)
    })
    return true
  }

  all(table: string): Row[] {
    return this.tables.get(table) ?? []
  }

  every(): Row[] {
    return [...this.tables.keys()].sort().flatMap((table) => this.all(table))
  }

  of(table: string, column: string, value: string): Row[] {
    return this.index.get(`${table} ${column} ${value}`) ?? []
  }

  one(table: string, column: string, value: string): Row | undefined {
    return this.of(table, column, value)[0]
  }

  logOf(run: string): LogRow[] {
    return this.log.get(run) ?? []
  }
}

function ids(rows: Row[], column: string): string[] {
  return [...new Set(rows.map((row) => row.uuid(column)).filter((id) => id !== undefined))].sort()
}

/** The ids of the units that the manifest of a run makes. */
export async function runUnits(rows: Rows, run: Row): Promise<string[]> {
  const envelope = await derivedUuid(run.id('run_id'), 'manifest')
  const set = await derivedUuid(run.id('run_id'), 'change_set')
  return Promise.all(rows.of(t.BLOCK, 'envelope_id', envelope).map((block) => derivedUuid(set, `unit,${block.text('unit_local_id')}`)))
}

/** Everything of `held` that proves the entry and what it leans on; `paths` and `approvals` name what a run's moves rest on. */
export async function gather(
  held: Rows,
  entryId: string,
  paths: (run: Row, log: LogRow[]) => string[],
  approvals: (log: LogRow[]) => string[],
): Promise<Rows> {
  const rows = new Rows()
  const take = (table: string, column: string, values: string[]) => {
    for (const value of values) for (const row of held.of(table, column, value)) rows.add(row)
  }
  const takeLog = (runs: string[]) => {
    for (const run of runs) {
      const log = held.logOf(run)
      if (log.length > 0) rows.log.set(run, log)
    }
  }
  const entry = [entryId]
  take(t.ENTRY, 'entry_id', entry)
  take(t.ORCHESTRATED, 'entry_id', entry)
  take(t.DEPENDENCY, 'from_entry_id', entry)
  take(t.ENVELOPE, 'entry_id', entry)
  take(t.BLOCK, 'envelope_id', ids(rows.all(t.ENVELOPE), 'envelope_id'))
  take(t.DECISION, 'entry_id', entry)
  take(t.CHANGE_SET, 'decision_backlog_entry_id', entry)
  const sets = ids(rows.all(t.CHANGE_SET), 'change_set_id')
  take(t.AFFECTED, 'change_set_id', sets)
  take(t.RESULT, 'change_set_id', sets)
  take(t.SIGNATURE, 'signature_id', [
    ...ids(rows.all(t.CHANGE_SET), 'executor_signature_id'), ...ids(rows.all(t.RESULT), 'verifier_signature_id'),
  ])
  take(t.SIGNATURE, 'signature_id', ids(rows.all(t.SIGNATURE), 'prior_signature_id'))
  const context = [
    ...ids(rows.all(t.DEPENDENCY), 'to_entry_id'), ...ids(rows.all(t.RESULT), 'escalation_ref'), ...ids(rows.all(t.ENTRY), 'escalation_of'),
  ].filter((id) => id !== entryId)
  takeLog([entryId, ...context])
  take(t.SWEEP, 'sweep_id', rows.logOf(entryId).map(sweptBy).filter((id) => id !== undefined))
  const sources = [...ids(rows.all(t.ENTRY), 'source_version_id'), ...ids(rows.all(t.ENVELOPE), 'source_version_id')]
  take(t.ENTRY, 'entry_id', context)
  take(t.SOURCE, 'source_version_id', sources)
  take(t.DOCUMENT, 'document_id', rows.all(t.SOURCE).map((row) => row.text('document_id')))
  const units = ids(rows.all(t.AFFECTED), 'target_row_id')
  for (const run of rows.all(t.ORCHESTRATED)) units.push(...(await runUnits(rows, run)))
  take(t.UNIT, 'id', units)
  take(t.VERSION, 'unit_id', units)
  take(t.LIFECYCLE, 'unit_id', units)
  take(t.DRAFT, 'draft_id', ids(rows.all(t.LIFECYCLE), 'edit_draft_id'))
  for (const run of [...rows.all(t.ORCHESTRATED)]) await gatherRun(run)
  return rows

  async function gatherRun(run: Row) {
    const runId = run.id('run_id')
    const part = async (name: string) => [await derivedUuid(runId, name)]
    takeLog([runId])
    take(t.ENTRY, 'entry_id', [run.id('entry_id')])
    take(t.ENVELOPE, 'envelope_id', await part('manifest'))
    take(t.BLOCK, 'envelope_id', await part('manifest'))
    for (const name of ['cut_decision', 'lifecycle_decision']) take(t.DECISION, 'review_decision_id', await part(name))
    take(t.CHANGE_SET, 'change_set_id', await part('change_set'))
    take(t.RESULT, 'change_set_id', await part('change_set'))
    take(t.LIFECYCLE, 'unit_id', await runUnits(rows, run))
    const used = approvals(rows.logOf(runId))
    for (const table of [t.REQUEST, t.VOTE, t.USE]) take(table, 'approval_id', used)
    const named = new Set(paths(run, rows.logOf(runId)))
    for (const table of [t.REVISION, t.UNDER]) {
      const found = [...named].sort().flatMap((path) => held.of(table, 'path', path))
      found.sort((a, b) => order(a.text('path'), b.text('path')) || (a.number('revision') ?? 0) - (b.number('revision') ?? 0) || order(a.key(), b.key()))
      for (const row of found) rows.add(row)
    }
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
