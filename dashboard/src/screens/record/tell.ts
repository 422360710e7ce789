import type { Format } from '../../format.ts'

/** An entry of the timeline, as the service tells it: `what` in English, `data` for programs. */
export type Told = { kind: string; what: string; data: Record<string, unknown> }

const questions: Record<string, string> = {
  createCharge: 'foi chamado a criar a cobrança',
  findCharge: 'foi perguntado pela cobrança',
  findPayment: 'foi perguntado pelo pagamento',
  refund: 'foi chamado a devolver',
  findRefund: 'foi perguntado pela devolução',
  sendPayout: 'foi chamado a enviar',
  findPayout: 'foi perguntado pelo envio',
}

const answers: Record<string, string> = {
  refused: 'recusou',
  found: 'encontrado',
  nothing: 'não conhece nenhum',
  processing: 'em andamento',
  done: 'feito',
  unknown: 'sem resposta, portanto nada se sabe',
  error: 'falhou do nosso lado',
}

const ends: Record<string, string> = {
  settled: 'liquidou: o adquirente confirmou',
  unconfirmed: 'não deu em nada: o adquirente não confirmou',
  unmatched: 'não deu em nada: não se soube de quem é',
}

const steps: Record<string, string> = {
  opened: 'aberta',
  accepted: 'aceita',
  returned: 'devolvida',
  rejected: 'rejeitada',
  canceled: 'cancelada',
}

const accounts: Record<string, string> = {
  available: 'disponível',
  acquirer: 'adquirente',
  reserved: 'reservado',
  blocked: 'bloqueado',
  fees: 'tarifas',
  suspense: 'a identificar',
  debt: 'dívida',
}

const transfers: Record<string, string> = {
  payment: 'pagamento',
  payment_fee: 'tarifa do pagamento',
  refund: 'devolução',
  refund_fee: 'tarifa da devolução',
  withdrawal: 'saque',
  withdrawal_fee: 'tarifa do saque',
}

/** The same in Portuguese. `before`: those above it, by which the beginning of a thing is told from its end. */
export function tellInPortuguese({ kind, what, data }: Told, before: readonly Told[], format: Format): string {
  const text = (name: string) => (data[name] === null || data[name] === undefined ? '' : String(data[name]))
  const amount = typeof data.amount === 'number' ? format.money(data.amount) : ''
  const error = text('error') === '' ? '' : ` (${text('error')})`
  const began = (name: string) => before.some((one) => one.kind === kind && one.data[name] === data[name])
  switch (kind) {
    case 'request':
      return `Pedido de ${amount}${text('externalCode') === '' ? '' : `, código externo ${text('externalCode')}`}`
    case 'callback':
      return began('endToEnd')
        ? `O aviso de ${text('endToEnd')} ${ends[text('state')] ?? text('state')}`
        : `${text('acquirer')} avisou de ${text('endToEnd')}`
    case 'acquirer': {
      const asked = questions[text('operation')] ?? text('operation')
      return `${text('acquirer')} ${asked}: ${answers[text('outcome')] ?? text('outcome')}${error}, ${text('durationMs')} ms`
    }
    case 'refund':
      if (what.startsWith('the match was undone'))
        return `O vínculo foi desfeito: ${amount} voltou para o que está a identificar`
      if (!began('id')) return `${amount} pedido`
      return text('status') === 'REFUNDED' ? `${amount} devolvido` : `${amount} recusado${error}`
    case 'contest': {
      const step = what.split(' ').at(-1) ?? ''
      return `Contestação de ${amount} ${steps[step] ?? step}`
    }
    case 'ledger': {
      const [debit, credit] = [text('debit'), text('credit')].map((account) => accounts[account] ?? account)
      return `${transfers[text('kind')] ?? text('kind')} ${amount}, ${debit} → ${credit}`
    }
    case 'delivery': {
      const answer = text('status') === '' ? text('error') || 'sem resposta' : `HTTP ${text('status')}`
      return `${text('type')}: ${answer}, tentativa ${text('attempt')}, ${text('durationMs')} ms`
    }
    default:
      return what
  }
}

const standings: Record<string, string> = {
  'transaction PENDING':
    'O adquirente ainda não respondeu: não se sabe se a cobrança existe. Ele é perguntado de novo.',
  'transaction PIX_QRCODE_GENERATED': 'Ninguém pagou ainda.',
  'transaction PAID': 'O pagamento chegou.',
  'transaction FAILED': 'Não foi paga: falhou ou venceu. Se um pagamento ainda chegar, será contado.',
  'transaction PROCESSING_REFUND': 'Uma devolução está em andamento; o que ela precisa está reservado.',
  'transaction REFUNDED': 'Tudo voltou para o pagador.',
  'transaction BLOCKED': 'O banco do pagador contesta o pagamento; fica bloqueado até a decisão.',
  'transaction PROCESSING_INFRACTION': 'A contestação foi aceita; fica bloqueado até o dinheiro voltar.',
  'transaction INFRACTION': 'Voltou para o pagador depois de uma contestação. É definitivo.',
  'withdrawal PENDING': 'Nada saiu ainda: o valor e a tarifa estão reservados.',
  'withdrawal PROCESSING':
    'O adquirente foi chamado a enviar, e ainda não se sabe o que resultou; fica reservado até lá.',
  'withdrawal PROCESSED': 'O dinheiro saiu.',
  'withdrawal FAILED': 'Nada saiu: o valor e a tarifa voltaram ao saldo.',
  'withdrawal CANCELED': 'Cancelado antes de sair: o valor e a tarifa voltaram ao saldo.',
  'withdrawal REJECTED': 'Rejeitado antes de sair: o valor e a tarifa voltaram ao saldo.',
  'withdrawal REFUNDED': 'Quem recebeu mandou de volta. A tarifa fica.',
}

/** Where a record stands, in one sentence; the service tells the whole of it in English. */
export function standInPortuguese({ type, status }: { type: string; status: string }): string {
  return standings[`${type} ${status}`] ?? status
}
