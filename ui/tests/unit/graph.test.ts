import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folded, matching } from '../../app/utils/graph/fold.ts'
import { gridOf, within } from '../../app/utils/graph/grid.ts'
import { middleOf, styleOf, wayOf } from '../../app/utils/graph/lines.ts'
import { stepsBack } from '../../app/utils/graph/look.ts'
import { outlineOf } from '../../app/utils/graph/outline.ts'
import { counted, patchMove, patchSteps, segmentsOf } from '../../app/utils/graph/patch.ts'
import { groupRollup } from '../../app/utils/graph/rollup.ts'
import { inWords, sceneOf, withExtra, type Picture, type SnapshotStep } from '../../app/utils/graph/scene.ts'
import { bounded, centredOn, clampedZoom, contains, fitted, levelOf, mapCorner, revealing, settled, shown, toPicture, toWindow, zoomedAt } from '../../app/utils/graph/viewport.ts'
import { beside, following, predecessors, successors } from '../../app/utils/graph/walk.ts'

/** draft → (check, translate) → sign, the last two in another lane. */
function picture(): Picture {
  const node = (id: string, x: number, y: number, rank: number, lane: string) => ({ id, x, y, w: 160, h: 72, rank, band: 0, lane, group: 'writing', kind: 'step' })
  const edge = (from: string, to: string, label?: unknown) => ({ from, to, kind: label ? 'condition' : 'trigger', points: [[0, 0], [10, 0]] as [number, number][], label })
  const state = (id: string, at: string) => ({ id, step_id: `stp_${id}`, title: { en: `The ${id}`, vi: `Bước ${id}` }, state: at, skipped: false, critical: id === 'draft', past_deadline: false })
  return {
    digest: 'd', width: 640, height: 400,
    nodes: [node('draft', 16, 16, 0, 'office'), node('check', 220, 16, 1, 'office'), node('translate', 220, 200, 1, 'law'), node('sign', 440, 200, 2, 'law')],
    edges: [edge('draft', 'check', { en: 'large', vi: 'lớn' }), edge('draft', 'translate'), edge('check', 'sign'), edge('translate', 'sign')],
    bands: [{ y: 0, h: 400 }],
    lanes: [{ key: 'office', boxes: [{ x: 0, y: 0, w: 640, h: 120 }] }, { key: 'law', boxes: [{ x: 0, y: 180, w: 640, h: 120 }] }],
    groups: [{ key: 'writing', boxes: [], collapsed: false }],
    topo_order: ['draft', 'check', 'translate', 'sign'],
    states: [state('draft', 'completed'), state('check', 'failed'), state('translate', 'ready'), state('sign', 'not_started')],
  } as Picture
}

function step(key: string, seq: number, state: string, more: Partial<SnapshotStep> = {}): SnapshotStep {
  return {
    step_id: `stp_${key}`, no: 7, key, title: { en: key, vi: key }, state, floor: state, class: 'active', seq, mandatory: true, skipped: false,
    executor: 'human', past_deadline: false, cycle: 0, critical: false, milestone: false, last_transition_at: '', ...more,
  } as SnapshotStep
}

test('a grid finds what touches a rectangle, each once', () => {
  const boxes = Array.from({ length: 400 }, (_, at) => ({ x: (at % 20) * 200, y: Math.floor(at / 20) * 90, w: 160, h: 72 }))
  const grid = gridOf(boxes, 4000)
  const area = { x: 390, y: 80, w: 420, h: 200 }
  const slowly = boxes.flatMap((box, at) => (box.x <= 810 && box.x + 160 >= 390 && box.y <= 280 && box.y + 72 >= 80 ? [at] : []))
  assert.deepEqual(within(grid, boxes, area).sort((a, b) => a - b), slowly)
  assert.deepEqual(within(grid, boxes, { x: -500, y: -500, w: 100, h: 100 }), [])
})

test('zooming keeps what is under the pointer where it is', () => {
  const size = { width: 1000, height: 600 }
  const whole = { width: 20_000, height: 9000 }
  const view = { x: 3000, y: 2000, z: 1 }
  const before = toPicture(view, size, 130, 470)
  const after = zoomedAt(view, whole, size, 130, 470, 0.6)
  assert.ok(Math.abs(toPicture(after, size, 130, 470).x - before.x) < 1e-6)
  assert.ok(Math.abs(toPicture(after, size, 130, 470).y - before.y) < 1e-6)
  const there = toWindow(after, size, before.x, before.y)
  assert.ok(Math.abs(there.x - 130) < 1e-6 && Math.abs(there.y - 470) < 1e-6)
})

