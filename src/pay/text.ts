import type { Language } from '../lib/alert-settings.ts'
import { brasilia } from '../lib/brasilia.ts'
import { inReais } from '../lib/money.ts'
import type { PageState } from './state.ts'

type Words = {
  code: string
  titles: Record<PageState, string>
  to: string
  /** Before the name that the bank shows. */
  bank: string
  openBank: string
  more: (count: number) => string
  partly: string
  partlyReturned: (amount: string, time: string) => string
  disputed: string
  receipt: Record<'title' | 'paidAt' | 'receiver' | 'payer' | 'returned' | 'endToEnd' | 'pdf' | 'print', string>
  until: (time: string) => string
  left: string
  copy: string
  copied: string
  selected: string
  copyCode: string
  copySteps: string[]
  scan: string
  scanSteps: string
  qr: string
  updates: string
  paidAt: (time: string) => string
  refundedAt: (time: string) => string
  close: string
  expired: (merchant: string) => string
  canceled: (merchant: string) => string
  failed: (merchant: string) => string
  /** The link to the shop. */
  back: string
  /** The button that replaces this link once there is no code to pay. */
  goOn: (merchant: string) => string
  preparing: string
  simulated: string
  paySimulated: string
  notices: Record<Notice, { title: string; text: string }>
  dateTime: (date: Date) => string
  time: (date: Date) => string
  money: (cents: number) => string
}

/** A page shown instead of a payment. */
export type Notice = 'unknown' | 'limited' | 'broken'

const day = (locale: string) =>
  new Intl.DateTimeFormat(locale, { timeZone: brasilia, dateStyle: locale === 'pt-BR' ? 'short' : 'medium' })
const time = (locale: string) =>
  new Intl.DateTimeFormat(locale, { timeZone: brasilia, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const days = { pt: day('pt-BR'), en: day('en-US') }
const times = { pt: time('pt-BR'), en: time('en-US') }
const reaisInEnglish = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'BRL' })

