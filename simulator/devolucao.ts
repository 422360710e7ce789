import { cents, toReais } from '../src/lib/money.ts'
import type { ReturnRow } from './returns-store.ts'
import { stateOf } from './settlement.ts'
import { spiCodes } from './spi-codes.ts'

/** The standard's Devolucao as it is at `now`. With null, as it was when it was accepted. */
export function toDevolucao(row: ReturnRow, now: Date | null) {
  const state = now ? stateOf(row, now) : 'processing'
  return {
    id: row.id,
    rtrId: row.returnId,
    valor: toReais(cents(row.amount)),
    natureza: row.nature,
    ...(row.description !== null && { descricao: row.description }),
    horario: {
      solicitacao: row.requestedAt.toISOString(),
      ...(state === 'done' && { liquidacao: row.settlesAt.toISOString() }),
    },
    status: statuses[state],
    ...(state === 'rejected' && row.rejection && { motivo: `${row.rejection}: ${spiCodes[row.rejection]}` }),
  }
}

const statuses = { processing: 'EM_PROCESSAMENTO', done: 'DEVOLVIDO', rejected: 'NAO_REALIZADO' } as const
