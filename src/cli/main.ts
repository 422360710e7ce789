#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { printError } from './print.ts'
import { createProgram } from './program.ts'

if (existsSync('.env')) process.loadEnvFile('.env')

try {
  const program = await createProgram(process.argv.slice(2))
  await program.parseAsync()
} catch (error) {
  printError(error)
  process.exitCode = 1
}
