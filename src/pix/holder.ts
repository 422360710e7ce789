import type { PixKey } from './key.ts'

/** The holder of an account that pays or receives: "AccountHolder" of the API, with the same JSON. */
export type AccountHolder = {
  type: 'PF' | 'PJ'
  name: string
  /** CPF or CNPJ without punctuation. */
  document: string
  bankAccount: { type: string; branch: string; number: string; digit: string; ispb: string }
  pix: PixKey
}
