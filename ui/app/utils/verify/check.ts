// What the checks have in common: the report, who can sign, and how a difference is told.
import { type Json, canonical, fromHex, parsed, sha256Hex, utf8 } from './bytes.ts'
import { type LogRow, type Row, type Rows, type Value, artefactDigest, beyondHash, evidenceOf, expectedHash, logVersion } from './rows.ts'
import { LOG, type LogVersion, RELEASE, type Registry } from './tables.ts'

/** Something that does not fit: the rule has its sentence in the catalogue, the facts are shown beside it. */
export interface Mismatch {
  table: string
  key: string
  rule: string
  facts: Record<string, string>
}

export interface KeyUse {
  keyId: string
  principal: string
  publicKey: string
  signatures: number
  /** Whether the reader named this key; otherwise whose it is was taken on trust from the file. */
  pinned: boolean
}

export interface Key {
  keyId: string
  principal: string
  publicKey: string
  registeredAt: number
  revokedAt: number | undefined
}

export interface Signed {
  principal: string
  keyId: string
  signature: Value
  /** When it was signed: a key that was revoked later does not void it. */
  at: number
  recordedAt: number
}

export class Report {
  readonly mismatches: Mismatch[] = []
  signatures = 0
  signaturesChecked = 0
  private readonly known = new Set<string>()

  found(mismatch: Mismatch) {
    const text = JSON.stringify(mismatch)
    if (this.known.has(text)) return
    this.known.add(text)
    this.mismatches.push(mismatch)
  }
}

export class Signers {
  /** What digests, hashes and statements are over, by their versions. */
  registry: Registry = RELEASE
  readonly keys = new Map<string, Key>()
  readonly principals = new Map<string, string>()
  kindsThatSign: string[] = []
  pins = new Map<string, Set<string>>()
  private readonly used = new Map<string, number>()

  /** Whether a statement was signed by the principal, with a key that was theirs and good at that time; otherwise why not. */
  async check(payloadType: string, payload: string, signed: Signed): Promise<Record<string, string> | undefined> {
    const key = this.keys.get(signed.keyId)
    const about = { key: signed.keyId, principal: signed.principal }
    if (key === undefined) return { ...about, why: 'key_unknown' }
    if (key.principal !== signed.principal) return { ...about, why: 'key_of_another', owner: key.principal }
    if (key.revokedAt !== undefined && key.revokedAt <= signed.at) return { ...about, why: 'key_revoked' }
    if (key.registeredAt > signed.recordedAt) return { ...about, why: 'key_not_yet' }
    const pinned = this.pins.get(key.principal)
    if (pinned !== undefined && !pinned.has(key.publicKey)) return { ...about, why: 'key_not_trusted', found: key.publicKey }
    if (!(await isSigned(payloadType, payload, key.publicKey, signed.signature))) return { ...about, why: 'not_signed' }
    this.used.set(key.keyId, (this.used.get(key.keyId) ?? 0) + 1)
    return undefined
  }

  uses(): KeyUse[] {
    const uses = [...this.used].flatMap(([keyId, signatures]) => {
      const key = this.keys.get(keyId)
      if (key === undefined) return []
      return [{ keyId, principal: key.principal, publicKey: key.publicKey, signatures, pinned: this.pins.has(key.principal) }]
    })
    return uses.sort((a, b) => (a.principal + a.keyId < b.principal + b.keyId ? -1 : 1))
  }
}

const PRIME = 2n ** 255n - 19n
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
// The ordinates of the eight points of small order.
const SMALL_ORDER = new Set([
  0n, 1n, PRIME - 1n, 2707385501144840649318225287225658788936804267575313519463743609750303402022n,
  55188659117513257062467267217118295137698188065244968500265048394206261417927n,
])

function numberOf(bytes: Uint8Array): bigint {
  return bytes.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n)
}

/** Whether a point is in its one encoding and not of small order: under a key of small order one signature is good for every text. */
function isStrict(point: Uint8Array): boolean {
  const y = numberOf(point) & ((1n << 255n) - 1n)
  return y < PRIME && !SMALL_ORDER.has(y)
}

/** What is signed for a text: its type and both lengths stand before it (DSSE v1). */
export function preAuthenticationEncoding(payloadType: string, payload: string): Uint8Array<ArrayBuffer> {
  return utf8(`DSSEv1 ${utf8(payloadType).length} ${payloadType} ${utf8(payload).length} ${payload}`)
}

/** ed25519 over the DSSE encoding, which binds the type of a payload to its bytes; as strict as the database and the audit. */
export async function isSigned(payloadType: string, payload: string, publicKey: string, signature: Value): Promise<boolean> {
  return verifies(fromHex(publicKey), preAuthenticationEncoding(payloadType, payload), fromHex(signature))
}

