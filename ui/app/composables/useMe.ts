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
    load,
    async signOut() {
      await useApi().DELETE('/v1/session').catch(() => undefined)
      me.value = undefined
      await navigateTo('/sign-in')
    },
  }
}

/** Called when any answer says that nobody is signed in. */
export function sessionEnded() {
  me.value = undefined
  const here = useRouter().currentRoute.value
  if (here.path !== '/sign-in') void navigateTo({ path: '/sign-in', query: { next: here.fullPath } })
}
