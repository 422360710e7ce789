// Runs the service and restarts it at each save. Node.js 22.18 and later run the sources. For an older version, the
// bundler builds them again at each save, and Node.js watches its output.
import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const runsSources = process.features.typescript === 'strip'

/** @param {string[]} args */
const build = (...args) =>
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), ...args], { stdio: 'inherit' })

/**
 * In a process group of its own, so that a signal from the terminal reaches it only once, through this process.
 * @param {string[]} args
 */
const start = (...args) => spawn(process.execPath, args, { cwd: root, stdio: 'inherit', detached: true })

// The pages that the service serves are built for every version.
build(...(runsSources ? ['--workspaces'] : []))
const children = runsSources
  ? [start('--watch', 'src/main.ts')]
  : [start('scripts/bundle.mjs', 'dist', '--watch'), start('--watch', 'dist/src/main.js')]
// A closed terminal (SIGHUP) signals only this process, because the children are in other groups. They take SIGTERM.
for (const signal of /** @type {const} */ (['SIGHUP', 'SIGINT', 'SIGTERM']))
  process.on(signal, () => {
    for (const { pid, exitCode, signalCode } of children)
      if (pid !== undefined && exitCode === null && signalCode === null)
        process.kill(-pid, signal === 'SIGHUP' ? 'SIGTERM' : signal)
  })
