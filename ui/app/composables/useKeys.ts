// Shortcuts of one letter, and of `g` with a letter. Off while somebody types, while a dialog is open, and when switched off.
type Press = (event: KeyboardEvent) => void

interface Layer {
  map: Record<string, Press>
  help: Record<string, string>
}

const layers = shallowRef<Layer[]>([])
let first: string | undefined
let firstTimer: ReturnType<typeof setTimeout> | undefined

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input:not([type=checkbox],[type=radio],[type=button]), textarea, select'))

function pressed(event: KeyboardEvent) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
  const single = event.key.length === 1
  if (single && !usePreferences().letters.value) return
  // A dialog keeps its keys, Escape among them: taken from it, the browser would not close it.
  if (document.querySelector('dialog[open]')) return
  const name = first ? `${first} ${event.key}` : event.key
  const known = (key: string) => [...layers.value].reverse().find((layer) => layer.map[key])
  const layer = known(name) ?? (first ? known(event.key) : undefined)
  const beginning = !first && layers.value.some((one) => Object.keys(one.map).some((key) => key.startsWith(`${event.key} `)))
  first = undefined
  clearTimeout(firstTimer)
  if (layer) {
    event.preventDefault()
    ;(layer.map[name] ?? layer.map[event.key])?.(event)
  } else if (beginning) {
    first = event.key
    firstTimer = setTimeout(() => { first = undefined }, 1200)
  }
}

if (typeof window !== 'undefined') window.addEventListener('keydown', pressed)

/** Keys by their name (`w`, `g p`, `Escape`); `help` says in words what each does, for the list behind `?`. */
export function useKeys(map: Record<string, Press>, options: { help?: Record<string, string> } = {}) {
  const layer: Layer = { map, help: options.help ?? {} }
  layers.value = [...layers.value, layer]
  onScopeDispose(() => { layers.value = layers.value.filter((one) => one !== layer) })
}

export function useKeyHelp() {
  return { lines: computed(() => layers.value.flatMap((layer) => Object.entries(layer.help).map(([key, text]) => ({ key, text })))) }
}
