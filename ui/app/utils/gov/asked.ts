/** The headers of a change, as the description of the API names them. */
export interface Change { 'Idempotency-Key': string }

export function changing(headers: Record<string, string>): Change {
  return headers as Record<string, string> & Change
}
