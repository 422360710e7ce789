import { parseDocument } from '../src/lib/document.ts'
import { isInternationalName } from '../src/lib/text.ts'
import type { AccountHolder } from '../src/pix/holder.ts'
import { normalizePixKey } from '../src/pix/key.ts'

/** The fields of a payer that matter to the caller. The others have defaults. */
export type PayerInput = Partial<Omit<AccountHolder, 'bankAccount'>> & {
  bankAccount?: Partial<AccountHolder['bankAccount']>
}

/** The default payer. She does not exist; her document passes the check digits. */
export const defaultPayer: AccountHolder = {
  type: 'PF',
  name: 'Maria Aparecida da Silva',
  document: '52998224725',
  bankAccount: { type: 'CHECKING', branch: '0912', number: '45678', digit: '1', ispb: '60701190' },
  pix: { key: '52998224725', type: 'CPF' },
}

/** The whole account holder, with document and key in their normal form. Null if a field is not plausible. */
export function completePayer(input: PayerInput = {}): AccountHolder | null {
  const document = parseDocument(input.document ?? defaultPayer.document)
  const name = input.name ?? defaultPayer.name
  const bankAccount = { ...defaultPayer.bankAccount, ...input.bankAccount }
  if (!document || name.length > 255 || !isInternationalName(name)) return null
  if (!/^[\dA-Z]{8}$/.test(bankAccount.ispb)) return null
  if (Object.values(bankAccount).some((text) => !/^[\w -]{1,40}$/.test(text))) return null
  const pix = normalizePixKey(input.pix ?? { key: document.value, type: document.type })
  return pix && { type: document.type === 'CPF' ? 'PF' : 'PJ', name, document: document.value, bankAccount, pix }
}
