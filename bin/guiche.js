#!/usr/bin/env node
// The command line. In a checkout that was not built yet, it is built first, as `npm start` does.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const main = new URL('../dist/src/cli/main.js', import.meta.url)
if (!existsSync(main)) execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: ['ignore', 2, 2] })
await import(main.href)
