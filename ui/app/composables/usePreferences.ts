// What a person chose for this browser. The language and theme of the system are used until they did.
function remembered<T extends string>(name: string, allowed: readonly T[]): T | undefined {
  try {
    const kept = localStorage.getItem(`chancery.${name}`)
    return allowed.find((one) => one === kept)
  } catch {
    return undefined
  }
}

function remember(name: string, value: string | undefined) {
  try {
    if (value === undefined) localStorage.removeItem(`chancery.${name}`)
    else localStorage.setItem(`chancery.${name}`, value)
  } catch {
    // A browser that keeps nothing still works; it only asks the system again next time.
  }
}

export const LANGUAGES = ['vi', 'en'] as const
export const THEMES = ['light', 'dark', 'contrast'] as const

const darkSystem = matchMedia('(prefers-color-scheme: dark)')
const contrastSystem = matchMedia('(prefers-contrast: more)')
const systemTheme = ref<Theme>(ofSystem())
function ofSystem(): Theme {
  return contrastSystem.matches ? 'contrast' : darkSystem.matches ? 'dark' : 'light'
}
for (const query of [darkSystem, contrastSystem]) query.addEventListener('change', () => { systemTheme.value = ofSystem() })

const chosenTheme = ref<Theme | undefined>(remembered('theme', THEMES))
const theme = computed<Theme>(() => chosenTheme.value ?? systemTheme.value)
const language = ref<Language>(remembered('language', LANGUAGES) ?? (navigator.language.toLowerCase().startsWith('vi') ? 'vi' : 'en'))
const letters = ref(remembered('letters', ['on', 'off']) !== 'off')
const dense = ref(remembered('rows', ['compact', 'comfortable']) !== 'comfortable')
const railOpen = ref(remembered('rail', ['open', 'closed']) !== 'closed')

watch(chosenTheme, (now) => remember('theme', now))
watch(language, (now) => remember('language', now))
watch(letters, (now) => remember('letters', now ? 'on' : 'off'))
watch(dense, (now) => remember('rows', now ? 'compact' : 'comfortable'))
watch(railOpen, (now) => remember('rail', now ? 'open' : 'closed'))

export function usePreferences() {
  return { theme, chosenTheme, language, letters, dense, railOpen }
}
