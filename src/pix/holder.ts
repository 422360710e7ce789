import type { PixKey } from './key.ts'

/** Who holds an account that pays or is paid: "AccountHolder" of the service interface, also on the wire. */
export type AccountHolder = {
  type: 'PF' | 'PJ'
  name: string
  /** CPF or CNPJ, bare. */
  document: string
  bankAccount: { type: string; branch: string; number: string; digit: string; ispb: string }
  pix: PixKey
}
