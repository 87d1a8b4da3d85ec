// One entry of the cutter, from its log: what each move wrote, and that the rows say what was signed.
import { type Json, canonical, derivedUuid, member, sha256Hex, textMember, uuidOf } from './bytes.ts'
import { type Checker, shown } from './check.ts'
import { type Effect, type Manifest, changeSetDigest, effectOf } from './cut.ts'
import machines from './machines.json' with { type: 'json' }
import { manifestOf } from './manifest.ts'
import { abandoned, beforeTheLedger } from './driven.ts'
import { attests, decisionSigned } from './lane.ts'
import { type LogRow, type Row, artefactDigest, evidenceOf, sweptBy } from './rows.ts'
import * as t from './tables.ts'
import { units } from './unit.ts'
import { verified, verifiedAgain } from './verification.ts'

/** What the moves of an entry have made so far. */
export interface Story {
  decision?: Row
  manifests: Map<string, Manifest>
  set?: Row
  effect?: Effect
  rollback?: Row
  /** Units that had no ledger yet and were taken back with their run. */
  voided?: { id: string; actor: string }
  result?: Row
}

export function legalEntryMove(checker: Checker, entry: Row, row: LogRow) {
  checker.legal(machines.cut_request, 'cut_request', entry, row)
  // Who reviews or gives up says why; a service's move has nothing to say.
  if (row.reason !== null && ['sweep', 'cut', 'verify'].includes(row.triggerRef)) {
    checker.wrongMove(row, 'move_is_legal', { column: 'reason', found: shown(row.reason), expected: 'null' })
  }
}

export async function entryHolds(checker: Checker, entry: Row) {
  const log = checker.rows.logOf(entry.id('entry_id'))
  await markedAs(checker, entry, log[0])
  const story: Story = { manifests: new Map() }
  for (const row of log) {
    legalEntryMove(checker, entry, row)
    switch (row.triggerRef) {
      case 'mark':
      case 'escalate': await mark(checker, entry, row); break
      case 'sweep': await sweep(checker, entry, row); break
      case 'review': await review(checker, entry, row, story); break
      case 'cut': await cut(checker, entry, row, story); break
      case 'verify': await verified(checker, entry, row, story); break
      case 'abandon': await abandoned(checker, entry, row, story); break
      default: checker.wrongMove(row, 'move_is_legal', { trigger: row.triggerRef })
    }
  }
  await decisions(checker, entry, story)
  await verifiedAgain(checker, entry, story)
  await beforeTheLedger(checker, entry, story)
  await units(checker, entry, story)
  for (const [table, column] of [[t.DEPENDENCY, 'from_entry_id'], [t.ENVELOPE, 'entry_id'], [t.CHANGE_SET, 'decision_backlog_entry_id']] as const) {
    for (const row of checker.rows.of(table, column, entry.text('entry_id'))) checker.requireClaim(row)
  }
}

/** The entry's columns are what its payload and its birth say. */
async function markedAs(checker: Checker, entry: Row, birth: LogRow | undefined) {
  const rule = 'entry_is_as_it_was_marked'
  const payload = entry.json('payload')
  checker.isCanonical(entry, 'payload')
  const spec = member(payload, 'proposed_cut_spec')
  const escalationOf = uuidOf(textMember(payload, 'escalation_of')) ?? null
  checker.expect(entry, rule, {
    idempotency_key: textMember(payload, 'idempotency_key'), document_id: textMember(spec, 'document_id'),
    source_version_id: uuidOf(textMember(spec, 'source_version_id')) ?? null, escalation_of: escalationOf,
    kind: escalationOf === null ? 'cut_request' : 'escalation', correlation_id: entry.opt('entry_id'),
  })
  if (birth !== undefined) {
    checker.expect(entry, rule, { started_by: birth.principal, state_machine_id: birth.machine, idempotency_key: birth.idempotencyKey })
  }
  if (birth?.triggerRef === 'escalate') {
    const result = uuidOf(textMember(payload, 'verify_result_id'))
    // Without a verdict, the verification itself was given up.
    const [of, part] = result === undefined ? [escalationOf, 'verification_given_up'] : [result, 'escalation']
    checker.expect(entry, rule, { entry_id: of === null ? null : await derivedUuid(of, part) })
  }
  const source = checker.rows.one(t.SOURCE, 'source_version_id', entry.text('source_version_id'))
  if (source === undefined) checker.wrong(entry, rule, { table: t.SOURCE, row: entry.text('source_version_id') })
  else checker.expect(source, 'source_is_what_was_marked', { document_id: entry.opt('document_id'), content_sha256: textMember(spec, 'content_sha256') })
}

