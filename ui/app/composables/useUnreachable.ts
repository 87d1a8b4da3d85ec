// A lost connection is told once on a page, however many of its parts ask for something.
const banners = shallowReactive(new Set<symbol>())
const panels = ref<symbol[]>([])

/** For what says how old the picture is: while it is shown, nobody else says that the server can't be reached. */
export function useStaleVoice(shown: () => boolean) {
  const mine = Symbol('banner')
  watch(shown, (now) => {
    if (now) banners.add(mine)
    else banners.delete(mine)
  }, { immediate: true })
  onScopeDispose(() => banners.delete(mine))
}

/** For a panel about a question without an answer: whether it is the one that says so. */
export function useUnreachableVoice(unreachable: () => boolean): ComputedRef<boolean> {
  const mine = Symbol('panel')
  const drop = () => { panels.value = panels.value.filter((one) => one !== mine) }
  watch(unreachable, (now) => {
    drop()
    if (now) panels.value = [...panels.value, mine]
  }, { immediate: true })
  onScopeDispose(drop)
  return computed(() => banners.size === 0 && panels.value[0] === mine)
}
