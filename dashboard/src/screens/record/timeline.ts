import type { Format } from '../../format.ts'
import { writeReason } from '../../reason-texts.ts'
import { type Language, nameActor } from '../../text.ts'
import type { ActionName, Reason, TimelineData } from '../../types.ts'
import { words as ledger } from '../ledger/text.ts'
import { writeAttemptError } from '../webhooks/text.ts'

/** One function per kind of entry. A status is shown as a badge instead. */
type Writers = { [Kind in Exclude<keyof TimelineData, 'status'>]: (data: TimelineData[Kind]) => string }

/** Writes a line of a record's timeline, in the reader's language. */
export function writeEntry(
  { kind, data }: { kind: keyof Writers; data: TimelineData[keyof Writers] },
  language: Language,
  format: Format,
): string {
  // The type of `data` depends on `kind`. TypeScript cannot infer that from an index into the table.
  return (writers[language](format)[kind] as (data: TimelineData[keyof Writers]) => string)(data)
}

const writers: Record<Language, (format: Format) => Writers> = { en: inEnglish, pt: inPortuguese }

function inEnglish({ money }: Format): Writers {
  return {
    request: ({ type, clientName, amount, externalCode, pixKeyType, hold }) => {
      const what = type === 'transaction' ? 'a charge of' : `a withdrawal to a Pix key (${pixKeyType}) of`
      const why = hold === null ? '' : ` · ${{ approval: 'needs approval', duplicate: 'possible duplicate' }[hold]}`
      return `${clientName} requested ${what} ${money(amount)}${externalCode === null ? '' : `, external code ${externalCode}`}${why}`
    },
    operator: ({ actor, action, details }) =>
      `${nameActor(actor, 'en')}: ${textOf(actionsEn, action)}${reasonOf(details)}`,
    callback: ({ step, acquirer, endToEnd, state }) => {
      if (step === 'received') return `${acquirer} notified us of payment ${endToEnd}`
      if (state === 'settled') return `Payment ${endToEnd} confirmed by the PSP`
      return state === 'unconfirmed'
        ? `Payment ${endToEnd} not confirmed by the PSP: ignored`
        : `Payment ${endToEnd} could not be attributed to a charge`
    },
    acquirer: ({ acquirer, operation, outcome, reason, durationMs }) =>
      `${operationsEn[operation] ?? operation} (${acquirer}): ${outcomesEn[outcome] ?? outcome}${inBrackets(reason, 'en')}, ${durationMs} ms`,
    refund: ({ step, amount, reason }) =>
      ({
        requested: `Refund of ${money(amount)} requested`,
        sent: `${money(amount)} returned to the payer`,
        refused: `Refund of ${money(amount)} refused${reason === null ? '' : `: ${reason.text}`}`,
        reversed: `Attribution reversed: ${money(amount)} back in the suspense account`,
      })[step],
    dispute: ({ step, amount }) =>
      `Dispute of ${money(amount)} ${{ open: 'opened', opened: 'opened', accepted: 'accepted', returned: 'returned to the payer', rejected: 'rejected', canceled: 'canceled' }[step]}`,
    ledger: ({ kind, debit, credit, amount }) =>
      `${ledger.en.kinds[kind]} · ${money(amount)}: ${ledger.en.accountNames[debit][0]} → ${ledger.en.accountNames[credit][0]}`,
    delivery: ({ type, attempt, status, error, durationMs }) =>
      `${type}: ${status === null ? (error ?? 'no answer') : `HTTP ${status}`}, attempt ${attempt}, ${durationMs} ms`,
  }
}

const operationsEn: Record<string, string> = {
  createCharge: 'Create the charge',
  findCharge: 'Check the charge',
  removeCharge: 'Remove the charge',
  findPayment: 'Check the payment',
  refund: 'Send the refund',
  findRefund: 'Check the refund',
  preparePayout: 'Get the PSP’s id of the payout',
  sendPayout: 'Send the payout',
  findPayout: 'Check the payout',
}

const outcomesEn: Record<string, string> = {
  refused: 'refused',
  found: 'found',
  nothing: 'not found',
  processing: 'in progress',
  done: 'done',
  unknown: 'no answer, outcome unknown',
  error: 'error on our side',
}

