// Ids in documents as ways to the pages of what they name.
import { idOf } from './ids.ts'

const PAGES: Record<string, string> = {
  wfr: '/runs/', stp: '/steps/', tsk: '/tasks/', chg: '/changes/', apr: '/approvals/', ent: '/entries/', orc: '/orchestrator/', unt: '/units/', prm: '/permits/', bat: '/replays/',
}
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Members that hold a bare UUID, by their name. */
const NAMED: Record<string, string> = { approval_id: 'apr', workflow_run_id: 'wfr', step_run_id: 'stp', task_run_id: 'tsk', unit_id: 'unt', change_request_id: 'chg' }

/** The page of an orchestrator's run, whose name ends with its UUID. */
export function orchestratorPage(name: string): string | undefined {
  const uuid = UUID.exec(name)?.[0]
  return uuid ? `/orchestrator/${idOf('orc', uuid)}` : undefined
}

/** Where a text in a document leads, if anywhere. */
export function linkOf(member: string, text: string): string | undefined {
  const prefix = /^([a-z]{3})_[0-9a-f]{32}$/.exec(text)?.[1]
  if (prefix) return PAGES[prefix] ? `${PAGES[prefix]}${text}` : undefined
  if (text.startsWith('ictr-')) return orchestratorPage(text)
  if (member === 'document_id') return `/documents/${encodeURIComponent(text)}`
  const named = NAMED[member]
  return named && UUID.test(text) ? `${PAGES[named]}${idOf(named, text)}` : undefined
}
