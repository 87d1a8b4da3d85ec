// Real files of `chancery audit export` fit; with one character changed anywhere in them, they do not.
// The files: an entry that was cut, the same verified once more, one that was given up after its cut, a run of the orchestrator to its end, and one
// that was stopped, resumed and voided. They are of the release before digests had versions, and so are those that the product keeps to prove that every
// later release reads them: crates/chancery-store/tests/data/old, with changes to them that both readers must find the same wrong with.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readPins, verifyBundle } from '../../app/utils/verify/bundle.ts'
import { type Json, canonical } from '../../app/utils/verify/bytes.ts'
import { machines } from '../../app/utils/verify/machines.mjs'
import kept from '../../app/utils/verify/machines.json' with { type: 'json' }
import { DOCUMENT, RELEASE, REVISION, type Registry, addColumns, columnsOf, currentName, renameColumn } from '../../app/utils/verify/tables.ts'

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

const old = new URL('../../../crates/chancery-store/tests/data/old/', import.meta.url)
const oldFile = (name: string) => new Uint8Array(readFileSync(new URL(`${name}.bundle`, old)))

/** What a later release knows: a table with one column more, one with a column under another name, and a log with one column more. */
function later(): Registry {
  const tables = RELEASE.tables.map((table) => (
    table.name === REVISION ? addColumns(table, 'language') : table.name === DOCUMENT ? renameColumn(table, 'created_by', 'added_by') : table
  ))
  const first = RELEASE.log[0]
  assert.ok(first)
  return { tables, log: [first, { ...first, texts: [...first.texts, 'login'] }] }
}

for (const [name, count] of [['cut', 7], ['orchestrated', 11]] as const) {
  test(`${name} of an older release: everything fits, for this release and for a later one`, async () => {
    for (const registry of [RELEASE, later()]) {
      const verdict = await verifyBundle(oldFile(name), new Map(), registry)
      assert.deepEqual(verdict.mismatches, [])
      assert.deepEqual(verdict.signatures, { good: count, all: count })
    }
  })
}

interface Vector { bundle: string; release: string; table: string; column: string; value: Value; rows: string; rules: string[] }

/** Puts a value into a column of the first row or of all; a column that is not there comes to be, with nothing in the other rows. */
function put(held: Held, { column, value, rows }: Vector) {
  if (!held.columns.includes(column)) {
    const place = [...held.columns, column].sort().indexOf(column)
    held.columns.splice(place, 0, column)
    for (const row of held.rows) row.splice(place, 0, null)
  }
  const place = held.columns.indexOf(column)
  for (const row of rows === 'all' ? held.rows : held.rows.slice(0, 1)) row[place] = value
}

test('changed files of an older release break the rules that the other reader names', async () => {
  const vectors = JSON.parse(readFileSync(new URL('vectors.json', old), 'utf8')) as Vector[]
  assert.ok(vectors.length > 10)
  for (const vector of vectors) {
    const whole = JSON.parse(new TextDecoder().decode(oldFile(vector.bundle)).split('\n')[0] ?? '') as Document
    const held = vector.table === 'log' ? whole.log : whole.tables[vector.table]
    assert.ok(held)
    put(held, vector)
    const verdict = await verifyBundle(sealed(whole), new Map(), vector.release === 'later' ? later() : RELEASE)
    const rules = [...new Set(verdict.mismatches.map((one) => one.rule))].sort()
    assert.deepEqual(rules, vector.rules, JSON.stringify(vector))
  }
})

test('a row of a later version is over the column that came with it, and one of an older version is not', async () => {
  const registry = later()
  const whole = JSON.parse(new TextDecoder().decode(oldFile('orchestrated')).split('\n')[0] ?? '') as Document
  const revisions = whole.tables[REVISION]
  const table = registry.tables.find((one) => one.name === REVISION)
  const row = revisions?.rows[0]
  assert.ok(revisions && table && row)
  for (const column of ['language', 'digest_version']) {
    put(revisions, { column, value: column === 'language' ? null : '1', rows: 'all' } as Vector)
  }
  const language = revisions.columns.indexOf('language')
  row[language] = 'en'
  row[revisions.columns.indexOf('digest_version')] = '2'
  const pinned = (table.versions[1] ?? []).map((column) => row[revisions.columns.indexOf(column)] ?? null)
  const lengths = pinned.map((value) => (value === null ? -1 : Buffer.byteLength(value)))
  row[revisions.columns.indexOf('row_digest')] = createHash('sha256')
    .update(`chancery.row.v2,kb.revision,${lengths.join(',')}:${pinned.map((value) => value ?? '').join('')}`).digest('hex')
  const rules = async () => (await verifyBundle(sealed(whole), new Map(), registry)).mismatches.map((one) => one.rule)
  assert.ok(!(await rules()).some((rule) => rule.startsWith('digest_') || rule.startsWith('column_')), 'the digest is of version 2')
  row[language] = 'vi'
  assert.ok((await rules()).includes('digest_is_of_the_row'))
})

test('a hash and a digest bind the version that they are of, also where two versions are over the same columns', async () => {
  const first = RELEASE.log[0]
  assert.ok(first)
  const registry = { tables: RELEASE.tables.map((table) => addColumns(table)), log: [first, first] }
  for (const [table, column, rule] of [['log', 'hash_version', 'hash_is_of_the_row'], [DOCUMENT, 'digest_version', 'digest_is_of_the_row']] as const) {
    const whole = JSON.parse(new TextDecoder().decode(oldFile('cut')).split('\n')[0] ?? '') as Document
    const held = table === 'log' ? whole.log : whole.tables[table]
    assert.ok(held)
    put(held, { column, value: '2', rows: 'all' } as Vector)
    const rules = (await verifyBundle(sealed(whole), new Map(), registry)).mismatches.map((one) => one.rule)
    assert.ok(rules.includes(rule), table)
  }
})

test('names that were given up are found and never mean something else', () => {
  for (const table of [...RELEASE.tables, ...later().tables]) {
    const columns = columnsOf(table)
    assert.deepEqual(columns, [...new Set(columns)])
    for (const [given] of table.renamed) assert.ok(!columns.includes(given) && columns.includes(currentName(table, given)))
    for (const version of table.versions) assert.ok(table.key.every((key) => version.includes(key)) && !version.some((column) => table.outside.includes(column)))
  }
})
