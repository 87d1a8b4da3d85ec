// Which page of this UI shows a thing.
const BY_PREFIX: Record<string, string> = {
  wfr: '/runs/', stp: '/steps/', tsk: '/tasks/', chg: '/changes/', ent: '/entries/', orc: '/orchestrator/', doc: '/documents/', unt: '/units/', uni: '/units/', prm: '/permits/', per: '/permits/', apr: '/approvals/', bat: '/replays/',
}

/** The page of an id with its prefix, when there is one. */
export function placeOfId(id: string): string | undefined {
  const base = BY_PREFIX[id.split('_')[0] ?? '']
  return base ? `${base}${id}` : undefined
}

export function placeOf(hit: { kind: string; id: string; of?: string | null | undefined }): string | undefined {
  switch (hit.kind) {
    case 'workflow': return `/workflows/${encodeURIComponent(hit.id)}`
    case 'run': return `/runs/${hit.id}`
    // A step of a definition is found as WORKFLOW/STEP.
    case 'step': return placeOfId(hit.id) ?? (hit.of ? `/workflows/${encodeURIComponent(hit.of)}?step=${encodeURIComponent(hit.id.split('/').pop() ?? '')}` : undefined)
    case 'document': return `/documents/${hit.id}`
    case 'unit': return `/units/${hit.id}`
    case 'kb': return `/kb/${hit.id.split('/').map(encodeURIComponent).join('/')}`
    default: return placeOfId(hit.id)
  }
}

/** The machine whose states a kind of hit has. */
export function machineOf(kind: string): string | undefined {
  return { step: 'step', run: 'workflow_run' }[kind]
}
