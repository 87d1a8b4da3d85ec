// Units and their texts, replayed from their history.
import { type Json, canonical, isObject, parsed, sha256Hex } from './bytes.ts'
import { type Checker, shown } from './check.ts'
import type { Effect, UnitEffect } from './cut.ts'
import type { Story } from './entry.ts'
import type { Row } from './rows.ts'
import * as t from './tables.ts'

/** What took a cut back, as the histories of its units must say. */
interface Undone {
  changeSetId: string
  actor: string
  reason: string
  toolRevision: string
}

/** The cut that made a unit. */
interface Made {
  set: Row | undefined
  changeSetId: string
  undone: Undone | undefined
  effect: Effect
  unit: UnitEffect
  unitKind: string
  entryId: string
  body: Uint8Array<ArrayBuffer>
}

/** The texts of a unit while its history is replayed. */
interface Texts {
  versions: Map<string, Row>
  current: Row | undefined
  /** The unit's identity profile, whose title follows the text. */
  profile: Json
}

/** The units that an entry made are what was approved, or what became of it by drafts and decisions that stand there. */
export async function units(checker: Checker, entry: Row, story: Story) {
  const rule = 'ledger_leads_to_its_units'
  const { effect, set, rollback, voided } = story
  if (effect === undefined) return
  const envelope = checker.rows.one(t.ENVELOPE, 'envelope_id', (set ?? story.decision)?.text('manifest_id') ?? '')
  const undone: Undone | undefined = rollback !== undefined
    ? {
        changeSetId: rollback.text('change_set_id'), actor: rollback.text('emitted_by'), reason: rollback.text('rollback_reason'),
        toolRevision: rollback.text('verifier_tool_revision'),
      }
    : voided === undefined ? undefined : { changeSetId: voided.id, actor: voided.actor, reason: 'run voided', toolRevision: 'none' }
  const body = checker.rows.one(t.SOURCE, 'source_version_id', entry.text('source_version_id'))?.bytes('body') ?? new Uint8Array()
  const touched = new Map<string, Row[]>()
  for (const one of [set, rollback]) {
    for (const row of one === undefined ? [] : checker.rows.of(t.AFFECTED, 'change_set_id', one.text('change_set_id'))) {
      touched.set(row.text('target_row_id'), [...(touched.get(row.text('target_row_id')) ?? []), row])
    }
  }
  for (const unit of effect.units) {
    const ledger = touched.get(unit.unitId) ?? []
    touched.delete(unit.unitId)
    const row = checker.rows.one(t.UNIT, 'id', unit.unitId)
    if (row === undefined) {
      checker.wrong(ledger[0] ?? set ?? entry, rule, { table: t.UNIT, row: unit.unitId })
      continue
    }
    const history = await unitHolds(checker, row, {
      set, changeSetId: effect.changeSetId, undone, effect, unit, unitKind: envelope?.text('unit_kind') ?? '', entryId: entry.text('entry_id'), body,
    })
    for (const line of ledger) {
      const kind = line.text('operation_kind') === 'insert' ? 'created' : 'compensated'
      const change = history.find((one) => one.text('change_kind') === kind && one.opt('change_set_id') === line.opt('change_set_id'))
      if (change === undefined) checker.wrong(line, rule, { table: t.LIFECYCLE, row: unit.unitId })
      else {
        checker.expect(line, rule, { lifecycle_digest: change.opt('row_digest') })
        checker.claim(change)
      }
    }
    for (const change of history) {
      // Before there is a ledger, the id of the set is what ties the unit to its run.
      if (set === undefined && change.opt('change_set_id') === effect.changeSetId) checker.claim(change)
    }
    for (const change of history) {
      if (['created', 'compensated'].includes(change.text('change_kind'))) checker.requireClaim(change)
    }
  }
  for (const row of [...touched.values()].flat()) checker.wrong(row, rule, { table: t.BLOCK, row: row.text('target_row_id') })
}

