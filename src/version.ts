import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageFolder } from './db/migrate.ts'

/** The version in package.json. */
export const version: string = JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8')).version
