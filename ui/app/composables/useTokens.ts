// How each state is shown: the server's colour, silhouette and words, always together.
const tokens = shallowRef<Map<string, StateToken>>()
let asking: Promise<void> | undefined

function want() {
  if (tokens.value || asking) return
  asking = (async () => {
    try {
      const { data } = await useApi().GET('/v1/state-tokens')
      if (!data) return
      const all = new Map<string, StateToken>()
      // Versions come in their order: the newest one that has a state says how it is shown.
      for (const one of data.states) all.set(`${one.machine}/${one.state}`, one)
      tokens.value = all
    } catch {
      // Asked again with the next page that needs them.
    } finally {
      asking = undefined
    }
  })()
}

/** Until the colours are known: those of the page. As values, since what is drawn on a canvas knows no variables. */
function pagePaint(): Paint {
  const page = getComputedStyle(document.documentElement)
  const of = (name: string) => page.getPropertyValue(name).trim()
  return { bg: of('--surface'), fg: of('--ink'), border: of('--line-strong') }
}

export function useTokens() {
  const { language, theme } = usePreferences()
  const { me } = useMe()
  watch(me, () => { if (me.value) want() }, { immediate: true })

  const said = (title: Schemas['Title'] | undefined, otherwise: string) => title?.[language.value] ?? title?.en ?? otherwise
  const token = (machine: string, state: string) => tokens.value?.get(`${machine}/${state}`)
  return {
    ready: computed(() => tokens.value !== undefined),
    all: computed(() => [...(tokens.value?.values() ?? [])]),
    token,
    label: (machine: string, state: string) => said(token(machine, state)?.label, state),
    message: (machine: string, state: string) => said(token(machine, state)?.message, ''),
    facet(machine: string, state: string, facet: string) {
      const found = token(machine, state)?.facets.find((one) => one.facet === facet)
      return { icon: found?.icon ?? 'icon.circle_hollow', label: said(found?.label, facet) }
    },
    /** The paint of a state in the theme that is on. A block that counts as red has the colour of what failed, wherever it is shown. */
    paint(machine: string, state: string, severity?: string | null): Paint {
      return token(machine, severity === 'red' ? 'failed' : state)?.palette[theme.value] ?? pagePaint()
    },
  }
}
