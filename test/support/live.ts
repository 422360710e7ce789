import type { Changed } from '../../src/dashboard/live-schema.ts'
import type { TestService } from './service.ts'
import type { Browser } from './users.ts'

/** The stream of changes that one person's open dashboard reads. */
export type LiveReader = {
  status: number
  /** The names of all messages so far. */
  names: string[]
  messages: Changed[]
  /** Resolves when the service ends the stream. */
  ended: Promise<void>
  /** How many changes of this kind and status there were. */
  count(kind: string, status: string): number
  close(): Promise<void>
}

/** Opens the stream. Resolves once no further change can be missed, or when it was refused. Rejects if it ends before. */
export async function readLive(
  { baseUrl }: Pick<TestService, 'baseUrl'>,
  { cookie }: Pick<Browser, 'cookie'>,
): Promise<LiveReader> {
  const aborter = new AbortController()
  const answer = await fetch(`${baseUrl}/dashboard/api/live`, {
    headers: { cookie, accept: 'text/event-stream' },
    signal: aborter.signal,
  })
  const reader: LiveReader = {
    status: answer.status,
    names: [],
    messages: [],
    ended: Promise.resolve(),
    count: (kind, status) =>
      reader.messages
        .flatMap(({ changes }) => changes)
        .filter((change) => change.kind === kind && change.status === status)
        .reduce((sum, change) => sum + change.count, 0),
    async close() {
      aborter.abort()
      await reader.ended
    },
  }
  if (!answer.ok || !answer.body) {
    await answer.body?.cancel()
    return reader
  }
  const body = answer.body.pipeThrough(new TextDecoderStream())
  await new Promise<void>((connected, failed) => {
    const collecting = collect(body, reader, connected)
    reader.ended = collecting.catch(() => {})
    collecting.then(() => failed(new Error('The stream ended before the message `connected`')), failed)
  })
  return reader
}

async function collect(body: ReadableStream<string>, reader: LiveReader, onConnected: () => void): Promise<void> {
  let rest = ''
  for await (const text of body) {
    const parts = (rest + text).split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const name = /^event: (.*)$/m.exec(part)?.[1]
      if (name === undefined) continue
      reader.names.push(name)
      if (name === 'connected') onConnected()
      if (name === 'changed') reader.messages.push(JSON.parse(/^data: (.*)$/m.exec(part)?.[1] ?? ''))
    }
  }
}
