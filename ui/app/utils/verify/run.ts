// Runs of the orchestrator: what each gate wrote, and that the sovereign's document, vote and decision belong together.
import { type Json, canonical, canonicalSha256, derivedUuid, isObject, member, parsed, textMember, uuidOf } from './bytes.ts'
import { type Checker, shown } from './check.ts'
import machines from './machines.json' with { type: 'json' }
import { type LogRow, type Row, artefactDigest, evidenceOf, runUnits } from './rows.ts'
import * as t from './tables.ts'

/** Where the documents of the gates stand. */
const DOCUMENTS: Record<string, string> = {
  IG_source_pin: '01-source-pin', IG_mark: '02-mark', IG_cutplan: '03-cutplan', IG_backup: '04-pre-write-backup',
  IG_grant_probe: '05-grant-probe', SG_cut_authz_request: 'sg1-cut-authz-request', SG_cut_authz_received: '06-cut-leg-a',
  IG_structural_verify: '07-structural-verify', IG_leg_b_record: '08-leg-b-record', IG_write_verify: '09-write-verify',
  SG_lifecycle_authz_request: 'sg2-lifecycle-authz-request', SG_lifecycle_authz_received: '10-lifecycle-enact',
  IG_closeout: '11-final-orchestrator-report',
}

type Step = 'start' | 'gate' | 'halt' | 'resume' | 'void'

function stepOf(row: LogRow): Step {
  if (row.triggerRef === 'orchestrate_start') return 'start'
  if (row.triggerRef === 'orchestrate_resume') return 'resume'
  if (row.triggerRef === 'orchestrate_void') return 'void'
  return Object.hasOwn(DOCUMENTS, row.triggerRef) ? 'gate' : 'halt'
}

/** The sovereign gate that a move passed. */
function authorityOf(row: LogRow): string | undefined {
  if (row.triggerRef === 'SG_cut_authz_received') return 'SG_cut_authz'
  if (row.triggerRef === 'SG_lifecycle_authz_received') return 'SG_lifecycle_authz'
  if (stepOf(row) === 'resume') return row.from === 'stopped_drift' ? 'SG_drift_ack' : 'SG_resume_stopped'
  return undefined
}

export function usedApprovals(log: LogRow[]): string[] {
  const used = log.filter((row) => authorityOf(row) !== undefined).map((row) => uuidOf(textMember(evidenceOf(row), 'approval_id')))
  return used.filter((id) => id !== undefined)
}

/** Where the document stands that a move wrote. */
function documentPath(run: Row, row: LogRow): string | undefined {
  const names: Record<Step, string | undefined> = {
    start: undefined, void: undefined, gate: DOCUMENTS[row.triggerRef], halt: `stop-route-report-${row.seq}`, resume: `resumed-${row.seq}`,
  }
  const name = names[stepOf(row)]
  return name === undefined ? undefined : `orchestrator/${run.text('run_name').toLowerCase()}/${name}`
}

/** The paths of the documents that the moves of a run wrote or rest on. */
export function pathsOf(run: Row, log: LogRow[]): string[] {
  return log.flatMap((row) => {
    const evidence = evidenceOf(row)
    const named = stepOf(row) === 'void' ? textMember(evidence, 'void_kb_id')
      : authorityOf(row) === undefined ? null : textMember(evidence, 'approval_kb_id')
    return [documentPath(run, row) ?? '', named ?? ''].filter((path) => path !== '')
  })
}

/** Proves one run. */
export async function runHolds(checker: Checker, run: Row) {
  // Later pins of the same name hold.
  let pins: Record<string, Json> = {}
  for (const row of checker.rows.logOf(run.id('run_id'))) {
    checker.legal(machines.orchestrator_run, 'orchestrator_run', run, row)
    const evidence = evidenceOf(row)
    switch (stepOf(row)) {
      case 'start': await started(checker, run, row); break
      case 'gate': await passed(checker, run, row, evidence); break
      case 'halt': await halted(checker, run, row); break
      case 'resume': await resumed(checker, run, row, evidence); break
      case 'void': await voided(checker, run, row, evidence); break
    }
    const gate = authorityOf(row)
    if (gate !== undefined) await authorized(checker, run, row, gate, evidence, pins)
    const pinned = member(evidence, 'pins')
    if (isObject(pinned)) pins = { ...pins, ...pinned }
  }
}

