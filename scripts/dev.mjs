// Runs the service and restarts it at each save. Node.js from 22.18 on runs the sources; before, the compiler watches
// them and Node.js its output.
import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const runsSources = process.features.typescript === 'strip'

/** @param {string[]} args */
const build = (...args) =>
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), ...args], { stdio: 'inherit' })

/**
 * In a process group of its own: the compiler's launcher passes no signal on to the compiler.
 * @param {string[]} args
 */
const start = (...args) => spawn(process.execPath, args, { cwd: root, stdio: 'inherit', detached: true })

// Pages that the service serves are built in any case.
build(...(runsSources ? ['--workspaces'] : []))
const tsc = join(root, 'node_modules/typescript/bin/tsc')
const children = runsSources
  ? [start('--watch', 'src/main.ts')]
  : [start(tsc, '-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'), start('--watch', 'dist/src/main.js')]
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.on(signal, () => {
    for (const { pid } of children) if (pid !== undefined) process.kill(-pid, signal)
  })
