import { chancery, type Chancery } from '@chancery/api'
import type { Middleware } from 'openapi-fetch'

const csrfOf = () => /(?:^|;\s*)chancery_csrf=([^;]+)/.exec(document.cookie)?.[1]

let client: Chancery | undefined
const bodies = new WeakMap<Request, Promise<unknown>>()
const asked = new WeakMap<Response, Promise<unknown>>()

/** What was sent to get this answer; nothing when nothing was. */
export async function sentFor(response: Response): Promise<unknown> {
  return asked.get(response)
}

/** The client of the API. A session that ended leads to the sign-in page and back. */
export function useApi(): Chancery {
  if (client) return client
  client = chancery({ baseUrl: location.origin, csrf: csrfOf })
  // What is to be signed stands in what was sent: it is kept until the answer says whether anything is to be signed.
  const sent: Middleware = {
    onRequest({ request }) {
      if (request.method !== 'GET') bodies.set(request, request.clone().json().catch(() => undefined))
    },
    onResponse({ request, response }) {
      const body = bodies.get(request)
      if (body && response.status === 428) asked.set(response, body)
    },
  }
  client.use(sent)
  const ended: Middleware = {
    async onResponse({ request, response }) {
      const path = new URL(request.url).pathname
      if (response.status !== 401 || path === '/v1/session' || path === '/v1/me') return response
      // The answer to a wrong password is no end of a session.
      if (isSessionEnd(problemOf(await response.clone().json().catch(() => undefined), response))) sessionEnded()
      return response
    },
  }
  client.use(ended)
  return client
}
