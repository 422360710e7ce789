import type { Command } from 'commander'
import { withContext } from './context.ts'
import { print, write } from './print.ts'
import { simulatorCommands } from './simulator.ts'

export function serviceCommands(program: Command): void {
  program
    .command('start')
    .description('run the service')
    .action(async () => {
      await import('../main.ts')
    })

  program
    .command('migrate')
    .description('migrate the database schema (the service does so at each start)')
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

  simulatorCommands(program)
}
