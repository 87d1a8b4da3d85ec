// Unsent input survives leaving the page. While some of it is open, going to another page asks first.
import { dropAllKept, dropKept, keptUnder, readKept, writeKept } from '~/utils/form/kept'

export interface Kept {
  /** Something differs from what the form began with. */
  dirty: Readonly<Ref<boolean>>
  /** What was typed before stands in the form again. */
  restored: Readonly<Ref<boolean>>
  /** It was sent: nothing is kept any more. */
  clear: () => void
  /** What stands in the form now is what it begins with: the server gave it. */
  begin: () => void
  /** Back to what the form began with. */
  discard: () => void
}

const open = shallowReactive(new Set<Kept>())
const shelf = () => window.localStorage
const who = () => useMe().me.value?.principal ?? ''

/** Keeps the values of a form under a name of its own, and brings them back when the form is opened again. */
export function useKept(key: string, values: Record<string, Ref<unknown>>): Kept {
  const owner = who()
  const now = () => JSON.stringify(Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value.value])))
  let begun = now()
  const dirty = ref(false)
  const restored = ref(false)

  const put = (text: string) => {
    const read = JSON.parse(text) as Record<string, unknown>
    for (const [name, value] of Object.entries(values)) {
      const put = read[name]
      // A reactive object stays the same one, or what shows it would look at the former.
      if (isReactive(value.value) && typeof put === 'object' && put !== null) Object.assign(value.value as object, put)
      else value.value = put
    }
  }
  const before = readKept<Record<string, unknown>>(shelf(), owner, key)
  if (before) {
    put(JSON.stringify(before))
    restored.value = true
    dirty.value = now() !== begun
  }
  const stop = watch(() => now(), (text) => {
    dirty.value = text !== begun
    if (dirty.value) writeKept(shelf(), owner, key, JSON.parse(text))
    else dropKept(shelf(), owner, key)
  })

  const kept: Kept = {
    dirty: readonly(dirty),
    restored: readonly(restored),
    clear() {
      stop()
      dropKept(shelf(), owner, key)
      dirty.value = false
      restored.value = false
      open.delete(kept)
    },
    begin() {
      begun = now()
      dropKept(shelf(), owner, key)
      dirty.value = false
    },
    discard() {
      put(begun)
      dropKept(shelf(), owner, key)
      dirty.value = false
      restored.value = false
    },
  }
  open.add(kept)
  onScopeDispose(() => {
    stop()
    open.delete(kept)
  })
  return kept
}

/** Names under which something of the reader's is kept. */
export const keptOf = (start: string) => keptUnder(shelf(), who(), start)

export const forgetKept = () => dropAllKept(shelf(), who())

/** What is open and not sent. */
export function useUnsent() {
  return {
    unsent: computed(() => [...open].filter((one) => one.dirty.value)),
    discard() { for (const one of [...open]) one.discard() },
  }
}
