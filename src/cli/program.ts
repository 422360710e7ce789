import { Command, CommanderError } from 'commander'
import { version } from '../version.ts'
import { toActor } from './arguments.ts'
import { printError } from './print.ts'

type Group = {
  /** What the general help says of each: its arguments, and a summary. */
  commands: Record<string, string>
  load: () => Promise<(program: Command) => void>
}

/** In the order of the help. Only the group of the named command is loaded: loading all took most of the start time. */
const groups: Group[] = [
  {
    commands: {
      start: 'run the service',
      'migrate [options]': 'migrate the database schema (the service does so at each start)',
      openapi: 'print the OpenAPI document',
      'receiver [options]': 'run a sample webhook receiver that verifies and prints what it gets',
      'simulator [options]': 'run the simulated PIX network as a separate server, like a PSP',
    },
    load: async () => (await import('./service.ts')).serviceCommands,
  },
  {
    commands: {
      'listen [options]': 'send each event to an address of this machine, signed',
      'tail [options]': 'print events as they happen',
      events: 'events of transactions and withdrawals',
      'try [options]': 'create a test charge, pay it, and show each step with its time',
      'trigger [options] <type>': 'cause an event in the sandbox: creates and does what leads to it',
      'cancel [options] <id>': 'cancel an open charge, so that nobody can pay it',
      'doctor [options] [receiver]': 'check the connection, the credentials and, with its address, a webhook receiver',
      'mcp [options]': 'serve an AI assistant (Model Context Protocol, on standard input)',
    },
    load: async () => (await import('./developer.ts')).developerCommands,
  },
  {
    commands: { acquirer: 'the accounts at PSPs that ACQUIRERS_FILE defines' },
    load: async () => (await import('./acquirer.ts')).acquirerCommands,
  },
  {
    commands: { client: 'API clients: each is one merchant' },
    load: async () => (await import('./client.ts')).clientCommands,
  },
  { commands: { user: 'dashboard users' }, load: async () => (await import('./user.ts')).userCommands },
  {
    commands: {
      'rotate-signing-key [options]': 'sign access tokens with a new key from now on; existing tokens stay valid',
      'secret-key': 'make a value for SECRET_KEY',
      'cell [options] <names...>':
        'what the ids, tokens and addresses of a cell begin with, for the configuration of a proxy',
    },
    load: async () => (await import('./keys.ts')).keysCommands,
  },
  {
    commands: { transaction: 'inspect a transaction' },
    load: async () => (await import('./explain.ts')).transactionCommands,
  },
  {
    commands: { withdrawal: 'withdrawals: reviews and limits' },
    load: async () => (await import('./withdrawal.ts')).withdrawalCommands,
  },
  {
    commands: { proposal: 'what one person proposed and another has to approve' },
    load: async () => (await import('./proposal.ts')).proposalCommands,
  },
  {
    commands: {
      infraction: 'disputes of payments (MED): entering those that the acquirer does not report, and decisions',
    },
    load: async () => (await import('./dispute.ts')).disputeCommands,
  },
  {
    commands: { suspense: 'payments in suspense: unattributed or duplicate' },
    load: async () => (await import('./suspense.ts')).suspenseCommands,
  },
  { commands: { fee: 'fees of API clients' }, load: async () => (await import('./fee.ts')).feeCommands },
  {
    commands: { ledger: 'verify the ledger, freeze and release payouts, and post the operator’s entries' },
    load: async () => (await import('./ledger.ts')).ledgerCommands,
  },
  {
    commands: { reconcile: 'compare acquirers with the ledger' },
    load: async () => (await import('./reconcile.ts')).reconcileCommands,
  },
  {
    commands: { customer: 'export or erase the data of a person (LGPD)' },
    load: async () => (await import('./customer.ts')).customerCommands,
  },
  {
    commands: { close: 'daily close: reconcile, total and sign a day in Brasília time' },
    load: async () => (await import('./close.ts')).closeCommands,
  },
  { commands: { audit: 'the log of manual actions' }, load: async () => (await import('./audit.ts')).auditCommands },
  { commands: { alert: 'how alerts reach people' }, load: async () => (await import('./alert.ts')).alertCommands },
  {
    commands: {
      'backup [options] <file>': 'copy the embedded database into one file, while the service runs',
      'restore [options] <file>': 'restore a backup into a DATA_DIR without a database; payouts start frozen',
    },
    load: async () => (await import('./backup.ts')).backupCommands,
  },
]

/**
 * The program with the commands whose names are among `words`, and the others of their groups. If there are none, or
 * the first word asks for the general help, it has only the names and summaries of all commands, as that help and the
 * error show them.
 */
export async function createProgram(words: string[]): Promise<Command> {
  const program = new Command('guiche')
    .description('A self-hosted PIX payment gateway. Configuration is read from the environment: see .env.example.')
    .version(version)
    .option('--as <name>', 'your name in the audit log (default: the operating system user)', toActor)
    .showHelpAfterError('Add --help to see the arguments and options of the command.')
    // Otherwise Commander ends the process, whose last output may not have been written yet.
    .exitOverride()
  const named = groups.filter(({ commands }) => Object.keys(commands).some((term) => words.includes(toName(term))))
  // `guiche help client` and `guiche client --help` are about that command alone.
  if (named.length === 0 || ['--help', '-h'].includes(words[0] ?? '')) {
    for (const { commands } of groups)
      for (const [term, summary] of Object.entries(commands)) program.command(term).description(summary)
    return program
  }
  for (const { commands, load } of named) {
    const addCommands = await load()
    addCommands(program)
    for (const [term, summary] of Object.entries(commands))
      program.commands.find((command) => command.name() === toName(term))?.description(summary)
  }
  return program
}

/** The names of all commands. */
export const commandNames = groups.flatMap(({ commands }) => Object.keys(commands).map(toName))

function toName(term: string): string {
  return term.split(' ', 1)[0] ?? term
}

/** Runs one command. An error is printed for a person, and the process ends with 1. */
export async function runCommand(args: string[]): Promise<void> {
  try {
    const program = await createProgram(args)
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    // The help, or what is wrong with the arguments: it is printed already.
    const isPrinted = error instanceof CommanderError
    if (!isPrinted) printError(error)
    process.exitCode = isPrinted ? error.exitCode : 1
  }
}
