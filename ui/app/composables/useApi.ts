import { chancery, type Chancery } from '@chancery/api'
import type { Middleware } from 'openapi-fetch'

const csrfOf = () => /(?:^|;\s*)chancery_csrf=([^;]+)/.exec(document.cookie)?.[1]

let client: Chancery | undefined

/** The client of the API. A session that ended leads to the sign-in page and back. */
export function useApi(): Chancery {
  if (client) return client
  client = chancery({ baseUrl: location.origin, csrf: csrfOf })
  const ended: Middleware = {
    onResponse({ request, response }) {
      const path = new URL(request.url).pathname
      if (response.status === 401 && path !== '/v1/session' && path !== '/v1/me') sessionEnded()
      return response
    },
  }
  client.use(ended)
  return client
}
