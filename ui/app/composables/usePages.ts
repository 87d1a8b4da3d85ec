import type { MaybeRefOrGetter } from 'vue'

/**
 * A list that comes in pages. An event asks anew for as many pages as are shown, so that nothing that was read jumps away.
 */
export function usePages<T, P extends Page<T> = Page<T>>(
  key: MaybeRefOrGetter<string>,
  ask: (after?: string) => Promise<Answer<P & Page<T>>>,
  options: AskOptions = {},
) {
  const shown = ref(1)
  const loading = ref(false)
  // `asked` is made with the first watch below it, so a new key begins with one page again.
  watch(() => toValue(key), () => { shown.value = 1 }, { flush: 'sync' })

  const asked = useAsk<{ items: T[]; next?: string | null; first: P }>(key, async () => {
    let last: Answer<P & Page<T>> = await ask()
    if (last.data === undefined) return { error: last.error, response: last.response }
    const first = last.data
    const items = [...first.items]
    for (let page = 1; page < shown.value && last.data?.next; page++) {
      last = await ask(last.data.next)
      if (last.data === undefined) return { error: last.error, response: last.response }
      items.push(...last.data.items)
    }
    return { data: { items, next: last.data?.next ?? null, first }, response: last.response }
  }, options)

  async function load() {
    const after = asked.data.value?.next
    if (!after || loading.value) return
    loading.value = true
    try {
      const answer = await ask(after)
      const before = asked.data.value
      if (answer.data && before?.next === after) {
        asked.data.value = { ...before, items: [...before.items, ...answer.data.items], next: answer.data.next ?? null }
        shown.value++
      } else if (!answer.data) asked.problem.value = problemOf(answer.error, answer.response)
    } catch {
      asked.problem.value = unreachable()
    } finally {
      loading.value = false
    }
  }

  return {
    items: computed<T[] | undefined>(() => asked.data.value?.items),
    /** The first page as it came, for what stands beside its items. */
    first: computed(() => asked.data.value?.first),
    more: computed(() => Boolean(asked.data.value?.next)),
    load,
    loading,
    problem: asked.problem,
    pending: asked.pending,
    at: asked.at,
    again: asked.again,
  }
}
