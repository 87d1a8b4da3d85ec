// Small helpers of these pages about words.

/** A name of the machine world as words: `region_sha_matches` → `region sha matches`. */
export function inWords(name: string): string {
  return name.replaceAll('_', ' ')
}

/** The path of a document of the knowledge base in this UI. */
export function placeOfKb(path: string): string {
  return `/kb/${path.split('/').map(encodeURIComponent).join('/')}`
}

/** A value of whatever shape as one line. */
export function asLine(value: unknown): string {
  if (value === null || value === undefined) return '—'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const KINDS: Record<string, string> = {
  wfr: 'workflow_run', stp: 'step', tsk: 'task', ent: 'cut_request', orc: 'orchestrator_run', prm: 'birth_permit', chg: 'workflow_change', run: 'custom',
}

/** The kind that the prefix of an id tells; the timeline asks for both. */
export function kindOfId(id: string): string | undefined {
  return /^[a-z]{3}_[0-9a-f]{32}$/.test(id) ? KINDS[id.slice(0, 3)] : undefined
}

/** Where a thing of the timeline stands in this UI. */
export function placeOfEntity(kind: string, id: string): string | undefined {
  const hex = id.replaceAll('-', '')
  const uuid = /^[0-9a-f]{32}$/.test(hex)
  const prefixed: Record<string, string> = {
    workflow_run: '/runs/wfr_', step: '/steps/stp_', task: '/tasks/tsk_', cut_request: '/entries/ent_', entry: '/entries/ent_',
    orchestrator_run: '/orchestrator/orc_', birth_permit: '/permits/prm_', permit: '/permits/prm_', workflow_change: '/changes/chg_',
    approval: '/approvals/apr_',
  }
  if (uuid && prefixed[kind] !== undefined) return `${prefixed[kind]}${hex}`
  if (/^[a-z]{3}_[0-9a-f]{32}$/.test(id)) return placeOfId(id)
  if (kind === 'kb' || kind === 'kb_document' || kind === 'kb_revision') return placeOfKb(id.replace(/\/[0-9]+$/, ''))
  if (kind === 'document' || kind === 'source_document') return `/documents/${encodeURIComponent(id)}`
  return undefined
}