async function mark(checker: Checker, entry: Row, row: LogRow) {
  const rule = 'dependency_is_as_it_was_marked'
  const dependencies = checker.rows.of(t.DEPENDENCY, 'from_entry_id', entry.text('entry_id'))
  await checker.artefacts(row, [entry, ...dependencies])
  const blockers = [...new Set(dependencies.map((dependency) => dependency.id('to_entry_id')))].sort()
  checker.expectEvidence(row, { depends_on: blockers, payload_sha256: await sha256Hex(canonical(entry.json('payload'))) })
  for (const dependency of dependencies) {
    checker.expect(dependency, rule, { dependency_kind: 'blocks', created_by: row.principal })
    const blocker = dependency.text('to_entry_id')
    if (checker.rows.one(t.ENTRY, 'entry_id', blocker) === undefined) checker.wrong(dependency, rule, { table: t.ENTRY, row: blocker })
  }
}

async function sweep(checker: Checker, entry: Row, row: LogRow) {
  const rule = 'sweep_is_as_it_was_logged'
  const id = sweptBy(row) ?? ''
  checker.expectEvidence(row, { sweep_id: id })
  checker.expectMove(row, 'idempotency_key', row.idempotencyKey, `sweep:${id}`)
  const swept = checker.rows.one(t.SWEEP, 'sweep_id', id)
  if (swept === undefined) return checker.missing(row, t.SWEEP, id)
  // Not claimed: one sweep speaks for all entries that it promoted.
  const digest = swept.digest()
  if (row.artefactDigest !== (digest === undefined ? null : await artefactDigest([digest]))) {
    checker.wrongMove(row, 'artefacts_are_in_the_log', { table: t.SWEEP })
  }
  checker.isCanonical(swept, 'report_summary')
  const listed = member(swept.json('report_summary'), 'promoted')
  const promoted = Array.isArray(listed) ? listed : []
  const count = String(promoted.length)
  checker.expect(swept, rule, { swept_by: row.principal, scanned_count: count, created_count: '0', promoted_count: count })
  if (!promoted.includes(entry.opt('entry_id'))) checker.wrong(swept, rule, { table: t.ENTRY, row: entry.text('entry_id') })
  return undefined
}

async function review(checker: Checker, entry: Row, row: LogRow, story: Story) {
  const rule = 'review_is_as_it_was_logged'
  const decisionId = textMember(evidenceOf(row), 'review_decision_id') ?? ''
  const decision = checker.rows.one(t.DECISION, 'review_decision_id', decisionId)
  if (decision === undefined) return checker.missing(row, t.DECISION, decisionId)
  const envelopeId = decision.text('manifest_id')
  const envelope = checker.rows.one(t.ENVELOPE, 'envelope_id', envelopeId)
  if (envelope === undefined) return checker.missing(row, t.ENVELOPE, envelopeId)
  await checker.artefacts(row, [envelope, decision, ...checker.rows.of(t.BLOCK, 'envelope_id', envelopeId)])
  const verdict = decision.text('verdict')
  checker.expectEvidence(row, {
    review_decision_id: decision.id('review_decision_id'), manifest_id: envelope.id('envelope_id'),
    manifest_digest: envelope.sha('manifest_digest') ?? '', verdict, event: { review_decision_id: decision.id('review_decision_id') },
  })
  const [state, status] = verdict === 'approve' ? ['reviewed_approved', 'accepted']
    : verdict === 'reject' ? ['reviewed_rejected', 'rejected'] : ['reviewed_deferred', 'under_review']
  checker.expectMove(row, 'state', row.to, state)
  checker.expect(decision, rule, {
    governance_event_kind: 'cut_review', entry_id: entry.opt('entry_id'), reviewer_identity: row.principal, verdict_rationale: row.reason,
    prior_review_decision_id: story.decision?.opt('review_decision_id'),
  })
  checker.expect(envelope, rule, {
    entry_id: entry.opt('entry_id'), source_doc_ref: entry.opt('entry_id'), source_version_id: entry.opt('source_version_id'), status,
    created_by: row.principal, reviewer: row.principal, rationale: row.reason,
  })
  if (row.principal === entry.opt('started_by')) checker.wrong(decision, 'nobody_reviews_their_own', { principal: row.principal })
  const manifest = await manifestOf(checker, envelope)
  if (manifest !== undefined) story.manifests.set(envelopeId, manifest)
  story.decision = decision
  return undefined
}

