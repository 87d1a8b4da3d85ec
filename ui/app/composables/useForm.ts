// What fields and the form around them have to do with one another: a field that holds more than text says itself what is wrong with it,
// and every field shows what the form found.
import type { InjectionKey } from 'vue'
import type { Fault } from '~/utils/form/fault'

export interface FormChecks {
  faults: Map<string, Fault>
  register: (id: string, check: () => Fault | undefined) => void
  forget: (id: string) => void
}

export const FORM_CHECKS: InjectionKey<FormChecks> = Symbol('form checks')

/** A check of one's own for the control with that id, beside what its attributes ask for. */
export function useCheck(id: string, check: () => Fault | undefined) {
  const form = inject(FORM_CHECKS, undefined)
  form?.register(id, check)
  onScopeDispose(() => form?.forget(id))
}

/** The sentence about what is wrong with the control with that id; nothing when nothing is. */
export function useFault(id: () => string) {
  const form = inject(FORM_CHECKS, undefined)
  const t = useT()
  return computed(() => {
    const fault = form?.faults.get(id())
    if (!fault) return undefined
    const sentence = t(fault.key, fault.parameters ?? {})
    return fault.at ? t('shell.field.at', { at: fault.at, sentence }) : sentence
  })
}
