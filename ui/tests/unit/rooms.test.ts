// Markdown as text, and the picture of a machine.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pictureOf } from '../../app/components/rooms/layout.ts'
import { blocksOf } from '../../app/components/rooms/markdown.ts'

test('markdown becomes blocks of text', () => {
  const blocks = blocksOf('# One\n\ntwo `three` **four**\nfive\n\n- a\n- b\n  c\n\n```json\n{"x": 1}\n```\n\n| h | i |\n|---|---|\n| 1 | 2 |\n')
  assert.deepEqual(blocks.map((block) => block.kind), ['heading', 'paragraph', 'list', 'code', 'table'])
  assert.deepEqual(blocks[1], { kind: 'paragraph', parts: [
    { kind: 'text', text: 'two ' }, { kind: 'code', text: 'three' }, { kind: 'text', text: ' ' }, { kind: 'strong', text: 'four' }, { kind: 'text', text: '\nfive' },
  ] })
  assert.deepEqual(blocks[2], { kind: 'list', ordered: false, items: [[{ kind: 'text', text: 'a' }], [{ kind: 'text', text: 'b c' }]] })
})

test('HTML stays text', () => {
  assert.deepEqual(blocksOf('<script>alert(1)</script>'), [{ kind: 'paragraph', parts: [{ kind: 'text', text: '<script>alert(1)</script>' }] }])
})

test('whatever stands there, it is all shown and ends', () => {
  for (const text of ['', '\n\n', '```', '#', '####### x', '|', '>', '- ', '* * *', '**', '`', '1) a\n2) b', '   x', '***a']) {
    const shown = JSON.stringify(blocksOf(text))
    for (const letter of text.match(/[a-z]/g) ?? []) assert.ok(shown.includes(letter), text)
  }
})

test('the line of a machine runs from its first state to its ends', () => {
  const state = (code: string, ordinal: number, more = {}) => ({ code, ordinal, class: 'idle', initial: false, terminal: false, conceptual: false, ...more })
  const way = (label: string, from: string | null, to: string) => ({ transition_id: label, label, from, to, actor: 'system', trigger_kind: 'rpc', trigger_ref: label, guards: [], event: null, audit: false })
  const picture = pictureOf({
    guards: [], invariants: [], events: [],
    states: [state('a', 1, { initial: true }), state('b', 2), state('c', 3, { terminal: true }), state('d', 4, { terminal: true })],
    transitions: [way('birth', null, 'a'), way('go', 'a', 'b'), way('end', 'b', 'c'), way('give_up', 'a', 'd'), way('give_up', 'b', 'd'), way('back', 'b', 'a')],
  })
  const x = (code: string) => picture.states.find((one) => one.code === code)?.x ?? -1
  assert.ok(x('a') < x('b') && x('b') < x('c') && x('b') < x('d'))
  assert.equal(picture.edges.length, 5)
})
