// A client of the HTTP API. Paths, bodies and answers are typed by src/schema.d.ts, which is made of api/openapi.json.
import createClient, { type Client, type Middleware } from 'openapi-fetch'
import type { components, paths } from './schema'

export type Schemas = components['schemas']
export type Problem = Schemas['Problem']
export type Chancery = Client<paths>

export interface Options {
  /** Where the server is; the page's own origin when it is left out. */
  baseUrl?: string
  /** What signing in told; asked for with each request that changes something. */
  csrf?: () => string | undefined
  /** A token of a program; browsers have their cookie instead. */
  token?: string
  fetch?: (request: Request) => Promise<Response>
}

/** A client. Refusals come as `error`, never as an exception; no connection is an exception. */
export function chancery(options: Options = {}): Chancery {
  const { baseUrl = '', csrf, token, fetch } = options
  const client = createClient<paths>({ baseUrl, credentials: 'same-origin', ...(fetch ? { fetch } : {}) })
  const shows: Middleware = {
    onRequest({ request }) {
      if (token !== undefined) request.headers.set('Authorization', `Bearer ${token}`)
      const shown = request.method === 'GET' ? undefined : csrf?.()
      if (shown !== undefined) request.headers.set('Chancery-Csrf', shown)
      return request
    },
  }
  client.use(shows)
  return client
}

/** The key of a change: make one for each, and send the same again when no answer came. */
export function newKey(): string {
  return crypto.randomUUID()
}

/** The headers of a change, with its signatures when it was signed. */
export function change(key: string, signed?: Signed) {
  return { 'Idempotency-Key': key, ...signed }
}

export interface Signed {
  'Chancery-Key': string
  'Chancery-Signed-At': string
  'Chancery-Signature': string
}

/** Signs what the answer 428 told, with a key that stays in this browser. */
export async function sign(wanted: NonNullable<Problem['to_sign']>, key: CryptoKey): Promise<Signed> {
  const signatures: string[] = []
  for (const statement of wanted.statements) {
    const bytes = Uint8Array.from(atob(statement.bytes), (char) => char.charCodeAt(0))
    const signature = await crypto.subtle.sign('Ed25519', key, bytes)
    signatures.push(btoa(String.fromCharCode(...new Uint8Array(signature))))
  }
  return {
    'Chancery-Key': wanted.key_id,
    'Chancery-Signed-At': String(wanted.signed_at),
    'Chancery-Signature': signatures.join(','),
  }
}
