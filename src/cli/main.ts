#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { runCommand } from './program.ts'

if (existsSync('.env')) process.loadEnvFile('.env')
await runCommand(process.argv.slice(2))
