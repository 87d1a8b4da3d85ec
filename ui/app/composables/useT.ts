// The words of the UI itself. What states a fact of the product comes from the server, see useWords.
type Parameters = Record<string, unknown>

export interface Translate {
  (key: string, parameters?: Parameters | number): string
  t: Translate
  has: (key: string) => boolean
  language: Readonly<Ref<Language>>
}

let made: Translate | undefined

/** `const t = useT()`. A parameter `n` or `count` also chooses the plural form. */
export function useT(): Translate {
  if (made) return made
  const { $words } = useNuxtApp()
  const { language } = usePreferences()
  const translate = (key: string, parameters?: Parameters | number): string => {
    if (parameters === undefined) return $words.t(key)
    if (typeof parameters === 'number') return $words.t(key, { n: parameters, count: parameters }, parameters)
    const plural = parameters.n ?? parameters.count
    return typeof plural === 'number' ? $words.t(key, parameters, plural) : $words.t(key, parameters)
  }
  const t = Object.assign(translate, { has: (key: string) => $words.te(key), language }) as Translate
  t.t = t
  made = t
  return t
}
