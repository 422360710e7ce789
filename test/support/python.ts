import { spawnSync } from 'node:child_process'

/**
 * The first Python 3.10 or later that has these modules: that of the PATH, or the system's, where packages of the
 * distribution are. Null if there is none.
 */
export function findPython(...modules: string[]): string | null {
  const program = `import ${['sys', ...modules].join(', ')}; sys.exit(sys.version_info < (3, 10))`
  const found = ['python3', '/usr/bin/python3'].find(
    (python) => spawnSync(python, ['-c', program], { stdio: 'ignore' }).status === 0,
  )
  return found ?? null
}
