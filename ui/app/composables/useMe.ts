// Who asks. What they may is told by the server; `may` only reads that list, to leave out links that lead to a refusal.
const me = shallowRef<Me>()
let loading: Promise<void> | undefined

async function load(): Promise<void> {
  loading ??= (async () => {
    try {
      const { data, response } = await useApi().GET('/v1/me')
      if (response.ok) me.value = data
      else if (response.status === 401) me.value = undefined
    } finally {
      loading = undefined
    }
  })()
  await loading
}

const permissions = computed(() => new Set(me.value?.permissions ?? []))

export function useMe() {
  return {
    me,
    may: (permission: string) => permissions.value.has(permission),
    /** What a route asks for, told as actions are: whoever may not sees the button and why, and no form that is refused at the end. */
    permitted: (permission: string) => ({ name: permission, allowed: permissions.value.has(permission), problems: [{ code: 'RI040', problem: 'permission_missing', permission }] }),
    load,
    async signOut() {
      await useApi().DELETE('/v1/session').catch(() => undefined)
      // Whoever signs out leaves nothing behind on this machine.
      forgetKept()
      me.value = undefined
      await navigateTo('/sign-in')
    },
  }
}

// The page stays as it is, with all that was typed into it, while a person signs in again over it.
const ended = ref(false)
const waiting = new Set<(again: boolean) => void>()

/** Called when any answer says that nobody is signed in. */
export function sessionEnded() {
  const here = useRouter().currentRoute.value
  if (here.path === '/sign-in') return
  // Nobody was here: there is no page to stay on.
  if (!me.value) return void navigateTo({ path: '/sign-in', query: { next: here.fullPath } })
  ended.value = true
}

/** Whether the same person signed in again; waits until they did, or did not want to. */
export function signedInAgain(): Promise<boolean> {
  if (!ended.value) return Promise.resolve(false)
  return new Promise((resolve) => waiting.add(resolve))
}

/** Whether there is a provider to sign in with. Without one the address is not there; with one it would send the browser away, which is not followed. */
export async function signsInElsewhere(): Promise<boolean> {
  try {
    const answer = await fetch('/v1/session/oidc', { redirect: 'manual', credentials: 'omit' })
    return answer.type === 'opaqueredirect' || answer.status === 303
  } catch {
    return false
  }
}

export function useEndedSession() {
  return {
    ended,
    settle(again: boolean) {
      ended.value = false
      for (const resolve of [...waiting]) resolve(again)
      waiting.clear()
    },
  }
}
