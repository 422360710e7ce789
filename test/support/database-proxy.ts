import { connect, createServer, type Socket } from 'node:net'

export type DatabaseProxy = {
  /** The address of a database behind this proxy. */
  connectionString: string
  /** From now on the open connections lose everything that is sent on them, in both directions. New ones work. */
  loseConnections(): void
  /**
   * Waits for a transaction, or a statement on its own, that has all these texts: in this order if in separate
   * messages. The server gets it, but its next answer that ends a statement is lost, and the connection ends. Resolves
   * then.
   */
  loseAnswerTo(...texts: string[]): Promise<void>
  /** Ends all connections and refuses new ones, until it is called with false. */
  setDown(isDown: boolean): void
  /** The number of open connections. */
  count(): number
  stop(): Promise<void>
}

type Connection = { client: Socket; server: Socket; isLost: boolean }

/** A proxy between a service and its PostgreSQL that behaves like a bad network. */
export async function openDatabaseProxy(target: string): Promise<DatabaseProxy> {
  const url = new URL(target)
  const host = url.searchParams.get('host') ?? url.hostname
  const port = url.searchParams.get('port') ?? (url.port || '5432')
  const connections = new Set<Connection>()
  let toLose: { texts: string[]; done: () => void } | null = null
  let isDown = false
  const proxy = createServer((client) => {
    if (isDown) return void client.destroy()
    const server = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(Number(port), host)
    const one: Connection = { client, server, isLost: false }
    connections.add(one)
    const end = () => {
      connections.delete(one)
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) socket.on('error', end).on('close', end)
    let onAnswerLost: (() => void) | null = null
    let seen = 0
    client.on('data', (data) => {
      if (one.isLost) return
      while (toLose !== null && data.includes(toLose.texts[seen] ?? '')) {
        seen += 1
        if (seen < toLose.texts.length) continue
        onAnswerLost = toLose.done
        toLose = null
      }
      server.write(data)
    })
    server.on('data', (data) => {
      if (one.isLost) return
      const isReady = data.subarray(-6, -1).equals(readyForQuery)
      if (isReady && data.at(-1) === outsideTransaction) seen = 0
      if (onAnswerLost === null) client.write(data)
      // The server has answered at least one statement sent so far; what was sent after that one may still be running.
      else if (isReady) {
        end()
        onAnswerLost()
      }
    })
  })
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  const address = proxy.address()
  const own = new URL(target)
  own.search = ''
  own.hostname = '127.0.0.1'
  own.port = String(typeof address === 'object' && address ? address.port : 0)
  return {
    connectionString: own.href,
    loseConnections() {
      for (const one of connections) one.isLost = true
    },
    loseAnswerTo: async (...texts) =>
      await new Promise((done) => {
        toLose = { texts, done }
      }),
    setDown(down) {
      isDown = down
      if (down) for (const { client } of connections) client.destroy()
    },
    count: () => connections.size,
    stop: async () =>
      await new Promise((done) => {
        proxy.close(() => done())
        for (const { client } of connections) client.destroy()
      }),
  }
}

/** Of the protocol's message ReadyForQuery: all but its last byte, the state of the transaction. */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5])
const outsideTransaction = 0x49
