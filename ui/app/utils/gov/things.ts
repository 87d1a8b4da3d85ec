// Where a thing of the server has its page here. What has none is shown as text.
const PAGES: Record<string, string> = {
  workflow_run: '/runs/',
  step: '/steps/',
  task: '/tasks/',
  cut_request: '/entries/',
  orchestrator_run: '/orchestrator/',
  workflow_change: '/changes/',
  dlq_replay_batch: '/replays/',
  birth_permit: '/permits/',
  document: '/documents/',
  unit: '/units/',
  approval: '/approvals/',
}

const PREFIXES: Record<string, string> = {
  wfr: '/runs/',
  stp: '/steps/',
  tsk: '/tasks/',
  ent: '/entries/',
  orc: '/orchestrator/',
  chg: '/changes/',
  bat: '/replays/',
  prm: '/permits/',
  apr: '/approvals/',
  unt: '/units/',
  doc: '/documents/',
  job: '/governance/problems/dlq/',
}

export function pageOf(kind: string | null | undefined, id: string | null | undefined): string | undefined {
  if (!id) return undefined
  const page = kind ? PAGES[kind] : PREFIXES[id.split('_')[0] ?? '']
  return page ? page + encodeURIComponent(id) : undefined
}

export function problemPage(category: string, item: string): string {
  return `/governance/problems/${encodeURIComponent(category)}/${encodeURIComponent(item)}`
}

/** What has no language of its own: names, ids, numbers, and structures as JSON. */
export function plain(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return '—'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The id as people compare it: what it is of, and how it ends. */
export function shortId(id: string): string {
  return id.length > 18 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id
}
