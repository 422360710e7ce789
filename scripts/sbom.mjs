import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Prints the components that run, in the service on each platform and in the dashboard's pages, as CycloneDX. It asks
 * npm about the lockfile without the tools of development: `npm sbom --omit dev` also leaves out what the program and a
 * tool both need, such as ajv, and what the build has copied into the dashboard's pages.
 */

const root = join(import.meta.dirname, '..')
const readText = (/** @type {string} */ name) => readFileSync(join(root, name), 'utf8')
const read = (/** @type {string} */ name) => JSON.parse(readText(name))

/** @typedef {{ dev?: boolean, devOptional?: boolean, link?: boolean, dependencies?: Record<string, string> }} Locked */
const lock = read('package-lock.json')
/** @type {Record<string, Locked>} */
const locked = lock.packages

const pages = readdirSync(join(root, 'dashboard/src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => readText(join('dashboard/src', name)))
/** @type {[string, string][]} */
const inPages = Object.entries(read('dashboard/package.json').devDependencies).filter(([name]) =>
  pages.some((text) => text.includes(` from '${name}'`) || text.includes(` from '${name}/`)),
)
/** @type {Set<string>} */
const pathsInPages = new Set()
for (const [name] of inPages) addPaths(`node_modules/${name}`)

/**
 * Adds a package and all that it needs, each where npm has put it.
 * @param {string} path
 */
function addPaths(path) {
  if (pathsInPages.has(path)) return
  pathsInPages.add(path)
  for (const name of Object.keys(locked[path]?.dependencies ?? {})) {
    const nested = `${path}/node_modules/${name}`
    addPaths(nested in locked ? nested : `node_modules/${name}`)
  }
}

const manifest = read('package.json')
Object.assign(manifest, { devDependencies: {}, workspaces: [] })
Object.assign(manifest.dependencies, Object.fromEntries(inPages))
const kept = Object.entries(locked)
  .filter(([path, { dev, devOptional, link }]) => path.startsWith('node_modules/') && !dev && !devOptional && !link)
  .concat([...pathsInPages].map((path) => [path, { ...locked[path], dev: false, devOptional: false }]))
lock.packages = Object.fromEntries([['', manifest], ...kept])

const folder = mkdtempSync(join(tmpdir(), 'guiche-sbom-'))
try {
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--omit', 'dev']
  process.stdout.write(execFileSync('npm', args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 }))
} finally {
  rmSync(folder, { recursive: true })
}
