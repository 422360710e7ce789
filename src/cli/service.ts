import type { Command } from 'commander'
import { withContext } from './context.ts'
import { print, write } from './print.ts'

export function serviceCommands(program: Command): void {
  program
    .command('start')
    .description('run the service')
    .action(async () => {
      await import('../main.ts')
    })

  program
    .command('migrate')
    .description('bring the database schema up to date (the service does so at each start)')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      await withContext(async () => {})
      if (json) print({ migrated: true }, { json })
      else write('The database schema is up to date.\n')
    })

  program
    .command('openapi')
    .description('print the OpenAPI document')
    .action(async () => {
      const { describeApi } = await import('../openapi.ts')
      print(await describeApi(), { json: true })
    })

  program
    .command('simulator')
    .description('run the simulated PIX network by itself, for a gateway with SIMULATOR_URL')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on', '4010')
    .action(async ({ host, port }: { host: string; port: string }) => {
      const { runSimulator } = await import('./simulator.ts')
      await runSimulator({ host, port: Number(port) })
    })
}
