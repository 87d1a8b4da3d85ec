// What a picture of a workflow is made of, asked for and kept up to date: the layout, the states of a run, the words of its definition, and
// what a change changes. The last picture stays while the next one is asked for.
import type { DefinedStep, Extra, Mark, Scene, Words } from '~/utils/graph/scene'
import { sceneOf, withExtra, wordsOf } from '~/utils/graph/scene'
import { patchMove, patchSteps } from '~/utils/graph/patch'

export interface GraphOf {
  run?: string
  workflow?: string
  change?: string
  version?: number
}

export interface GraphHow {
  lanes: boolean
  collapse: string[]
}

type Listed = Record<string, unknown>

function listOf(value: unknown): Listed[] {
  return Array.isArray(value) ? value.filter((one): one is Listed => typeof one === 'object' && one !== null) : []
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function titlesOf(items: Listed[]): Map<string, Words> {
  const titles = new Map<string, Words>()
  for (const item of items) {
    const words = wordsOf(item.title)
    if (words) titles.set(String(item.key), words)
  }
  return titles
}

/** The words of a definition, as far as cards show them. */
function extraOf(definition: unknown, into: Extra = {}): Extra {
  const told = (typeof definition === 'object' && definition !== null ? definition : {}) as Listed
  const steps = into.steps ?? new Map<string, DefinedStep>()
  for (const step of listOf(told.steps)) {
    steps.set(String(step.key), {
      title: wordsOf(step.title), executor: text(step.executor), subWorkflow: text(step.sub_workflow),
      optional: step.optional === true, milestone: step.milestone === true, category: text(step.category),
    })
  }
  return {
    ...into, steps,
    laneTitles: new Map([...(into.laneTitles ?? []), ...titlesOf(listOf(told.lanes))]),
    groupTitles: new Map([...(into.groupTitles ?? []), ...titlesOf(listOf(told.categories))]),
  }
}

function marksOf(list: unknown): Map<string, Mark> {
  const told = (typeof list === 'object' && list !== null ? list : {}) as Listed
  const marks = new Map<string, Mark>()
  for (const mark of ['added', 'removed', 'changed'] as const) {
    for (const one of listOf(told[mark])) marks.set(String(one.id ?? one.key ?? `${String(one.from)} → ${String(one.to)}`), mark)
  }
  return marks
}

/** Nothing to ask for yet. */
const nothing = () => Promise.resolve({ data: undefined, response: new Response() })

export function useGraphScene(of: () => GraphOf, how: () => GraphHow) {
  const api = useApi()
  const scene = shallowRef<Scene>()
  // One window for all, so that a step is where it was; only a telephone needs another shape.
  const window_ = window.innerWidth < 700 ? { width: 480, height: 800 } : { width: 1280, height: 800 }
  const subject = computed(() => JSON.stringify(of()))
  const query = () => ({ ...window_, lanes: how().lanes, ...(how().collapse.length > 0 ? { collapse: how().collapse.join(',') } : {}) })

  const picture = useAsk(() => `graph ${subject.value} ${JSON.stringify(how())}`, () => {
    const { run, workflow, change, version } = of()
    if (run) return api.GET('/v1/workflow-runs/{run}/graph', { params: { path: { run }, query: query() } })
    if (change) return api.GET('/v1/changes/{change}/graph', { params: { path: { change }, query: query() } })
    return api.GET('/v1/workflows/{workflow}/graph', { params: { path: { workflow: workflow ?? '' }, query: { ...query(), ...(version ? { version } : {}) } } })
  })
  const snapshot = useAsk(() => `snapshot ${subject.value}`, () => {
    const { run } = of()
    return run ? api.GET('/v1/workflow-runs/{run}/snapshot', { params: { path: { run } } }) : nothing()
  })
  const rollup = useAsk(() => `rollup ${subject.value}`, () => {
    const { run } = of()
    return run ? api.GET('/v1/workflow-runs/{run}/rollup', { params: { path: { run } } }) : nothing()
  })
  const proposed = useAsk(() => `change ${subject.value}`, () => {
    const { change } = of()
    return change ? api.GET('/v1/changes/{change}', { params: { path: { change } } }) : nothing()
  })
  const diff = useAsk(() => `diff ${subject.value}`, () => {
    const { change } = of()
    return change ? api.GET('/v1/changes/{change}/diff', { params: { path: { change } } }) : nothing()
  })
  /** The version whose words are shown: of the workflow, of the run, or under the change. */
  const definedBy = computed((): { workflow: string; version?: number } | undefined => {
    const { run, workflow, change, version } = of()
    if (workflow) return { workflow, version }
    if (run) return snapshot.data.value && { workflow: snapshot.data.value.run.workflow, version: snapshot.data.value.run.version }
    const base = change ? diff.data.value : undefined
    return base?.base_version ? { workflow: base.workflow, version: base.base_version } : undefined
  })
  const definition = useAsk(() => `definition ${JSON.stringify(definedBy.value)}`, () => {
    const wanted = definedBy.value
    if (!wanted) return nothing()
    const { workflow, version } = wanted
    return api.GET('/v1/workflows/{workflow}', { params: { path: { workflow }, query: version ? { version } : {} } })
  })

  const extra = computed((): Extra => {
    const base = extraOf(definition.data.value?.definition)
    const all = proposed.data.value ? extraOf(proposed.data.value.definition, base) : base
    if (!diff.data.value) return all
    return { ...all, marks: marksOf(diff.data.value.steps), lineMarks: marksOf(diff.data.value.relations) }
  })

  watch(subject, () => { scene.value = undefined })
  watch(picture.data, (told) => {
    if (!told) return
    const made = sceneOf(told, extra.value)
    const steps = snapshot.data.value?.steps
    if (steps) patchSteps(made, steps)
    scene.value = made
  }, { immediate: true })
  watch(extra, (learned) => { if (scene.value) scene.value = withExtra(scene.value, learned) })
  watch(snapshot.data, (told) => {
    if (told && scene.value) patchSteps(scene.value, told.steps)
  })

  // A busy run tells of many changes: each is shown at once by its event, and what events do not tell is read now and then. One read more
  // comes a while after the last event, since the roll-up of a run follows its steps.
  const CALM = 1500
  const AFTERWARDS = 4000
  let timer: ReturnType<typeof setTimeout> | undefined
  let pause = CALM
  let heardAt = -Infinity
  let alive = true
  function readSoon(after: number) {
    timer ??= setTimeout(async () => {
      const begun = performance.now()
      await Promise.all([snapshot.again(), rollup.again(), held.asked.value ? held.again() : undefined])
      pause = Math.max(CALM, 10 * (performance.now() - begun))
      timer = undefined
      if (!alive) return
      if (heardAt > begun) readSoon(pause)
      else if (begun - heardAt < AFTERWARDS) readSoon(AFTERWARDS)
    }, after)
  }
  const topics = () => {
    const id = of().run ?? of().change
    return id ? [`run:${id}`] : []
  }
  useLive(topics, (event) => {
    if (of().change) return void picture.again()
    if (event.subject?.kind === 'step' && event.to && scene.value) {
      patchMove(scene.value, { stepId: event.subject.id, to: event.to, seq: event.seq ?? Number.MAX_SAFE_INTEGER })
    }
    heardAt = performance.now()
    readSoon(pause)
  }, () => readSoon(0))
  onScopeDispose(() => {
    alive = false
    clearTimeout(timer)
  })

  const held = useHeld(() => of().run)
  return { scene, picture, snapshot, rollup, definition, diff, held }
}

/** What holds steps up, asked for when somebody wants to know. */
function useHeld(run: () => string | undefined) {
  const api = useApi()
  const asked = ref(false)
  const answer = useAsk(() => `held ${run()} ${asked.value}`, () => {
    const id = run()
    return id && asked.value ? api.GET('/v1/workflow-runs/{run}/downstream', { params: { path: { run: id } } }) : nothing()
  })
  async function want() {
    if (asked.value && answer.data.value) return answer.data.value.items
    asked.value = true
    await nextTick()
    await answer.again()
    return answer.data.value?.items ?? []
  }
  return { ...answer, asked, want }
}
