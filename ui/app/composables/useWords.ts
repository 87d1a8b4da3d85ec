// Texts that the database holds: messages by key, refusals by code. Asked for once a language.
const words = shallowRef<Partial<Record<Language, Schemas['Words']>>>({})
const asking = new Map<Language, Promise<void>>()

function want(language: Language) {
  if (words.value[language] || asking.has(language)) return
  asking.set(language, (async () => {
    try {
      const { data } = await useApi().GET('/v1/words', { params: { query: { locale: language } } })
      if (data) words.value = { ...words.value, [language]: data }
    } catch {
      // Asked again with the next page that needs them.
    } finally {
      asking.delete(language)
    }
  })())
}

export function useWords() {
  const { language } = usePreferences()
  const { me } = useMe()
  watch([language, me], () => { if (me.value) want(language.value) }, { immediate: true })
  const now = computed(() => words.value[language.value])
  return {
    ready: computed(() => now.value !== undefined),
    message: (key: string): string | undefined => now.value?.messages[key],
    refusal: (code: string): { title: string; hint: string } | undefined => now.value?.refusals[code],
    /** A refusal by its word for programs, where no code came with it. */
    refusalOf(problem: string): { title: string; hint: string } | undefined {
      return Object.values(now.value?.refusals ?? {}).find((one) => one.problem === problem)
    },
  }
}
