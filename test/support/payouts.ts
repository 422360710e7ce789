import type { Disturb } from '../../simulator/disturb.ts'
import { startSimulatorServer } from '../../simulator/server.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { type Db, sql } from '../../src/db/sql.ts'
import { manualClock } from './clock.ts'
import { createTestDatabase } from './database.ts'
import { post } from './requests.ts'
import { startTestService, type TestService } from './service.ts'
import { withRenewedToken } from './withdrawals.ts'

export type RemoteBank = {
  service: TestService
  simulator: Simulator
  /** The bank's own database. */
  db: Db
  /** Decides the fault of each request from now on. */
  disturb(by: Disturb): void
  /** Sets whether callbacks arrive. */
  sendCallbacks(isOn: boolean): void
  /** Posts a callback that says that a payout was made, whether it was or not. */
  postCallback(withdrawalId: string, more?: object): Promise<number>
  /** How many times a payout was requested, and how many the bank accepted (0 or 1). */
  countPayouts(withdrawalId: string): Promise<{ requested: number; made: number }>
  stop(): Promise<void>
}

/** A service whose bank is a server with a separate database. Requests and callbacks between them can be lost. */
export async function startRemoteBank({
  onLog,
}: {
  onLog?: (line: Record<string, unknown>) => void
} = {}): Promise<RemoteBank> {
  const clock = manualClock()
  const database = await createTestDatabase()
  const requested: string[] = []
  let disturb: Disturb = () => 'none'
  let sendsCallbacks = true
  const simulator = await createSimulator({
    pool: database.db.pool,
    clock,
    publicBaseUrl: 'http://127.0.0.1:1',
    sendCallback: async (url, body) => (sendsCallbacks ? await post(url, body) : 200),
    log: { warn: () => {} },
    disturb: (incoming) => {
      if (incoming.method === 'PUT') requested.push(incoming.path)
      return disturb(incoming)
    },
  })
  const server = await startSimulatorServer({ simulator, host: '127.0.0.1', port: 0 })
  const environment = { SIMULATOR_URL: server.url, TOKEN_LIFETIME_SECONDS: '86400' }
  const service = withRenewedToken(await startTestService({ clock, environment, onLog }))
  return {
    service,
    simulator,
    db: database.db,
    disturb: (by) => {
      disturb = by
    },
    sendCallbacks: (isOn) => {
      sendsCallbacks = isOn
    },
    async postCallback(withdrawalId, more) {
      const [row] = await database.db.query<{ url: string }>(sql`select url from simulator.webhooks`)
      const gnExtras = { idEnvio: withdrawalId.replaceAll('-', '') }
      const entry = { endToEndId: `E${'0'.repeat(31)}`, status: 'REALIZADO', gnExtras, ...more }
      return await post(`${row?.url}/pix`, { pix: [entry] })
    },
    async countPayouts(withdrawalId) {
      const id = withdrawalId.replaceAll('-', '')
      const rows = await database.db.query(sql`select from simulator.payouts where id = ${id}`)
      return { requested: requested.filter((path) => path.endsWith(id)).length, made: rows.length }
    },
    async stop() {
      await service.stop()
      await server.close()
      await simulator.close()
      await database.drop()
    },
  }
}
