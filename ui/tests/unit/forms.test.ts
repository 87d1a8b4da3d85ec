// Forms: what is invalid is said at its field and never sent, what was typed is kept, and what is signed is shown and not only its hash.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readObject } from '../../app/utils/flows/json.ts'
import { documentOf, fieldFault, fieldsOf, unwritten } from '../../app/utils/flows/schema.ts'
import { unwrittenWait, waitEvidence } from '../../app/utils/flows/waits.ts'
import { faultOf, type Control } from '../../app/utils/form/fault.ts'
import { jsonFault, schemaFault } from '../../app/utils/form/json.ts'
import { dropAllKept, dropKept, keptUnder, readKept, writeKept, type Shelf } from '../../app/utils/form/kept.ts'
import { contentsOf } from '../../app/utils/signed-content.ts'
import { factsOf } from '../../app/utils/statement.ts'
import { canonicalSha256, sha256Hex } from '../../app/utils/verify/bytes.ts'
import { FORMS } from '../browser/forms/open.mjs'

const root = join(import.meta.dirname, '../..')
const control = (given: Partial<Control>): Control => ({ type: 'text', value: '', unreadable: false, required: false, ...given })
const keyOf = (given: Partial<Control>) => faultOf(control(given))?.key

/** Every template below `app`. */
function templates(folder = join(root, 'app'), into: [string, string][] = []): [string, string][] {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) templates(path, into)
    else if (path.endsWith('.vue')) into.push([path.slice(root.length + 1), readFileSync(path, 'utf8')])
  }
  return into
}

