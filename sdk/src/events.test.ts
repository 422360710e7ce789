import { expect, it } from 'vitest'
import { Guiche, type GuicheError } from './index.ts'

// If the service answered a quiet feed only after the time limit, every request would be an interruption.
it.each([
  [undefined, '20'],
  [10_000, '6'],
  [60_000, '20'],
  [1_000, '0'],
])('follows the feed with a wait that fits the time limit of %s ms', async (timeoutMs, wait) => {
  const urls: URL[] = []
  const fetch = async (url: string | URL | Request) => {
    urls.push(new URL(String(url)))
    return Response.json({ data: [{ number: 1, position: '1-a' }], next: '1-a', hasMore: false })
  }
  // The time limit of the client is for other calls.
  const guiche = new Guiche({ baseUrl: 'https://pix.test', accessToken: () => 'a-token', timeoutMs: 5_000, fetch })
  for await (const { position } of guiche.events.follow({}, { timeoutMs })) {
    expect(position).toBe('1-a')
    break
  }
  expect(urls.map(({ searchParams }) => searchParams.get('wait'))).toEqual([wait])
})

it('follows the feed past a time-out that a proxy reports with 408', async () => {
  const answers = [
    new Response('<h1>408 Request Time-out</h1>', { status: 408 }),
    Response.json({ data: [{ number: 1, position: '1-a' }], next: '1-a', hasMore: false }),
  ]
  const fetch = async () => answers.shift() ?? expect.unreachable()
  const guiche = new Guiche({ baseUrl: 'https://pix.test', accessToken: () => 'a-token', maxRetries: 0, fetch })
  const interruptions: (number | undefined)[] = []
  const onInterruption = ({ status }: GuicheError) => interruptions.push(status)
  for await (const { position } of guiche.events.follow({}, { onInterruption })) {
    expect([position, interruptions]).toEqual(['1-a', [408]])
    break
  }
})
