import { readFileSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { inReais } from '../lib/money.ts'
import { exportMove, type MoveDocument, proposeMoveIn, proposeMoveOut } from '../operator/moves.ts'
import { toCentsAboveZero, toId, toShortText } from './arguments.ts'
import { byOf, withContext } from './context.ts'
import { findAcquirer } from './ledger-entry.ts'
import { print } from './print.ts'
import { readStatementKeys } from './statement-keys.ts'

type Json = { json?: boolean }
type Out = Json & { client: string; toClient: string; acquirer?: string; amount: number; description: string }
type In = Json & { keys: string; acquirer?: string }

const acquirer = [
  '--acquirer <name>',
  'the PSP whose account the money leaves or reaches; required if there are several',
] as const

/** `guiche ledger move-out`, …: a merchant's balance moves to another cell, which is a separate installation. */
export function moveCommands(program: Command, ledger: Command): void {
  ledger
    .command('move-out')
    .description('propose that a balance leaves for the cell that its merchant has moved to')
    .requiredOption('--client <client-id>', 'the client in this cell')
    .requiredOption('--to-client <client-id>', 'the client in the other cell')
    .requiredOption('--amount <cents>', 'how much of the available balance', toCentsAboveZero)
    .requiredOption('--description <text>', 'shown in the merchant’s statements in both cells', toShortText)
    .option(...acquirer)
    .option('--json', 'print JSON')
    .action(async ({ json, client: clientId, toClient: toClientId, amount, description, ...options }: Out) => {
      const { id, recordId, content } = await withContext(async (context) => {
        const name = await findAcquirer(context, options.acquirer)
        const by = byOf(program)
        const input = { clientId, toClientId, acquirer: name, amount, description, by }
        const { id, record_id: recordId, content } = await proposeMoveOut(context, input)
        return { id, recordId, content }
      })
      print(
        { id, move: recordId, state: 'open', ...content },
        {
          json,
          note: `Another person must approve it: \`npx guiche proposal approve ${id}\`. This posts it. Then \`npx guiche ledger move-document ${recordId}\` writes the signed document for the other cell.`,
        },
      )
    })

  ledger
    .command('move-document')
    .argument('<id>', 'id of the move', toId)
    .description('write the signed document of a balance that has left, for the other cell')
    .option('--out <file>', 'write it to this file')
    .option('--json', 'print JSON')
    .action(async (id: string, { json, out }: Json & { out?: string }) => {
      const { document, jws } = await withContext(async (context) => await exportMove(context, id))
      if (out !== undefined) writeFileSync(out, jws, { mode: 0o600 })
      print(
        { ...document, jws },
        { json, shown: { ...toShown(document), ...(out === undefined ? { jws } : { written: out }) } },
      )
    })

  ledger
    .command('move-in')
    .argument('<file>', 'the document of the other cell')
    .description('propose that the balance of a document arrives here')
    .requiredOption('--keys <file>', 'the public keys of the other cell: `npx guiche close keys` prints them there')
    .option(...acquirer)
    .option('--json', 'print JSON')
    .action(async (file: string, { json, keys: keysFile, ...options }: In) => {
      const jws = readFileSync(file, 'utf8')
      const keys = readStatementKeys(keysFile)
      const { document, proposal } = await withContext(async (context) => {
        const name = await findAcquirer(context, options.acquirer)
        return await proposeMoveIn(context, { jws, keys, acquirer: name, by: byOf(program) })
      })
      const result = { id: proposal?.id ?? null, state: proposal === null ? 'posted' : 'open' }
      print(
        { ...result, document },
        {
          json,
          shown: { ...result, ...toShown(document) },
          note:
            proposal === null
              ? 'It has arrived already: nothing was posted.'
              : `Another person must approve it: \`npx guiche proposal approve ${proposal.id}\`. It is posted once, however often the document is read.`,
        },
      )
    })
}

function toShown({ kind: _, amount, ...document }: MoveDocument) {
  return { ...document, amount: inReais(amount) }
}
