import { Command } from 'commander'
import { version } from '../version.ts'
import { acquirerCommands } from './acquirer.ts'
import { toActor } from './arguments.ts'
import { auditCommands } from './audit.ts'
import { clientCommands } from './client.ts'
import { closeCommands } from './close.ts'
import { feeCommands } from './fee.ts'
import { infractionCommands } from './infraction.ts'
import { keysCommands } from './keys.ts'
import { ledgerCommands } from './ledger.ts'
import { orphanCommands } from './orphan.ts'
import { reconcileCommands } from './reconcile.ts'
import { seedCommands } from './seed.ts'
import { serviceCommands } from './service.ts'
import { transactionCommands } from './transaction.ts'
import { userCommands } from './user.ts'
import { withdrawalCommands } from './withdrawal.ts'

/** All that `guiche` can do. */
export function createProgram(): Command {
  const program = new Command('guiche')
    .description('A self-hosted PIX payment gateway. Configuration is read from the environment: see .env.example.')
    .version(version)
    .option('--as <name>', 'who does this, for the audit log (default: the user of the operating system)', toActor)
    .showHelpAfterError()

  serviceCommands(program)
  acquirerCommands(program)
  clientCommands(program)
  userCommands(program)
  keysCommands(program)
  transactionCommands(program)
  withdrawalCommands(program)
  infractionCommands(program)
  orphanCommands(program)
  feeCommands(program)
  ledgerCommands(program)
  reconcileCommands(program)
  closeCommands(program)
  auditCommands(program)
  seedCommands(program)
  return program
}