/** Replays a unit's history and compares unit and texts with where it ends. Gives the history. */
async function unitHolds(checker: Checker, unit: Row, made: Made): Promise<Row[]> {
  const history = checker.rows.of(t.LIFECYCLE, 'unit_id', unit.text('id'))
  const texts: Texts = {
    versions: new Map(checker.rows.of(t.VERSION, 'unit_id', unit.text('id')).map((version) => [version.text('id'), version])),
    current: undefined, profile: null,
  }
  let before: Row | undefined
  for (const [place, change] of history.entries()) {
    checker.expect(change, 'history_links', {
      seq: String(place + 1), prev_digest: before?.opt('row_digest'), from_lifecycle: before?.opt('to_lifecycle'),
      ...(place === 0 ? { change_kind: 'created' } : {}),
    })
    await changeHolds(checker, unit, change, texts, made)
    before = change
  }
  const first = history[0]
  if (first === undefined || before === undefined) {
    checker.wrong(unit, 'unit_is_what_its_history_says', { table: t.LIFECYCLE })
    return history
  }
  compare(checker, unit, first, before, made)
  await textsHold(checker, history, texts.versions)
  return history
}

const CHANGES: Record<string, [string | null, string]> = {
  created: [null, 'draft'], edited: ['draft', 'draft'], enacted: ['draft', 'enacted'], compensated: ['draft', 'retired'],
}

/** One change of a unit: allowed in its place, with its cause, and with the digests of unit and text as they were then. */
async function changeHolds(checker: Checker, unit: Row, change: Row, texts: Texts, made: Made) {
  const rule = 'change_has_its_cause'
  const version = texts.versions.get(change.text('unit_version_id'))
  if (version === undefined) return checker.wrong(change, rule, { table: t.VERSION, row: change.text('unit_version_id') })
  const kind = change.text('change_kind')
  const way = CHANGES[kind]
  if (way === undefined) return checker.wrong(change, rule, { column: 'change_kind', found: kind })
  checker.expect(change, rule, { from_lifecycle: way[0], to_lifecycle: way[1] })
  if (kind === 'created') created(checker, change, version, texts, made)
  else if (kind === 'edited') edited(checker, change, version, texts)
  else checker.expect(change, rule, { unit_version_id: texts.current?.opt('id'), edit_draft_id: null })
  if (kind === 'enacted') enacted(checker, change, made)
  else checker.expect(change, rule, { review_decision_id: null })
  if (kind === 'edited') checker.expect(change, rule, { change_set_id: null, tool_revision: null })
  if (kind === 'compensated') {
    const { undone } = made
    checker.expect(change, rule, {
      change_set_id: undone?.changeSetId, actor: undone?.actor, reason: undone?.reason, tool_revision: undone?.toolRevision,
    })
  }
  texts.current = version
  await asItWas(checker, unit, change, version, texts)
  return undefined
}

function created(checker: Checker, change: Row, version: Row, texts: Texts, made: Made) {
  const rule = 'unit_is_what_was_approved'
  const { unit } = made.unit
  const text = decoded(made.body.slice(unit.start, unit.end))
  checker.expect(version, rule, {
    version_seq: '1', id: made.unit.versionId, title: unit.title, body: text, content_hash: unit.sha256, content_profile: made.unit.contentProfile,
  })
  checker.expect(change, rule, { edit_draft_id: null, change_set_id: made.changeSetId, unit_version_id: made.unit.versionId, reason: null })
  if (made.set !== undefined) {
    checker.expect(change, rule, { actor: made.set.opt('emitted_by'), tool_revision: made.set.opt('executor_tool_revision') })
  }
  texts.profile = parsed(canonical(made.unit.identityProfile))
}

function decoded(bytes: Uint8Array<ArrayBuffer>): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

/** A text that replaced another one is that of its draft, which was written against the other one. */
function edited(checker: Checker, change: Row, version: Row, texts: Texts) {
  const rule = 'text_is_that_of_its_draft'
  const id = change.text('edit_draft_id')
  const draft = checker.rows.one(t.DRAFT, 'draft_id', id)
  if (draft === undefined) return checker.wrong(change, rule, { table: t.DRAFT, row: id })
  const base = texts.current
  checker.expect(draft, rule, { unit_id: change.opt('unit_id'), base_version_id: base?.opt('id') })
  const before = base?.json('content_profile') ?? null
  checker.expect(version, rule, {
    title: draft.opt('title'), body: draft.opt('body'), version_seq: String((base?.number('version_seq') ?? 0) + 1),
    content_profile: canonical(isObject(before) ? { ...before, edit_draft_id: id } : before),
  })
  return undefined
}

