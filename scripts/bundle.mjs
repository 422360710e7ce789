// Bundles the service: reading each module from its own file would take a third of a start. Builds the programs, and
// the modules that are named, into a folder (dist by default) with the layout of the sources. Types are not checked:
// `npm run types` does that.
//
//   node scripts/bundle.mjs [--watch] [folder [module …]]
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, resolve } from 'node:path'
import { rolldown, watch } from 'rolldown'

const root = join(import.meta.dirname, '..')
/** @type {{ dependencies: Record<string, string>, peerDependencies: Record<string, string> }} */
const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const programs = ['src/main', 'src/cli/main', 'src/cli/program', 'src/db/embedded-launcher', 'scripts/sdk-php-types']
/**
 * Packages that are copied into the bundle with all that they need: those that nearly every process loads. Reading their
 * 500 files would take a fifth of a start. They stay among the dependencies, so that `npm sbom` and `npm audit` know
 * them. The other packages are not copied: they find their own files by path, or few processes load them.
 */
const copied = [
  '@brazilian-utils/brazilian-utils',
  '@fastify/fast-json-stringify-compiler',
  '@fastify/static',
  'ajv',
  'ajv-formats',
  'commander',
  'cookie',
  'fastify',
  'helmet',
  'ipaddr.js',
  'jose',
  'negotiator',
  'otpauth',
  'pg',
  'pino',
  'prom-client',
  'qr',
  'sql-template-tag',
  'typebox',
  'undici',
]
/** The copied packages import these only in Cloudflare Workers, or with a driver that is not installed. */
const elsewhere = ['pg-cloudflare', 'pg-native']

/** The npm package contains this file too, because the licences require it. */
const licences = 'src/THIRD-PARTY-LICENSES'
const chunks = 'src/chunks'

/**
 * @param {string[]} modules
 * @returns {import('rolldown').InputOptions}
 */
function toInput(modules) {
  return {
    cwd: root,
    input: Object.fromEntries([...programs, ...modules].map((name) => [name, `${name}.ts`])),
    platform: 'node',
    tsconfig: false,
    transform: {
      target: 'es2023',
      // pg tries it to find out whether it runs in a Cloudflare Worker. In Node.js 20 that loads all of `fetch`.
      define: { Response: 'undefined' },
    },
    external: (id, importer) => {
      if (/^[./\0]/.test(id)) return false
      const name = toPackage(id)
      if (isBuiltin(id) || elsewhere.includes(name)) return true
      if (copied.includes(name) || importer?.includes('/node_modules/')) return false
      // For example a helper of the bundler's own, for syntax newer than the target.
      if (!(name in { ...dependencies, ...peerDependencies })) throw new Error(`${id} is not among the dependencies`)
      return true
    },
  }
}

/**
 * The name of the package of an import.
 * @param {string} id
 */
function toPackage(id) {
  return id
    .split('/')
    .slice(0, id.startsWith('@') ? 2 : 1)
    .join('/')
}

/**
 * @param {string} folder
 * @returns {import('rolldown').OutputOptions}
 */
function toOutput(folder) {
  return {
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    // With a hash of the content: a process that is starting never mixes the chunks of two builds.
    chunkFileNames: `${chunks}/[name]-[hash].js`,
    sourcemap: true,
    keepNames: true,
  }
}

/**
 * @param {string} folder
 * @param {string[]} modules Without their ending.
 */
export async function bundle(folder, modules = []) {
  const build = await rolldown(toInput(modules))
  try {
    const { output } = await build.write(toOutput(folder))
    const written = new Set(output.map(({ fileName }) => fileName))
    for (const name of readdirSync(join(folder, chunks)))
      if (!written.has(`${chunks}/${name}`)) rmSync(join(folder, chunks, name))
    const ids = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
    writeFileSync(join(folder, licences), writeLicences(ids))
  } finally {
    await build.close()
  }
}

/**
 * The licences of the packages whose modules are in the bundle.
 * @param {string[]} ids
 */
function writeLicences(ids) {
  const packages = new Set(ids.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []))
  const texts = [...packages].sort().map((path) => {
    const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
    const files = readdirSync(path)
    const file = files.find((one) => /^licen[cs]e/i.test(one)) ?? files.find((one) => /^readme/i.test(one))
    const text = file === undefined ? '' : readFileSync(join(path, file), 'utf8')
    // Some packages have it in their README only.
    const licence = file?.toLowerCase().startsWith('readme') ? /^#+ licen[cs]e.*/ims.exec(text)?.[0] : text
    if (!licence) throw new Error(`${name} may not be copied into the bundle: it has no licence text`)
    return `${name} ${version} (${license})\n\n${licence.trim()}\n`
  })
  return `This folder contains code of these packages.\n\n${texts.join('\n\n')}`
}

if (process.argv[1] === import.meta.filename) {
  const args = process.argv.slice(2)
  const [folder = 'dist', ...modules] = args.filter((name) => name !== '--watch')
  if (args.includes('--watch')) watch({ ...toInput(modules), output: toOutput(resolve(folder)) })
  else await bundle(resolve(folder), modules)
}