/** ed25519 over bytes, strictly. */
export async function verifies(key: Uint8Array<ArrayBuffer> | undefined, message: Uint8Array<ArrayBuffer>, signature: Uint8Array<ArrayBuffer> | undefined): Promise<boolean> {
  if (key?.length !== 32 || signature?.length !== 64) return false
  if (!isStrict(key) || !isStrict(signature.slice(0, 32)) || numberOf(signature.slice(32)) >= ORDER) return false
  try {
    const imported = await crypto.subtle.importKey('raw', key, 'Ed25519', false, ['verify'])
    return await crypto.subtle.verify('Ed25519', imported, signature, message)
  } catch {
    return false
  }
}

export interface Transition {
  id: string
  from: Value
  to: string
  actor: string
  kind: string
  ref: string
  event: Value
}

export class Checker {
  readonly rows: Rows
  readonly signers: Signers
  readonly report: Report
  private readonly claimed = new Set<string>()

  constructor(rows: Rows, signers: Signers, report: Report) {
    this.rows = rows
    this.signers = signers
    this.report = report
  }

  wrong(row: Row, rule: string, facts: Record<string, string> = {}) {
    this.report.found({ table: row.table.name, key: row.key(), rule, facts })
  }

  wrongMove(row: LogRow, rule: string, facts: Record<string, string> = {}) {
    this.report.found({ table: LOG, key: `${row.runId}/${row.seq}`, rule, facts })
  }

  /** Columns have the values that other evidence gives them. */
  expect(row: Row, rule: string, expected: Record<string, Value | undefined>) {
    for (const [column, value] of Object.entries(expected)) {
      const found = row.opt(column)
      if (found !== (value ?? null)) this.wrong(row, rule, { column, found: shown(found), expected: shown(value) })
    }
  }

  /** A move says what the rows say. */
  expectMove(row: LogRow, what: string, found: Value | undefined, expected: Value | undefined) {
    if ((found ?? null) !== (expected ?? null)) {
      this.wrongMove(row, 'log_agrees_with_its_rows', { column: what, found: shown(found), expected: shown(expected) })
    }
  }

  expectEvidence(row: LogRow, expected: Json) {
    this.expectMove(row, 'evidence', row.evidence, canonical(expected))
  }

  isCanonical(row: Row, column: string) {
    this.expect(row, 'json_is_canonical', { [column]: canonical(row.json(column)) })
  }

  /** Somebody speaks for the row; two who do so contradict each other. Says whether this is the first. */
  claim(row: Row): boolean {
    const name = `${row.table.name} ${row.key()}`
    if (this.claimed.has(name)) {
      this.wrong(row, 'row_has_one_origin')
      return false
    }
    this.claimed.add(name)
    return true
  }

  requireClaim(row: Row) {
    if (!this.claimed.has(`${row.table.name} ${row.key()}`)) this.wrong(row, 'row_has_an_origin')
  }

  missing(row: LogRow, table: string, id: string) {
    this.wrongMove(row, 'artefacts_are_in_the_log', { table, row: id })
  }

  /** The digest of a move is over the rows it wrote. */
  async artefacts(row: LogRow, rows: Row[]) {
    for (const artefact of rows) this.claim(artefact)
    const digests = rows.map((one) => one.digest())
    const expected = digests.some((digest) => digest === undefined) ? undefined : await artefactDigest(digests.filter((digest) => digest !== undefined))
    if (row.artefactDigest !== (expected ?? null)) {
      this.wrongMove(row, 'artefacts_are_in_the_log', { table: [...new Set(rows.map((one) => one.table.name))].join(', ') })
    }
  }

  async signed(row: Row, payloadType: string, payload: string, signed: Signed) {
    this.report.signaturesChecked += 1
    const why = await this.signers.check(payloadType, payload, signed)
    if (why === undefined) this.report.signatures += 1
    else this.wrong(row, 'signature_is_good', why)
  }

  /** The move is one of its machine's, made by a class that may make it. */
  legal(transitions: Transition[], kind: string, run: Row, row: LogRow) {
    const rule = 'move_is_legal'
    const found = transitions.find(
      (one) => one.from === row.from && one.to === row.to && one.actor === row.actorClass && one.kind === row.triggerKind && one.ref === row.triggerRef,
    )
    if (found === undefined) {
      const facts = { from: row.from ?? '∅', to: row.to, actor: row.actorClass, trigger: `${row.triggerKind}:${row.triggerRef}` }
      this.wrongMove(row, rule, facts)
      return
    }
    const expected = `${row.machine}#${found.id}:${row.from ?? '∅'}>${row.to}/${row.actorClass}`
    const same: [string, Value, Value][] = [
      ['transition_id', row.transitionId, expected], ['event_type', row.eventType, found.event], ['run_kind', row.runKind, kind],
      ['facet', row.facet, null], ['state_machine_id', row.machine, run.text('state_machine_id')],
    ]
    for (const [column, is, due] of same) {
      if (is !== due) this.wrongMove(row, rule, { column, found: shown(is), expected: shown(due) })
    }
  }
}

