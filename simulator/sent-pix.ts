import { cents, toReais } from '../src/lib/money.ts'
import type { PayoutReturnRow, PayoutRow } from './payouts-store.ts'
import { receiverKey } from './receiver-account.ts'
import { stateOf } from './settlement.ts'
import { spiCodes } from './spi-codes.ts'

/**
 * A Pix that was sent, as Efí tells of it. Beyond Efí's, `contaBanco` has the account's digit, the document is not masked,
 * and the reason of a rejection stands here too and not in the callback alone.
 */
export function toSentPix(payout: PayoutRow, now: Date) {
  const { receiver } = payout
  const { bankAccount } = receiver
  const state = stateOf(payout, now)
  return {
    endToEndId: payout.endToEndId,
    idEnvio: payout.id,
    valor: toReais(cents(payout.amount)),
    chave: receiverKey,
    status: statuses[state],
    ...(payout.info !== null && { infoPagador: payout.info }),
    horario: {
      solicitacao: payout.requestedAt.toISOString(),
      ...(state === 'done' && { liquidacao: payout.settlesAt.toISOString() }),
    },
    favorecido: {
      chave: receiver.pix.key,
      identificacao: {
        nome: receiver.name,
        ...(receiver.type === 'PF' ? { cpf: receiver.document } : { cnpj: receiver.document }),
      },
      contaBanco: {
        codigoBanco: bankAccount.ispb,
        agencia: bankAccount.branch,
        conta: bankAccount.number,
        digito: bankAccount.digit,
        tipoConta: bankAccount.type,
      },
    },
    ...toReturns(payout),
    ...(state === 'rejected' && { gnExtras: toError(payout) }),
  }
}

/** What is told of it when it ends, or when some of it comes back. */
export function toSentPixCallback(payout: PayoutRow, now: Date) {
  const state = stateOf(payout, now)
  return {
    endToEndId: payout.endToEndId,
    chave: receiverKey,
    tipo: 'SOLICITACAO',
    status: statuses[state],
    valor: toReais(cents(payout.amount)),
    horario: state === 'done' ? payout.settlesAt.toISOString() : null,
    ...(payout.info !== null && { infoPagador: payout.info }),
    ...toReturns(payout),
    gnExtras: { idEnvio: payout.id, ...(state === 'rejected' && toError(payout)) },
  }
}

const statuses = { processing: 'EM_PROCESSAMENTO', done: 'REALIZADO', rejected: 'NAO_REALIZADO' } as const

function toError({ rejection }: PayoutRow) {
  return rejection && { erro: { codigo: rejection, origem: 'SPI', motivo: spiCodes[rejection] } }
}

function toReturns({ returns }: PayoutRow) {
  return returns.length === 0 ? {} : { devolucoes: returns.map(toReturned) }
}

function toReturned(returned: PayoutReturnRow) {
  const at = returned.returnedAt.toISOString()
  return {
    rtrId: returned.returnId,
    valor: toReais(cents(returned.amount)),
    horario: { solicitacao: at, liquidacao: at },
    status: 'DEVOLVIDO',
  }
}
