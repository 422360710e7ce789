import type { Command } from 'commander'
import { findSchemaStatus, migrationsFolder, type SchemaStatus } from '../db/migrate.ts'
import { withDatabase } from './context.ts'
import { print, write } from './print.ts'
import { simulatorCommands, toPort } from './simulator.ts'

export function serviceCommands(program: Command): void {
  program.command('start').action(async () => {
    await import('../main.ts')
  })

  program
    .command('migrate')
    .option('--status', 'only show what is applied and what is pending; exits with 1 if the service cannot run on it')
    .option('--json', 'print JSON')
    .action(async ({ json, status: isStatus }: { json?: boolean; status?: boolean }) => {
      const status = await withDatabase(isStatus ? 'ignore' : 'migrate', async (db) => {
        return await findSchemaStatus(db, { folder: migrationsFolder() })
      })
      if (json) print(status, { json })
      else write(describe(status))
      if (status.state === 'too_new') process.exitCode = 1
    })

  program.command('openapi').action(async () => {
    const { describeApi } = await import('../openapi.ts')
    print(await describeApi(), { json: true })
  })

  program
    .command('receiver')
    .option('--port <port>', 'port to listen on', toPort, 4000)
    .option('--secret <secret...>', 'webhook secrets to verify with (default: that of the sandbox client)')
    .action(async (options: { port: number; secret?: string[] }) => {
      const { runReceiver } = await import('./receiver.ts')
      await runReceiver(options)
    })

  simulatorCommands(program)
}

function describe({ state, applied, pending, unknown }: SchemaStatus): string {
  const last = applied.at(-1) ?? 'none'
  if (state === 'older')
    return `Last migration: ${last}.\nPending: ${pending.join(', ')}. The next start of the service applies them, or \`npx guiche migrate\`.\n`
  if (state === 'newer')
    return `A later version has applied ${unknown.join(', ')}. This version runs on that schema as well.\n`
  if (state === 'too_new')
    return `A later version has applied ${unknown.join(', ')}. This version does not run on that schema.\n`
  return `The database schema is up to date. Last migration: ${last}.\n`
}
