import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'

/**
 * Compiles the SDK as ES modules (`import` gets dist/) and as CommonJS (`require` gets dist/cjs/). Each has declaration
 * files of its own, because TypeScript decides from the declaration file which of the two a module is.
 */

const root = join(import.meta.dirname, '..')
const folder = resolve(process.argv[2] ?? join(root, 'sdk/dist'))
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
const compile = (/** @type {string[]} */ args) =>
  execFileSync(process.execPath, [tsc, '-p', join(root, 'sdk/tsconfig.build.json'), ...args], { stdio: 'inherit' })

rmSync(folder, { recursive: true, force: true })
compile(['--outDir', folder])
const options = ['--module', 'commonjs', '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false']
mkdirSync(join(folder, 'cjs'))
compile([...options, '--outDir', join(folder, 'cjs')])
writeFileSync(join(folder, 'cjs/package.json'), '{ "type": "commonjs" }\n')
