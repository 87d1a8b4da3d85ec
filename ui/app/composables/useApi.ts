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

/** A question that the description of the API does not have yet. */
export async function askRaw<T>(path: string): Promise<Answer<T>> {
  const response = await fetch(path, { credentials: 'same-origin', headers: { Accept: 'application/json' } })
  if (response.status === 401) sessionEnded()
  const body: unknown = await response.json().catch(() => undefined)
  return response.ok ? { data: body as T, response } : { error: body, response }
}
