import { execFileSync } from 'node:child_process'
import { arch, cpus, release, totalmem, type } from 'node:os'
import { packageFolder } from '../src/db/migrate.ts'

/** When the benchmark ran and for how long, on which commit and which machine. */
export function describeMachine(startedAt: Date): string {
  const [cpu] = cpus()
  const minutes = ((Date.now() - startedAt.getTime()) / 60_000).toFixed(1)
  return [
    `${startedAt.toISOString().slice(0, 16)}Z, ${minutes} minutes; commit ${commit()}.`,
    `${cpu?.model.trim() ?? arch()}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB; ${type()} ${release()}; Node.js ${process.version}.`,
    'Guichê, PostgreSQL, the compared servers and the load generator share these cores. Timings vary from run to run: compare ratios.',
  ].join('  \n')
}

function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: packageFolder(), encoding: 'utf8' }).trim()
  try {
    const measured = ['src', 'simulator', 'qr-png', 'migrations', 'bench/*.ts']
    const isDirty = git('status', '--porcelain', '--untracked-files=no', '--', ...measured) !== ''
    return `${git('rev-parse', '--short', 'HEAD')}${isDirty ? ' with changes' : ''}`
  } catch {
    return 'unknown'
  }
}
