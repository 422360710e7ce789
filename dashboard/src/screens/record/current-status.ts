import type { Format } from '../../format.ts'
import { withStop, writeFreezeReasons, writeReason } from '../../reason-texts.ts'
import type { Language } from '../../text.ts'
import type { NextStep, Sentence, SentenceData } from '../../types.ts'
import { writeAttemptError } from '../webhooks/text.ts'

type AnySentence = Sentence<string>
type Writers = { [Code in keyof SentenceData]: (data: SentenceData<string>[Code]) => string }

/** Writes one sentence about a record's current status, in the reader's language and in Brasília time. */
export function writeSentence({ code, data }: AnySentence, language: Language, format: Format): string {
  // The type of `data` depends on `code`. TypeScript cannot infer that from an index into the table.
  return (writers[language](format)[code] as (data: AnySentence['data']) => string)(data)
}

type ScreenLink = { path: string; query?: Record<string, string>; permission: string; isForOperator?: boolean }

/** The screen on which a person can act on a sentence, and the permission to see it. */
export function findScreenLink({ code, data }: AnySentence): ScreenLink | null {
  switch (code) {
    case 'decide_dispute':
      return { path: '/disputes', permission: 'infraction.decide' }
    case 'attribution_reversed':
      return {
        path: `/reconciliation/suspense/${data.suspensePaymentId}`,
        permission: 'reconciliation.read',
        isForOperator: true,
      }
    case 'payouts_stopped':
      return { path: '/system', permission: 'system.read' }
    case 'webhook_refused':
    case 'webhook_given_up':
      return { path: '/webhooks', query: { delivery: data.eventId }, permission: 'webhook.read' }
    default:
      return null
  }
}

const writers: Record<Language, (format: Format) => Writers> = { en: inEnglish, pt: inPortuguese }

