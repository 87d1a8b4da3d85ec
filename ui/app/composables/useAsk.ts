import type { MaybeRefOrGetter } from 'vue'

export interface AskOptions {
  /** Topics of the feed whose events make the answer old. */
  topics?: MaybeRefOrGetter<string[]>
  /** Ask again every so many milliseconds, for what no event tells of. */
  every?: number
  /** At least so many milliseconds between two questions that events cause. */
  calm?: number
}

// All questions of the page that is open. After a change they are asked together, so that no two parts of it tell different times.
const open = new Set<() => void>()

/** Something was changed from here: everything that is shown is asked for again. */
export function askAllAgain() {
  for (const soon of [...open]) soon()
}

/**
 * One question to the server. The last picture stays while it is asked again, and stays when that fails: `problem` then stands beside it.
 * Another `key` is another question: its picture begins empty, and a late answer to the former one is dropped.
 */
export function useAsk<T>(key: MaybeRefOrGetter<string>, ask: () => Promise<Answer<T>>, options: AskOptions = {}) {
  const data = shallowRef<T>()
  const problem = shallowRef<Problem>()
  const pending = ref(true)
  const at = shallowRef<Date>()
  let asked = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let running: Promise<void> | undefined
  let stale = false
  let alive = true

  async function once() {
    const mine = ++asked
    pending.value = true
    try {
      const answer = await ask()
      if (mine !== asked || !alive) return
      if (answer.error !== undefined || !answer.response.ok) problem.value = problemOf(answer.error, answer.response)
      else {
        data.value = answer.data
        problem.value = undefined
        at.value = new Date()
      }
    } catch {
      if (mine === asked && alive) problem.value = unreachable()
    } finally {
      if (mine === asked) pending.value = false
    }
  }

  function again(): Promise<void> {
    const mine = once().finally(() => {
      if (running !== mine) return
      running = undefined
      if (stale) soon()
    })
    running = mine
    return mine
  }

  // A busy run tells of fifty changes a second: gathered, and never two questions at once.
  function soon() {
    if (!alive) return
    if (running) {
      stale = true
      return
    }
    timer ??= setTimeout(() => {
      timer = undefined
      stale = false
      void again()
    }, Math.max(150, options.calm ?? 0))
  }

  watch(() => toValue(key), (_now, before) => {
    if (before !== undefined) {
      data.value = undefined
      problem.value = undefined
      at.value = undefined
    }
    void again()
  }, { immediate: true })

  if (options.topics) useLive(options.topics, soon, soon)
  open.add(soon)
  const clock = options.every ? setInterval(soon, options.every) : undefined
  onScopeDispose(() => {
    alive = false
    open.delete(soon)
    clearTimeout(timer)
    clearInterval(clock)
  })

  return { data, problem, pending, at, again, soon }
}
