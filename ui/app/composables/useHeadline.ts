import type { MaybeRefOrGetter } from 'vue'

/** The sentence of a page, as the server says it to this reader in their language. */
export function useHeadline(page: string, subject?: MaybeRefOrGetter<string | undefined>, options: AskOptions = {}) {
  const { language } = usePreferences()
  return useAsk<Headline>(() => `headline:${page}:${toValue(subject) ?? ''}:${language.value}`, () => {
    const about = toValue(subject)
    return useApi().GET('/v1/headlines/{page}', { params: { path: { page }, query: { locale: language.value, ...(about ? { subject: about } : {}) } } })
  }, options)
}
