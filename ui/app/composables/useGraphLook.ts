// How a picture of a workflow looks for this reader: theme, language, and the states as the server shows them.
import type { Colours, Look, Shown } from '~/utils/graph/look'

function pageColours(forced: boolean): Colours {
  if (forced) {
    return { page: 'Canvas', surface: 'Canvas', raised: 'Canvas', ink: 'CanvasText', soft: 'CanvasText', line: 'GrayText', strong: 'CanvasText', accent: 'Highlight' }
  }
  const style = getComputedStyle(document.documentElement)
  const value = (name: string) => style.getPropertyValue(name).trim()
  return {
    page: value('--page'), surface: value('--surface'), raised: value('--raised'), ink: value('--ink'),
    soft: value('--ink-soft'), line: value('--line'), strong: value('--line-strong'), accent: value('--accent'),
  }
}

export function useGraphLook() {
  const t = useT()
  const { language, theme } = usePreferences()
  const tokens = useTokens()
  const { number } = useWhen()
  // Short, since a card has one line for it; the panel tells the whole.
  const day = computed(() => new Intl.DateTimeFormat(language.value === 'vi' ? 'vi-VN' : 'en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }))
  const forcedColours = matchMedia('(forced-colors: active)')
  const forced = ref(forcedColours.matches)
  const colours = shallowRef(pageColours(forced.value))
  const readAgain = () => {
    forced.value = forcedColours.matches
    colours.value = pageColours(forced.value)
  }
  // The theme is written into the document a little after it is chosen; colours are read when it stands there.
  const themed = new MutationObserver(readAgain)
  onMounted(() => {
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    forcedColours.addEventListener('change', readAgain)
    readAgain()
  })
  onBeforeUnmount(() => {
    themed.disconnect()
    forcedColours.removeEventListener('change', readAgain)
  })

  function shownAs(state: string, severity?: string | null): Shown {
    return {
      ...tokens.paint('step', state, severity),
      icon: silhouette(tokens.token('step', state)?.icon ?? 'icon.circle_hollow'),
      label: tokens.label('step', state),
      message: tokens.message('step', state),
    }
  }

  const look = computed((): Look => {
    // Kept for one look: a picture asks for the same few states hundreds of times in a frame.
    const known = new Map<string, Shown>()
    void theme.value
    return {
      language: language.value,
      forced: forced.value,
      colours: colours.value,
      state(state, severity) {
        const name = `${state}/${severity ?? ''}`
        const found = known.get(name) ?? shownAs(state, severity)
        known.set(name, found)
        return found
      },
      facet: (state, facet) => tokens.facet('step', state, facet).label,
      isProblem(row) {
        const bad = (state: string) => {
          const token = tokens.token('step', state)
          return token?.class === 'red' || token?.floor === 'blocked'
        }
        if (row.states) return [...row.states.keys()].some(bad)
        return !row.skipped && row.state !== undefined && (row.late || bad(row.state))
      },
      kind: (row) => (row.subWorkflow ? t('graph.kind.sub_workflow_of', { name: row.subWorkflow }) : t(`graph.kind.${row.kind}`)),
      relation: (kind) => (kind === 'trigger' || kind === 'sub_workflow' ? '' : t(`graph.relation.${kind}`)),
      marked: (mark) => t(`graph.mark.${mark}`),
      deadline: (at) => t('graph.until', { at: day.value.format(new Date(at)) }),
      flag: (name) => t(`graph.flag.${name}`),
      steps: (count) => t('graph.steps', { n: count, number: number(count) }),
      more: (count) => t('graph.more', { number: number(count) }),
    }
  })
  return { look, ready: tokens.ready }
}
