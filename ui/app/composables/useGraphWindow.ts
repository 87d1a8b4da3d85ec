/** How wide the window is, as it changes. */
export function useWindowWidth() {
  const width = ref(window.innerWidth)
  const read = () => { width.value = window.innerWidth }
  window.addEventListener('resize', read)
  onScopeDispose(() => window.removeEventListener('resize', read))
  return { width }
}
