import type { Command } from 'commander'
import { explainCommand } from './explain.ts'

/** `guiche transaction …` */
export function transactionCommands(program: Command): void {
  explainCommand(program.command('transaction').description('inspect a transaction'))
}
