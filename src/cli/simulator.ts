import { type Command, InvalidArgumentError, Option } from 'commander'
import { dialectNames } from '../../simulator/dialects.ts'
import { behaviours, presetNames } from '../../simulator/faults/traits.ts'
import { toCentsAboveZero } from './arguments.ts'
import type { SimulatorRun } from './simulator-run.ts'

const examples = `
Examples:
  $ npx guiche simulator                          for a Guichê with SIMULATOR_URL
  $ npx guiche simulator --dialect efi --tls      speaks Efí’s dialect over mutual TLS;
                                                  writes and prints a settings file for ACQUIRERS_FILE
  $ npx guiche simulator --dialect bb --quirk repeatedCharge=refused --quirk payer=none
  $ npx guiche simulator --quirk help             what each quirk can be
  $ npx guiche simulator --personality hostile --seed 7
  $ npx guiche simulator pay '00020101021226…'    pay a code, at the simulator that runs on this DATA_DIR

It has a PostgreSQL of its own under DATA_DIR/simulator, or uses DATABASE_URL. More in docs/simulator.md.`

/** `guiche simulator`: the simulated Pix network as a separate server, reached like a PSP. */
export function simulatorCommands(program: Command): void {
  const simulator = program
    .command('simulator')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on', toPort, 4010)
    .option('--base-url <url>', 'public address, if not --host and --port; it is part of every QR code')
    .option('--dialect <name>', `PSP whose API Pix dialect it speaks: ${dialectNames.join(', ')}`)
    .option('--quirk <name=value>', 'change one detail of the dialect; repeatable', collect)
    .option('--tls', 'serve over TLS, and require a client certificate of its own CA, except for /qr/…')
    .option('--tls-dir <folder>', 'folder of the certificates, created if absent (default: DATA_DIR/simulator/tls)')
    .option('--callback-ca <file>', 'additional CA certificates (PEM) to trust when sending callbacks')
    .option('--personality <name>', `which faults the bank injects, kept until changed: ${presetNames.join(', ')}`)
    .option(
      '--seed <number>',
      'the same seed injects the same faults into the same payments (default: 1 with --personality, otherwise unchanged)',
      toSeed,
    )
    .option(
      '--control-token <token>',
      'token for POST /sandbox/… (default: generated at the first start, and printed)',
      toToken,
    )
    .addHelpText('after', examples)
    .action(async (options: SimulatorRun) => {
      const { runSimulator } = await import('./simulator-run.ts')
      await runSimulator(options)
    })

  simulator
    .command('pay <code>')
    .description('pay a code as the payer, at the simulator that runs on this DATA_DIR')
    .option('--amount <cents>', 'pay a different amount than the code requests', toCentsAboveZero)
    .addOption(
      new Option('--behaviour <name>', 'the fault to inject, or honest for none (docs/sandbox.md)').choices([
        'honest',
        ...behaviours,
      ]),
    )
    .action(async (uri: string, { amount, behaviour }: { amount?: number; behaviour?: string }) => {
      const { payAtSimulator } = await import('./simulator-pay.ts')
      await payAtSimulator({
        uri,
        ...(amount !== undefined && { amount }),
        ...(behaviour !== undefined && { behaviour }),
      })
    })
}

export function toPort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > 65_535)
    throw new InvalidArgumentError('A whole number from 1 to 65535.')
  return Number(text)
}

function toSeed(text: string): number {
  const seed = Number(text)
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(seed))
    throw new InvalidArgumentError('A whole number from 0 to 9007199254740991.')
  return seed
}

function toToken(text: string): string {
  if (!/^[\w.~-]{16,128}$/.test(text)) throw new InvalidArgumentError('16 to 128 letters, digits and . ~ _ -')
  return text
}

function collect(text: string, before: string[] = []): string[] {
  return [...before, text]
}
