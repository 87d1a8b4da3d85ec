import type { RouterConfig } from '@nuxt/schema'

// Back goes to where one was; another page begins at its top; a change of the query moves nothing. Parts of a page: utils/anchor.ts.
export default <RouterConfig>{
  scrollBehavior(to, from, saved) {
    if (saved) return saved
    return to.path === from.path ? false : { top: 0 }
  },
}
