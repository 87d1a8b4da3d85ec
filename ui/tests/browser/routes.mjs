// Every page of the UI with something on it, found through the API as a reader would.
export async function routes(context) {
  const ask = async (path) => {
    const answer = await context.request.get(path)
    if (!answer.ok()) throw new Error(`${path}: ${answer.status()}`)
    return answer.json()
  }
  const [runs, workflowChanges, entries, orchestrated, documents, permits, approvals, dead] = await Promise.all([
    '/v1/workflow-runs?limit=200', '/v1/changes', '/v1/entries', '/v1/orchestrator/runs', '/v1/documents', '/v1/births/permits', '/v1/approvals', '/v1/queue/dead',
  ].map((path) => ask(path).then((page) => page.items)))
  const run = (workflow) => runs.find((one) => one.workflow === workflow)
  const building = run('building_permit').run_id
  const snapshot = await ask(`/v1/workflow-runs/${building}/snapshot`)
  const steps = snapshot.steps
  const visit = steps.find((step) => (step.key ?? step.path) === 'site_visit')
  const step = visit ?? steps[0]
  const stepId = step.step_id ?? step.id
  const task = (await ask(`/v1/steps/${stepId}`)).tasks[0]
  const cut = documents.find((one) => one.document_id === 'records-policy') ?? documents[0]
  const units = (await ask(`/v1/documents/${cut.document_id}/units`)).items
  const replay = approvals.find((one) => one.kind === 'dlq_replay')
  return [
    '/governance/problems', '/governance/problems/dlq', '/governance/problems/silent_worker', '/governance/problems/overdue_step',
    dead[0] && `/governance/problems/dlq/${dead[0].job_id}`,
    '/inbox', '/approvals', approvals[0] && `/approvals/${approvals[0].approval_id}`,
    replay && `/replays/rpl_${replay.subject_ref.replaceAll('-', '')}`, dead[0] && `/replays/new?jobs=${dead[0].job_id}`,
    '/workers', '/lag', '/runs', `/runs/${run('archive_digitisation').run_id}`, `/runs/${building}`, `/runs/${building}?view=outline`, `/runs/${building}?view=timeline`,
    `/steps/${stepId}`, task && `/tasks/${task.task_id}`,
    '/workflows', '/workflows/building_permit', '/changes', '/changes/new', workflowChanges[0] && `/changes/${workflowChanges[0].change_id}`,
    '/entries', `/entries/${entries[0].entry_id}`, '/orchestrator', `/orchestrator/${orchestrated[0].run_uuid}`,
    '/documents', `/documents/${cut.document_id}`, units[0] && `/units/${units[0].unit_id}`,
    '/permits', permits[0] && `/permits/${permits[0].permit_id}`,
    '/kb', '/kb/handbook/onboarding', '/machines', '/machines/step', '/audit', '/keys', '/settings',
  ].filter(Boolean)
}
/** Nobody is signed in there. */
export const OPEN = ['/sign-in']
