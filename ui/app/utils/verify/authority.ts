// Documents of the knowledge base with their signatures, and requests for approval with their votes.
import { canonical, sha256Hex, textMember } from './bytes.ts'
import { type Checker, shown } from './check.ts'
import type { Row } from './rows.ts'
import { statementIn } from './statement.ts'
import * as t from './tables.ts'

/** A clock that is a little ahead does not bring a signature behind the end of its key. */
function signedAt(row: Row, recorded: number): number {
  return Math.min(row.number('signed_at') ?? 0, recorded)
}

export async function documentsHold(checker: Checker) {
  const digests = new Map<string, string>()
  let before: Row | undefined
  for (const revision of checker.rows.all(t.REVISION)) {
    const digest = await sha256Hex(revision.text('body'))
    checker.expect(revision, 'text_is_what_its_digest_says', { sha256: digest })
    const last = before?.text('path') === revision.text('path') ? (before.number('revision') ?? 0) : 0
    if (revision.number('revision') !== last + 1) {
      checker.wrong(revision, 'revisions_are_numbered', { found: shown(revision.opt('revision')), expected: String(last + 1) })
    }
    if (!checker.signers.principals.has(revision.text('author'))) checker.wrong(revision, 'author_is_known', { principal: revision.text('author') })
    digests.set(`${revision.text('path')} ${revision.text('revision')}`, digest)
    before = revision
  }
  for (const under of checker.rows.all(t.UNDER)) {
    const digest = digests.get(`${under.text('path')} ${under.text('revision')}`)
    if (digest === undefined) {
      checker.wrong(under, 'row_has_an_origin')
      continue
    }
    const statement = statementIn(checker, under, 'kb', 'signature_payload')
    if (statement === undefined) continue
    const payload = canonical({
      domain: 'chancery.kb.v1', signature_id: under.id('signature_id'), path: under.text('path'), revision: under.number('revision') ?? 0,
      sha256: digest, meaning: under.text('meaning'), principal: under.text('signer'), key_id: under.id('key_id'),
      signed_at: under.number('signed_at') ?? 0,
    })
    checker.expect(under, 'signed_is_what_is_stored', { signature_payload: payload })
    const recordedAt = under.number('recorded_at') ?? 0
    await checker.signed(under, statement.payloadType, under.text('signature_payload'), {
      principal: under.text('signer'), keyId: under.id('key_id'), signature: under.opt('signature'), at: signedAt(under, recordedAt), recordedAt,
    })
  }
}

/** A request and its votes hold. */
export async function askedAndVoted(checker: Checker, request: Row) {
  const statement = statementIn(checker, request, 'approval', 'request_payload')
  if (statement !== undefined) await requestHolds(checker, request, statement.payloadType)
  const [requestedAt, expires] = [request.number('requested_at') ?? 0, request.number('expires_at') ?? 0]
  if (expires <= requestedAt) checker.wrong(request, 'request_can_be_met')
  let before: Row | undefined
  for (const vote of checker.rows.of(t.VOTE, 'approval_id', request.text('approval_id'))) {
    await voteHolds(checker, request, vote, before, [requestedAt, expires])
    before = vote
  }
}

/** A request is signed by its proposer, and what was signed is what its row says. */
async function requestHolds(checker: Checker, request: Row, payloadType: string) {
  const payload = canonical({
    domain: 'chancery.approval.v1', meaning: 'approval requested', approval_id: request.id('approval_id'), kind: request.text('kind'),
    subject_kind: request.text('subject_kind'), subject_ref: request.text('subject_ref'), subject_digest: request.opt('subject_digest'),
    risk: request.text('risk'), title: request.text('title'), facts: request.json('facts'), expires_at: request.number('expires_at') ?? 0,
    principal: request.text('proposer'), key_id: request.id('key_id'), signed_at: request.number('signed_at') ?? 0,
  })
  checker.expect(request, 'signed_is_what_is_stored', { request_payload: payload })
  checker.isCanonical(request, 'facts')
  const requestedAt = request.number('requested_at') ?? 0
  await checker.signed(request, payloadType, request.text('request_payload'), {
    principal: request.text('proposer'), keyId: request.id('key_id'), signature: request.opt('signature'), at: signedAt(request, requestedAt),
    recordedAt: requestedAt,
  })
}

/** A vote is signed by its voter, on exactly this request, and counts for what it was signed as. */
async function voteHolds(checker: Checker, request: Row, vote: Row, before: Row | undefined, [opened, expires]: [number, number]) {
  const rule = 'vote_counts_for_what_it_is'
  const statement = statementIn(checker, vote, 'approval', 'vote_payload')
  if (statement === undefined) return
  const actorClass = textMember(vote.json('vote_payload'), 'actor_class') ?? ''
  const payload = canonical({
    domain: 'chancery.approval.v1', meaning: `vote: ${vote.text('decision')}`, vote_id: vote.id('vote_id'), approval_id: vote.id('approval_id'),
    request_digest: request.digest() ?? '', decision: vote.text('decision'), rationale: vote.opt('rationale'), principal: vote.text('voter'),
    actor_class: actorClass, key_id: vote.id('key_id'), signed_at: vote.number('signed_at') ?? 0,
  })
  checker.expect(vote, 'signed_is_what_is_stored', { vote_payload: payload })
  const at = vote.number('voted_at') ?? 0
  await checker.signed(vote, statement.payloadType, vote.text('vote_payload'), {
    principal: vote.text('voter'), keyId: vote.id('key_id'), signature: vote.opt('signature'), at: signedAt(vote, at), recordedAt: at,
  })
  const human = checker.signers.principals.get(vote.text('voter')) === 'human'
  const part = actorClass === 'sovereign' && human ? 'sovereign' : ['reviewer', 'review_authority'].includes(actorClass) ? 'reviewer' : 'other'
  checker.expect(vote, rule, { counted_as: part })
  if (vote.text('voter') === request.text('proposer')) checker.wrong(vote, rule, { principal: vote.text('voter') })
  if (at < opened || at >= expires) checker.wrong(vote, rule, { column: 'voted_at', found: shown(vote.opt('voted_at')) })
  const prior = before?.text('voter') === vote.text('voter') ? before : undefined
  checker.expect(vote, 'votes_are_numbered', { vote_seq: String((prior?.number('vote_seq') ?? 0) + 1) })
  if (prior !== undefined && (prior.number('voted_at') ?? 0) > at) checker.wrong(vote, 'votes_are_numbered')
}