test('zoom goes from a quarter to the double, and out to the whole picture', () => {
  const size = { width: 1000, height: 600 }
  assert.equal(clampedZoom(9, { width: 500, height: 300 }, size), 2)
  assert.equal(clampedZoom(0.01, { width: 500, height: 300 }, size), 0.25)
  const large = { width: 20_000, height: 9000 }
  assert.equal(clampedZoom(0.01, large, size), fitted(large, size).z)
  assert.ok(contains(shown(fitted(large, size), size), { x: 0, y: 0, w: 20_000, h: 9000 }))
  assert.equal(fitted({ width: 100, height: 80 }, size).z, 1)
  assert.deepEqual([0.1, 0.39, 0.4, 0.74, 0.75, 2].map(levelOf), ['far', 'far', 'mid', 'mid', 'near', 'near'])
  assert.deepEqual(bounded({ x: -9, y: 99_999, z: 1 }, large), { x: 0, y: 9000, z: 1 })
})

test('a card is brought into the part of the window that no panel covers', () => {
  const size = { width: 1000, height: 600 }
  const card = { x: 2000, y: 1000, w: 160, h: 72 }
  const view = revealing({ x: 0, y: 0, z: 1 }, size, card, 420)
  const left = toWindow(view, size, card.x, card.y)
  assert.ok(left.x >= 0 && left.x + 160 <= 580 && left.y >= 0 && left.y + 72 <= 600)
  assert.deepEqual(revealing(view, size, card, 420), view, 'nothing moves when it is in sight')
  assert.equal(toWindow(centredOn(card, 1, 420), size, card.x + 80, 0).x, 290)
})

test('it opens beside no empty paper', () => {
  const size = { width: 1000, height: 600 }
  const large = { width: 20_000, height: 9000 }
  assert.deepEqual(settled({ x: 0, y: 9000, z: 1 }, large, size), { x: 476, y: 9000 - 276, z: 1 })
  assert.deepEqual(settled({ x: 0, y: 0, z: 1 }, { width: 500, height: 300 }, size), { x: 250, y: 150, z: 1 })
})

test('a line is drawn by what is brought to the fore, and a change of it before all', () => {
  const scene = sceneOf(picture(), { lineMarks: new Map([['check → sign', 'changed']]) })
  const styles = (emphasis: Parameters<typeof styleOf>[2]) => scene.lines.map((line) => styleOf(scene, line, emphasis))
  assert.deepEqual(styles({ critical: false }), ['plain', 'plain', 'changed', 'plain'])
  assert.deepEqual(styles({ critical: true }), ['back', 'back', 'changed', 'back'])
  assert.deepEqual(styles({ critical: false, tainted: new Set([3]) }), ['back', 'back', 'changed', 'tainted'])
  scene.rows[1]!.critical = true
  assert.equal(styles({ critical: true })[0], 'critical')
  assert.equal(wayOf([[1, 2], [3, 2]]), 'M1 2L3 2')
  assert.deepEqual(middleOf([[0, 0], [10, 0], [10, 100], [12, 100]]), [10, 50])
})

test('words that come later move nothing', () => {
  const scene = sceneOf(picture())
  const later = withExtra(scene, { steps: new Map([['sign', { subWorkflow: 'signing', milestone: true, title: { en: 'Other' } }]]), laneTitles: new Map([['law', { vi: 'Pháp chế' }]]) })
  assert.equal(later.cards, scene.cards)
  assert.equal(later.lines, scene.lines)
  assert.equal(later.rows[3]!.subWorkflow, 'signing')
  assert.equal(inWords(later.rows[3]!.title, 'en'), 'The sign', 'a run knows its titles itself')
  assert.equal(inWords(later.lanes[1]!.title, 'en'), 'Pháp chế', 'the other language is better than none')
})

