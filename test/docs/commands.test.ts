import type { Command } from 'commander'
import { CommanderError } from 'commander'
import { describe, expect, it } from 'vitest'
import { alertKinds } from '../../src/alerts/conditions.ts'
import { wordAlert } from '../../src/alerts/text.ts'
import { commandNames, createProgram } from '../../src/cli/program.ts'
import { languages } from '../../src/lib/alert-settings.ts'
import { blocksOf, documents, inlineOf } from '../support/documents.ts'

/** Values for the placeholders of the documents. */
const substitutes: [RegExp, string][] = [
  [/'[^']*'|"[^"]*"/g, 'words'],
  [/<cents>/g, '100'],
  [/<[^>]*id[^>]*>/g, '35457624-6b28-437c-8386-5ed3581f33f2'],
  [/--date …/g, '--date 2026-11-20'],
  [/--(from|to) …/g, '--$1 2026-11-20'],
  [/<[^>]*>|…/g, 'something'],
]

/** Faults that are accepted in a command that is named, not shown: it may omit required arguments. */
const leftOut = [
  'commander.missingMandatoryOptionValue',
  'commander.missingArgument',
  'commander.optionMissingArgument',
]

describe.each(documents)('%s', (document) => {
  it('shows only valid commands', async () => {
    const shown = blocksOf(document)
      .flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n'))
      .flatMap((line) => /(?:^|\s)(?:npx|guiche) guiche( .*|)$/.exec(line)?.[1] ?? [])
      // The explanation next to it is not part of the command, nor is the shell's `&`.
      .map((line) => line.replace(/\s{3,}.*|\s#\s.*|\s&$/, ''))
    for (const line of shown) expect(await findFault(line), `npx guiche${line}`).toBeNull()
  })

  it('names only existing commands', async () => {
    const named = inlineOf(document)
      .map((code) => code.replace(/^(?:\w+=\S+ )*npx guiche(?= |$)|^guiche /, 'npx guiche '))
      // In tables the second of two commands omits their common part.
      .map((code) => (commandNames.some((name) => code.startsWith(`${name} `)) ? `npx guiche ${code}` : code))
      .flatMap((code) => /^npx guiche (.*)$/.exec(code)?.[1] ?? [])
    for (const line of named) {
      const fault = await findFault(line.replaceAll(/[[\]]/g, ''))
      expect(leftOut.includes(fault?.code ?? '') ? null : fault, `npx guiche ${line}`).toBeNull()
    }
  })
})

it.each(alertKinds)('the alert %s names only existing commands', async (kind) => {
  for (const language of languages) {
    const { advice } = wordAlert({ kind, subject: '{"acquirer":"efi"}', value: 0 }, language)
    for (const [, line = ''] of advice.matchAll(/`npx guiche (.*?)`/g)) expect(await findFault(line), line).toBeNull()
  }
})

it('would find an unknown option', async () => {
  expect((await findFault('ledger verify --fast'))?.code).toBe('commander.unknownOption')
  expect((await findFault('ledger verfy'))?.code).toMatch(/commander\.(?:unknownCommand|excessArguments)/)
  expect((await findFault('user invite --email ana@example.com'))?.code).toBe('commander.missingMandatoryOptionValue')
})

/** The command line parses it, but does not run it. */
async function findFault(line: string): Promise<CommanderError | null> {
  const text = substitutes.reduce((whole, [pattern, value]) => whole.replaceAll(pattern, value), line)
  // Pipes and redirections belong to the shell.
  const words = text
    .replace(/\s[>|<].*$/, '')
    .split(/\s+/)
    .filter(Boolean)
  const program = await createProgram(words)
  disarm(program)
  try {
    await program.parseAsync(words, { from: 'user' })
    return null
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return ['commander.helpDisplayed', 'commander.help', 'commander.version'].includes(error.code) ? null : error
  }
}

function disarm(command: Command): void {
  command
    .exitOverride()
    .showHelpAfterError(false)
    .configureOutput({ writeOut: () => {}, writeErr: () => {} })
  if (command.parent) command.action(() => {})
  for (const one of command.commands) disarm(one)
}
