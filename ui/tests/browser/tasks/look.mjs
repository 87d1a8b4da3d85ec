// Finding out what is wrong.

/** From the first page to the worst problem, by what it offers to do. */
export async function findTheWorst({ as }) {
  const thu = await as('thu')
  await thu.go('/')
  await thu.page.waitForURL('**/governance/problems')
  await thu.press(thu.primary())
  await thu.page.waitForURL(/\/governance\/problems\/[a-z_]+/)
  await thu.settled()
  if (/\/problems\/[a-z_]+$/.test(new URL(thu.page.url()).pathname)) {
    await thu.press(thu.page.locator('main li a[href*="/governance/problems/"]').first())
    await thu.page.waitForURL(/\/governance\/problems\/[a-z_]+\/[^/]+/)
    await thu.settled()
  }
  await thu.page.getByRole('heading', { name: thu.word('gov.item.why') }).waitFor()
}

/** From a step that does not begin to the one that holds it up. */
export async function followTheChain({ as, place }) {
  const lan = await as('lan')
  const run = (await place.json('workflow', 'status', '--workflow', 'archive_digitisation'))[0].workflow_run_id
  const steps = await place.json('step', 'list', run)
  const held = steps.find((step) => step.path === 'c12_receive')
  const cause = steps.find((step) => step.path === 'c07_scan_two')
  if (cause.state_code !== 'failed') throw new Error('the cause is gone from the data')
  await lan.go(`/runs/${run}?step=${held.run_id}`)
  const graph = lan.page.getByRole('application')
  await graph.waitFor()
  // The panel of the step lies over the picture; the chain is followed in the picture.
  await lan.press(lan.page.getByRole('button', { name: lan.word('shell.close') }).first())
  if (lan.by === 'mouse') await lan.press(lan.button('graph.to_cause'))
  else {
    await lan.reach(graph)
    await lan.page.keyboard.press('w')
  }
  const title = lan.language === 'vi' ? 'Quét tập hai xã Hải Hậu' : 'Scan volume two, Hải Hậu'
  // What one is on is told to those who do not see it, and can be opened.
  await lan.page.getByRole('status').filter({ hasText: title }).first().waitFor()
  await graph.press('Enter')
  await lan.page.getByRole('heading', { name: title }).first().waitFor()
}