function inEnglish(format: Format): Writers {
  const { money, time, dateTime, isToday } = format
  const at = (moment: string) => (isToday(moment) ? `at ${time(moment)}` : `on ${dateTime(moment)}`)
  const when = (moment: string) => (isToday(moment) ? time(moment) : dateTime(moment))
  const amountOr = (amount: number | null) => (amount === null ? 'the payment' : money(amount))
  const answer = answerOf('the receiver answered', 'the receiver did not answer', 'en')
  const steps: Record<NextStep, string> = {
    check_charge: 'Next check with the PSP',
    check_expired_charge: 'Last check with the PSP',
    check_refund: 'Next check with the PSP',
    send_withdrawal: 'Sending to the PSP',
    check_withdrawal: 'Next check with the PSP',
    check_withdrawal_returned: 'Next check for a return by the receiver',
    deliver: 'First attempt',
    deliver_again: 'Next attempt',
  }
  return {
    charge_unknown: ({ reason, at: moment }) =>
      `The PSP did not answer${reason && moment ? ` (${reason.text}, ${at(moment)})` : ''}, so it is unknown whether the charge exists.`,
    charge_unpaid: ({ until: moment }) =>
      moment === null ? 'Waiting for payment.' : `Waiting for payment. The QR code is valid until ${when(moment)}.`,
    charge_expired: ({ at: moment }) => `The QR code expired ${at(moment)} without a payment.`,
    payment_reported: ({ isBeingConfirmed }) =>
      isBeingConfirmed
        ? 'The PSP reported a payment; it is being confirmed.'
        : 'The PSP notified us of a payment that its API does not confirm.',
    unpaid_fails: ({ at: moment }) => `Without a payment, it fails soon after ${when(moment)}.`,
    charge_failed: ({ reason }) => `Failed: ${withStop(reason?.text ?? 'the PSP gave no reason')}`,
    late_payment_counts: () => 'A late payment is still credited.',
    paid: ({ amount, at: moment, fee }) =>
      `Paid: ${money(amount)} received${moment === null ? '' : ` ${at(moment)}`}${fee > 0 ? `, fee ${money(fee)}` : ''}.`,
    refunded_in_part: ({ amount }) => `${money(amount)} of it was refunded.`,
    refund_failed: ({ amount, reason }) =>
      `The last refund, of ${money(amount)}, failed: ${withStop(reason?.text ?? 'no reason given')}`,
    dispute_closed: () => 'It was disputed; the dispute was rejected or canceled.',
    refund_unknown: ({ amount, at: moment }) =>
      `A refund of ${money(amount)} was requested ${at(moment)}; its outcome is not known yet.`,
    refund_under_way: () => 'A refund is in progress.',
    refund_reserved: () => 'Its amount is reserved.',
    refunded: ({ amount }) => `Refunded: all of ${money(amount)} went back to the payer.`,
    attribution_reversed: ({ amount }) =>
      `The payment did not belong to this charge: ${money(amount)} went back to the suspense account.`,
    disputed: ({ amount, since }) =>
      `The payer’s bank disputes ${amountOr(amount)}${since === null ? '' : ` since ${when(since)}`}. It is blocked until the dispute is decided.`,
    decide_dispute: () => 'If your PSP does not report the decision, record it under Disputes.',
    dispute_accepted: ({ amount }) =>
      `The dispute of ${amountOr(amount)} was accepted. It stays blocked until the PSP reports that it was returned.`,
    dispute_returned: ({ amount }) => `Returned to the payer after a dispute: ${amountOr(amount)}.`,
    dispute_left: ({ amount }) => `The remaining ${money(amount)} can still be refunded or disputed.`,
    paid_again: ({ amount, acquirer, endToEnd, status, reason }) => {
      const what = `It was paid a second time: ${money(amount)} at ${acquirer} (${endToEnd})`
      if (status === 'returned') return `${what}, returned to the payer.`
      if (status === 'returning') return `${what}, being returned to the payer.`
      if (status === 'matched') return `${what}, attributed to another transaction.`
      return `${what}, kept in suspense${reason === null ? '' : ` because returning it failed (${reason.text})`}.`
    },
    withdrawal_over_limit: ({ amount }) => `${money(amount)} is above the limit and needs the operator’s approval.`,
    withdrawal_maybe_sent: ({ amount }) =>
      `${money(amount)} may have been sent already: the database was restored or lost its last changes. The operator looks it up at the PSP before deciding.`,
    withdrawal_like_another: () =>
      'It looks like a duplicate: same amount and key as a recent withdrawal. It waits until someone confirms it.',
    decide_withdrawal: () => 'Nothing is sent until then.',
    withdrawal_reserved: ({ amount }) => `${money(amount)} and its fee are reserved; nothing has been sent yet.`,
    withdrawal_unknown: ({ amount, at: moment }) =>
      `The PSP was asked to send ${money(amount)}; the outcome is not known yet${moment ? ` (last checked ${at(moment)})` : ''}. The amount stays reserved until then.`,
    withdrawal_sent: ({ amount, at: moment }) => `Sent: ${money(amount)}${moment === null ? '' : ` ${at(moment)}`}.`,
    withdrawal_failed: ({ amount, reason }) =>
      `Nothing was sent; ${money(amount)} and its fee are available again: ${withStop(reason?.text ?? 'the PSP gave no reason')}`,
    withdrawal_canceled: ({ amount }) =>
      `Canceled before it was sent; ${money(amount)} and its fee are available again.`,
    withdrawal_rejected: ({ amount, reason }) =>
      `Rejected before it was sent; ${money(amount)} and its fee are available again: ${withStop(reason?.text ?? 'no reason given')}`,
    withdrawal_returned: ({ reason }) =>
      `${withStop(reason?.text ?? 'The receiver returned the money')} The fee is not returned.`,
    payouts_stopped: ({ since, reasons }) =>
      `Payouts have been frozen since ${when(since)}${reasons.length === 0 ? '.' : `: ${writeFreezeReasons(reasons, 'en', format)}`}`,
    acquirer_not_configured: ({ acquirer }) =>
      `The PSP ${acquirer} is not configured, so its status cannot be checked. Add it to the settings again.`,
    next: ({ step, at: moment, isLate }) =>
      isLate
        ? `${steps[step]}: due ${at(moment)}, but it has not happened. Is the service running?`
        : `${steps[step]} ${at(moment)}.`,
    webhook_none: () => 'No webhook: it was created without a webhookUrl.',
    webhook_nothing_yet: () => 'No webhook is due yet.',
    webhook_undelivered: ({ type, behind, attempt, ...last }) => {
      const what = type === null ? 'Webhook not delivered yet' : `Webhook ${type} waits behind ${behind}`
      return attempt === null ? `${what}.` : `${what}: ${answer(last)} at attempt ${attempt}.`
    },
    webhook_delivered: ({ at: moment }) => `Webhook delivered${moment === null ? '' : ` ${at(moment)}`}.`,
    webhook_refused: ({ type }) =>
      `Webhook ${type} not delivered: the receiver answered 410 and accepts no more events.`,
    webhook_given_up: ({ type, ...last }) =>
      `Webhook ${type} not delivered: all attempts failed; at the last one, ${answer(last)}.`,
  }
}

