// Attestations of the executor and the verifier, and decisions of the review authority.
import { type Json, canonical, sha256Hex } from './bytes.ts'
import { type Checker, shown } from './check.ts'
import type { Row } from './rows.ts'
import { statementIn, statementOf } from './statement.ts'
import * as t from './tables.ts'

/** An attestation is signed by whom it names, in that signer's lane. */
export async function laneHolds(checker: Checker, signature: Row) {
  const rule = 'signature_keeps_to_its_lane'
  const executor = signature.opt('cross_reference_change_set_id') !== null
  if (executor === (signature.opt('cross_reference_verify_result_id') !== null)) checker.wrong(signature, rule)
  const payload = signature.text('signature_payload')
  const statement = statementIn(checker, signature, 'cutter', 'signature_payload')
  if (statement === undefined) return
  checker.expect(signature, rule, {
    signature_kind: executor ? 'executor' : 'verifier', signer_dot_id: executor ? 'DOT-991' : 'DOT-992', payload_envelope: statement.payloadType,
    payload_hash: await sha256Hex(payload),
  })
  await checker.signed(signature, statement.payloadType, payload, {
    principal: signature.text('signer_principal'), keyId: signature.id('key_id'), signature: signature.opt('signature'),
    at: signature.number('signed_at') ?? 0, recordedAt: signature.number('recorded_at') ?? 0,
  })
}

/** What is signed is what the rows say, at the end of the signer's chain as it was. */
export function attests(checker: Checker, signature: Row, attested: Record<string, Json>) {
  const rule = 'signature_follows_its_prior'
  const priorId = signature.opt('prior_signature_id')
  const prior = priorId === null ? undefined : checker.rows.one(t.SIGNATURE, 'signature_id', priorId)
  if (priorId === null) checker.expect(signature, rule, { lane_seq: '1' })
  else if (prior === undefined) checker.wrong(signature, rule, { table: t.SIGNATURE, row: priorId })
  else {
    checker.expect(signature, rule, { signer_dot_id: prior.opt('signer_dot_id'), signer_principal: prior.opt('signer_principal') })
    const expected = (prior.number('lane_seq') ?? Number.NaN) + 1
    if (signature.number('lane_seq') !== expected) {
      checker.wrong(signature, rule, { column: 'lane_seq', found: shown(signature.opt('lane_seq')), expected: String(expected) })
    }
  }
  const chained = signature.uuid('prior_signature_id') !== undefined && prior !== undefined
  // A version that is not known was named when the signature was looked at.
  if ('named' in statementOf('cutter', signature.text('signature_payload'))) return
  const payload = canonical({
    ...attested, domain: 'chancery.cutter.v1', lane: signature.text('signer_dot_id'), signature_id: signature.id('signature_id'),
    principal: signature.text('signer_principal'), key_id: signature.id('key_id'), tool_revision: signature.text('signer_tool_revision'),
    prior_signature_id: chained ? priorId : null, prior_signature: chained ? (prior?.opt('signature') ?? null) : null,
    signed_at: signature.number('signed_at') ?? 0,
  })
  checker.expect(signature, 'signed_is_what_is_stored', { signature_payload: payload })
}

/** A decision is signed by its reviewer, and what was signed is what its row says. */
export async function decisionSigned(checker: Checker, decision: Row) {
  const rule = 'signed_is_what_is_stored'
  const envelope = checker.rows.one(t.ENVELOPE, 'envelope_id', decision.text('manifest_id'))
  if (envelope === undefined) return checker.wrong(decision, rule, { table: t.ENVELOPE, row: decision.text('manifest_id') })
  const statement = statementIn(checker, decision, 'review', 'decision_payload')
  if (statement === undefined) return undefined
  const signedAt = decision.number('decision_at') ?? 0
  const payload = canonical({
    domain: 'chancery.review.v1', meaning: `${decision.text('governance_event_kind')} ${decision.text('verdict')}`,
    review_decision_id: decision.id('review_decision_id'), governance_event_kind: decision.text('governance_event_kind'),
    entry_id: decision.id('entry_id'), manifest_id: decision.id('manifest_id'), manifest_digest: envelope.sha('manifest_digest') ?? '',
    verdict: decision.text('verdict'), findings: decision.json('findings'), rationale: decision.opt('verdict_rationale'),
    risk: decision.text('risk_class_assessment'), prior_review_decision_id: decision.uuid('prior_review_decision_id') ?? null,
    principal: decision.text('reviewer_identity'), key_id: decision.id('key_id'), signed_at: signedAt,
  })
  checker.expect(decision, rule, {
    decision_payload: payload, entry_id: envelope.opt('entry_id'), manifest_version: envelope.opt('manifest_digest'),
    manifest_unit_local_id: null, review_scope: 'whole_manifest', status: 'decided', reviewer_class: 'review_authority',
  })
  checker.isCanonical(decision, 'findings')
  await checker.signed(decision, statement.payloadType, decision.text('decision_payload'), {
    principal: decision.text('reviewer_identity'), keyId: decision.id('key_id'), signature: decision.opt('signature'), at: signedAt,
    recordedAt: decision.number('created_at') ?? 0,
  })
  return undefined
}
