import { createRegistry } from '../acquirers/registry.ts'
import { readConfig } from '../config.ts'
import { createLog } from '../log.ts'
import { openNetwork } from '../network.ts'
import { createSettlement, type SettleDeps } from '../transactions/settle.ts'
import { type Context, withContext } from './context.ts'

/** Runs a command that queries acquirers: those of ACQUIRERS_FILE, or the simulated network. */
export async function withAcquirers<Result>(work: (context: Context & SettleDeps) => Promise<Result>): Promise<Result> {
  return await withContext(async (context) => {
    const config = readConfig(process.env)
    const log = createLog({ ...config, logLevel: 'silent' })
    const { baseUrl } = context
    // This process receives no callbacks: the service finds the same payments by polling.
    const network = await openNetwork({ ...context, config, log, baseUrl, postCallback: async () => 503 })
    try {
      const acquirers = createRegistry(
        network.acquirers.map(({ acquirer }) => acquirer),
        network.routes,
        context.cell,
      )
      const settlement = createSettlement(context)
      return await work({ ...context, log, acquirers, settlement })
    } finally {
      await network.close()
    }
  })
}