function inPortuguese(format: Format): Writers {
  const { money, time, dateTime, isToday } = format
  const at = (moment: string) => (isToday(moment) ? `às ${time(moment)}` : `em ${dateTime(moment)}`)
  const when = (moment: string) => (isToday(moment) ? `as ${time(moment)}` : dateTime(moment))
  const amountOr = (amount: number | null) => (amount === null ? 'o pagamento' : money(amount))
  const answer = answerOf('o endpoint respondeu', 'o endpoint não respondeu', 'pt')
  const steps: Record<NextStep, string> = {
    check_charge: 'Próxima consulta ao PSP',
    check_expired_charge: 'Última consulta ao PSP',
    check_refund: 'Próxima consulta ao PSP',
    send_withdrawal: 'Envio ao PSP',
    check_withdrawal: 'Próxima consulta ao PSP',
    check_withdrawal_returned: 'Próxima consulta de devolução pelo recebedor',
    deliver: 'Primeira tentativa',
    deliver_again: 'Próxima tentativa',
  }
  return {
    charge_unknown: ({ reason, at: moment }) =>
      `O PSP não respondeu${reason && moment ? ` (${writeReason(reason, 'pt')}, ${at(moment)})` : ''}; não se sabe se a cobrança existe.`,
    charge_unpaid: ({ until: moment }) =>
      moment === null ? 'Aguardando pagamento.' : `Aguardando pagamento. O QR Code vale até ${when(moment)}.`,
    charge_expired: ({ at: moment }) => `O QR Code expirou ${at(moment)} sem pagamento.`,
    payment_reported: ({ isBeingConfirmed }) =>
      isBeingConfirmed
        ? 'O PSP notificou um pagamento, que está sendo confirmado.'
        : 'O PSP notificou um pagamento que a API dele não confirma.',
    unpaid_fails: ({ at: moment }) =>
      `Sem pagamento, falha logo depois ${isToday(moment) ? `das ${time(moment)}` : `de ${dateTime(moment)}`}.`,
    charge_failed: ({ reason }) =>
      `Falhou: ${withStop((reason && writeReason(reason, 'pt')) ?? 'o PSP não informou o motivo')}`,
    late_payment_counts: () => 'Um pagamento atrasado ainda será creditado.',
    paid: ({ amount, at: moment, fee }) =>
      `Pago: ${money(amount)} recebidos${moment === null ? '' : ` ${at(moment)}`}${fee > 0 ? `, tarifa de ${money(fee)}` : ''}.`,
    refunded_in_part: ({ amount }) => `${money(amount)} foram devolvidos.`,
    refund_failed: ({ amount, reason }) =>
      `A última devolução, de ${money(amount)}, falhou: ${withStop((reason && writeReason(reason, 'pt')) ?? 'motivo não informado')}`,
    dispute_closed: () => 'Houve uma contestação, que foi rejeitada ou cancelada.',
    refund_unknown: ({ amount, at: moment }) =>
      `Uma devolução de ${money(amount)} foi solicitada ${at(moment)}; o resultado ainda não é conhecido.`,
    refund_under_way: () => 'Uma devolução está em andamento.',
    refund_reserved: () => 'O valor está reservado.',
    refunded: ({ amount }) => `Devolvido: todo o valor de ${money(amount)} voltou para o pagador.`,
    attribution_reversed: ({ amount }) =>
      `O pagamento não era desta cobrança: ${money(amount)} voltaram para a conta transitória.`,
    disputed: ({ amount, since }) =>
      `O banco do pagador contesta ${amountOr(amount)}${since === null ? '' : ` desde ${when(since)}`}. O valor fica bloqueado até a decisão.`,
    decide_dispute: () => 'Se o seu PSP não informar a decisão, registre-a em Contestações.',
    dispute_accepted: ({ amount }) =>
      `A contestação de ${amountOr(amount)} foi aceita. O valor fica bloqueado até o PSP informar que foi devolvido.`,
    dispute_returned: ({ amount }) => `Devolvido ao pagador após contestação: ${amountOr(amount)}.`,
    dispute_left: ({ amount }) => `Os ${money(amount)} restantes ainda podem ser devolvidos ou contestados.`,
    paid_again: ({ amount, acquirer, endToEnd, status, reason }) => {
      const what = `Foi paga uma segunda vez: ${money(amount)} no ${acquirer} (${endToEnd})`
      if (status === 'returned') return `${what}, devolvidos ao pagador.`
      if (status === 'returning') return `${what}, sendo devolvidos ao pagador.`
      if (status === 'matched') return `${what}, conciliados com outra transação.`
      return `${what}, na conta transitória${reason === null ? '' : ` porque a devolução falhou (${writeReason(reason, 'pt')})`}.`
    },
    withdrawal_over_limit: ({ amount }) => `${money(amount)} está acima do limite e precisa da aprovação do operador.`,
    withdrawal_maybe_sent: ({ amount }) =>
      `${money(amount)} podem já ter sido enviados: o banco de dados foi restaurado ou perdeu as últimas alterações. O operador confere no PSP antes de decidir.`,
    withdrawal_like_another: () =>
      'Possível duplicidade: mesmo valor e mesma chave de um saque recente. Aguarda confirmação.',
    decide_withdrawal: () => 'Nada é enviado antes disso.',
    withdrawal_reserved: ({ amount }) => `${money(amount)} e a tarifa estão reservados; nada foi enviado ainda.`,
    withdrawal_unknown: ({ amount, at: moment }) =>
      `O PSP recebeu o pedido de enviar ${money(amount)}; o resultado ainda não é conhecido${moment ? ` (última consulta ${at(moment)})` : ''}. O valor fica reservado até lá.`,
    withdrawal_sent: ({ amount, at: moment }) => `Enviado: ${money(amount)}${moment === null ? '' : ` ${at(moment)}`}.`,
    withdrawal_failed: ({ amount, reason }) =>
      `Nada foi enviado; ${money(amount)} e a tarifa voltaram ao saldo: ${withStop((reason && writeReason(reason, 'pt')) ?? 'o PSP não informou o motivo')}`,
    withdrawal_canceled: ({ amount }) => `Cancelado antes do envio; ${money(amount)} e a tarifa voltaram ao saldo.`,
    withdrawal_rejected: ({ amount, reason }) =>
      `Rejeitado antes do envio; ${money(amount)} e a tarifa voltaram ao saldo: ${withStop((reason && writeReason(reason, 'pt')) ?? 'motivo não informado')}`,
    withdrawal_returned: ({ reason }) =>
      `${withStop((reason && writeReason(reason, 'pt')) ?? 'O recebedor devolveu o dinheiro')} A tarifa não é estornada.`,
    payouts_stopped: ({ since, reasons }) =>
      `As saídas estão bloqueadas desde ${when(since)}${reasons.length === 0 ? '.' : `: ${writeFreezeReasons(reasons, 'pt', format)}`}`,
    acquirer_not_configured: ({ acquirer }) =>
      `O PSP ${acquirer} não está configurado, por isso não pode ser consultado. Configure-o de novo.`,
    next: ({ step, at: moment, isLate }) =>
      isLate
        ? `${steps[step]}: deveria ter acontecido ${at(moment)} e não aconteceu. O serviço está no ar?`
        : `${steps[step]} ${at(moment)}.`,
    webhook_none: () => 'Sem webhook: foi criado sem webhookUrl.',
    webhook_nothing_yet: () => 'Nenhum webhook para enviar ainda.',
    webhook_undelivered: ({ type, behind, attempt, ...last }) => {
      const what = type === null ? 'Webhook ainda não entregue' : `O webhook ${type} aguarda a entrega de ${behind}`
      return attempt === null ? `${what}.` : `${what}: ${answer(last)} na tentativa ${attempt}.`
    },
    webhook_delivered: ({ at: moment }) => `Webhook entregue${moment === null ? '' : ` ${at(moment)}`}.`,
    webhook_refused: ({ type }) => `Webhook ${type} não entregue: o endpoint respondeu 410 e não aceita mais eventos.`,
    webhook_given_up: ({ type, ...last }) =>
      `Webhook ${type} não entregue: todas as tentativas falharam; na última, ${answer(last)}.`,
  }
}

function answerOf(answered: string, silent: string, language: Language) {
  return ({
    httpStatus,
    error,
    errorCode,
  }: Omit<SentenceData['webhook_undelivered'], 'type' | 'behind' | 'attempt'>) => {
    if (httpStatus !== null) return `${answered} HTTP ${httpStatus}`
    if (error === null) return silent
    const written = writeAttemptError({ error, errorCode, status: httpStatus }, language)
    return written.charAt(0).toLowerCase() + written.slice(1)
  }
}
