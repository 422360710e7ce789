import type { Command } from 'commander'
import { explainCommand } from './explain.ts'

/** `guiche transaction …` */
export function transactionCommands(program: Command): void {
  explainCommand(program.command('transaction').description('transactions: how one came to be as it is'))
}
