// One stream of events for the whole app; what pages listen to is added up. A lost stream comes back where it was; while it can't be had,
// everything that listens is told to look again every five seconds.
import type { MaybeRefOrGetter } from 'vue'

interface Listener {
  topics: string[]
  heard: (event: LiveEvent) => void
  reloaded?: () => void
}

const MOST_TOPICS = 20
const POLL = 5000
// The server says something every 15 seconds; twice that without a word is a dead connection.
const SILENCE = 35_000

const listeners = new Set<Listener>()
const refused = new Set<string>()
const state = ref<'idle' | 'live' | 'lost'>('idle')
const heardAt = shallowRef<Date>()
let position: string | undefined
let stream: AbortController | undefined
let open: string[] = []
let failures = 0
let restart: ReturnType<typeof setTimeout> | undefined
let poll: ReturnType<typeof setInterval> | undefined

const wanted = () => [...new Set([...listeners].flatMap((one) => one.topics))].filter((topic) => !refused.has(topic)).sort().slice(0, MOST_TOPICS)

function tellAllToReload() {
  for (const one of [...listeners]) one.reloaded?.()
}

/** A listener of runs alone is spared the events of others; the rest can't be told apart here. */
function concerns(listener: Listener, event: LiveEvent): boolean {
  if (!listener.topics.every((topic) => topic.startsWith('run:')) || (!event.subject && !event.run)) return true
  return listener.topics.some((topic) => [event.run?.id, event.subject?.id].includes(topic.slice(4)))
}

function take(line: FeedLine, missed: boolean) {
  if (line.id) position = line.id
  let event: LiveEvent
  try {
    event = { ...(JSON.parse(line.data) as LiveEvent), type: line.event }
  } catch {
    return
  }
  if (line.event === 'hello' || line.event === 'gap') {
    if (event.position !== undefined) position = String(event.position)
    if (line.event === 'gap' || missed) tellAllToReload()
    return
  }
  for (const one of [...listeners]) if (concerns(one, event)) one.heard(event)
}

function lost() {
  if (state.value === 'idle') return
  state.value = 'lost'
  poll ??= setInterval(tellAllToReload, POLL)
}

function found() {
  failures = 0
  state.value = 'live'
  clearInterval(poll)
  poll = undefined
}

/** One topic that the reader may not hear would close the whole stream: find it, and go on without. */
async function findRefused(topics: string[]) {
  for (const topic of topics) {
    const probe = new AbortController()
    try {
      const answer = await fetch(`/v1/events?topics=${encodeURIComponent(topic)}`, { signal: probe.signal, credentials: 'same-origin' })
      if ([400, 403, 404, 422].includes(answer.status)) refused.add(topic)
    } catch {
      // Whether it may be heard is unknown, so it stays.
    } finally {
      probe.abort()
    }
  }
}

async function connect() {
  clearTimeout(restart)
  stream?.abort()
  open = wanted()
  if (open.length === 0 || !useMe().me.value) {
    stream = undefined
    if (listeners.size === 0) state.value = 'idle'
    return
  }
  const mine = (stream = new AbortController())
  // Before the first position is known, an event may fall between a page's question and the stream: then everything is looked at again.
  const missed = state.value === 'lost' || position === undefined
  if (state.value === 'idle') state.value = 'lost'
  let silence: ReturnType<typeof setTimeout> | undefined
  const alive = () => {
    heardAt.value = new Date()
    clearTimeout(silence)
    silence = setTimeout(() => mine.abort(), SILENCE)
  }
  try {
    const query = `topics=${open.map(encodeURIComponent).join(',')}${position ? `&after=${position}` : ''}`
    const answer = await fetch(`/v1/events?${query}`, { signal: mine.signal, credentials: 'same-origin', headers: { Accept: 'text/event-stream' } })
    if (mine !== stream) return
    if (answer.status === 401) {
      lost()
      return sessionEnded()
    }
    if ([400, 403, 404, 422].includes(answer.status)) {
      await findRefused(open)
      if (mine === stream) again(failures++ > 2 ? POLL : 100)
      return
    }
    if (!answer.ok || !answer.body) throw new Error(String(answer.status))
    found()
    alive()
    await readFeed(answer.body, (line) => take(line, missed), alive)
  } catch {
    // It broke; that it did is all there is to know.
  } finally {
    clearTimeout(silence)
  }
  if (mine !== stream) return
  lost()
  again(Math.min(10_000, 500 * 2 ** failures++))
}

function again(after: number) {
  clearTimeout(restart)
  restart = setTimeout(() => void connect(), after)
}

function changed() {
  const now = wanted()
  if (now.join() === open.join() && stream) return
  // A page that leaves and one that comes change the topics at once: one new stream for both.
  again(50)
}

if (typeof document !== 'undefined') {
  // A browser has few connections to a host; a page that nobody sees gives its own back.
  let hidden: ReturnType<typeof setTimeout> | undefined
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hidden)
    if (document.hidden) hidden = setTimeout(() => { clearTimeout(restart); stream?.abort(); stream = undefined; open = [] }, 30_000)
    else if (!stream) again(0)
  })
  addEventListener('online', () => again(0))
  addEventListener('offline', () => { if (stream) { stream.abort(); lost() } })
}

/** Hear what changes. `reloaded` is called when events may have been missed: then look at everything again. */
export function useLive(topics: MaybeRefOrGetter<string[]>, heard: (event: LiveEvent) => void, reloaded?: () => void) {
  const mine: Listener = { topics: [], heard, ...(reloaded ? { reloaded } : {}) }
  listeners.add(mine)
  watch(() => toValue(topics), (now) => {
    mine.topics = [...now]
    changed()
  }, { immediate: true })
  onScopeDispose(() => {
    listeners.delete(mine)
    changed()
  })
}

/** Whether the app hears, and when it last did. */
export function useLiveState() {
  return { state: readonly(state), heardAt }
}

/** Somebody else signed in: what the former one might hear says nothing. */
export function forgetFeed() {
  refused.clear()
  position = undefined
  again(0)
}
