// What stands against something, as sentences: the meaning of a guard, else the refusal's own words.
export interface Reason {
  text: string
  lang?: string | undefined
}

export function useReasons() {
  const { refusal, refusalOf } = useWords()
  const { language } = usePreferences()

  function reason(problem: unknown): Reason | undefined {
    if (typeof problem === 'string') return { text: refusalOf(problem)?.title ?? problem }
    if (typeof problem !== 'object' || problem === null) return undefined
    const facts = problem as Record<string, unknown>
    const english = language.value === 'en' ? undefined : 'en'
    const means = facts.means
    if (typeof means === 'string' && means !== '') return { text: means, lang: english }
    if (typeof means === 'object' && means !== null) {
      const own = (means as Record<string, unknown>)[language.value]
      if (typeof own === 'string') return { text: own }
    }
    const known = typeof facts.code === 'string' ? refusal(facts.code) : typeof facts.problem === 'string' ? refusalOf(facts.problem) : undefined
    if (known) return { text: known.title }
    if (typeof facts.title === 'string') return { text: facts.title, lang: english }
    return typeof facts.problem === 'string' ? { text: facts.problem, lang: english } : undefined
  }

  return {
    reasons(problems: readonly unknown[]): Reason[] {
      const all = problems.map(reason).filter((one): one is Reason => one !== undefined)
      return all.filter((one, at) => all.findIndex((other) => other.text === one.text) === at)
    },
  }
}