async function cut(checker: Checker, entry: Row, row: LogRow, story: Story) {
  const rule = 'cut_is_what_was_approved'
  const setId = textMember(evidenceOf(row), 'change_set_id') ?? ''
  const set = checker.rows.one(t.CHANGE_SET, 'change_set_id', setId)
  if (set === undefined) return checker.missing(row, t.CHANGE_SET, setId)
  const signatureId = set.text('executor_signature_id')
  const signature = checker.rows.one(t.SIGNATURE, 'signature_id', signatureId)
  if (signature === undefined) return checker.missing(row, t.SIGNATURE, signatureId)
  const affected = checker.rows.of(t.AFFECTED, 'change_set_id', setId)
  await checker.artefacts(row, [...affected, set, signature])
  story.set = set
  const decision = story.decision
  if (decision === undefined || decision.text('verdict') !== 'approve') return checker.wrong(set, rule, { table: t.DECISION })
  if (decision.opt('reviewer_identity') === row.principal) checker.wrong(set, 'nobody_reviews_their_own', { principal: row.principal })
  blockers(checker, entry, row)
  checker.expectEvidence(row, {
    review_decision_id: decision.opt('review_decision_id'), change_set_id: set.opt('change_set_id'),
    change_set_digest: set.opt('change_set_digest'), executor_signature_id: signature.opt('signature_id'),
    event: { change_set_id: set.opt('change_set_id'), executor_signature_id: signature.opt('signature_id') },
  })
  checker.expectMove(row, 'idempotency_key', row.idempotencyKey, `cut:${decision.text('review_decision_id')}`)
  const manifest = story.manifests.get(decision.text('manifest_id'))
  if (manifest === undefined) return checker.wrong(set, rule, { table: t.ENVELOPE, row: decision.text('manifest_id') })
  const effect = await effectOf(manifest, set.id('change_set_id'), entry.text('started_by'))
  await applied(checker, entry, row, set, decision, manifest, effect)
  checker.expect(signature, 'signature_is_of_the_cut', {
    signer_principal: row.principal, cross_reference_change_set_id: set.opt('change_set_id'),
    signer_tool_revision: set.opt('executor_tool_revision'),
  })
  attests(checker, signature, {
    meaning: 'cut applied', entry_id: entry.id('entry_id'), change_set_id: set.id('change_set_id'),
    change_set_digest: set.sha('change_set_digest') ?? '', manifest_digest: manifest.digest,
  })
  // The ledger has a row for each unit of the manifest, in their order.
  for (const [place, touched] of affected.entries()) {
    const unit = effect.units[place]
    if (unit === undefined) break
    checker.expect(touched, 'ledger_is_what_was_approved', {
      affected_row_id: unit.affectedRowId, render_order: String(unit.sortOrder), target_table: t.UNIT, target_row_id: unit.unitId,
      operation_kind: 'insert', before_state_snapshot: null, after_state_snapshot: unit.snapshot,
    })
  }
  story.effect = effect
  return undefined
}

