#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { version } from '../version.ts'
import { clientCommands } from './client.ts'
import { keysCommands } from './keys.ts'
import { printError } from './print.ts'
import { serviceCommands } from './service.ts'

if (existsSync('.env')) process.loadEnvFile('.env')

const program = new Command('guiche')
  .description('A self-hosted PIX payment gateway. Configuration is read from the environment: see .env.example.')
  .version(version)
  .showHelpAfterError()

serviceCommands(program)
clientCommands(program)
keysCommands(program)

try {
  await program.parseAsync()
} catch (error) {
  printError(error)
  process.exitCode = 1
}
