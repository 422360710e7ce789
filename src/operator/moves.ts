import type { JWK } from 'jose'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { By } from '../audit/record.ts'
import { findKnownClient, moveClient as recordMove, unknownClient } from '../auth/clients.ts'
import { listClients } from '../auth/store.ts'
import type { Db, Tx } from '../db/sql.ts'
import { refuse } from '../entries/post.ts'
import { proposeMove } from '../entries/propose.ts'
import { type EntryRow, findEntry } from '../entries/store.ts'
import { type Cell, isCellName, newIdIn } from '../lib/cell.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { findProposal, listOpenProposals, type ProposalRow } from '../proposals/store.ts'
import { signStatement, verifyStatement } from '../reconciliation/sign.ts'

type Deps = { db: Db; clock: Clock; cell: Cell | null }

/**
 * How a merchant moves from this cell to another (docs/scaling.md):
 *
 * 1. `moveClient`: new charges are refused here, with the address in the other cell. All that exists stays here.
 * 2. `proposeMoveOut`, and the approval of a second person: the balance leaves. The transfer has the id of the move.
 * 3. `exportMove`: a signed document of that transfer, as often as it is wanted.
 * 4. `proposeMoveIn` in the other cell, and an approval there: the balance arrives, under the same id, so it arrives once
 *    however often the document is read. If the document is lost, `exportMove` writes it again.
 */
const MoveDocument = Type.Object({
  kind: Type.Literal('move'),
  id: Type.String(),
  fromCell: Type.String(),
  fromClientId: Type.String(),
  toCell: Type.String(),
  toClientId: Type.String(),
  amount: Type.Integer({ minimum: 1 }),
  description: Type.String(),
  postedAt: Type.String(),
})

export type MoveDocument = Static<typeof MoveDocument>

/** @throws {AppError} `not_found`, `entry_not_possible` */
export async function moveClient(
  deps: Deps,
  { clientId, to, by }: { clientId: string; to: { cell: Cell; address: string } | null; by: By },
): Promise<void> {
  const own = requireCell(deps)
  if (to !== null && (to.cell === own || !isCellName(to.cell)))
    throw refuse(`${to.cell} is not another cell: this is the cell ${own}.`, { field: 'cell', code: 'invalid_value' })
  if (!(await recordMove(deps, { clientId, to, by }))) throw unknownClient()
}

type MoveOut = {
  clientId: string
  toClientId: string
  acquirer: string
  amount: number
  description: string
  by: By
}

/**
 * Proposes that an amount of a merchant's balance leaves for the cell that the merchant has moved to.
 *
 * @throws {AppError} `not_found`, `entry_not_possible`
 */
export async function proposeMoveOut(deps: Deps, { clientId, toClientId, ...entry }: MoveOut): Promise<ProposalRow> {
  const cell = requireCell(deps)
  const client = await findKnownClient(deps, clientId)
  if (client.moved_to_cell === null)
    throw refuse(`${clientId} has not moved: \`npx guiche client move ${clientId}\` comes first.`, {
      field: 'clientId',
      code: 'invalid_value',
    })
  const { merchant_id: merchantId, moved_to_cell: otherCell } = client
  // If the command is repeated, for example after a crash, it is about the same move until somebody decides on it.
  const [open] = await listOpenProposals(deps.db, { kinds: ['entry.move_out'], merchantId, limit: 1 })
  const recordId = open?.record_id ?? newIdIn(cell)
  const about = { type: 'move_out', recordId, merchantId, otherCell, otherClientId: toClientId } as const
  return await proposeMove(deps, { ...entry, ...about })
}

/**
 * The signed document of a balance that has left.
 *
 * @throws {AppError} `not_found` until it has left
 */
export async function exportMove(
  deps: Deps & { key: SecretKey },
  id: string,
): Promise<{ document: MoveDocument; jws: string }> {
  const fromCell = requireCell(deps)
  return await deps.db.transaction(async (tx) => {
    const entry = await findEntry(tx, id)
    const proposal = entry?.proposal_id ? await findProposal(tx, entry.proposal_id) : null
    if (entry?.type !== 'move_out' || !proposal)
      throw new AppError('not_found', {
        detail: `There is no posted move ${id} to another cell. \`npx guiche ledger entries\` lists them.`,
      })
    const { otherCell, otherClientId } = proposal.content as { otherCell: string; otherClientId: string }
    const document: MoveDocument = {
      kind: 'move',
      id,
      fromCell,
      fromClientId: await findClientId(tx, entry, deps.clock.now()),
      toCell: otherCell,
      toClientId: otherClientId,
      amount: entry.amount,
      description: entry.description,
      postedAt: entry.created_at.toISOString(),
    }
    return { document, jws: await signStatement(tx, deps, document) }
  })
}

/**
 * Proposes that the balance of a document arrives here. The proposal is null if the balance has arrived already.
 *
 * @param keys the public keys of the cell that signed it (`guiche close keys` there)
 * @throws if the signature is not valid; {AppError} `not_found`, `entry_not_possible`
 */
export async function proposeMoveIn(
  deps: Deps,
  { jws, keys, acquirer, by }: { jws: string; keys: { keys: JWK[] }; acquirer: string; by: By },
): Promise<{ document: MoveDocument; proposal: ProposalRow | null }> {
  const cell = requireCell(deps)
  const content = await verifyStatement(jws, keys)
  if (!Value.Check(MoveDocument, content))
    throw refuse('This is not the document of a move: `npx guiche ledger move-document` writes one.', {
      field: 'document',
      code: 'invalid',
    })
  const { id, toCell, toClientId, fromCell: otherCell, fromClientId: otherClientId, amount, description } = content
  if (toCell !== cell)
    throw refuse(`The document is for the cell ${toCell}, and this is the cell ${cell}.`, {
      field: 'document',
      code: 'invalid_value',
    })
  const { merchant_id: merchantId } = await findKnownClient(deps, toClientId)
  if (await findEntry(deps.db, id)) return { document: content, proposal: null }
  const entry = { type: 'move_in', recordId: id, merchantId, otherCell, otherClientId } as const
  return { document: content, proposal: await proposeMove(deps, { ...entry, acquirer, amount, description, by }) }
}

function requireCell({ cell }: Deps): Cell {
  if (cell !== null) return cell
  throw refuse('This installation is no cell: set CELL and restart the service.', {
    field: 'cell',
    code: 'not_configured',
  })
}

async function findClientId(tx: Tx, { merchant_id: merchantId }: EntryRow, now: Date): Promise<string> {
  const client = (await listClients(tx, now)).find((one) => one.merchant_id === merchantId)
  return client?.client_id ?? merchantId
}
