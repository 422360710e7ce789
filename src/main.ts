import { existsSync } from 'node:fs'
import { readConfig } from './config.ts'
import { createLog } from './log.ts'
import type { SandboxFile } from './sandbox-client.ts'
import { startService } from './service.ts'

/** A stop that takes longer than this is cut short: nothing is lost, since whatever was acknowledged is committed. */
const stopMaxMs = 30_000

if (existsSync('.env')) process.loadEnvFile('.env')
await main()

async function main(): Promise<void> {
  try {
    const config = readConfig(process.env)
    const log = createLog(config)
    if (Number(process.versions.node.split('.')[0]) < 22)
      log.warn({ node: process.version }, 'this Node.js is past its life: 24 is recommended')
    const service = await startService({ config, log })
    stopOnSignals(service.stop, log)
    if (service.newSandbox) print(welcome(service.newSandbox, config.dataDir))
    log.info({ baseUrl: service.baseUrl }, 'Guichê is ready')
  } catch (error) {
    process.stderr.write(`\nGuichê could not start.\n${error instanceof Error ? explain(error) : String(error)}\n\n`)
    process.exit(1)
  }
}

function stopOnSignals(
  stop: () => Promise<void>,
  log: { info(message: string): void; error(data: object, message: string): void },
): void {
  let isStopping = false
  const onSignal = () => {
    // Asked twice, it does not wait any longer.
    if (isStopping) process.exit(1)
    isStopping = true
    log.info('stopping: requests under way are answered first')
    setTimeout(() => process.exit(1), stopMaxMs).unref()
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'the stop failed')
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

function explain(error: Error): string {
  const cause = error.cause instanceof Error ? `\n  because: ${error.cause.message}` : ''
  // Our own sentences say what to do; the rest needs its stack.
  return error.name === 'Error' || error.name === 'ConfigError' ? `${error.message}${cause}` : `${error.stack}${cause}`
}

function welcome(sandbox: SandboxFile, dataDir: string): string {
  return `
  Guichê runs at ${sandbox.baseUrl} with a simulated Pix network: no real money moves.

  A client to play with (shown once, kept in ${dataDir}/sandbox.json):

    client_id       ${sandbox.clientId}
    client_secret   ${sandbox.clientSecret}
    webhook secret  ${sandbox.webhookSecret}

  API reference: ${sandbox.baseUrl}/docs     The sixty-second loop: README.md

`
}

function print(text: string): void {
  process.stdout.write(text)
}
