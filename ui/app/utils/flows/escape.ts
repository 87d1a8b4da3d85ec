// Escape closes what is open, wherever the focus went: after a sheet was signed it may be nowhere.

export function useEscape(isOpen: () => boolean, close: () => void) {
  const keys: Record<string, (event: KeyboardEvent) => void> = {}
  useKeys(keys)
  watch(isOpen, (open) => {
    if (open) keys.Escape = close
    else delete keys.Escape
  }, { immediate: true })
}