/** The audited actions on a transaction or a withdrawal, its disputes, payments in suspense and webhooks. */
type RecordAction =
  | Exclude<
      Extract<ActionName, `${'transaction' | 'withdrawal' | 'infraction' | 'suspense'}.${string}`>,
      `withdrawal.limits${string}`
    >
  | 'webhook.resend'

const actionsEn: Record<RecordAction, string> = {
  'transaction.cancel': 'canceled the charge',
  'transaction.create': 'created the charge',
  'transaction.refund': 'requested a refund',
  'withdrawal.create': 'requested the withdrawal',
  'withdrawal.approve': 'approved the withdrawal',
  'withdrawal.reject': 'rejected the withdrawal',
  'withdrawal.confirm': 'confirmed the withdrawal',
  'withdrawal.cancel': 'canceled the withdrawal',
  'withdrawal.settle.propose': 'proposed the outcome of the withdrawal',
  'withdrawal.settle': 'entered the outcome of the withdrawal',
  'withdrawal.settle.reject': 'rejected the proposed outcome of the withdrawal',
  'infraction.open': 'recorded a dispute',
  'infraction.accept': 'accepted the dispute',
  'infraction.reject': 'rejected the dispute',
  'infraction.add_file': 'added a file to the defence',
  'infraction.remove_file': 'removed a file from the defence',
  'infraction.write_defence': 'wrote the defence',
  'infraction.send_defence': 'sent the defence to the PSP',
  'infraction.hand_in_defence': 'marked the defence as handed in',
  'suspense.match': 'attributed a payment to it',
  'suspense.match.propose': 'proposed to attribute a payment to it',
  'suspense.match.reject': 'rejected the attribution of a payment to it',
  'suspense.undo': 'reversed the attribution',
  'suspense.return': 'returned a duplicate payment',
  'transaction.test-webhook': 'sent a test event to the webhook URL',
  'withdrawal.test-webhook': 'sent a test event to the webhook URL',
  'webhook.resend': 'resent a webhook',
}

function inPortuguese({ money }: Format): Writers {
  return {
    request: ({ type, clientName, amount, externalCode, pixKeyType, hold }) => {
      const what = type === 'transaction' ? 'uma cobrança de' : `um saque para uma chave Pix (${pixKeyType}) de`
      const why =
        hold === null ? '' : ` · ${{ approval: 'precisa de aprovação', duplicate: 'possível duplicidade' }[hold]}`
      return `${clientName} pediu ${what} ${money(amount)}${externalCode === null ? '' : `, código externo ${externalCode}`}${why}`
    },
    operator: ({ actor, action, details }) =>
      `${nameActor(actor, 'pt')} ${textOf(actionsPt, action)}${reasonOf(details)}`,
    callback: ({ step, acquirer, endToEnd, state }) => {
      if (step === 'received') return `${acquirer} notificou o pagamento ${endToEnd}`
      if (state === 'settled') return `Pagamento ${endToEnd} confirmado pelo PSP`
      return state === 'unconfirmed'
        ? `Pagamento ${endToEnd} não confirmado pelo PSP: ignorado`
        : `Pagamento ${endToEnd} sem cobrança correspondente`
    },
    acquirer: ({ acquirer, operation, outcome, reason, durationMs }) => {
      const [name, gender] = operationsPt[operation] ?? [operation, 'f']
      const answer = outcomesPt[outcome]
      return `${name} (${acquirer}): ${answer?.[gender] ?? outcome}${inBrackets(reason, 'pt')}, ${durationMs} ms`
    },
    refund: ({ step, amount, reason }) =>
      ({
        requested: `Devolução de ${money(amount)} solicitada`,
        sent: `${money(amount)} devolvidos ao pagador`,
        refused: `Devolução de ${money(amount)} recusada${reason === null ? '' : `: ${writeReason(reason, 'pt')}`}`,
        reversed: `Conciliação desfeita: ${money(amount)} voltaram para a conta transitória`,
      })[step],
    dispute: ({ step, amount }) =>
      `Contestação de ${money(amount)} ${{ open: 'aberta', opened: 'aberta', accepted: 'aceita', returned: 'devolvida ao pagador', rejected: 'rejeitada', canceled: 'cancelada' }[step]}`,
    ledger: ({ kind, debit, credit, amount }) =>
      `${ledger.pt.kinds[kind]} · ${money(amount)}: ${ledger.pt.accountNames[debit][0]} → ${ledger.pt.accountNames[credit][0]}`,
    delivery: ({ type, attempt, status, error, errorCode, durationMs }) =>
      `${type}: ${status === null ? (error === null ? 'sem resposta' : writeAttemptError({ error, errorCode, status }, 'pt')) : `HTTP ${status}`}, tentativa ${attempt}, ${durationMs} ms`,
  }
}

