#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { printError } from './print.ts'
import { createProgram } from './program.ts'

if (existsSync('.env')) process.loadEnvFile('.env')

try {
  await createProgram().parseAsync()
} catch (error) {
  printError(error)
  process.exitCode = 1
}
