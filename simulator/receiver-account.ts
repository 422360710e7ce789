import type { AccountHolder } from '../src/pix/holder.ts'

/** The key of the account that every charge of this PSP credits. */
export const receiverKey = '6d1f3c1e-5a3e-4c4d-9c39-6a2b8f0d7e51'

/** The credited account. The company does not exist; its document passes the check digits. */
export const receiverAccount: AccountHolder = {
  type: 'PJ',
  name: 'Loja Guichê Simulada Ltda',
  document: '45887912000165',
  bankAccount: { type: 'CHECKING', branch: '0001', number: '1234567', digit: '8', ispb: '09089356' },
  pix: { key: receiverKey, type: 'EVP' },
}

/** As in a BR Code: at most 25 and 15 characters, without accents. */
export const merchantName = 'LOJA GUICHE SIMULADA'
export const merchantCity = 'SAO PAULO'

/** Credentials of this PSP's client. Not secret: the money is simulated. */
export const simulatorCredentials = { clientId: 'guiche', clientSecret: 'simulated-money-only' }

/** The application key for a PSP that requires one with each request. */
export const simulatorAppKey = 'simulated-app-key'
