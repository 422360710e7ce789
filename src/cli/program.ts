import { Command } from 'commander'
import { version } from '../version.ts'
import { toActor } from './arguments.ts'
import { printError } from './print.ts'

type Group = { names: string[]; load: () => Promise<(program: Command) => void> }

/** In the order of the help. Only the named command is loaded: loading all took most of the start time. */
const groups: Group[] = [
  {
    names: ['start', 'migrate', 'openapi', 'receiver', 'simulator'],
    load: async () => (await import('./service.ts')).serviceCommands,
  },
  {
    names: ['listen', 'tail', 'events', 'try', 'trigger', 'doctor', 'mcp'],
    load: async () => (await import('./developer.ts')).developerCommands,
  },
  { names: ['acquirer'], load: async () => (await import('./acquirer.ts')).acquirerCommands },
  { names: ['client'], load: async () => (await import('./client.ts')).clientCommands },
  { names: ['user'], load: async () => (await import('./user.ts')).userCommands },
  { names: ['rotate-signing-key', 'secret-key', 'cell'], load: async () => (await import('./keys.ts')).keysCommands },
  { names: ['transaction'], load: async () => (await import('./explain.ts')).transactionCommands },
  { names: ['withdrawal'], load: async () => (await import('./withdrawal.ts')).withdrawalCommands },
  { names: ['proposal'], load: async () => (await import('./proposal.ts')).proposalCommands },
  { names: ['infraction'], load: async () => (await import('./dispute.ts')).disputeCommands },
  { names: ['suspense'], load: async () => (await import('./suspense.ts')).suspenseCommands },
  { names: ['fee'], load: async () => (await import('./fee.ts')).feeCommands },
  { names: ['ledger'], load: async () => (await import('./ledger.ts')).ledgerCommands },
  { names: ['reconcile'], load: async () => (await import('./reconcile.ts')).reconcileCommands },
  { names: ['customer'], load: async () => (await import('./customer.ts')).customerCommands },
  { names: ['close'], load: async () => (await import('./close.ts')).closeCommands },
  { names: ['audit'], load: async () => (await import('./audit.ts')).auditCommands },
  { names: ['alert'], load: async () => (await import('./alert.ts')).alertCommands },
  { names: ['backup', 'restore'], load: async () => (await import('./backup.ts')).backupCommands },
]

/** The program with the commands named in `words`, or with all. */
export async function createProgram(words: string[] = []): Promise<Command> {
  const program = new Command('guiche')
    .description('A self-hosted PIX payment gateway. Configuration is read from the environment: see .env.example.')
    .version(version)
    .option('--as <name>', 'your name in the audit log (default: the operating system user)', toActor)
    .showHelpAfterError('Add --help to see the arguments and options of the command.')
  const named = groups.filter(({ names }) => names.some((name) => words.includes(name)))
  if (words.some((word) => ['--version', '-V'].includes(word)) && named.length === 0) return program
  // `guiche help client` and `guiche client --help` are about that command alone.
  const isHelpOfAll = named.length === 0 || ['--help', '-h'].includes(words[0] ?? '')
  for (const { load } of isHelpOfAll ? groups : named) {
    const addCommands = await load()
    addCommands(program)
  }
  return program
}

/** Runs one command. An error is printed for a person, and the process ends with 1. */
export async function runCommand(args: string[]): Promise<void> {
  try {
    const program = await createProgram(args)
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    printError(error)
    process.exitCode = 1
  }
}