const operationsPt: Record<string, [name: string, gender: 'f' | 'm']> = {
  createCharge: ['Criação da cobrança', 'f'],
  findCharge: ['Consulta da cobrança', 'f'],
  removeCharge: ['Remoção da cobrança', 'f'],
  findPayment: ['Consulta do pagamento', 'm'],
  refund: ['Envio da devolução', 'f'],
  findRefund: ['Consulta da devolução', 'f'],
  preparePayout: ['Identificador do saque no PSP', 'm'],
  sendPayout: ['Envio do saque', 'm'],
  findPayout: ['Consulta do saque', 'm'],
}

const outcomesPt: Record<string, { f: string; m: string }> = {
  refused: { f: 'recusada', m: 'recusado' },
  found: { f: 'encontrada', m: 'encontrado' },
  nothing: { f: 'não encontrada', m: 'não encontrado' },
  processing: { f: 'em andamento', m: 'em andamento' },
  done: { f: 'concluída', m: 'concluído' },
  unknown: { f: 'sem resposta, resultado desconhecido', m: 'sem resposta, resultado desconhecido' },
  error: { f: 'erro do nosso lado', m: 'erro do nosso lado' },
}

const actionsPt: Record<RecordAction, string> = {
  'transaction.cancel': 'cancelou a cobrança',
  'transaction.create': 'criou a cobrança',
  'transaction.refund': 'solicitou uma devolução',
  'withdrawal.create': 'solicitou o saque',
  'withdrawal.approve': 'aprovou o saque',
  'withdrawal.reject': 'rejeitou o saque',
  'withdrawal.confirm': 'confirmou o saque',
  'withdrawal.cancel': 'cancelou o saque',
  'withdrawal.settle.propose': 'propôs o resultado do saque',
  'withdrawal.settle': 'registrou o resultado do saque',
  'withdrawal.settle.reject': 'rejeitou o resultado proposto do saque',
  'infraction.open': 'registrou uma contestação',
  'infraction.accept': 'aceitou a contestação',
  'infraction.reject': 'rejeitou a contestação',
  'infraction.add_file': 'incluiu um arquivo na defesa',
  'infraction.remove_file': 'removeu um arquivo da defesa',
  'infraction.write_defence': 'escreveu a defesa',
  'infraction.send_defence': 'enviou a defesa ao PSP',
  'infraction.hand_in_defence': 'marcou a defesa como entregue',
  'suspense.match': 'conciliou um pagamento com esta cobrança',
  'suspense.match.propose': 'propôs conciliar um pagamento com esta cobrança',
  'suspense.match.reject': 'rejeitou a conciliação de um pagamento com esta cobrança',
  'suspense.undo': 'desfez a conciliação',
  'suspense.return': 'devolveu um pagamento em duplicidade',
  'transaction.test-webhook': 'enviou um evento de teste para a webhookUrl',
  'withdrawal.test-webhook': 'enviou um evento de teste para a webhookUrl',
  'webhook.resend': 'reenviou um webhook',
}

function textOf(texts: Record<string, string>, action: string): string {
  return texts[action] ?? action
}

function reasonOf(details: Record<string, unknown> | null): string {
  return typeof details?.reason === 'string' ? `: ${details.reason}` : ''
}

function inBrackets(reason: Reason | null, language: Language): string {
  return reason === null ? '' : ` (${writeReason(reason, language)})`
}
