import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from './program.ts'

it.each(['{', '{}', 'null', '{"keys":5}'])(
  'a file that has no keys is named, with what it must have: %s',
  async (text) => {
    const folder = mkdtempSync(join(tmpdir(), 'guiche-keys-'))
    const [keys, document] = [join(folder, 'keys.json'), join(folder, 'document.jws')]
    writeFileSync(keys, text)
    writeFileSync(document, 'eyJhbGciOiJFUzI1NiJ9.e30.AAAA')
    const write = process.stderr.write
    let said = ''
    process.stderr.write = (data) => {
      said += String(data)
      return true
    }
    try {
      for (const command of [
        ['close', 'verify'],
        ['ledger', 'move-in'],
      ])
        await runCommand([...command, document, '--keys', keys])
    } finally {
      process.stderr.write = write
      process.exitCode = 0
      rmSync(folder, { recursive: true })
    }
    expect(
      said.match(/keys\.json is not a JSON Web Key Set: it must have what `npx guiche close keys` prints\./g),
    ).toHaveLength(2)
  },
)
