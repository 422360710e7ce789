import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { type Action, recordedDb } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { Context } from './context.ts'

/** An action for the audit log, with who performs it. */
export function actionOf(program: Command, { clock }: Context, action: Omit<Action, 'actor' | 'now'>): Action {
  const { as } = program.opts<{ as?: string }>()
  const user = userName()
  // If `--as` names another person, the operating system's user is recorded as well.
  const details = as === undefined ? action.details : { ...action.details, by: user }
  return { ...action, actor: actorOf(program), ...(details && { details }), now: clock.now() }
}

/** Who uses the command line, as the audit log names people. */
export function actorOf(program: Command): string {
  return `cli:${program.opts<{ as?: string }>().as ?? userName()}`
}

/** A database handle that adds the action to the audit log in the same commit as the operation. */
export function recorded(program: Command, context: Context, action: Omit<Action, 'actor' | 'now'>): Db {
  return recordedDb(context.db, actionOf(program, context, action))
}

/** The operating system's user. In a container the user may have a number but no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`
  }
}
