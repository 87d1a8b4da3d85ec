// Stands between browser and server and tells the events itself, so that a change comes exactly when the measurement wants it.
import { createServer, request } from 'node:http'

export async function between(base) {
  const server = new URL(base)
  const listening = new Set()
  const middle = createServer((asked, answer) => {
    if (asked.url.startsWith('/v1/events')) {
      answer.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
      answer.write('event: hello\ndata: {"position":1}\n\n')
      listening.add(answer)
      asked.on('close', () => listening.delete(answer))
      return
    }
    const headers = { ...asked.headers, host: server.host, ...(asked.headers.origin ? { origin: server.origin } : {}) }
    const passed = request({ host: server.hostname, port: server.port || 80, path: asked.url, method: asked.method, headers }, (told) => {
      answer.writeHead(told.statusCode, told.headers)
      told.pipe(answer)
    })
    passed.on('error', () => { answer.writeHead(502); answer.end() })
    asked.pipe(passed)
  })
  await new Promise((done) => middle.listen(0, '127.0.0.1', done))
  return {
    origin: `http://127.0.0.1:${middle.address().port}`,
    tell(event) {
      for (const one of listening) one.write(`id: ${event.position}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    },
    stop() {
      middle.closeAllConnections()
      middle.close()
    },
  }
}
