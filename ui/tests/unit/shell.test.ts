// What the shell reckons by itself: reading the stream, comparing what is shown with what is signed, spelling ids, finding pages.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFeed, type FeedLine } from '../../app/utils/feed.ts'
import { grouped, uuidOf } from '../../app/utils/ids.ts'
import { placeOf, placeOfId } from '../../app/utils/places.ts'
import { silhouette } from '../../app/utils/silhouettes.ts'
import { factsOf, saysTheSame } from '../../app/utils/statement.ts'

async function read(pieces: string[]): Promise<FeedLine[]> {
  const heard: FeedLine[] = []
  const bytes = pieces.map((piece) => new TextEncoder().encode(piece))
  await readFeed(new ReadableStream({
    pull(controller) {
      const next = bytes.shift()
      if (next) controller.enqueue(next)
      else controller.close()
    },
  }), (line) => heard.push(line), () => undefined)
  return heard
}

test('events are read however they are cut into pieces', async () => {
  const whole = ': hello\n\nid: 7\nevent: step.completed\ndata: {"a":"Bước"}\n\nid: 8\nevent: gap\ndata: {}\n\n'
  const wanted = [{ id: '7', event: 'step.completed', data: '{"a":"Bước"}' }, { id: '8', event: 'gap', data: '{}' }]
  assert.deepEqual(await read([whole]), wanted)
  assert.deepEqual(await read([...whole]), wanted)
  assert.deepEqual(await read([whole.replaceAll('\n', '\r\n')]), wanted)
})

test('an event that is not whole is not told', async () => {
  assert.deepEqual(await read(['event: a\ndata: 1\n']), [])
  assert.deepEqual(await read(['event: a\n\n']), [])
})

const dsse = (type: string, payload: string) => {
  const length = (text: string) => Buffer.byteLength(text)
  return Buffer.from(`DSSEv1 ${length(type)} ${type} ${length(payload)} ${payload}`).toString('base64')
}

test('what is signed must be what is shown, to the letter', () => {
  const type = 'application/vnd.chancery.move.v1+json'
  const payload = '{"reason":"đúng hạn","to":"approved"}'
  assert.ok(saysTheSame({ payload_type: type, payload, bytes: dsse(type, payload) }))
  assert.ok(!saysTheSame({ payload_type: type, payload, bytes: dsse(type, payload.replace('approved', 'rejected')) }))
  assert.ok(!saysTheSame({ payload_type: type, payload, bytes: dsse('application/json', payload) }))
  assert.ok(!saysTheSame({ payload_type: type, payload, bytes: `${dsse(type, payload)}AAAA` }))
  assert.ok(!saysTheSame({ payload_type: type, payload, bytes: 'no base64!' }))
  assert.ok(!saysTheSame({ payload_type: type, payload, bytes: '' }))
})

test('every member of a statement is shown, those inside others too', () => {
  const facts = factsOf('{"to":"paused","evidence":{"audit_ref":"word of lan"},"units":[{"a":1},{"a":2}],"none":null,"list":["x","y"]}')
  const shown = facts.map((fact) => `${fact.depth} ${fact.label}: ${fact.value}`)
  assert.deepEqual(shown, ['0 to: paused', '0 evidence: ', '1 audit ref: word of lan', '0 units: 2', '1 1: ', '2 a: 1', '1 2: ', '2 a: 2', '0 none: —', '0 list: x, y'])
  assert.equal(factsOf('no json')[0]?.value, 'no json')
})

test('ids are spelled for the command line and for people', () => {
  assert.equal(uuidOf('key_0197a1b2c3d4e5f60718293a4b5c6d7e'), '0197a1b2-c3d4-e5f6-0718-293a4b5c6d7e')
  assert.equal(uuidOf('not-an-id'), 'not-an-id')
  assert.equal(grouped('be2ce4a9'), 'be2c e4a9')
})

test('what is found leads to its page', () => {
  assert.equal(placeOfId('wfr_1'), '/runs/wfr_1')
  assert.equal(placeOfId('xyz_1'), undefined)
  assert.equal(placeOf({ kind: 'step', id: 'building_permit/opinion', of: 'building_permit' }), '/workflows/building_permit?step=opinion')
  assert.equal(placeOf({ kind: 'kb', id: 'a b/c.md' }), '/kb/a%20b/c.md')
})

test('the floor states have nine different silhouettes', () => {
  const icons = ['circle_hollow', 'play_outline', 'play_filled', 'hourglass', 'warn_filled', 'clock_alert', 'cross_filled', 'stop_filled', 'check_filled', 'pause_filled', 'cancel_filled']
  assert.equal(new Set(icons.map((icon) => silhouette(`icon.${icon}`).d)).size, icons.length)
})