test('one event changes one row and tells of it alone', () => {
  const scene = sceneOf(picture())
  const told: number[][] = []
  scene.heard.add((rows) => told.push(rows))
  assert.ok(patchMove(scene, { stepId: 'stp_translate', to: 'in_progress', seq: 3 }))
  assert.deepEqual(told, [[2]])
  assert.equal(scene.rows[2]!.state, 'in_progress')
  assert.ok(!patchMove(scene, { stepId: 'stp_translate', to: 'ready', seq: 2 }), 'an older event changes nothing')
  assert.ok(!patchMove(scene, { stepId: 'stp_unknown', to: 'ready', seq: 9 }))
  assert.equal(scene.rows[2]!.state, 'in_progress')
})

test('a snapshot tells of the rows that differ, and never goes back', () => {
  const scene = sceneOf(picture())
  const steps = ['draft', 'check', 'translate', 'sign'].map((key, at) => step(key, 1, ['completed', 'failed', 'ready', 'not_started'][at]!))
  assert.equal(patchSteps(scene, steps).length, 4, 'numbers are new')
  assert.deepEqual(patchSteps(scene, steps), [])
  patchMove(scene, { stepId: 'stp_sign', to: 'ready', seq: 5 })
  assert.deepEqual(patchSteps(scene, steps), [], 'an older snapshot changes nothing')
  assert.equal(scene.rows[3]!.state, 'ready')
  assert.deepEqual(patchSteps(scene, [step('sign', 6, 'waiting', { facet: 'waiting_human' })]), [3])
  assert.equal(scene.rows[3]!.facet, 'waiting_human')
})

test('steps of a collapsed group are counted one by one', () => {
  const told = picture()
  told.nodes = [{ id: 'group:writing', x: 0, y: 0, w: 160, h: 72, rank: 0, band: 0, kind: 'group', group: 'writing' }]
  told.edges = []
  told.topo_order = ['group:writing']
  const scene = sceneOf(told)
  patchSteps(scene, [step('draft', 1, 'completed', { category: 'writing' }), step('check', 1, 'completed', { category: 'writing' }), step('sign', 1, 'failed', { category: 'writing' })])
  assert.deepEqual([...counted(scene)], [['completed', 2], ['failed', 1]])
  assert.equal(scene.byStep.get('stp_check'), 0)
})

test('a collapsed group has the colour, the silhouette and the word of the step that decides it (UIW-6)', () => {
  const of = (...steps: [state: string, cls: string, over?: object][]) => groupRollup(steps.map(([state, cls, over], at) => step(`s${at}`, 1, state, { no: at + 1, class: cls, mandatory: true, skipped: false, ...over })))
  assert.deepEqual(of(['completed', 'terminal'], ['waiting', 'wait'], ['failed', 'red']), { colour: 'red', state: 'failed', severity: null })
  assert.deepEqual(of(['waiting', 'wait'], ['blocked', 'wait', { blocked_severity: 'red' }]), { colour: 'red', state: 'blocked', severity: 'red' })
  assert.deepEqual(of(['in_progress', 'active'], ['waiting', 'wait']), { colour: 'yellow', state: 'waiting', severity: null })
  assert.deepEqual(of(['completed', 'terminal'], ['in_progress', 'active'], ['not_started', 'idle'])?.state, 'in_progress')
  assert.deepEqual(of(['completed', 'active'], ['not_started', 'idle'])?.state, 'in_progress', 'it is done only when all of it is')
  assert.deepEqual(of(['completed', 'terminal'], ['completed', 'terminal'])?.state, 'completed')
  assert.deepEqual(of(['completed', 'terminal'], ['failed', 'red', { mandatory: false }]), { colour: 'green', state: 'completed', severity: null }, 'what is optional does not count')
  assert.equal(groupRollup([]), undefined)
})

test('a move of a step in a collapsed group does not become the state of the group', () => {
  const told = picture()
  told.nodes = [{ id: 'group:writing', x: 0, y: 0, w: 160, h: 72, rank: 0, band: 0, kind: 'group', group: 'writing' }]
  told.edges = []
  told.topo_order = ['group:writing']
  const scene = sceneOf(told)
  patchSteps(scene, [step('draft', 1, 'failed', { category: 'writing', class: 'red', mandatory: true }), step('check', 1, 'ready', { category: 'writing', class: 'idle', mandatory: true })])
  assert.equal(scene.rows[0]?.state, 'failed')
  assert.equal(patchMove(scene, { stepId: 'stp_check', to: 'in_progress', seq: 9 }), false)
  assert.equal(scene.rows[0]?.state, 'failed')
})

