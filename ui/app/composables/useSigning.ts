// The one sheet on which a person reads what they sign. Everything that asks for a signature waits for it here.
import type { Signed } from '@chancery/api'

interface Asked {
  toSign: ToSign
  settle: (signed: Signed | undefined) => void
}

const asked = shallowRef<Asked>()

/** Opens the sheet; answers with the signatures, or with nothing when the person does not sign. */
export function askToSign(toSign: ToSign): Promise<Signed | undefined> {
  asked.value?.settle(undefined)
  return new Promise((resolve) => {
    asked.value = {
      toSign,
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
