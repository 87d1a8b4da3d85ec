// Real files of `chancery audit export` fit; with one character changed anywhere in them, they do not.
// The files: an entry that was cut, the same verified once more, one that was given up after its cut, a run of the orchestrator to its end, and one
// that was stopped, resumed and voided.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readPins, verifyBundle } from '../../app/utils/verify/bundle.ts'
import { type Json, canonical } from '../../app/utils/verify/bytes.ts'
import { machines } from '../../app/utils/verify/machines.mjs'
import kept from '../../app/utils/verify/machines.json' with { type: 'json' }

type Value = string | null
interface Held { columns: string[]; rows: Value[][] }
interface Document { log: Held; tables: Record<string, Held> }

const file = (name: string) => new Uint8Array(readFileSync(new URL(`bundles/${name}.bundle`, import.meta.url)))
const document = (name: string) => JSON.parse(new TextDecoder().decode(file(name)).split('\n')[0] ?? '') as Document

/** The file of a document, with a seal that fits: who changes a bundle can do that as well. */
function sealed(value: Document) {
  const line = `${canonical(value as unknown as Json)}\n`
  return new TextEncoder().encode(`${line}sha256:${createHash('sha256').update(line).digest('hex')}\n`)
}

function changed(value: Value) {
  const last = value?.at(-1)
  if (value === null || last === undefined) return 'x'
  return value.slice(0, -1) + (last === '0' ? '1' : last === 'a' ? 'b' : /[0-9]/.test(last) ? '0' : 'a')
}

/** Gives a row the digest that fits its columns, as somebody with the source code could. */
function stamp(table: Held, name: string, row: Value[], outside: string[]) {
  const place = table.columns.indexOf('row_digest')
  const values = table.columns.map((column, at) => ({ column, value: row[at] ?? null })).filter(({ column }) => column !== 'row_digest' && !outside.includes(column)).map(({ value }) => value)
  const lengths = values.map((value) => (value === null ? -1 : Buffer.byteLength(value)))
  row[place] = createHash('sha256').update(`chancery.row.v1,${name},${lengths.join(',')}:${values.map((value) => value ?? '').join('')}`).digest('hex')
}

const signatures: Record<string, number> = { cut: 5, orchestrated: 13, again: 9, abandoned: 8, voided: 16 }

for (const name of Object.keys(signatures)) {
  test(`${name}: everything fits`, async () => {
    const verdict = await verifyBundle(file(name))
    assert.deepEqual(verdict.mismatches, [])
    assert.equal(verdict.good, verdict.links.length)
    assert.deepEqual(verdict.signatures, { good: signatures[name], all: signatures[name] })
  })
}

for (const name of ['cut', 'orchestrated']) {
  test(`${name}: a bit that fell over is found`, async () => {
    const whole = file(name)
    for (let at = 0; at < whole.length; at += Math.ceil(whole.length / 41)) {
      const flipped = whole.slice()
      flipped[at] = (flipped[at] ?? 0) ^ 1
      assert.equal((await verifyBundle(flipped)).ok, false, `byte ${at}`)
    }
  })

  test(`${name}: a value that was changed is found, although the file was sealed anew`, async () => {
    const whole = document(name)
    const places: { table: string; row: Value[]; at: number; column: string }[] = []
    const others = Object.keys(whole.tables).filter((table) => name === 'cut' || !Object.hasOwn(document('cut').tables, table))
    for (const [table, held] of [['log', whole.log], ...others.map((table) => [table, whole.tables[table]])] as [string, Held][]) {
      const row = held.rows[held.rows.length >> 1]
      if (row) held.columns.forEach((column, at) => places.push({ table, row, at, column }))
    }
    // Every other one of the longer file: it takes a while.
    for (const { table, row, at, column } of places.filter((_, place) => name === 'cut' || place % 2 === 0)) {
      const before = row[at] ?? null
      row[at] = changed(before)
      const verdict = await verifyBundle(sealed(whole))
      row[at] = before
      assert.equal(verdict.ok, false, `${table}.${column}`)
      assert.ok(verdict.good < verdict.links.length, `${table}.${column}`)
    }
  })

  test(`${name}: a row that is missing or there twice is found`, async () => {
    const whole = document(name)
    for (const [table, held] of Object.entries(whole.tables)) {
      const row = held.rows.pop()
      assert.ok(row)
      assert.equal((await verifyBundle(sealed(whole))).ok, false, `${table} without its last row`)
      held.rows.push(row, row)
      assert.equal((await verifyBundle(sealed(whole))).ok, false, `${table} with its last row twice`)
      held.rows.pop()
    }
  })
}

test('digests that were made to fit do not help without a key', async () => {
  const cases: [string, string, string, string[]][] = [
    ['cutter_governance.review_decision', 'verdict', 'reject', ['superseded_by_review_decision_id']],
    ['cutter_governance.review_decision', 'verdict_rationale', 'skimmed', ['superseded_by_review_decision_id']],
    ['cutter_governance.verify_result', 'verdict', 'fail', []],
    ['iu.unit_version', 'body', 'another text', []],
    ['cutter_governance.dot_pair_signature', 'signer_principal', 'alice', []],
  ]
  for (const [name, column, value, outside] of cases) {
    const whole = document('cut')
    const table = whole.tables[name]
    const row = table?.rows[0]
    assert.ok(table && row)
    row[table.columns.indexOf(column)] = value
    stamp(table, name, row, outside)
    const verdict = await verifyBundle(sealed(whole))
    assert.equal(verdict.ok, false, `${name}.${column}`)
    assert.ok(!verdict.mismatches.some((one) => one.rule === 'digest_is_of_the_row'), 'the digest fits')
  }
})

test('keys that the reader trusts are pinned', async () => {
  const { keys } = await verifyBundle(file('cut'))
  const rita = keys.find((key) => key.principal === 'rita')
  assert.ok(rita)
  const good = readPins(`# by letter\nrita=${rita.publicKey.toUpperCase()}\n`)
  assert.deepEqual(good.malformed, [])
  const verdict = await verifyBundle(file('cut'), good.pins)
  assert.ok(verdict.ok)
  assert.deepEqual(verdict.keys.filter((key) => key.pinned).map((key) => key.principal), ['rita'])
  const other = await verifyBundle(file('cut'), readPins(`rita=${'0'.repeat(64)}`).pins)
  assert.ok(other.mismatches.some((one) => one.facts.why === 'key_not_trusted'))
  assert.deepEqual(readPins('rita: 12').malformed, ['rita: 12'])
})

test('what is no bundle is told so', async () => {
  for (const text of ['', 'hello', '{}\n', '{"format":"chancery.audit-bundle.v1"}\nsha256:00\n']) {
    const verdict = await verifyBundle(new TextEncoder().encode(text))
    assert.ok(verdict.mismatches.some((one) => one.rule === 'bundle_is_readable'), text)
  }
})

test('the transitions are those of the machines', () => {
  assert.deepEqual(kept, machines())
})
