// The one sheet on which a person reads what they sign. Everything that asks for a signature waits for it here.
import type { Signed } from '@chancery/api'

interface Asked {
  toSign: ToSign
  /** What was sent with the request, and what the page shows of the thing: the content behind the hashes is looked for here. */
  content: readonly unknown[]
  settle: (signed: Signed | undefined) => void
}

const asked = shallowRef<Asked>()

/** Opens the sheet; answers with the signatures, or with nothing when the person does not sign. */
export function askToSign(toSign: ToSign, content: readonly unknown[] = []): Promise<Signed | undefined> {
  asked.value?.settle(undefined)
  return new Promise((resolve) => {
    asked.value = {
      toSign,
      content,
      settle(signed) {
        asked.value = undefined
        resolve(signed)
      },
    }
  })
}

export function useSigning() {
  return { asked }
}
