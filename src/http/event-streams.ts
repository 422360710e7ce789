import { Readable } from 'node:stream'

/** Proxies close a connection that is silent for a minute. */
const heartbeatMs = 15_000
/** Longer streams are ended. A page that is still open reconnects automatically. */
const lifeMsMax = 30 * 60_000
/** What a reader may leave unread: some seconds of messages. */
const unreadBytesMax = 65_536

export type EventStream = {
  /** The body of the response. */
  readonly body: Readable
  readonly isEnded: boolean
  /** Sends one message, as text in the format of server-sent events. A reader that is too slow is cut off. */
  send(text: string): void
  end(): void
  /** Called at regular intervals: keeps the connection alive, or ends it when it has been open for long. */
  keepAlive(): void
}

export type EventStreams = {
  /** Null if too many are open, in all or with this key, or after `stop`. `onClose` is called once, however it ends. */
  open(key: string, onClose: () => void): EventStream | null
  /** Ends all streams; none is opened any more. */
  stop(): void
}

/** Open responses of server-sent events, with a limit in all and per key. */
export function createEventStreams(limits: { totalMax: number; perKeyMax: number }): EventStreams {
  const streams = new Set<EventStream>()
  const keys = new Map<string, number>()
  let isStopped = false
  return {
    open(key, onClose) {
      const openOfKey = keys.get(key) ?? 0
      if (isStopped || streams.size >= limits.totalMax || openOfKey >= limits.perKeyMax) return null
      const stream = createStream()
      streams.add(stream)
      keys.set(key, openOfKey + 1)
      stream.body.once('close', () => {
        streams.delete(stream)
        const left = (keys.get(key) ?? 1) - 1
        if (left > 0) keys.set(key, left)
        else keys.delete(key)
        onClose()
      })
      return stream
    },
    stop() {
      isStopped = true
      for (const stream of streams) stream.end()
    },
  }
}

function createStream(): EventStream {
  const body = new Readable({ read() {}, highWaterMark: unreadBytesMax })
  const endsAt = performance.now() + lifeMsMax
  let sentAt = performance.now()
  let isEnded = false
  const end = () => {
    if (!isEnded) body.push(null)
    isEnded = true
  }
  const send = (text: string) => {
    if (isEnded) return
    sentAt = performance.now()
    // The reader is too slow or gone: its stream is closed instead of buffered.
    if (!body.push(text)) body.destroy()
    else if (performance.now() > endsAt) end()
  }
  return {
    body,
    get isEnded() {
      return isEnded || body.destroyed
    },
    send,
    end,
    keepAlive() {
      if (performance.now() > endsAt) end()
      else if (performance.now() - sentAt > heartbeatMs) send(':\n\n')
    },
  }
}
