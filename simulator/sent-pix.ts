import { toWallTime } from '../src/lib/brasilia.ts'
import { cents, toReais } from '../src/lib/money.ts'
import type { PayoutReturnRow, PayoutRow } from './payouts-store.ts'
import { receiverAccount, receiverKey } from './receiver-account.ts'
import { stateOf } from './settlement.ts'
import { spiCodes } from './spi-codes.ts'

/**
 * A sent Pix as Efí returns it. In addition it has `contaBanco`, the unmasked document and the reason of a rejection,
 * which Efí gives only in the callback. `chave` is the key of this PSP's only account.
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

/** The callback about a payout's outcome, or about money that came back. */
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

/**
 * What Inter (API Banking, pix-pagamento) or Sicoob (API Pix Pagamentos) posts when a payout has ended: the body, and
 * the suffix of the address.
 */
export function toPayoutCallback(
  api: 'inter' | 'sicoob',
  payout: PayoutRow,
  now: Date,
): { suffix: string; body: unknown } {
  const isDone = stateOf(payout, now) === 'done'
  if (api === 'inter') {
    const { transacaoPix } = toInterPayout(payout, now)
    const { valor, status: _, ...fields } = transacaoPix
    const status = isDone ? 'EFETIVADO' : 'ERRO'
    const entry = {
      ...fields,
      valor: valor.toFixed(2),
      status,
      descricaoPagamento: payout.info,
      tipoMovimentacao: 'PAGAMENTO',
    }
    return { suffix: '', body: [entry] }
  }
  const { endToEndId: id, amount } = payout
  const valor = toReais(cents(amount))
  const body = isDone
    ? { id, status: 'FINALIZADO_SUCESSO', valor }
    : { id, status: 'FINALIZADO_REJEICAO', valor, detalheRejeicao: toRefusal(payout) }
  return { suffix: '/lancamento', body }
}

/**
 * `GET /banking/v2/pix/{codigoSolicitacao}`: the states of the API's `StatusPix`, a CPF is masked, and the receiver's
 * account is not shown.
 */
export function toInterPayout(payout: PayoutRow, now: Date) {
  const { receiver, rejection, requestedAt, settlesAt } = payout
  const state = stateOf(payout, now)
  const status = { processing: 'ENVIADO', done: 'PAGO', rejected: 'FALHA' }[state]
  const erro = rejection && {
    codigoErro: 'PIX-001',
    descricaoErro: spiCodes[rejection],
    codigoErroComplementar: rejection,
  }
  const transacaoPix = {
    contaCorrente: `${receiverAccount.bankAccount.number}${receiverAccount.bankAccount.digit}`,
    recebedor: { nome: receiver.name, cpfCnpj: mask(receiver.document) },
    erros: state === 'rejected' ? [erro] : [],
    ...(state === 'done' && { endToEnd: payout.endToEndId }),
    valor: payout.amount / 100,
    status,
    ...(state !== 'processing' && { dataHoraMovimento: `${inBrasilia(settlesAt)}-03:00` }),
    // Without an offset, as in Inter's examples.
    dataHoraSolicitacao: inBrasilia(requestedAt),
    chave: receiver.pix.key,
    codigoSolicitacao: payout.reference,
  }
  const historico = ['CRIADO', status].map((one) => ({ status: one, dataHoraEvento: inBrasilia(requestedAt) }))
  return { transacaoPix, historico }
}

/** `RetornoPagamento` of Sicoob's API Pix Pagamentos. */
export function toSicoobPayout(payout: PayoutRow, now: Date) {
  const state = stateOf(payout, now)
  return {
    endToEndId: payout.endToEndId,
    estado: { processing: 'EM_PROCESSAMENTO', done: 'FINALIZADO', rejected: 'REJEITADO' }[state],
    valor: payout.amount / 100,
    ...(state === 'rejected' && { detalheRejeicao: toRefusal(payout) }),
    horario: (state === 'processing' ? payout.requestedAt : payout.settlesAt).toISOString(),
    origem: toSicoobAccount(receiverAccount),
    destino: toSicoobAccount(payout.receiver),
  }
}

function toSicoobAccount({ name, document, bankAccount }: PayoutRow['receiver']) {
  const { ispb, branch, number, digit } = bankAccount
  return { ispb, cpfCnpj: document, nome: name, conta: `${number}${digit}`, agencia: branch, tipo: 'CORRENTE' }
}

function toRefusal({ rejection }: PayoutRow): string | undefined {
  return rejection ? `${rejection} - ${spiCodes[rejection]}` : undefined
}

function mask(document: string): string {
  return document.length === 11 ? `***.${document.slice(3, 6)}.${document.slice(6, 9)}-**` : document
}

function inBrasilia(at: Date): string {
  return toWallTime(at).toISOString().slice(0, 19)
}
