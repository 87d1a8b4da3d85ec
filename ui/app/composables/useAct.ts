import { newKey, type Signed } from '@chancery/api'

const TRIES = 3

/**
 * One governed change. The key of a change is made once and kept until an answer came, so that a lost answer never becomes two changes.
 * When the server wants a signature, the sheet shows what would be signed and a person decides. Nothing is shown before it is true.
 */
export function useAct() {
  const pending = ref(false)
  const problem = shallowRef<Problem>()
  const done = ref(false)
  let key: string | undefined

  async function act<T>(ask: (headers: Record<string, string>) => Promise<Answer<T>>): Promise<T | undefined> {
    if (pending.value) return undefined
    pending.value = true
    problem.value = undefined
    done.value = false
    key ??= newKey()
    const own = await useBrowserKeys().usable()
    let signed: Signed | undefined
    try {
      for (let tries = 0, signings = 0; ;) {
        const headers: Record<string, string> = { 'Idempotency-Key': key, ...(own ? { 'Chancery-Key': own.keyId } : {}), ...signed }
        let answer: Answer<T> | undefined
        try {
          answer = await ask(headers)
        } catch {
          answer = undefined
        }
        if (answer && answer.response.ok && answer.error === undefined) {
          key = undefined
          done.value = true
          return answer.data
        }
        const refused = answer ? problemOf(answer.error, answer.response) : unreachable()
        if (refused.problem === 'signature_needed' && refused.to_sign && signings++ < 3) {
          signed = await askToSign(refused.to_sign)
          if (signed) continue
          key = undefined
          return undefined
        }
        if (isUncertain(refused) && ++tries < TRIES) {
          await new Promise((resolve) => setTimeout(resolve, 500 * tries))
          continue
        }
        if (!isUncertain(refused)) key = undefined
        problem.value = refused
        return undefined
      }
    } finally {
      pending.value = false
    }
  }

  return { act, pending, problem, done }
}
