import { userInfo } from 'node:os'
import type { Command } from 'commander'
import type { By } from '../audit/record.ts'

/** Who uses the command line, as the audit log names people. */
export function byOf(program: Command): By {
  const { as } = program.opts<{ as?: string }>()
  const login = userName()
  // If `--as` names another person, the operating system's user is recorded as well.
  return as === undefined ? { actor: `cli:${login}` } : { actor: `cli:${as}`, login }
}

/** The operating system's user. In a container the user may have a number but no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`
  }
}