test('every form that sends something is a checked one, with a name of its own (UIX-2)', () => {
  const named = new Map<string, string>()
  for (const [path, source] of templates()) {
    for (const [tag] of source.matchAll(/<form\b[^>]*>/g)) {
      if (!path.endsWith('base/CheckedForm.vue')) assert.match(tag, /role="search"/, `${path} has a form of its own: use CheckedForm`)
    }
    for (const [tag] of source.matchAll(/<(?:CheckedForm|ReasonForm|ReasonedAct)\b[\s\S]*?>/g)) {
      // These pass on the name that they are given.
      if (/base\/ReasonForm\.vue$|gov\/ReasonedAct\.vue$/.test(path)) continue
      assert.match(tag, /\s:?name="/, `${path}: a form has no name`)
      // A name that is reckoned is one of those that the component lists: `// forms: one, another`.
      const listed = /\/\/ forms: (.+)/.exec(source)?.[1]?.split(', ') ?? []
      const names = /\s:name=/.test(tag) ? listed : [/\sname="([\w-]+)"/.exec(tag)?.[1] ?? '']
      assert.ok(names.length > 0, `${path}: its forms have reckoned names; list them behind // forms:`)
      for (const name of names) {
        assert.equal(named.has(name) && named.get(name) !== path, false, `${name} is in ${path} and in ${named.get(name)}`)
        named.set(name, path)
      }
    }
  }
  // The browser opens every one of them and fills it in wrongly.
  assert.deepEqual(Object.keys(FORMS).sort(), [...named.keys()].sort())
})

test('nothing that is typed or pasted is cut off without a word (UIX-2)', () => {
  for (const [path, source] of templates()) {
    for (const [tag] of source.matchAll(/<(?:input|textarea)\b[\s\S]*?>/g)) {
      if (/type="search"/.test(tag)) continue
      assert.doesNotMatch(tag, /\smaxlength=/, `${path}: a browser cuts off what is longer; use data-most, which says so`)
    }
  }
})

test('a field that is empty, of another type, too long or too small says why', () => {
  assert.equal(keyOf({ required: true }), 'shell.field.required')
  assert.equal(keyOf({ required: true, value: '  \n ' }), 'shell.field.required')
  assert.equal(keyOf({}), undefined)
  assert.equal(keyOf({ type: 'number', unreadable: true }), 'shell.field.not_number')
  assert.equal(keyOf({ type: 'datetime-local', unreadable: true, required: true }), 'shell.field.not_date')
  assert.equal(keyOf({ type: 'datetime-local', value: '2026-01-01T10:00', earliest: '2026-01-01T10:00' }), 'shell.field.too_early')
  assert.equal(keyOf({ type: 'datetime-local', value: '2026-01-01T10:01', earliest: '2026-01-01T10:00' }), undefined)
  assert.equal(keyOf({ type: 'number', value: '1.5', whole: true }), 'shell.field.not_whole')
  assert.equal(keyOf({ type: 'number', value: '9007199254740993' }), 'shell.field.not_exact')
  assert.equal(keyOf({ type: 'number', value: '-1', minimum: 0 }), 'shell.field.too_small')
  assert.equal(keyOf({ type: 'number', value: '4000', maximum: 3600 }), 'shell.field.too_large')
  assert.equal(keyOf({ type: 'number', value: '12', minimum: 0, maximum: 3600 }), undefined)
  assert.deepEqual(faultOf(control({ value: 'Đất nước', most: 7 })), { key: 'shell.field.too_long', parameters: { n: 8, most: 7 } })
  assert.equal(keyOf({ value: '🏛🏛', most: 2 }), undefined, 'characters are counted as the database counts them')
  assert.equal(keyOf({ value: 'short', least: 12 }), 'shell.field.too_short')
  assert.equal(keyOf({ value: 'Not a name', pattern: '[a-z][a-z0-9_]*' }), 'shell.field.not_a_name')
  assert.equal(keyOf({ value: 'a_name', pattern: '[a-z][a-z0-9_]*' }), undefined)
})

test('broken JSON is a fault with its place, and what is no object is none', () => {
  assert.deepEqual(jsonFault('{"a": 1,}'), { key: 'shell.field.not_json', parameters: { line: 1, column: 9 } })
  assert.deepEqual(jsonFault('{\n  "a": 1'), { key: 'shell.field.not_json', parameters: { line: 2, column: 9 } })
  assert.equal(jsonFault('[1]', 'object')?.key, 'shell.field.not_object')
  assert.equal(jsonFault('{}', 'array')?.key, 'shell.field.not_list')
  assert.equal(jsonFault('null', 'object')?.key, 'shell.field.not_object')
  assert.equal(jsonFault('', 'object'), undefined, 'whether it is needed is asked elsewhere')
})

const permit = {
  type: 'object', required: ['holder', 'plots'],
  properties: {
    holder: { type: 'string', minLength: 2, maxLength: 40 },
    plots: {
      type: 'array', minItems: 1, maxItems: 2,
      items: { type: 'object', required: ['area'], additionalProperties: false, properties: { area: { type: 'integer', minimum: 1, maximum: 900 }, use: { type: 'string', enum: ['home', 'farm'] }, from: { type: 'string', format: 'date-time' } } },
    },
    note: { type: ['string', 'null'] },
  },
}

test('a document is looked at as deep as its schema goes (UIX-2)', () => {
  const wrong = (plots: unknown) => schemaFault(permit, { holder: 'Lan', plots })
  assert.equal(wrong([{ area: 12, use: 'home', from: '2026-01-02T03:04:05Z' }]), undefined)
  assert.deepEqual(wrong([{ area: 12 }, { area: '12' }]), { key: 'shell.field.type_integer', parameters: {}, at: 'plots › 2 › area' })
  assert.deepEqual(wrong([{ area: 1.5 }])?.key, 'shell.field.type_integer')
  assert.deepEqual(wrong([{ area: 1000 }])?.key, 'shell.field.too_large')
  assert.deepEqual(wrong([{ area: 1, use: 'shop' }]), { key: 'shell.field.none_of', parameters: { choices: 'home, farm' }, at: 'plots › 1 › use' })
  assert.deepEqual(wrong([{ area: 1, from: 'tomorrow' }])?.key, 'shell.field.not_date')
  assert.deepEqual(wrong([{ area: 1, colour: 'red' }]), { key: 'shell.field.unknown_member', parameters: { name: 'colour' }, at: 'plots › 1' })
  assert.deepEqual(wrong([{}]), { key: 'shell.field.lacks', parameters: { name: 'area' }, at: 'plots › 1' })
  assert.deepEqual(wrong([])?.key, 'shell.field.too_few')
  assert.deepEqual(wrong([{ area: 1 }, { area: 1 }, { area: 1 }])?.key, 'shell.field.too_many')
  assert.deepEqual(wrong('none'), { key: 'shell.field.type_array', parameters: {}, at: 'plots' })
  assert.deepEqual(schemaFault(permit, { plots: [{ area: 1 }] }), { key: 'shell.field.lacks', parameters: { name: 'holder' } })
})

test('a field of a form is wrong where its member would be, and never left out or sent as it is (UIX-2)', () => {
  const fields = new Map(fieldsOf(permit).map((field) => [field.name, field]))
  assert.equal(fields.get('note')?.kind, 'text', 'what may be null is a field that may stay empty')
  assert.equal(fieldFault(fields.get('plots')!, '[{"area": 1}')?.key, 'shell.field.not_json')
  assert.equal(fieldFault(fields.get('plots')!, '[{"area": "1"}]')?.at, '1 › area')
  assert.equal(fieldFault(fields.get('plots')!, '[{"area": 1}]'), undefined)
  assert.equal(fieldFault(fields.get('holder')!, 'L')?.key, 'shell.field.too_short')
  const written = { ...unwritten(permit), fields: { holder: 'Lan', plots: '[{"area": 1}]', note: '' } }
  assert.deepEqual(documentOf(permit, written), { holder: 'Lan', plots: [{ area: 1 }] })
  assert.deepEqual(documentOf({}, { fields: {}, text: '{"a": [1, {"b": 2}]}' }), { a: [1, { b: 2 }] })
})

test('a text that is no definition says so in the reader’s words, with its place', async () => {
  assert.deepEqual((await readObject('- one')).wrong?.key, 'flows.form.not_object')
  const { wrong } = await readObject('steps:\n  - key: [a\nworkflow: x')
  assert.equal(wrong?.key, 'flows.form.unreadable_at')
  assert.ok((wrong?.parameters.line ?? 0) > 1)
})

test('a wait names its subject, or it is no evidence', () => {
  assert.deepEqual(waitEvidence({ ...unwrittenWait(), facet: 'waiting_human', of: ' ' }), {})
  assert.deepEqual(waitEvidence({ ...unwrittenWait(), facet: 'waiting_human', of: 'minh ' }), { facets: ['waiting_human'], waits: [{ facet: 'waiting_human', of: 'minh' }] })
})

test('the content behind a hash is found in what was sent, and shown with the hash (UIX-2)', async () => {
  const output = { verdict: 'nothing to object', plots: [{ area: 3 }] }
  const payload = JSON.stringify({ to: 'completed', evidence: { output_sha256: await canonicalSha256(output), other_sha256: '0'.repeat(64) } })
  const facts = factsOf(payload, await contentsOf([payload], [{ call: 'step_complete', document: output }]))
  const at = facts.findIndex((fact) => fact.label === 'output sha256')
  assert.equal(facts[at]?.hash, 'content')
  assert.deepEqual(facts[at + 1], { label: 'verdict', value: 'nothing to object', depth: 2, mono: false })
  assert.ok(facts.some((fact) => fact.label === 'area' && fact.value === '3'))
  assert.equal(facts.find((fact) => fact.label === 'other sha256')?.hash, 'only', 'what is not at hand is not made up')
})

test('an empty document is said to be empty, and one that was sent otherwise is not shown as the content', async () => {
  const payload = JSON.stringify({ evidence: { output_sha256: await canonicalSha256({}) } })
  const facts = factsOf(payload, await contentsOf([payload], [{ document: {} }]))
  assert.equal(facts.at(-1)?.empty, true)
  const other = factsOf(payload, await contentsOf([payload], [{ document: { a: 1 } }]))
  assert.equal(other.at(-1)?.hash, 'only')
})

test('a text that is signed by its hash is shown as text', async () => {
  const body = '# Quy chế\n'
  const payload = JSON.stringify({ meaning: 'read', content_sha256: await sha256Hex(body) })
  assert.equal(factsOf(payload, await contentsOf([payload], [{ body }])).at(-1)?.value, body)
})

function shelf(): Shelf & { all: Map<string, string> } {
  const all = new Map<string, string>()
  return {
    all, getItem: (name) => all.get(name) ?? null, setItem: (name, value) => { all.set(name, value) }, removeItem: (name) => { all.delete(name) },
    key: (at) => [...all.keys()][at] ?? null, get length() { return all.size },
  }
}

test('what was typed is kept for the person who typed it, for a week, and until it is sent', () => {
  const on = shelf()
  writeKept(on, 'lan', 'move:s1:step_complete', { reason: 'because' }, 1000)
  assert.deepEqual(readKept(on, 'lan', 'move:s1:step_complete', 2000), { reason: 'because' })
  assert.equal(readKept(on, 'minh', 'move:s1:step_complete', 2000), undefined, 'nobody sees what another typed')
  assert.deepEqual(keptUnder(on, 'lan', 'move:s1:'), ['move:s1:step_complete'])
  assert.deepEqual(keptUnder(on, 'lan', 'move:s2:'), [])
  dropKept(on, 'lan', 'move:s1:step_complete')
  assert.equal(on.all.size, 0)
  writeKept(on, 'lan', 'note:s1', { text: 'old' }, 0)
  assert.equal(readKept(on, 'lan', 'note:s1', 8 * 24 * 3600 * 1000), undefined)
  writeKept(on, 'lan', 'a', 1)
  writeKept(on, 'minh', 'a', 1)
  dropAllKept(on, 'lan')
  assert.deepEqual([...on.all.keys()], ['chancery.kept.minh.a'])
})

test('a browser that keeps nothing loses nothing else', () => {
  const none: Shelf = { getItem: () => { throw new Error('no') }, setItem: () => { throw new Error('full') }, removeItem: () => { throw new Error('no') }, key: () => null, length: 0 }
  assert.equal(writeKept(none, 'lan', 'a', 1), false)
  assert.equal(readKept(none, 'lan', 'a'), undefined)
  dropKept(none, 'lan', 'a')
})
