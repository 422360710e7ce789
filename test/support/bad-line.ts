import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'

/**
 * What happens to a request: passed on; lost before it arrives; its answer lost; never answered; or answered on the
 * way.
 */
export type Fate =
  | 'pass'
  | 'lose-request'
  | 'lose-answer'
  | 'hang'
  | { status: number; headers?: Record<string, string>; body?: string; neverEnds?: true }

export type BadLine = {
  baseUrl: string
  /** The requests received, as `GET /transaction?page=1`, with their headers. */
  requests: { line: string; headers: IncomingMessage['headers'] }[]
  /** What happens to the next requests whose line begins with `start`. Later ones pass. */
  plan(start: string, ...fates: Fate[]): void
  /** How many requests began with `start`. */
  count(start: string): number
  stop(): Promise<void>
}

/** A proxy between a client and a service that behaves like a bad network. */
export async function openBadLine(target: string): Promise<BadLine> {
  const requests: BadLine['requests'] = []
  const plans: { start: string; fates: Fate[] }[] = []
  const server = createServer((incoming, outgoing) => {
    const line = `${incoming.method} ${incoming.url}`
    requests.push({ line, headers: incoming.headers })
    const fate = plans.find(({ start, fates }) => line.startsWith(start) && fates.length > 0)?.fates.shift() ?? 'pass'
    if (fate === 'hang') return
    if (fate === 'lose-request') incoming.destroy()
    else if (typeof fate === 'object') {
      incoming.resume()
      outgoing.writeHead(fate.status, fate.headers)
      if (fate.neverEnds) outgoing.write(fate.body ?? '')
      else outgoing.end(fate.body ?? '')
    } else passOn(target, incoming, outgoing, fate)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    requests,
    plan: (start, ...fates) => plans.push({ start, fates }),
    count: (start) => requests.filter(({ line }) => line.startsWith(start)).length,
    stop: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}

function passOn(target: string, incoming: IncomingMessage, outgoing: ServerResponse, fate: 'pass' | 'lose-answer') {
  const { method, headers } = incoming
  const onward = request(`${target}${incoming.url}`, { method, headers, agent: false }, (answer) => {
    if (fate === 'lose-answer') {
      answer.resume()
      answer.once('end', () => outgoing.destroy())
      return
    }
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(outgoing)
  })
  onward.on('error', () => outgoing.destroy())
  incoming.pipe(onward)
}