test('a block that counts as red is a part of its own in the bar, as it is on its card', () => {
  const scene = sceneOf(picture())
  patchSteps(scene, [step('draft', 1, 'blocked', { blocked_severity: 'red' }), step('check', 1, 'blocked', { blocked_severity: 'orange' }), step('sign', 1, 'ready')])
  assert.deepEqual(segmentsOf(scene).filter((one) => one.state === 'blocked'), [{ state: 'blocked', severity: null, count: 1 }, { state: 'blocked', severity: 'red', count: 1 }])
})

test('the map is never over the card that one is on', () => {
  const [size, map] = [{ width: 1000, height: 600 }, { width: 186, height: 126 }]
  const at = (px: number, py: number, z = 1) => mapCorner({ x: 500, y: 300, z }, size, { x: px, y: py, w: 160, h: 72 }, map)
  assert.equal(mapCorner({ x: 0, y: 0, z: 1 }, size, undefined, map), 'below')
  assert.equal(at(100, 100), 'below')
  assert.equal(at(820, 520), 'above')
  assert.equal(at(820, 20), 'below')
  assert.equal(mapCorner({ x: 500, y: 300, z: 1 }, size, { x: 700, y: 0, w: 290, h: 600 }, map), undefined)
  assert.equal(mapCorner({ x: 500, y: 300, z: 1 }, size, { x: 400, y: 520, w: 160, h: 72 }, map, 420), 'above', 'a panel at the right moves it')
})

test('one walks along the lines, beside them, and to the next that fits', () => {
  const scene = sceneOf(picture())
  assert.deepEqual(successors(scene, 0), [1, 2])
  assert.deepEqual(predecessors(scene, 3), [1, 2])
  assert.equal(beside(scene, 1, 1), 2)
  assert.equal(beside(scene, 1, -1), undefined)
  const failed = (index: number) => scene.rows[index]!.state === 'failed'
  assert.equal(following(scene, undefined, failed), 1)
  assert.equal(following(scene, 1, failed), 1, 'the only one is found again')
  assert.equal(following(scene, 0, () => true, -1), 3, 'before the first comes the last')
  assert.equal(following(scene, 0, () => false), undefined)
})

test('the outline has lanes over their steps, in the order of reading', () => {
  const scene = sceneOf(picture(), { laneTitles: new Map([['law', { en: 'Law', vi: 'Pháp chế' }]]) })
  const rows = outlineOf(scene, new Set())
  assert.deepEqual(rows.map((row) => row.id), ['strip:office', 'step:draft', 'step:check', 'strip:law', 'step:translate', 'step:sign'])
  assert.deepEqual([rows[5]!.level, rows[5]!.place, rows[5]!.beside], [2, 2, 2])
  assert.equal(inWords(rows[3]!.title, 'vi'), 'Pháp chế')
  assert.deepEqual(outlineOf(scene, new Set(['office'])).map((row) => row.id), ['strip:office', 'strip:law', 'step:translate', 'step:sign'])
  assert.deepEqual(outlineOf(scene, new Set(), (index) => index === 3).map((row) => row.id), ['strip:law', 'step:sign'])
})

test('what is not asked for steps back', () => {
  const scene = sceneOf(picture())
  const back = (emphasis: Parameters<typeof stepsBack>[2]) => scene.rows.map((row, index) => stepsBack(row, index, emphasis))
  assert.deepEqual(back({ critical: false }), [false, false, false, false])
  assert.deepEqual(back({ critical: true }), [false, true, true, true])
  assert.deepEqual(back({ critical: false, states: new Set(['failed']) }), [true, false, true, true])
  assert.deepEqual(back({ critical: true, tainted: new Set([3]) }), [false, true, true, false])
})

test('typing without diacritics finds Vietnamese', () => {
  assert.equal(folded('Kiểm tra Đất Đai'), 'kiem tra dat dai')
  assert.deepEqual(matching(['Đo đạc', 'Kiểm tra', 'Tái kiểm tra'], (text) => text, 'kiem tra'), ['Kiểm tra', 'Tái kiểm tra'])
  assert.deepEqual(matching(['a'], (text) => text, '  '), [])
})
