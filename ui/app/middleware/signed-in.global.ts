export default defineNuxtRouteMiddleware(async (to) => {
  const { me, load } = useMe()
  if (to.path === '/sign-in') return
  // No answer at all is no sign-out: the page shows itself that the server can't be reached.
  if (!me.value) {
    const reached = await load().then(() => true, () => false)
    if (reached && !me.value) return navigateTo({ path: '/sign-in', query: { next: to.fullPath } }, { replace: true })
  }
})
