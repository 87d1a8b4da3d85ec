// Verifications of a cut, and what takes a cut back.
import { type Json, canonical, canonicalSha256, derivedUuid, member, textMember } from './bytes.ts'
import { type Checker, shown } from './check.ts'
import { changeSetDigest, retiredSnapshot, snapshotsDigest } from './cut.ts'
import type { Story } from './entry.ts'
import { attests } from './lane.ts'
import { type LogRow, type Row, evidenceOf } from './rows.ts'
import * as t from './tables.ts'

export async function verified(checker: Checker, entry: Row, row: LogRow, story: Story) {
  const evidence = evidenceOf(row)
  const resultId = textMember(evidence, 'verify_result_id') ?? ''
  const result = checker.rows.of(t.RESULT, 'change_set_id', textMember(evidence, 'change_set_id') ?? '').find((one) => one.text('verify_result_id') === resultId)
  if (result === undefined) return checker.missing(row, t.RESULT, resultId)
  const signatureId = result.text('verifier_signature_id')
  const signature = checker.rows.one(t.SIGNATURE, 'signature_id', signatureId)
  if (signature === undefined) return checker.missing(row, t.SIGNATURE, signatureId)
  const rollbackId = result.opt('rollback_change_set_id_triggered')
  const rollback = rollbackId === null ? undefined : checker.rows.one(t.CHANGE_SET, 'change_set_id', rollbackId)
  const written = [result, signature, ...(rollbackId === null ? [] : checker.rows.of(t.AFFECTED, 'change_set_id', rollbackId))]
  if (rollback !== undefined) written.push(rollback)
  await checker.artefacts(row, written)
  const made: Record<string, Json> = {
    verify_result_id: result.opt('verify_result_id'), verifier_signature_id: signature.opt('signature_id'),
    rollback_change_set_id_triggered: rollbackId, escalation_ref: result.opt('escalation_ref'),
  }
  const event = Object.fromEntries(Object.entries(made).filter(([, value]) => value !== null))
  checker.expectEvidence(row, {
    change_set_id: result.opt('change_set_id'), verdict: result.opt('verdict'), verify_digest: result.opt('verify_digest'),
    key_id: signature.opt('key_id'), event, ...event,
  })
  checker.expectMove(row, 'idempotency_key', row.idempotencyKey, `verify:${result.text('verify_result_id')}`)
  const failed = result.text('verdict') === 'fail'
  checker.expectMove(row, 'state', row.to, failed ? 'verify_failed_escalated' : 'verified_complete')
  checker.expect(result, 'result_is_as_it_was_logged', { verified_by: row.principal, prior_verify_result_id: null })
  if (story.set === undefined) return checker.wrong(result, 'result_is_of_the_cut', { table: t.CHANGE_SET })
  await resultHolds(checker, entry, story.set, result, signature, failed ? await derivedUuid(result.id('verify_result_id'), 'rollback') : null)
  if (rollback !== undefined) {
    await takenBack(checker, row, story.set, rollback, 'verification failed', result.text('verifier_tool_revision'))
    story.rollback = rollback
  }
  story.result = result
  return undefined
}

/** A verification is about the cut, independent of it, and signed for exactly what its row says. */
async function resultHolds(checker: Checker, entry: Row, set: Row, result: Row, signature: Row, takenBackBy: string | null) {
  const rule = 'result_is_of_the_cut'
  const verdict = result.text('verdict')
  const findings = result.json('findings')
  checker.isCanonical(result, 'findings')
  const resultId = result.id('verify_result_id')
  // A failure opens an escalation, or joins the one that another verification of this cut opened.
  const opener = verdict === 'fail' ? await openerOf(checker, set, result) : result
  const escalated = verdict === 'fail' ? await derivedUuid(opener.id('verify_result_id'), 'escalation') : null
  const digest = await canonicalSha256({
    verify_result_id: resultId, change_set_id: result.id('change_set_id'), change_set_digest: set.opt('change_set_digest') ?? '',
    executor_signature_id: set.id('executor_signature_id'), verdict, findings,
    prior_verify_result_id: result.uuid('prior_verify_result_id') ?? null, rollback_change_set_id: takenBackBy, escalation_ref: escalated, v: 1,
  })
  const same = set.opt('executor_tool_revision') === signature.opt('signer_tool_revision')
  checker.expect(result, rule, {
    change_set_id: set.opt('change_set_id'), manifest_id: set.opt('manifest_id'), manifest_version: set.opt('manifest_version'),
    review_decision_id: set.opt('review_decision_id'), executor_signature_id: set.opt('executor_signature_id'),
    executor_tool_revision: set.opt('executor_tool_revision'), verifier_tool_revision: signature.opt('signer_tool_revision'),
    tool_revision_match: same ? 'true' : 'false', verify_kind: 'axis_1_round_trip', axis_1_status: verdict, axis_2_status: 'not_assessed',
    state: 'complete', canonicalization_rule_used: 'rfc8785', rollback_change_set_id_triggered: takenBackBy, escalation_ref: escalated,
    verify_digest: digest, verified_by: signature.opt('signer_principal'),
  })
  const listed = member(findings, 'findings')
  const found = Array.isArray(listed) ? listed.length : 0
  if (found > 0 !== (verdict === 'fail') || !['pass', 'fail'].includes(verdict)) {
    checker.wrong(result, rule, { column: 'verdict', found: `${verdict}, ${found}` })
  }
  const executor = checker.rows.one(t.SIGNATURE, 'signature_id', set.text('executor_signature_id'))
  for (const column of ['signer_principal', 'key_id']) {
    if (executor === undefined || executor.opt(column) === signature.opt(column)) {
      checker.wrong(signature, 'verifier_is_not_executor', { column, found: shown(signature.opt(column)) })
    }
  }
  checker.expect(signature, 'signature_is_of_the_result', { cross_reference_verify_result_id: result.opt('verify_result_id') })
  attests(checker, signature, {
    meaning: `cut verified: ${verdict}`, entry_id: entry.id('entry_id'), change_set_id: result.id('change_set_id'),
    change_set_digest: set.opt('change_set_digest') ?? '', manifest_digest: set.text('manifest_version'), verify_result_id: resultId,
    verify_digest: digest, verdict,
  })
  if (escalated !== null) escalation(checker, entry, opener, escalated)
}

