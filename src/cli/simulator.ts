import { join } from 'node:path'
import { request } from 'undici'
import { startSimulatorServer } from '../../simulator/server.ts'
import { createSimulator } from '../../simulator/simulator.ts'
import { readConfig } from '../config.ts'
import { startEmbeddedPostgres } from '../db/embedded.ts'
import { connect } from '../db/sql.ts'
import { systemClock } from '../lib/clock.ts'
import { createLog } from '../log.ts'
import { write } from './print.ts'

const callbackTimeoutMs = 10_000

/** Runs the simulated network by itself until a signal comes, on a database of its own. */
export async function runSimulator({ host, port }: { host: string; port: number }): Promise<void> {
  const config = readConfig(process.env)
  const log = createLog(config)
  const server =
    config.databaseUrl === null
      ? await startEmbeddedPostgres({ dataDir: join(config.dataDir, 'simulator'), log })
      : null
  const db = connect({
    connectionString: server?.connectionString ?? config.databaseUrl ?? '',
    connectionsMax: config.databaseConnectionsMax,
    onError: ({ name, message }) => log.warn({ name, reason: message }, 'an idle database connection broke'),
  })
  const simulator = await createSimulator({
    pool: db.pool,
    clock: systemClock,
    publicBaseUrl: `http://${host}:${port}`,
    sendCallback: postCallback,
    log,
  })
  const running = await startSimulatorServer({ simulator, host, port })
  write(`The simulated PIX network answers at ${running.url}. Start Guichê with SIMULATOR_URL=${running.url}\n`)

  let isStopping = false
  const stop = async () => {
    if (isStopping) return
    isStopping = true
    await running.close()
    await simulator.close()
    await db.pool.end()
    await server?.stop()
  }
  process.on('SIGTERM', () => void stop())
  process.on('SIGINT', () => void stop())
}

async function postCallback(url: string, body: unknown): Promise<number> {
  const answer = await request(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
    signal: AbortSignal.timeout(callbackTimeoutMs),
  })
  await answer.body.dump()
  return answer.statusCode
}
