// Entries that were given up, and those that a run of the orchestrator drove: their units stand before their ledger.
import { derivedUuid, textMember } from './bytes.ts'
import type { Checker } from './check.ts'
import { effectOf } from './cut.ts'
import type { Story } from './entry.ts'
import { type LogRow, type Row, evidenceOf, runUnits } from './rows.ts'
import * as t from './tables.ts'
import { takenBack } from './verification.ts'

/** What a run wrote and did not record yet is what was approved all the same. */
export async function beforeTheLedger(checker: Checker, entry: Row, story: Story) {
  const run = checker.rows.one(t.ORCHESTRATED, 'entry_id', entry.text('entry_id'))
  if (story.set !== undefined || run === undefined || story.decision?.text('verdict') !== 'approve') return
  const manifest = story.manifests.get(story.decision.text('manifest_id'))
  if (manifest === undefined) return
  const effect = await effectOf(manifest, await derivedUuid(run.id('run_id'), 'change_set'), entry.text('started_by'))
  if (effect.units.some((unit) => checker.rows.one(t.UNIT, 'id', unit.unitId) !== undefined)) story.effect = effect
}

/** The entry was given up; what was cut and not verified is taken back. */
export async function abandoned(checker: Checker, entry: Row, row: LogRow, story: Story) {
  const rule = 'artefacts_are_in_the_log'
  const reason = row.reason ?? ''
  checker.expectEvidence(row, { reason, audit_ref: textMember(evidenceOf(row), 'audit_ref') ?? '', event: { reason } })
  if (row.idempotencyKey.startsWith('void:')) return voided(checker, entry, row, row.idempotencyKey.slice(5), story)
  if (row.from !== 'cut_applied') {
    if (row.artefactDigest !== null) checker.wrongMove(row, rule)
    return
  }
  if (story.set === undefined) return
  const id = await derivedUuid(story.set.id('change_set_id'), 'abandoned')
  const rollback = checker.rows.one(t.CHANGE_SET, 'change_set_id', id)
  if (rollback === undefined) return checker.missing(row, t.CHANGE_SET, id)
  await checker.artefacts(row, [...checker.rows.of(t.AFFECTED, 'change_set_id', id), rollback])
  await takenBack(checker, row, story.set, rollback, 'abandoned', 'none')
  story.rollback = rollback
}

/** The run that drove the entry was voided: what it wrote and nobody enacted is taken back. */
async function voided(checker: Checker, entry: Row, row: LogRow, name: string, story: Story) {
  const rule = 'artefacts_are_in_the_log'
  const run = checker.rows.one(t.ORCHESTRATED, 'entry_id', entry.text('entry_id'))
  if (run === undefined || run.opt('run_name') !== name) return checker.missing(row, t.ORCHESTRATED, name)
  const id = await derivedUuid(run.id('run_id'), 'void')
  const written: Row[] = []
  let due = false
  const { set } = story
  if (set !== undefined) {
    const changes = checker.rows.of(t.AFFECTED, 'change_set_id', set.text('change_set_id'))
      .flatMap((touched) => checker.rows.of(t.LIFECYCLE, 'unit_id', touched.text('target_row_id')))
    const enacted = changes.some((change) => change.text('change_kind') === 'enacted' && change.opt('change_set_id') === set.opt('change_set_id'))
    due = story.rollback === undefined && !enacted
    const rollback = checker.rows.one(t.CHANGE_SET, 'change_set_id', id)
    if (rollback !== undefined) {
      written.push(...checker.rows.of(t.AFFECTED, 'change_set_id', id), rollback)
      await takenBack(checker, row, set, rollback, 'run voided', 'none')
      story.rollback = rollback
    }
  } else {
    for (const unit of await runUnits(checker.rows, run)) {
      const history = checker.rows.of(t.LIFECYCLE, 'unit_id', unit)
      due ||= history.length > 0
      written.push(...history.filter((change) => change.text('change_kind') === 'compensated' && change.opt('change_set_id') === id))
    }
    story.voided = { id, actor: row.principal }
  }
  if (written.length > 0) await checker.artefacts(row, written)
  else if (row.artefactDigest !== null || due) checker.wrongMove(row, rule, { table: t.LIFECYCLE })
  return undefined
}
