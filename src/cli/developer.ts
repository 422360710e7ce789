import { Argument, type Command, Option } from 'commander'
import { inReais } from '../lib/money.ts'
import { toCentsAboveZero, toId } from './arguments.ts'
import { type ConnectOptions, connect, withConnection } from './developer/connect.ts'
import { runTrigger, type Triggered, triggered } from './developer/trigger.ts'
import { print } from './print.ts'

type ChargeOptions = ConnectOptions & { amount?: number; webhookUrl?: string; externalCode?: string; json?: boolean }

/**
 * For a merchant's developer. These commands know only the HTTP API and a client's credentials, so they work from any
 * machine that reaches the service.
 */
export function developerCommands(program: Command): void {
  withFilters(withConnection(program.command('listen')))
    .requiredOption('--forward-to <url>', 'address of the receiver, such as http://localhost:8000/pix')
    .addOption(
      new Option('--from <where>', 'where to begin').choices(['last', 'start', 'end']).default('last', 'the last run'),
    )
    .option('--secret <secret>', secretOption)
    .option('--json', 'print one JSON value for each event')
    .action(async (options: FollowOptions & { forwardTo: string; from: 'last' | 'start' | 'end' }) => {
      const { runListen } = await import('./developer/follow.ts')
      await runListen(options)
    })

  withFilters(withConnection(program.command('tail')))
    .addOption(new Option('--from <where>', 'where to begin').choices(['start', 'end']).default('end'))
    .option('--json', 'print one JSON value for each event')
    .action(async (options: FollowOptions & { from: 'start' | 'end' }) => {
      const { runTail } = await import('./developer/follow.ts')
      await runTail(options)
    })

  const events = program.command('events')
  withConnection(events.command('resend').description('send an event again').argument('<id>', 'id of the event', toId))
    .option('--forward-to <url>', 'send it from here to this address, instead of to those that it was sent to')
    .option('--secret <secret>', secretOption)
    .action(async (id: string, options: ConnectOptions & { forwardTo?: string; secret?: string }) => {
      const { runResend } = await import('./developer/follow.ts')
      await runResend(id, options)
    })

  withConnection(program.command('try'))
    .option('--amount <cents>', 'amount of the charge', toCentsAboveZero, 2590)
    .option('--webhook-url <url>', 'address that gets its webhooks')
    .option('--json', 'print JSON')
    .action(async (options: ChargeOptions & { amount: number }) => {
      const { runTry } = await import('./developer/try.ts')
      await runTry(options)
    })

  withConnection(program.command('trigger').addArgument(new Argument('<type>', 'the event').choices(triggered)))
    .option('--amount <cents>', 'amount of the record', toCentsAboveZero)
    .option('--webhook-url <url>', 'address that gets its webhooks')
    .option('--external-code <code>', 'your own number of the order')
    .option('--json', 'print JSON')
    .action(async (type: Triggered, options: ChargeOptions) => {
      await runTrigger(type, options)
    })

  withConnection(program.command('cancel').argument('<id>', 'id of the transaction', toId))
    .option('--json', 'print JSON')
    .action(async (id: string, { json, ...options }: ConnectOptions & { json?: boolean }) => {
      const { guiche } = await connect(options)
      const { status, failureCode = null, externalCode = null, amount } = await guiche.transactions.cancel(id)
      const canceled = { id, status, failureCode, externalCode, amount }
      print(canceled, { json, shown: { ...canceled, amount: inReais(amount) }, note: 'Nobody can pay it any more.' })
    })

  withConnection(
    program
      .command('doctor')
      .argument('[receiver]', 'address of a webhook receiver, such as http://localhost:8000/pix'),
  )
    .option('--secret <secret>', secretOption)
    .addOption(
      new Option('--event <type>', 'event that is sent; it names no real record')
        .choices(triggered)
        .default('transaction.pix_qrcode_generated'),
    )
    .option('--json', 'print JSON')
    .action(async (receiver: string | undefined, options: ConnectOptions & DoctorOptions) => {
      const { runDoctor } = await import('./developer/doctor.ts')
      await runDoctor(receiver, options)
    })

  withConnection(program.command('mcp'))
    .option('--allow-charges', 'also create and pay charges; only where the acquirer is the simulator')
    .action(async (options: ConnectOptions & { allowCharges?: boolean }) => {
      const { runMcp } = await import('./developer/mcp.ts')
      await runMcp(options)
    })
}

const secretOption = 'webhook secret of the receiver (or GUICHE_WEBHOOK_SECRET, or that of the sandbox)'

type FollowOptions = ConnectOptions & { type?: Triggered[]; record?: string; secret?: string; json?: boolean }

function withFilters(command: Command): Command {
  return command
    .addOption(new Option('--type <type...>', 'only these events').choices([...triggered, 'withdrawal.rejected']))
    .option('--record <id>', 'only those of one transaction or withdrawal', toId)
}

type DoctorOptions = { secret?: string; event: Triggered; json?: boolean }
