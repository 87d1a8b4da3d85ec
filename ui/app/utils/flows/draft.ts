// Edits that are not sent yet: a working copy beside what the server has, with a way back. They are kept like everything else that was not sent.
import type { Ref } from 'vue'
import type { Definition } from './definition.ts'

export interface Edit {
  label: string
  definition: Definition
}

/** `about` names what is edited; `title` is what its author calls the change. */
export function useDraft(saved: Ref<Definition | undefined>, about: string, title: Ref<string>) {
  const edits = shallowRef<Edit[]>([])
  // Definitions are large: what is kept is the newest, with the names of all edits.
  const unsent = computed({
    get: () => (edits.value.length > 0 ? { labels: edits.value.map((edit) => edit.label), definition: edits.value.at(-1)!.definition, title: title.value } : undefined),
    set(kept) {
      edits.value = kept ? [{ label: kept.labels.join(' · '), definition: kept.definition }] : []
      if (kept) title.value = kept.title
    },
  })
  const kept = useKept(`draft:${about}`, { unsent })
  const working = computed<Definition | undefined>(() => edits.value.at(-1)?.definition ?? saved.value)
  const dirty = computed(() => edits.value.length > 0)
  return {
    edits,
    working,
    dirty,
    restored: kept.restored,
    apply(label: string, definition: Definition) { edits.value = [...edits.value, { label, definition }] },
    undo() { edits.value = edits.value.slice(0, -1) },
    clear() { edits.value = [] },
  }
}

export type Draft = ReturnType<typeof useDraft>
