// Runs the service and restarts it at each save. Node.js from 22.18 on runs the sources; before, the bundler watches
// them and Node.js its output.
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

// Pages that the service serves are built in any case.
build(...(runsSources ? ['--workspaces'] : []))
const children = runsSources
  ? [start('--watch', 'src/main.ts')]
  : [start('scripts/bundle.mjs', 'dist', '--watch'), start('--watch', 'dist/src/main.js')]
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.on(signal, () => {
    for (const { pid } of children) if (pid !== undefined) process.kill(-pid, signal)
  })
