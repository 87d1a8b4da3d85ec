// What is looked at, in the address. Written by replacing: going back leads to where one was, not to each step of the way.

export function useGraphAddress() {
  const route = useRoute()
  const router = useRouter()
  // Writing while the router is on its way to another page would call that off.
  let onTheWay = false
  let waiting: Record<string, string | undefined> | undefined
  const stops = [
    router.beforeEach(() => { onTheWay = true }),
    router.afterEach(() => {
      onTheWay = false
      if (waiting) void nextTick(() => write({}))
    }),
    router.onError(() => { onTheWay = false }),
  ]
  onScopeDispose(() => { for (const stop of stops) stop() })

  const asked = (name: string) => (typeof route.query[name] === 'string' ? (route.query[name] as string) : undefined)

  function write(changes: Record<string, string | undefined>) {
    waiting = { ...waiting, ...changes }
    if (onTheWay) return
    const now = router.currentRoute.value
    const query = { ...now.query, ...waiting }
    waiting = undefined
    if (now.path !== route.path) return
    for (const name of Object.keys(query)) if (query[name] === undefined) delete query[name]
    void router.replace({ query, hash: now.hash })
  }
  return { asked, write }
}
