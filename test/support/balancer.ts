import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type Balancer = {
  baseUrl: string
  /** Responses and errors that a caller would see as failures. */
  failures: string[]
  isReady(upstream: string): boolean
  stop(): Promise<void>
}

const checkEveryMs = 200

/**
 * A load balancer: it sends requests to the services that are ready, in turn, on connections that it keeps. A request
 * goes to the next service, at last to one that is not ready, only if a connection was refused: a request that was sent
 * may have had its effect.
 */
export async function startBalancer(upstreams: string[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true })
  const ready = new Set<string>()
  const failures: string[] = []
  const stopping = new AbortController()
  let turn = 0
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const known = [...ready]
      const from = turn++ % Math.max(1, known.length)
      forward([...known.slice(from), ...known.slice(0, from), ...upstreams.filter((one) => !ready.has(one))])
    })

    function forward([upstream, ...others]: string[]): void {
      const what = `${incoming.method} ${incoming.url} at ${upstream ?? 'no service'}`
      if (upstream === undefined) {
        fail(what)
        return
      }
      const { host: _, connection: __, ...headers } = incoming.headers
      const sent = request(upstream + incoming.url, { method: incoming.method, headers, agent }, (answer) => {
        const { statusCode = 0 } = answer
        if (statusCode >= 500) failures.push(`${what}: ${statusCode}`)
        const { connection: ___, 'keep-alive': ____, ...rest } = answer.headers
        response.writeHead(statusCode, rest)
        answer.pipe(response)
        answer.once('error', (error) => {
          failures.push(`${what}: ${error.message}`)
          response.destroy()
        })
      })
      sent.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNREFUSED') forward(others)
        else fail(`${what}: ${error.message}`)
      })
      sent.end(Buffer.concat(chunks))
    }

    function fail(what: string): void {
      failures.push(what)
      if (!response.headersSent) response.writeHead(502)
      response.end()
    }
  })
  const checks = upstreams.map(async (upstream) => {
    while (!stopping.signal.aborted) {
      const isReady = await fetch(`${upstream}/health/ready`).then(
        async (answer) => {
          await answer.arrayBuffer()
          return answer.ok
        },
        () => false,
      )
      if (isReady) ready.add(upstream)
      else ready.delete(upstream)
      await sleep(checkEveryMs)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    failures,
    isReady: (upstream) => ready.has(upstream),
    async stop() {
      stopping.abort()
      await Promise.all(checks)
      agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