/** An enactment rests on a decision that was made for it. */
function enacted(checker: Checker, change: Row, made: Made) {
  const rule = 'enactment_has_its_decision'
  const id = change.text('review_decision_id')
  const decision = checker.rows.one(t.DECISION, 'review_decision_id', id)
  const fits = decision?.text('governance_event_kind') === 'lifecycle_enactment' && decision.text('verdict') === 'approve' && decision.text('entry_id') === made.entryId
  if (!fits) checker.wrong(change, rule, { table: t.DECISION, row: id })
}

/** The digests in a row of the history are those of unit and text as they were after that change. */
async function asItWas(checker: Checker, unit: Row, change: Row, version: Row, texts: Texts) {
  const to = change.text('to_lifecycle')
  if (isObject(texts.profile)) texts.profile = { ...texts.profile, title: version.text('title') }
  const retired = change.text('change_kind') === 'compensated'
  const unitDigests = await unit.digestsWith({
    lifecycle_status: to, content_anchor_ref: change.opt('unit_version_id'), version_anchor_ref: change.opt('unit_version_id'),
    identity_profile: canonical(texts.profile), updated_at: change.opt('at'), updated_by: change.opt('actor'),
    deleted_at: retired ? unit.opt('deleted_at') : null,
  })
  const isEnacted = to === 'enacted'
  const versionDigests = await version.digestsWith({ lifecycle_status: isEnacted ? 'enacted' : 'draft', enacted_at: isEnacted ? change.opt('at') : null })
  for (const [column, digests] of [['unit_digest', unitDigests], ['version_digest', versionDigests]] as const) {
    checker.expect(change, 'history_shows_unit_and_text', { [column]: digests.find((digest) => digest === change.opt(column)) ?? digests[0] })
  }
}

/** The unit is where its history ends, and what it was born as. */
function compare(checker: Checker, unit: Row, first: Row, last: Row, made: Made) {
  const rule = 'unit_is_what_its_history_says'
  const address = unit.text('canonical_address')
  const slash = address.indexOf('/')
  checker.expect(unit, rule, {
    lifecycle_status: last.opt('to_lifecycle'), version_anchor_ref: last.opt('unit_version_id'), content_anchor_ref: last.opt('unit_version_id'),
    updated_at: last.opt('at'), updated_by: last.opt('actor'), created_at: first.opt('at'), created_by: first.opt('actor'),
    conformance_status: 'open', row_digest: last.opt('unit_digest'),
    doc_code: slash < 0 ? '' : address.slice(0, slash), section_code: slash < 0 ? '' : address.slice(slash + 1),
  })
  if ((unit.opt('deleted_at') !== null) !== (last.text('change_kind') === 'compensated')) {
    checker.wrong(unit, rule, { column: 'deleted_at', found: shown(unit.opt('deleted_at')) })
  }
  checker.expect(unit, 'unit_is_what_was_approved', {
    canonical_address: made.unit.unit.address, unit_kind: made.unitKind, owner_ref: made.effect.owner,
    parent_or_container_ref: made.unit.parentId, section_type: made.unit.unit.sectionType, sort_order: String(made.unit.sortOrder),
  })
}

/** Every text is one that the history names, and what its hash says. */
async function textsHold(checker: Checker, history: Row[], versions: Map<string, Row>) {
  const rule = 'text_is_what_its_history_says'
  for (const id of [...versions.keys()].sort()) {
    const version = versions.get(id)
    if (version === undefined) continue
    checker.expect(version, rule, { content_hash: await sha256Hex(version.text('body')) })
    const of = history.filter((change) => change.text('unit_version_id') === id)
    const origin = of.find((change) => ['created', 'edited'].includes(change.text('change_kind')))
    if (origin === undefined) {
      checker.wrong(version, rule, { table: t.LIFECYCLE })
      continue
    }
    const enactment = of.find((change) => change.text('change_kind') === 'enacted')
    checker.expect(version, rule, {
      created_at: origin.opt('at'), created_by: origin.opt('actor'), lifecycle_status: enactment === undefined ? 'draft' : 'enacted',
      enacted_at: enactment?.opt('at'), row_digest: of.at(-1)?.opt('version_digest'),
    })
  }
}
