import type { AccountHolder } from '../src/pix/holder.ts'
import type { PixKey } from '../src/pix/key.ts'

/** The holder of a key that receives money. The network has no directory: every key has a made-up holder. */
export function toHolder(pix: PixKey): AccountHolder {
  const bankAccount = { type: 'CHECKING', branch: '0001', number: '7654321', digit: '0', ispb: '18236120' }
  if (pix.type === 'CNPJ') return { type: 'PJ', name: 'Fornecedora Simulada Ltda', document: pix.key, bankAccount, pix }
  const document = pix.type === 'CPF' ? pix.key : '11144477735'
  return { type: 'PF', name: 'João Batista Pereira', document, bankAccount, pix }
}
