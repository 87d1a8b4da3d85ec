// Edits that are not sent yet: a working copy beside what the server has, with a way back.
import type { Ref } from 'vue'
import type { Definition } from './definition.ts'

export interface Edit {
  label: string
  definition: Definition
}

export function useDraft(saved: Ref<Definition | undefined>) {
  const edits = shallowRef<Edit[]>([])
  const working = computed<Definition | undefined>(() => edits.value.at(-1)?.definition ?? saved.value)
  const dirty = computed(() => edits.value.length > 0)
  return {
    edits,
    working,
    dirty,
    apply(label: string, definition: Definition) { edits.value = [...edits.value, { label, definition }] },
    undo() { edits.value = edits.value.slice(0, -1) },
    clear() { edits.value = [] },
  }
}

export type Draft = ReturnType<typeof useDraft>
