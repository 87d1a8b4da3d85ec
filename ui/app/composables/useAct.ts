import { newKey, type Signed } from '@chancery/api'

const TRIES = 3

/** A route may ask in rounds; it wants to see the signatures of all of them, under one time. */
function together(before: Signed | undefined, now: Signed): Signed {
  if (!before || before['Chancery-Key'] !== now['Chancery-Key'] || before['Chancery-Signed-At'] !== now['Chancery-Signed-At']) return now
  return { ...now, 'Chancery-Signature': `${now['Chancery-Signature']},${before['Chancery-Signature']}` }
}

export interface ActOptions {
  /** What the page shows of the thing: the sheet finds the content of a hash there when it was not sent. */
  shows?: () => readonly unknown[]
}

/**
 * One governed change. The key of a change is made once and kept until an answer came, so that a lost answer never becomes two changes.
 * When the server wants a signature, the sheet shows what would be signed and a person decides. Nothing is shown before it is true.
 */
export function useAct() {
  const pending = ref(false)
  const problem = shallowRef<Problem>()
  const done = ref(false)
  let key: string | undefined
  let signed: Signed | undefined

  function settled() {
    key = undefined
    signed = undefined
  }

  async function act<T>(ask: (headers: Record<string, string>) => Promise<Answer<T>>, options: ActOptions = {}): Promise<T | undefined> {
    if (pending.value) return undefined
    pending.value = true
    problem.value = undefined
    done.value = false
    key ??= newKey()
    const own = await useBrowserKeys().usable()
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
          settled()
          done.value = true
          // What was changed here is news to everything on the page, at once and together.
          askAllAgain()
          return answer.data
        }
        const refused = answer ? problemOf(answer.error, answer.response) : unreachable()
        if (refused.problem === 'signature_needed' && refused.to_sign && signings++ < 5) {
          const now = await askToSign(refused.to_sign, [await sentFor(answer!.response), ...(options.shows?.() ?? [])])
          if (now) {
            signed = together(signed, now)
            continue
          }
          // What was signed before may be done already: the next try has to go on with the same key.
          if (!signed) settled()
          return undefined
        }
        // Whoever signs in again over the page goes on with the same change.
        if (answer?.response.status === 401 && isSessionEnd(refused) && await signedInAgain()) continue
        if (isUncertain(refused) && ++tries < TRIES) {
          await new Promise((resolve) => setTimeout(resolve, 500 * tries))
          continue
        }
        if (!isUncertain(refused)) settled()
        problem.value = refused
        return undefined
      }
    } finally {
      pending.value = false
    }
  }

  return { act, pending, problem, done }
}