/** Enough of a value to recognise it. */
export function shown(value: Value | undefined): string {
  if (value === null || value === undefined) return 'null'
  return value.length > 160 ? `${value.slice(0, 160)}…` : value
}

/** A run as it is stored, for the comparison with where its log ends. */
export interface Facts {
  row: Row
  runId: string
  state: string
  /** What the run was born with; a signed birth is over it. */
  data: Json
  /** What the birth row must carry; an entry's is over several rows and checked with them. */
  birthDigest: string | undefined
}

/** Replays the log of one run: numbers, links, hashes, signatures, and the run as its log leaves it. */
export async function replay(checker: Checker, log: LogRow[], facts: Facts) {
  const { row: run } = facts
  const last = log.at(-1)
  if (last === undefined) {
    checker.wrong(run, 'every_run_has_a_log')
    return
  }
  let before: LogRow | undefined
  for (const row of log) {
    const wrong = (rule: string, found: Value, expected: Value) => checker.wrongMove(row, rule, { found: shown(found), expected: shown(expected) })
    const seq = (before?.seq ?? 0) + 1
    if (row.seq !== seq) wrong('seq_is_dense', String(row.seq), String(seq))
    if (row.from !== (before?.to ?? null)) wrong('states_link', row.from, before?.to ?? null)
    if (row.prevHash !== (before?.hash ?? null)) wrong('hashes_link', row.prevHash, before?.hash ?? null)
    const version = logVersion(row, checker.signers.registry.log)
    if (version === undefined) checker.wrongMove(row, 'hash_version_is_known', { found: row.hashVersion })
    else {
      for (const column of beyondHash(row, version)) checker.wrongMove(row, 'column_is_of_the_version', { column, found: row.hashVersion })
      const hash = await expectedHash(row, version)
      if (row.hash !== hash) wrong('hash_is_of_the_row', row.hash, hash)
    }
    const evidence = parsed(row.evidence)
    if (canonical(evidence) !== row.evidence) wrong('evidence_is_canonical', row.evidence, canonical(evidence))
    if (row.seq === 1 && facts.birthDigest !== undefined && row.artefactDigest !== facts.birthDigest) {
      wrong('birth_facts_are_unchanged', row.artefactDigest, facts.birthDigest)
    }
    await signedMove(checker, row, version, row.seq === 1 ? facts.data : undefined)
    before = row
  }
  const ends: Record<string, Value> = {
    seq: String(last.seq), head_hash: last.hash, facet: last.facet, last_transition_at: String(last.at), [facts.state]: last.to,
  }
  checker.expect(run, 'state_equals_log', ends)
}

/** What is signed for a move, by version: its type and its text. */
const MOVES: Record<LogVersion['statement'], (row: LogRow, data: Json | undefined) => Promise<[string, string]>> = { 1: moveV1 }

async function moveV1(row: LogRow, data: Json | undefined): Promise<[string, string]> {
  return ['application/vnd.chancery.move.v1+json', canonical({
    run_kind: row.runKind, run_id: row.runId, to: row.to, principal: row.principal, actor_class: row.actorClass,
    trigger: [row.triggerKind, row.triggerRef], evidence: evidenceOf(row), reason: row.reason, idempotency_key: row.idempotencyKey,
    machine: data === undefined ? null : (row.machine.split('@')[0] ?? null),
    data_sha256: data === undefined ? null : await sha256Hex(canonical(data)),
  })]
}

/** A move is signed, or made by somebody who need not sign: without this, a forged tail would pass for a person's moves. */
async function signedMove(checker: Checker, row: LogRow, version: LogVersion | undefined, data: Json | undefined) {
  const { signers, report } = checker
  const kind = signers.principals.get(row.principal)
  const wrong = (facts: Record<string, string>) => checker.wrongMove(row, 'signature_is_good', { principal: row.principal, ...facts })
  if (kind === undefined) return wrong({ why: 'nobody' })
  if (row.keyId === undefined || row.signature === null) {
    // In the cutter's lanes the attestation is signed and not the move; the moves of services are held by their logins.
    const signs = signers.pins.has(row.principal) && kind !== 'service' && !['executor_dot991', 'verifier_dot992', 'system'].includes(row.actorClass)
    if (signs || signers.kindsThatSign.includes(kind)) wrong({ why: 'must_sign' })
    return undefined
  }
  report.signaturesChecked += 1
  if (version === undefined) return wrong({ why: 'statement_unknown' })
  const [payloadType, payload] = await MOVES[version.statement](row, data)
  const why = await signers.check(payloadType, payload, {
    principal: row.principal, keyId: row.keyId, signature: row.signature, at: row.at, recordedAt: row.at,
  })
  if (why === undefined) report.signatures += 1
  else wrong(why)
  return undefined
}

