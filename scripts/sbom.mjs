import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Prints the components that run, on each platform, as CycloneDX. It asks npm about the lockfile without the tools of
 * development: `npm sbom --omit dev` also leaves out what the program and a tool both need, such as ajv.
 */

const root = join(import.meta.dirname, '..')
const read = (/** @type {string} */ name) => JSON.parse(readFileSync(join(root, name), 'utf8'))
const isTool = (/** @type {string} */ path) => path.startsWith('tools/') || path === 'node_modules/@guiche/document'

const manifest = { ...read('package.json'), devDependencies: {}, workspaces: [] }
const lock = read('package-lock.json')
/** @typedef {{ dev?: boolean, devOptional?: boolean, link?: boolean, devDependencies?: object }} Locked */
const kept = Object.entries(/** @type {Record<string, Locked>} */ (lock.packages)).filter(
  ([path, { dev, devOptional }]) => path.startsWith('node_modules/') && !dev && !devOptional && !isTool(path),
)
lock.packages = Object.fromEntries([['', manifest], ...kept.filter(([, { link }]) => !link)])

const folder = mkdtempSync(join(tmpdir(), 'guiche-sbom-'))
try {
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--omit', 'dev']
  process.stdout.write(execFileSync('npm', args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 }))
} finally {
  rmSync(folder, { recursive: true })
}
