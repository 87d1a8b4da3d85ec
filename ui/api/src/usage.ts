// How the client is used, and what it refuses to compile. Nothing imports this file.
import { chancery, newKey, type Problem } from './index'

export async function usage(name: string, password: string): Promise<string | Problem> {
  let csrf: string | undefined
  const client = chancery({ csrf: () => csrf })
  const { data, error } = await client.POST('/v1/session', { body: { name, password } })
  if (error) return error
  csrf = data.csrf_token

  const me = await client.GET('/v1/me')
  if (me.error) return me.error
  const keys: string[] = me.data.keys.map((key) => key.key_id)
  return `${me.data.principal} ${keys.length} ${newKey()}`
}

export async function refused(): Promise<void> {
  const client = chancery()
  // @ts-expect-error there is no such route
  await client.GET('/v1/nowhere')
  // @ts-expect-error a member is missing
  await client.POST('/v1/session', { body: { name: 'alice' } })
  // @ts-expect-error it is asked with another method
  await client.PUT('/v1/me')
}