async function started(checker: Checker, run: Row, row: LogRow) {
  const rule = 'run_is_as_it_was_started'
  await checker.artefacts(row, [run])
  checker.expectEvidence(row, { run_name: run.opt('run_name') })
  checker.expectMove(row, 'idempotency_key', row.idempotencyKey, 'start')
  checker.expect(run, rule, { started_by: row.principal, correlation_id: run.opt('run_name') })
  if (run.text('run_name').slice(22) !== run.opt('run_id')) checker.wrong(run, rule, { column: 'run_name', found: run.text('run_name') })
}

/** The rows of a move past a gate: those that its phase wrote, and its document. */
async function passed(checker: Checker, run: Row, row: LogRow, evidence: Json) {
  const gate = row.triggerRef
  checker.expectMove(row, 'idempotency_key', row.idempotencyKey, gate)
  checker.expectMove(row, 'gate', textMember(evidence, 'gate'), gate)
  const held = member(evidence, 'invariants')
  const broken = isObject(held) ? Object.keys(held).filter((name) => held[name] !== true) : ['∅']
  if (broken.length > 0 || (isObject(held) && Object.keys(held).length === 0)) {
    checker.wrongMove(row, 'every_invariant_held', { found: broken.join(', ') })
  }
  const rows = await written(checker, run, row, gate, evidence)
  if (rows === undefined) return
  const document = receipt(checker, run, row, gate.endsWith('_request') ? 'request' : 'receipt', evidence)
  if (document !== undefined) await checker.artefacts(row, [...rows, document])
}

/** What the phase before a gate wrote. */
async function written(checker: Checker, run: Row, row: LogRow, gate: string, evidence: Json): Promise<Row[] | undefined> {
  const part = (name: string) => derivedUuid(run.id('run_id'), name)
  const one = (table: string, column: string, id: string) => {
    const found = rowOf(checker, row, table, column, id)
    return found === undefined ? undefined : [found]
  }
  switch (gate) {
    case 'IG_mark': return one(t.ENTRY, 'entry_id', run.text('entry_id'))
    case 'IG_leg_b_record': return one(t.CHANGE_SET, 'change_set_id', await part('change_set'))
    case 'IG_write_verify': {
      const found = await verdict(checker, run, row)
      return found === undefined ? undefined : [found]
    }
    case 'SG_cut_authz_received': {
      const rows = await changes(checker, run, 'created')
      for (const change of rows) checker.expect(change, 'change_is_of_its_run', { actor: row.principal })
      const used = usedFor(checker, row, evidence)
      return used === undefined ? rows : [...rows, used]
    }
    case 'SG_lifecycle_authz_received': {
      const rows = await changes(checker, run, 'enacted')
      const id = await part('lifecycle_decision')
      for (const change of rows) checker.expect(change, 'change_is_of_its_run', { review_decision_id: id })
      const decision = rowOf(checker, row, t.DECISION, 'review_decision_id', id)
      if (decision === undefined) return undefined
      const used = usedFor(checker, row, evidence)
      return [...rows, decision, ...(used === undefined ? [] : [used])]
    }
    default: return []
  }
}

/** The changes of one kind that the run made to its units. */
async function changes(checker: Checker, run: Row, kind: string): Promise<Row[]> {
  const set = await derivedUuid(run.id('run_id'), 'change_set')
  const of = (await runUnits(checker.rows, run)).flatMap((unit) => checker.rows.of(t.LIFECYCLE, 'unit_id', unit))
  return of.filter((change) => change.text('change_kind') === kind && change.opt('change_set_id') === set)
}

function rowOf(checker: Checker, row: LogRow, table: string, column: string, id: string): Row | undefined {
  const found = checker.rows.one(table, column, id)
  if (found === undefined) checker.missing(row, table, id)
  return found
}

async function verdict(checker: Checker, run: Row, row: LogRow): Promise<Row | undefined> {
  const set = await derivedUuid(run.id('run_id'), 'change_set')
  const id = await derivedUuid(run.id('run_id'), 'verify_result')
  const found = checker.rows.of(t.RESULT, 'change_set_id', set).find((result) => result.text('verify_result_id') === id)
  if (found === undefined) checker.missing(row, t.RESULT, id)
  return found
}

