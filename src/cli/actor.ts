import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { type Action, recordedDb } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { Context } from './context.ts'

/** Who does something and what, as the audit log has it. */
export function actionOf(program: Command, { clock }: Context, action: Omit<Action, 'actor' | 'now'>): Action {
  const { as } = program.opts<{ as?: string }>()
  const user = userName()
  // Whoever speaks for another is named as well.
  const details = as === undefined ? action.details : { ...action.details, by: user }
  return { ...action, actor: actorOf(program), ...(details && { details }), now: clock.now() }
}

/** Who uses the command line, as the audit log names people. */
export function actorOf(program: Command): string {
  return `cli:${program.opts<{ as?: string }>().as ?? userName()}`
}

/** The database for an operation that is then in the audit log, in its own commit. */
export function recorded(program: Command, context: Context, action: Omit<Action, 'actor' | 'now'>): Db {
  return recordedDb(context.db, actionOf(program, context, action))
}

/** The operating system's user. In a container it may have a number and no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`
  }
}
