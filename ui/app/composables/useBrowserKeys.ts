// Which keys this browser holds, and which of them the operator accepted for who is signed in.
const stored = shallowRef<StoredKey[]>([])
let loaded = false

async function reload() {
  try {
    stored.value = await storedKeys()
  } catch {
    // A private window may have no store; then there is no key, and the sheet says what to do.
    stored.value = []
  }
  loaded = true
}

export function useBrowserKeys() {
  const { me, load } = useMe()

  function match() {
    for (const one of [...(me.value?.keys ?? [])].reverse()) {
      const key = stored.value.find((own) => own.publicKey === one.public_key)
      if (key) return { keyId: one.key_id, key }
    }
    return undefined
  }

  /** The key of this browser that is good now, the newest first. */
  async function usable(): Promise<{ keyId: string; key: StoredKey } | undefined> {
    if (!loaded) await reload()
    // The operator may have accepted it since this page was opened.
    if (!match() && stored.value.length > 0) await load().catch(() => undefined)
    return match()
  }

  return { stored, reload, usable, async make() {
    const key = await makeKey(me.value?.principal ?? '')
    await reload()
    return key
  }, async drop(publicKey: string) {
    await dropKey(publicKey)
    await reload()
  } }
}