function usedFor(checker: Checker, row: LogRow, evidence: Json): Row | undefined {
  return rowOf(checker, row, t.USE, 'approval_id', textMember(evidence, 'approval_id') ?? '')
}

/** The revision of the move's document that its evidence names. */
function receipt(checker: Checker, run: Row, row: LogRow, kind: string, evidence: Json): Row | undefined {
  const path = documentPath(run, row)
  if (path === undefined) return undefined
  checker.expectMove(row, 'kb_doc_id', textMember(evidence, 'kb_doc_id'), path)
  const number = member(evidence, 'kb_revision')
  const found = checker.rows.of(t.REVISION, 'path', path).find((revision) => revision.number('revision') === number)
  if (found === undefined) checker.missing(row, t.REVISION, `${path}/${String(number)}`)
  else checker.expect(found, 'document_is_of_its_move', { kind })
  return found
}

async function halted(checker: Checker, run: Row, row: LogRow) {
  const rows: Row[] = []
  if (row.actorClass === 'verifier_dot992') {
    const found = await verdict(checker, run, row)
    if (found === undefined) return
    rows.push(found)
  }
  // Signed as it was given, the evidence cannot name the revision; one of them is the one.
  const path = documentPath(run, row) ?? ''
  await oneOf(checker, row, rows, checker.rows.of(t.REVISION, 'path', path), path)
}

async function voided(checker: Checker, run: Row, row: LogRow, evidence: Json) {
  const rule = 'authority_belongs_together'
  const path = textMember(evidence, 'void_kb_id') ?? ''
  const signatures = checker.rows.of(t.UNDER, 'path', path).filter((under) => under.text('meaning') === 'void')
  const signature = await oneOf(checker, row, [], signatures, path)
  if (signature === undefined) return
  const words = said(checker, signature)
  if (textMember(words, 'run_id') !== run.opt('run_name') || member(words, 'voids') !== true) checker.wrong(signature, rule, { column: 'run_id' })
  checker.expect(signature, rule, { signer: row.principal })
}

/** The digest of the move is over some rows and one of several. */
async function oneOf(checker: Checker, row: LogRow, rows: Row[], candidates: Row[], path: string): Promise<Row | undefined> {
  let chosen = candidates.at(-1)
  for (const candidate of candidates) {
    const digests = [...rows, candidate].map((one) => one.digest()).filter((digest) => digest !== undefined)
    if (digests.length === rows.length + 1 && row.artefactDigest === (await artefactDigest(digests))) {
      chosen = candidate
      break
    }
  }
  if (chosen === undefined) {
    checker.missing(row, t.REVISION, path)
    return undefined
  }
  await checker.artefacts(row, [...rows, chosen])
  return chosen
}

async function resumed(checker: Checker, run: Row, row: LogRow, evidence: Json) {
  checker.expectMove(row, 'idempotency_key', row.idempotencyKey, `resume:${textMember(evidence, 'approval_id') ?? ''}`)
  const before = checker.rows.logOf(row.runId).filter((one) => one.seq < row.seq).at(-1)
  checker.expectMove(row, 'state', row.to, before?.from)
  const used = usedFor(checker, row, evidence)
  if (used === undefined) return
  const document = receipt(checker, run, row, 'receipt', evidence)
  if (document !== undefined) await checker.artefacts(row, [used, document])
}

/** What the text under a signature says: the JSON in its first fenced block. */
function said(checker: Checker, signature: Row): Json {
  const revision = checker.rows.of(t.REVISION, 'path', signature.text('path')).find((one) => one.opt('revision') === signature.opt('revision'))
  const block = /```json\n([\s\S]*?)\n```/.exec(revision?.text('body') ?? '')
  return parsed(block?.[1])
}

const KINDS: Record<string, string> = {
  SG_cut_authz: 'cut_authorization', SG_lifecycle_authz: 'lifecycle_authorization', SG_resume_stopped: 'resume_stopped', SG_drift_ack: 'drift_ack',
}