export const words: Record<Language, Words> = {
  pt: {
    code: 'pt-BR',
    titles: {
      preparing: 'Preparando o código',
      waiting: 'Pague com Pix',
      expired: 'Este código expirou',
      canceled: 'Cobrança cancelada',
      failed: 'Código indisponível',
      paid: 'Pagamento confirmado',
      refunded: 'Pagamento devolvido',
    },
    to: 'para',
    bank: 'No app do seu banco aparecerá:',
    openBank: 'Agora abra o app do seu banco e cole o código em Pix Copia e Cola.',
    more: (count) => `e mais ${count}`,
    partly: 'Pagamento devolvido em parte',
    partlyReturned: (amount, at) => `${amount} devolvidos à conta de origem até ${at}, horário de Brasília.`,
    disputed: 'Há uma contestação deste pagamento em análise pelos bancos.',
    receipt: {
      title: 'Comprovante',
      paidAt: 'Data e hora (Brasília)',
      receiver: 'Titular da conta que recebeu',
      payer: 'CPF ou CNPJ de quem pagou',
      returned: 'Devolvido a quem pagou',
      endToEnd: 'ID da transação Pix',
      pdf: 'Baixar comprovante (PDF)',
      print: 'Imprimir',
    },
    until: (at) => `Pague até ${at}`,
    left: 'faltam',
    copy: 'Copiar código Pix',
    copied: 'Código copiado',
    selected: 'Código selecionado: agora copie',
    copyCode: 'Pix Copia e Cola',
    copySteps: [
      'Copie o código.',
      'No app do seu banco, escolha Pix Copia e Cola.',
      'Cole, confira o valor e confirme.',
    ],
    scan: 'Escaneie o QR Code',
    scanSteps: 'Abra o Pix no app do seu banco e aponte a câmera.',
    qr: 'QR Code do Pix',
    updates: 'Esta página avisa assim que o pagamento chegar.',
    paidAt: (at) => `Pago em ${at}, horário de Brasília.`,
    refundedAt: (at) => `Devolvido à conta de origem em ${at}, horário de Brasília.`,
    close: 'Já pode fechar esta página.',
    expired: (merchant) =>
      `Não use mais este código: peça um novo a ${merchant}. Se você acabou de pagar, a confirmação pode levar alguns minutos.`,
    canceled: (merchant) =>
      `${merchant} cancelou esta cobrança. Não use mais este código. Se você acabou de pagar, a confirmação pode levar alguns minutos.`,
    back: 'Voltar à loja',
    goOn: (merchant) => `Voltar para ${merchant}`,
    failed: (merchant) => `Não é possível pagar por aqui. Peça um novo código a ${merchant}.`,
    preparing: 'Leva alguns instantes. A página se atualiza automaticamente.',
    simulated: 'Teste: nenhum dinheiro de verdade',
    paySimulated: 'Pagar no banco simulado',
    notices: {
      unknown: {
        title: 'Página não encontrada',
        text: 'Confira se o endereço está completo. Se estiver, peça um novo link a quem o enviou.',
      },
      limited: { title: 'Tentativas demais', text: 'Espere um minuto e abra o link de novo.' },
      broken: { title: 'Não deu para abrir a página', text: 'Espere alguns instantes e tente de novo.' },
    },
    dateTime: (date) => `${days.pt.format(date)} às\u00a0${times.pt.format(date)}`,
    time: (date) => times.pt.format(date),
    money: inReais,
  },
  en: {
    code: 'en',
    titles: {
      preparing: 'Preparing the code',
      waiting: 'Pay with Pix',
      expired: 'This code has expired',
      canceled: 'Charge canceled',
      failed: 'Code not available',
      paid: 'Payment confirmed',
      refunded: 'Payment refunded',
    },
    to: 'to',
    bank: 'Your bank’s app will show:',
    openBank: 'Now open your bank’s app and paste the code in Pix Copia e Cola.',
    more: (count) => `and ${count} more`,
    partly: 'Payment refunded in part',
    partlyReturned: (amount, at) => `${amount} refunded to the account that paid, by ${at}, Brasília time.`,
    disputed: 'A dispute of this payment is being examined by the banks.',
    receipt: {
      title: 'Receipt',
      paidAt: 'Date and time (Brasília)',
      receiver: 'Holder of the receiving account',
      payer: 'CPF or CNPJ of the payer',
      returned: 'Refunded to the payer',
      endToEnd: 'Pix transaction ID',
      pdf: 'Download receipt (PDF)',
      print: 'Print',
    },
    until: (at) => `Pay by ${at}`,
    left: 'time left',
    copy: 'Copy the Pix code',
    copied: 'Code copied',
    selected: 'Code selected: copy it now',
    copyCode: 'Pix Copia e Cola',
    copySteps: [
      'Copy the code.',
      'In your bank’s app, choose Pix Copia e Cola.',
      'Paste it, check the amount and confirm.',
    ],
    scan: 'Scan the QR code',
    scanSteps: 'Open Pix in your bank’s app and point the camera at it.',
    qr: 'Pix QR code',
    updates: 'This page updates when your payment arrives.',
    paidAt: (at) => `Paid on ${at}, Brasília time.`,
    refundedAt: (at) => `Refunded on ${at}, Brasília time, to the account that paid.`,
    close: 'You can close this page.',
    expired: (merchant) =>
      `Do not use this code anymore. Ask ${merchant} for a new one. If you have just paid, confirmation may take a few minutes.`,
    canceled: (merchant) =>
      `${merchant} canceled this charge. Do not use this code anymore. If you have just paid, confirmation may take a few minutes.`,
    back: 'Back to the shop',
    goOn: (merchant) => `Back to ${merchant}`,
    failed: (merchant) => `This charge cannot be paid here. Ask ${merchant} for a new code.`,
    preparing: 'This takes a few moments. The page updates automatically.',
    simulated: 'Test: no real money',
    paySimulated: 'Pay at the simulated bank',
    notices: {
      unknown: {
        title: 'Page not found',
        text: 'Check that the address is complete. If it is, ask whoever sent it for a new link.',
      },
      limited: { title: 'Too many attempts', text: 'Wait a minute and open the link again.' },
      broken: { title: 'The page could not be opened', text: 'Wait a few moments and try again.' },
    },
    dateTime: (date) => `${days.en.format(date)} at\u00a0${times.en.format(date)}`,
    time: (date) => times.en.format(date),
    money: (cents) => reaisInEnglish.format(cents / 100),
  },
}

/** Only the time if the date is today in Brasília, otherwise the date and the time. */
export function toMoment(language: Language, date: Date, now: Date): string {
  const isToday = days[language].format(date) === days[language].format(now)
  return isToday ? words[language].time(date) : words[language].dateTime(date)
}