/** The header of a cut is what its manifest makes of it. */
async function applied(checker: Checker, entry: Row, row: LogRow, set: Row, decision: Row, manifest: Manifest, effect: Effect) {
  const digest = await changeSetDigest({
    changeSetId: effect.changeSetId, entryId: entry.id('entry_id'), decisionId: decision.id('review_decision_id'),
    manifestDigest: manifest.digest, writerDigest: effect.writerDigest, effectDigest: effect.effectDigest, count: effect.units.length,
  })
  checker.expect(set, 'cut_is_what_was_approved', {
    change_kind: 'apply', decision_backlog_entry_id: entry.opt('entry_id'), manifest_id: decision.opt('manifest_id'),
    manifest_version: manifest.digest, review_decision_id: decision.opt('review_decision_id'), verifier_signature_id: null,
    rollback_key: `rbk:${entry.text('document_id')}:${effect.writerDigest.slice(0, 16)}:${set.text('change_set_id')}`,
    rollback_of_change_set_id: null, rollback_reason: null, state: 'committed', affected_unit_count: String(manifest.units.length),
    writer_digest: effect.writerDigest, effect_digest: effect.effectDigest, change_set_digest: digest,
    payload_summary: canonical({
      content_sha256: manifest.contentSha256, document_id: manifest.documentId, source_version_id: manifest.sourceVersionId,
    } satisfies Record<string, Json>),
    verifier_tool_revision: 'pending', emitted_by: row.principal,
  })
}

/** What a cut waited for was verified before it. */
function blockers(checker: Checker, entry: Row, cutRow: LogRow) {
  for (const dependency of checker.rows.of(t.DEPENDENCY, 'from_entry_id', entry.text('entry_id'))) {
    let state = '∅'
    for (const row of checker.rows.logOf(dependency.id('to_entry_id'))) {
      if (row.at > cutRow.at) break
      state = row.to
    }
    if (state !== 'verified_complete') checker.wrong(dependency, 'cut_waited_for_its_blockers', { found: state, expected: 'verified_complete' })
  }
}

/** Every decision on the entry is signed and has its place: in the log, or as a decision on enacting what was verified. */
async function decisions(checker: Checker, entry: Row, story: Story) {
  const all = checker.rows.of(t.DECISION, 'entry_id', entry.text('entry_id'))
  for (const decision of all) {
    await decisionSigned(checker, decision)
    const kind = decision.opt('governance_event_kind')
    const next = all.filter((one) => one.opt('governance_event_kind') === kind && one.opt('prior_review_decision_id') === decision.opt('review_decision_id'))
    checker.expect(decision, 'decision_is_superseded_by_the_next', {
      superseded_by_review_decision_id: next[0]?.opt('review_decision_id'),
    })
    if (next.length > 1) checker.wrong(decision, 'decisions_form_one_chain')
    if (kind === 'cut_review') checker.requireClaim(decision)
    else enactment(checker, entry, decision, all, story)
  }
}

/** A decision on enacting is about a verified cut and follows the decision on the cut, or the one on enacting before it. */
function enactment(checker: Checker, entry: Row, decision: Row, all: Row[], story: Story) {
  const rule = 'enactment_is_of_a_verified_cut'
  const kind = 'lifecycle_enactment'
  checker.expect(decision, rule, { governance_event_kind: kind, manifest_id: story.set?.opt('manifest_id') })
  const prior = decision.opt('prior_review_decision_id')
  const ofTheCut = story.set !== undefined && story.set.opt('review_decision_id') === prior
  const before = all.some((one) => one.text('governance_event_kind') === kind && one.opt('review_decision_id') === prior)
  if (!ofTheCut && !before) checker.wrong(decision, rule, { column: 'prior_review_decision_id', found: shown(prior) })
  const first = all.filter((one) => one.text('governance_event_kind') === kind && one.opt('prior_review_decision_id') === prior)
  if (ofTheCut && first.length > 1) checker.wrong(decision, 'decisions_form_one_chain')
  if (story.result?.text('verdict') !== 'pass') checker.wrong(decision, rule, { column: 'verdict', found: shown(story.result?.opt('verdict')), expected: 'pass' })
  if (decision.opt('reviewer_identity') === entry.opt('started_by')) {
    checker.wrong(decision, 'nobody_reviews_their_own', { principal: decision.text('reviewer_identity') })
  }
}
