// What stands against something, as sentences: the condition that does not hold, said as such, else the refusal's own words.
export interface Reason {
  text: string
  lang?: string | undefined
}

export function useReasons() {
  const { ready, refusal, refusalOf } = useWords()
  const { language } = usePreferences()
  const t = useT()

  /** `says` turns a condition into a sentence about it: a condition alone reads as if it held. */
  function reason(problem: unknown, says: (means: string) => string): Reason | undefined {
    // A word for programs is nothing to read; the sentences are on their way.
    if (typeof problem === 'string') return ready.value ? { text: refusalOf(problem)?.title ?? problem } : undefined
    if (typeof problem !== 'object' || problem === null) return undefined
    const facts = problem as Record<string, unknown>
    const english = language.value === 'en' ? undefined : 'en'
    const means = facts.means
    if (typeof means === 'string' && means !== '') return { text: says(means), lang: english }
    if (typeof means === 'object' && means !== null) {
      const own = (means as Record<string, unknown>)[language.value]
      if (typeof own === 'string') return { text: says(own) }
    }
    // Who could, rather than who can't.
    if (facts.code === 'RI003' && typeof facts.actor_class === 'string') return { text: t('shell.reason.class', { class: facts.actor_class }) }
    const known = typeof facts.code === 'string' ? refusal(facts.code) : typeof facts.problem === 'string' ? refusalOf(facts.problem) : undefined
    if (known) return { text: known.title }
    if (typeof facts.title === 'string') return { text: facts.title, lang: english }
    return typeof facts.problem === 'string' && ready.value ? { text: facts.problem, lang: english } : undefined
  }

  function sentences(problems: readonly unknown[], says: (means: string) => string): Reason[] {
    const all = problems.map((one) => reason(one, says)).filter((one): one is Reason => one !== undefined)
    return all.filter((one, at) => all.findIndex((other) => other.text === one.text) === at)
  }
  return {
    /** Why not: the conditions that do not hold. */
    reasons: (problems: readonly unknown[]) => sentences(problems, (means) => t('shell.reason.unmet', { means })),
    /** What is still to be brought: the conditions that will have to hold. */
    needed: (needs: readonly unknown[]) => sentences(needs, (means) => t('shell.reason.needed', { means })),
  }
}
