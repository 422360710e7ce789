import { formats } from './format.ts'
import { findLanguage } from './text.ts'

/** An error of one field of a refused request. */
export type FieldError = { field: string; code: string; message: string }

/** Writes what is wrong with a field in the chosen language. The service's own sentence is in English. */
export function writeFieldError({ field, code, message }: FieldError): string {
  if (findLanguage() === 'en') return message
  return inPortuguese[`${field} ${code}`]?.('') ?? inPortuguese[code]?.(findLimit(field, message)) ?? 'Valor inválido.'
}

/** A key with field and code wins over a key with the code alone. */
const inPortuguese: Record<string, (limit: string) => string> = {
  'password length': () => 'A senha tem de 12 a 256 caracteres.',
  'password too_easy': () => 'Fácil de adivinhar: não use o e-mail e varie os caracteres.',
  'password common': () => 'Senha muito comum. Escolha outra.',
  'newPassword length': () => 'A senha tem de 12 a 256 caracteres.',
  'newPassword too_easy': () => 'Fácil de adivinhar: não use o e-mail e varie os caracteres.',
  'currentPassword wrong': () => 'Senha incorreta.',
  'password wrong': () => 'Senha incorreta.',
  'code wrong': () => 'Código incorreto. Digite o que o aplicativo mostra agora.',
  'externalCode too_short': () => 'No mínimo 8 caracteres.',
  'reference duplicate': () => 'Outro lançamento neste PSP já tem esta referência.',
  'description too_short': () => 'Escreva pelo menos 3 caracteres.',
  'endToEndId invalid': () => 'Um E seguido de 31 caracteres, de um pagamento feito depois do pedido do saque.',
  'endToEndId duplicate': () => 'Este id é de outro saque.',
  more_than_fees: () => 'As tarifas recebidas não cobrem este valor.',
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
  not_held: () => 'Não está mais aguardando análise.',
  not_pending: () => 'Não está mais pendente.',
  not_processing: () => 'Não está mais em processamento.',
  still_asked: () =>
    'O PSP ainda é consultado. O resultado pode ser informado duas horas depois do envio, se a consulta não for mais possível.',
  not_offered: () => 'Não está disponível.',
  out_of_order: () => 'O início vem depois do fim.',
  unknown_field: () => 'Campo desconhecido.',
  unknown_parameter: () => 'Filtro desconhecido.',
  wrong: () => 'Incorreto.',
}

/** The limit in the service's sentence. The limit of an amount is in cents there and is written as money here. */
function findLimit(field: string, message: string): string {
  const limit = /\d+/.exec(message)?.[0]
  if (limit === undefined) return ''
  return /amount|fixed|minimum|maximum/i.test(field) ? formats.pt.money(Number(limit)) : limit
}