/** The verification that opened the escalation which a failure names; the failure itself when none did. */
async function openerOf(checker: Checker, set: Row, result: Row): Promise<Row> {
  for (const one of checker.rows.of(t.RESULT, 'change_set_id', set.text('change_set_id'))) {
    const opened = await derivedUuid(one.id('verify_result_id'), 'escalation')
    if (one.text('verdict') === 'fail' && opened === result.opt('escalation_ref')) return one
  }
  return result
}

/** A failure opened an entry of its own. */
function escalation(checker: Checker, entry: Row, result: Row, id: string) {
  const rule = 'failure_is_escalated'
  const opened = checker.rows.one(t.ENTRY, 'entry_id', id)
  if (opened === undefined) return checker.wrong(result, rule, { table: t.ENTRY, row: id })
  checker.expect(opened, rule, { kind: 'escalation', escalation_of: entry.opt('entry_id') })
  const named = textMember(opened.json('payload'), 'verify_result_id')
  if (named !== result.opt('verify_result_id')) {
    checker.wrong(opened, rule, { column: 'payload', found: shown(named), expected: shown(result.opt('verify_result_id')) })
  }
  return undefined
}

/** A compensation takes back what the cut made, and says so. */
export async function takenBack(checker: Checker, row: LogRow, set: Row, rollback: Row, reason: string, revision: string) {
  const rule = 'compensation_is_of_the_cut'
  const rollbackId = rollback.id('change_set_id')
  const affected = checker.rows.of(t.AFFECTED, 'change_set_id', rollback.text('change_set_id'))
  const made = new Map(checker.rows.of(t.AFFECTED, 'change_set_id', set.text('change_set_id')).map((one) => [one.text('target_row_id'), one]))
  for (const touched of affected) {
    const target = touched.text('target_row_id')
    const before = made.get(target)
    if (before === undefined) {
      checker.wrong(touched, rule, { table: t.UNIT, row: target })
      continue
    }
    checker.expect(touched, rule, {
      affected_row_id: await derivedUuid(rollbackId, `row,${target}`), render_order: before.opt('render_order'), target_table: t.UNIT,
      operation_kind: 'retire', before_state_snapshot: before.opt('after_state_snapshot'), after_state_snapshot: retiredSnapshot(touched.id('target_row_id')),
    })
  }
  const effectDigest = await snapshotsDigest(affected.map((one) => one.text('after_state_snapshot')))
  const manifest = checker.rows.one(t.ENVELOPE, 'envelope_id', set.text('manifest_id'))
  const none = '0'.repeat(64)
  const digest = await changeSetDigest({
    changeSetId: rollbackId, entryId: set.id('decision_backlog_entry_id'), decisionId: set.id('review_decision_id'),
    manifestDigest: manifest?.sha('manifest_digest') ?? none, writerDigest: set.sha('writer_digest') ?? none, effectDigest, count: affected.length,
  })
  checker.expect(rollback, rule, {
    change_kind: 'compensate', decision_backlog_entry_id: set.opt('decision_backlog_entry_id'), manifest_id: set.opt('manifest_id'),
    manifest_version: set.opt('manifest_version'), review_decision_id: set.opt('review_decision_id'), executor_signature_id: null,
    verifier_signature_id: null, rollback_key: `rbk:compensate:${set.text('change_set_id')}`,
    rollback_of_change_set_id: set.opt('change_set_id'), rollback_reason: reason, state: 'committed',
    affected_unit_count: String(affected.length), writer_digest: set.opt('writer_digest'), effect_digest: effectDigest,
    change_set_digest: digest, payload_summary: canonical({ rollback_of: set.opt('change_set_id') }),
    executor_tool_revision: set.opt('executor_tool_revision'), verifier_tool_revision: revision, emitted_by: row.principal,
  })
}

/** Verifications after the one that moved the entry chain to it, and move nothing. */
export async function verifiedAgain(checker: Checker, entry: Row, story: Story) {
  const { set } = story
  if (set === undefined) return
  const results = checker.rows.of(t.RESULT, 'change_set_id', set.text('change_set_id'))
  let prior = story.result
  while (prior !== undefined) {
    const current: Row = prior
    const next = results.filter((one) => one.opt('prior_verify_result_id') === current.opt('verify_result_id'))
    const result = next[0]
    if (result === undefined || !checker.claim(result)) break
    const signature = checker.rows.one(t.SIGNATURE, 'signature_id', result.text('verifier_signature_id'))
    if (signature === undefined) checker.wrong(result, 'result_is_of_the_cut', { table: t.SIGNATURE, row: result.text('verifier_signature_id') })
    else {
      checker.claim(signature)
      await resultHolds(checker, entry, set, result, signature, null)
      if (next.length > 1) {
        checker.wrong(current, 'results_form_one_chain')
        break
      }
    }
    prior = result
  }
  for (const result of results) checker.requireClaim(result)
}