/** One person signed the document, voted and decided; all of it is for exactly this gate of this run. */
async function authorized(checker: Checker, run: Row, row: LogRow, gate: string, evidence: Json, pins: Record<string, Json>) {
  const rule = 'authority_belongs_together'
  const id = textMember(evidence, 'approval_id') ?? ''
  const request = rowOf(checker, row, t.REQUEST, 'approval_id', id)
  if (request === undefined) return
  const facts = request.json('facts')
  checker.expect(request, rule, { kind: KINDS[gate], subject_ref: run.opt('run_name'), subject_digest: await canonicalSha256(facts) })
  const used = checker.rows.one(t.USE, 'approval_id', id)
  if (used !== undefined) {
    checker.expect(used, rule, { used_for_kind: 'orchestrator_run', used_for_ref: `${run.text('run_name')}/${gate}`, used_by: row.principal })
  }
  const binding = await bindingOf(run, row, gate, pins)
  const survey = member(facts, 'survey')
  if (gate === 'SG_drift_ack' && isObject(facts) && Object.hasOwn(facts, 'survey')) binding.survey = survey
  differences(checker, request, facts, binding)
  const signed: Record<string, Json> = {
    ...binding, approval_id: id, nonce: member(facts, 'nonce'), expires_at: request.number('expires_at') ?? null, authorizes: true,
  }
  const path = textMember(evidence, 'approval_kb_id') ?? ''
  // The newest one that stood when the gate was passed.
  const under = checker.rows.of(t.UNDER, 'path', path)
    .filter((one) => one.text('meaning') === gate && (one.number('recorded_at') ?? Infinity) <= row.at)
    .sort((a, b) => (a.number('revision') ?? 0) - (b.number('revision') ?? 0) || (a.number('recorded_at') ?? 0) - (b.number('recorded_at') ?? 0))
    .at(-1)
  if (under === undefined) return checker.wrongMove(row, rule, { table: t.UNDER, row: path })
  differences(checker, under, said(checker, under), signed)
  await onePerson(checker, run, row, gate, id, under, pins)
  return undefined
}

function differences(checker: Checker, row: Row, says: Json, binding: Record<string, Json>) {
  for (const [field, expected] of Object.entries(binding)) {
    const there = isObject(says) && Object.hasOwn(says, field)
    if (!there || canonical(member(says, field)) !== canonical(expected)) {
      checker.wrong(row, 'authority_belongs_together', { column: field, found: shown(canonical(member(says, field))), expected: shown(canonical(expected)) })
    }
  }
}

/** Who signed voted as a sovereign, and decided where a decision is due. */
async function onePerson(checker: Checker, run: Row, row: LogRow, gate: string, approval: string, under: Row, pins: Record<string, Json>) {
  const rule = 'authority_belongs_together'
  const signer = under.text('signer')
  const vote = checker.rows.of(t.VOTE, 'approval_id', approval)
    .filter((one) => one.text('voter') === signer && (one.number('voted_at') ?? Infinity) <= row.at).at(-1)
  if (vote?.text('decision') !== 'approve' || vote.text('counted_as') !== 'sovereign') checker.wrong(under, rule, { principal: signer })
  const [part, kind] = gate === 'SG_cut_authz' ? ['cut_decision', 'cut_review']
    : gate === 'SG_lifecycle_authz' ? ['lifecycle_decision', 'lifecycle_enactment'] : []
  if (part === undefined || kind === undefined) return
  const decision = rowOf(checker, row, t.DECISION, 'review_decision_id', await derivedUuid(run.id('run_id'), part))
  if (decision === undefined) return
  checker.expect(decision, rule, {
    governance_event_kind: kind, entry_id: run.opt('entry_id'), reviewer_identity: signer, verdict: 'approve',
    manifest_version: textMember(pins, 'manifest_digest'),
  })
}

/** What an approval for a gate must say, from what the run pinned before and where it stood. */
async function bindingOf(run: Row, row: LogRow, gate: string, pins: Record<string, Json>): Promise<Record<string, Json>> {
  const binding: Record<string, Json> = { run_id: run.opt('run_name'), gate, document_id: run.opt('document_id') }
  if (gate !== 'SG_cut_authz' && gate !== 'SG_lifecycle_authz') return { ...binding, stopped_state: row.from, stopped_seq: row.seq - 1 }
  const part = (name: string) => derivedUuid(run.id('run_id'), name)
  return {
    ...binding, source_version_id: run.opt('source_version_id'), writer_digest: pins.writer_digest ?? null,
    manifest_digest: pins.manifest_digest ?? null, change_set_id: await part('change_set'),
    review_decision_id: await part(gate === 'SG_cut_authz' ? 'cut_decision' : 'lifecycle_decision'),
  }
}
