// Reads Server-Sent Events from an answer. `EventSource` would have to know the name of every event beforehand, and machines name their own.
export interface FeedLine {
  id?: string
  event: string
  data: string
}

export async function readFeed(body: ReadableStream<Uint8Array>, told: (line: FeedLine) => void, alive: () => void): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  let line: { id?: string; event: string; data: string[] } = { event: 'message', data: [] }
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    alive()
    rest += value
    const lines = rest.split(/\r?\n/)
    rest = lines.pop() ?? ''
    for (const text of lines) {
      if (text === '') {
        if (line.data.length > 0) told({ id: line.id, event: line.event, data: line.data.join('\n') })
        line = { event: 'message', data: [] }
        continue
      }
      const colon = text.indexOf(':')
      if (colon === 0) continue
      const name = colon < 0 ? text : text.slice(0, colon)
      const content = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '')
      if (name === 'id') line.id = content
      else if (name === 'event') line.event = content
      else if (name === 'data') line.data.push(content)
    }
  }
}
