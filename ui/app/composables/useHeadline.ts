import type { MaybeRefOrGetter } from 'vue'

/** The sentence of a page, as the server says it to this reader in their language. */
export function useHeadline(page: string, subject?: MaybeRefOrGetter<string | undefined>, options: AskOptions = {}) {
  const { language } = usePreferences()
  const address = computed(() => {
    const about = toValue(subject)
    return `/v1/headlines/${page}?${about ? `subject=${encodeURIComponent(about)}&` : ''}locale=${language.value}`
  })
  return useAsk<Headline>(address, () => askRaw<Headline>(address.value), options)
}
