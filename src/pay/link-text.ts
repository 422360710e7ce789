import type { Language } from '../lib/alert-settings.ts'

export type LinkNotice = 'disabled' | 'expired' | 'sold_out' | 'refused' | 'unavailable'

type Words = {
  to: string
  amount: string
  between: (min: string, max: string) => string
  atMost: (max: string) => string
  name: string
  email: string
  document: string
  pay: string
  errors: Record<'amount' | 'name' | 'email' | 'document', string>
  notices: Record<LinkNotice, { title: string; text: (merchant: string) => string }>
}

export const linkWords: Record<Language, Words> = {
  pt: {
    to: 'para',
    amount: 'Valor',
    between: (min, max) => `De ${min} a ${max}`,
    atMost: (max) => `Até ${max}`,
    name: 'Nome completo',
    email: 'E-mail',
    document: 'CPF ou CNPJ',
    pay: 'Pagar com Pix',
    errors: {
      amount: 'Confira o valor.',
      name: 'Informe seu nome.',
      email: 'Confira o e-mail.',
      document: 'Confira o CPF ou CNPJ.',
    },
    notices: {
      disabled: {
        title: 'Link desativado',
        text: (merchant) => `${merchant} desativou este link. Fale com a loja se quiser pagar.`,
      },
      expired: {
        title: 'Este link expirou',
        text: (merchant) => `Peça um novo link a ${merchant}.`,
      },
      sold_out: {
        title: 'Esgotado',
        text: (merchant) =>
          `Não há mais unidades disponíveis em ${merchant}. Se alguém desistir do pagamento, este link volta a funcionar em alguns minutos.`,
      },
      refused: {
        title: 'Não deu para gerar o código',
        text: (merchant) => `Nada foi cobrado. Tente com outro valor ou fale com ${merchant}.`,
      },
      unavailable: {
        title: 'O banco está demorando',
        text: () => 'Nada foi cobrado. Espere um minuto e abra o link de novo.',
      },
    },
  },
  en: {
    to: 'to',
    amount: 'Amount',
    between: (min, max) => `${min} to ${max}`,
    atMost: (max) => `Up to ${max}`,
    name: 'Full name',
    email: 'Email',
    document: 'CPF or CNPJ',
    pay: 'Pay with Pix',
    errors: {
      amount: 'Check the amount.',
      name: 'Enter your name.',
      email: 'Check the email address.',
      document: 'Check the CPF or CNPJ.',
    },
    notices: {
      disabled: {
        title: 'Link disabled',
        text: (merchant) => `${merchant} has disabled this link. Contact them if you want to pay.`,
      },
      expired: {
        title: 'This link has expired',
        text: (merchant) => `Ask ${merchant} for a new one.`,
      },
      sold_out: {
        title: 'Sold out',
        text: (merchant) =>
          `${merchant} has nothing left to sell here. If somebody does not pay, this link works again in a few minutes.`,
      },
      refused: {
        title: 'The code could not be created',
        text: (merchant) => `You were not charged. Try another amount, or contact ${merchant}.`,
      },
      unavailable: {
        title: 'The bank is slow to answer',
        text: () => 'You were not charged. Wait a minute and open the link again.',
      },
    },
  },
}
