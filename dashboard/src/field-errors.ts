import { formats } from './format.ts'
import { findLanguage } from './text.ts'

/** One field of a request that was refused. */
export type FieldError = { field: string; code: string; message: string }

/** What is wrong with a field, in the language that is chosen. The service's own sentence is English. */
export function writeFieldError({ field, code, message }: FieldError): string {
  if (findLanguage() === 'en') return message
  return inPortuguese[`${field} ${code}`]?.('') ?? inPortuguese[code]?.(findLimit(field, message)) ?? 'Valor inválido.'
}

/** By field and code where that says more, else by code. */
const inPortuguese: Record<string, (limit: string) => string> = {
  'password length': () => 'A senha tem de 12 a 256 caracteres.',
  'password too_easy': () => 'Fácil de adivinhar: não use o e-mail e varie os caracteres.',
  'password common': () => 'Senha muito comum. Escolha outra.',
  'newPassword length': () => 'A senha tem de 12 a 256 caracteres.',
  'newPassword too_easy': () => 'Fácil de adivinhar: não use o e-mail e varie os caracteres.',
  'currentPassword wrong': () => 'A senha está errada.',
  'password wrong': () => 'A senha está errada.',
  'code wrong': () => 'O código está errado. Digite o que o aplicativo mostra agora.',
  'externalCode too_short': () => 'No mínimo 8 caracteres.',
  'reference duplicate': () => 'Outro lançamento neste PSP já tem esta referência.',
  'description too_short': () => 'Explique em pelo menos 3 caracteres.',
  more_than_fees: () => 'As tarifas ganhas não cobrem este valor.',
  more_than_owed: () => 'O valor é maior que a dívida.',
  more_than_balance: () => 'A conta de origem não tem este valor.',
  same_account: () => 'Escolha outra conta: a de origem e a de destino são a mesma.',
  required: () => 'Preencha este campo.',
  too_small: (limit) => (limit === '' ? 'Abaixo do mínimo.' : `No mínimo ${limit}.`),
  too_large: (limit) => (limit === '' ? 'Acima do máximo.' : `No máximo ${limit}.`),
  too_short: (limit) => (limit === '' ? 'Curto demais.' : `No mínimo ${limit} caracteres.`),
  too_long: (limit) => (limit === '' ? 'Longo demais.' : `No máximo ${limit} caracteres.`),
  too_few: (limit) => (limit === '' ? 'Poucos itens.' : `No mínimo ${limit} itens.`),
  too_many: (limit) => (limit === '' ? 'Itens demais.' : `No máximo ${limit} itens.`),
  too_easy: () => 'Fácil de adivinhar.',
  too_deep: () => 'Dados aninhados demais.',
  length: () => 'Tamanho inválido.',
  duplicate: () => 'Valor repetido.',
  differs: () => 'Os dois valores são diferentes.',
  invalid: () => 'Valor inválido.',
  invalid_type: () => 'Tipo de valor inválido.',
  invalid_value: () => 'Este valor não é permitido.',
  invalid_number: () => 'Número inválido.',
  invalid_text: () => 'Contém caracteres que não podem ser usados.',
  invalid_format: () => 'Formato inválido.',
  invalid_cursor: () => 'Página inválida. Volte à primeira.',
  not_held: () => 'Não está mais aguardando decisão.',
  not_pending: () => 'Já não está pendente.',
  not_offered: () => 'Não está disponível.',
  out_of_order: () => 'O início vem depois do fim.',
  unknown_field: () => 'Campo desconhecido.',
  unknown_parameter: () => 'Filtro desconhecido.',
  wrong: () => 'Incorreto.',
}

/** The number in the service's sentence; of an amount, which is in cents there, as money. */
function findLimit(field: string, message: string): string {
  const limit = /\d+/.exec(message)?.[0]
  if (limit === undefined) return ''
  return /amount|fixed|minimum|maximum/i.test(field) ? formats.pt.money(Number(limit)) : limit
}
