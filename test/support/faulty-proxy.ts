import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'

/**
 * What happens to a request: passed on; lost before it arrives; its answer lost; never answered; or answered by the
 * proxy itself, with an answer that may never end.
 */
export type RequestOutcome =
  | 'pass'
  | 'lose-request'
  | 'lose-answer'
  | 'hang'
  | { status: number; headers?: Record<string, string>; body?: string; neverEnds?: true }

export type FaultyProxy = {
  baseUrl: string
  /** The requests received, as `GET /transaction?page=1`, with their headers. */
  requests: { line: string; headers: IncomingMessage['headers'] }[]
  /** What happens to the next requests whose line begins with `start`. Later ones pass. */
  plan(start: string, ...outcomes: RequestOutcome[]): void
  /** How many requests began with `start`. */
  count(start: string): number
  stop(): Promise<void>
}

/** A proxy between a client and a service that behaves like a bad network. */
export async function openFaultyProxy(target: string): Promise<FaultyProxy> {
  const requests: FaultyProxy['requests'] = []
  const plans: { start: string; outcomes: RequestOutcome[] }[] = []
  const server = createServer((incoming, outgoing) => {
    const line = `${incoming.method} ${incoming.url}`
    requests.push({ line, headers: incoming.headers })
    const outcome =
      plans.find(({ start, outcomes }) => line.startsWith(start) && outcomes.length > 0)?.outcomes.shift() ?? 'pass'
    if (outcome === 'hang') return
    if (outcome === 'lose-request') incoming.destroy()
    else if (typeof outcome === 'object') {
      incoming.resume()
      outgoing.writeHead(outcome.status, outcome.headers)
      if (outcome.neverEnds) outgoing.write(outcome.body ?? '')
      else outgoing.end(outcome.body ?? '')
    } else passOn(target, incoming, outgoing, outcome)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    requests,
    plan: (start, ...outcomes) => plans.push({ start, outcomes }),
    count: (start) => requests.filter(({ line }) => line.startsWith(start)).length,
    stop: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}

function passOn(target: string, incoming: IncomingMessage, outgoing: ServerResponse, outcome: 'pass' | 'lose-answer') {
  const { method, headers } = incoming
  const onward = request(`${target}${incoming.url}`, { method, headers, agent: false }, (answer) => {
    if (outcome === 'lose-answer') {
      answer.resume()
      answer.once('close', () => outgoing.destroy())
      return
    }
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
    pipeline(answer, outgoing, () => {})
  })
  onward.on('error', () => outgoing.destroy())
  incoming.pipe(onward)
}
