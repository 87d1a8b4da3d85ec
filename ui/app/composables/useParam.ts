/** A part of the page's address, as one string: `useParam('id')` on /runs/[id]. */
export function useParam(name: string): ComputedRef<string> {
  const route = useRoute()
  return computed(() => {
    const part = (route.params as Record<string, string | string[] | undefined>)[name]
    return (Array.isArray(part) ? part.join('/') : part) ?? ''
  })
}
