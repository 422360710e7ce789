import { formats } from './format.ts'
import { findLanguage, type Language } from './text.ts'
import type { FieldErrorCode } from './types.ts'

/** An error of one field of a refused request. */
export type FieldError = { field: string; code: string; limit?: number; unit?: 'cents' | 'bytes' }

/** Writes what is wrong with a field. `limit` is the value that is allowed, formatted. */
type Write = (limit: string) => string

/** Writes what is wrong with a field in the chosen language. */
export function writeFieldError({ field, code, limit, unit }: FieldError, language = findLanguage()): string {
  const format = formats[language]
  const shown = limit === undefined ? '' : unit === 'cents' ? format.money(limit) : format.number(limit)
  const { ofField, ofCode } = sentences[language]
  const write = ofField[`${field} ${code}`] ?? (Object.hasOwn(ofCode, code) ? ofCode[code as FieldErrorCode] : null)
  return (write ?? ofCode.invalid)(shown)
}

/** A sentence for a field and a code is used before the sentence for the code. */
type Sentences = { ofField: Record<string, Write>; ofCode: Record<FieldErrorCode, Write> }

export const sentences: Record<Language, Sentences> = {
  en: {
    ofField: {
      'reference duplicate': () => 'Another entry at this PSP already has this reference.',
      'clientId required': () => 'Enter the client id at the external provider.',
      'clientId duplicate': () => 'Another client has this id.',
      'key invalid': () => 'This key is not of the chosen type.',
      'key invalid_format': () => 'Enter a valid PIX key.',
      'email invalid_format': () => 'Enter a valid e-mail address.',
      'document invalid': () => 'Enter a valid CPF or CNPJ.',
      'confirm invalid': () => 'Enter the same document again.',
      'maximum invalid': () => 'The maximum must not be below the minimum.',
      'from invalid': () => 'A period has three months at most.',
      'code wrong': () => 'Wrong code. Enter the one that the app shows now.',
      'password wrong': () => 'Wrong password.',
      'currentPassword wrong': () => 'Wrong password.',
      'endToEndId invalid': () =>
        'Enter the E and the 31 characters of a payment made after the withdrawal was created.',
      'endToEndId duplicate': () => 'This payment belongs to another withdrawal.',
      'amount not_held': () =>
        'No payout account holds this amount at the moment. The operator has to move money there.',
    },
    ofCode: {
      required: () => 'Fill in this field.',
      unknown_field: () => 'Unknown field.',
      unknown_parameter: () => 'Unknown filter.',
      duplicate: () => 'This value is used already.',
      differs: () => 'The two values differ.',
      out_of_order: () => 'The start is after the end.',
      invalid: () => 'Not valid.',
      invalid_type: () => 'A value of another type is needed.',
      invalid_value: () => 'This value is not allowed.',
      invalid_number: () => 'Not a valid number.',
      invalid_text: () => 'Contains characters that cannot be used.',
      invalid_format: () => 'The format is not valid.',
      invalid_cursor: () => 'Not a valid page. Go back to the first one.',
      too_small: (limit) => (limit === '' ? 'Below the minimum.' : `Enter at least ${limit}.`),
      too_large: (limit) => (limit === '' ? 'Above the maximum.' : `Enter at most ${limit}.`),
      too_short: (limit) => (limit === '' ? 'Too short.' : `Enter at least ${limit} characters.`),
      too_long: (limit) => (limit === '' ? 'Too long.' : `Enter at most ${limit} characters.`),
      too_few: (limit) => (limit === '' ? 'Too few.' : `Choose at least ${limit}.`),
      too_many: (limit) => (limit === '' ? 'Too many.' : `Choose at most ${limit}.`),
      too_deep: () => 'Nested too deeply.',
      length: () => 'A password has 12 to 256 characters.',
      too_easy: () =>
        'This password is easy to guess. Use a sentence of your own, without names, common words alone, or rows of keys.',
      wrong: () => 'Wrong.',
      not_offered: () => 'Not available.',
      not_held: () => 'It is not pending review any more.',
      not_pending: () => 'It is not pending any more.',
      not_processing: () => 'It is not being processed any more.',
      still_asked: () => 'The PSP can still be asked for the outcome. Wait until it answers.',
      not_open: () => 'It was decided already.',
      same_person: () => 'You requested this, so another person has to approve it.',
      own_secret: () =>
        'You created a client secret that may have made this request, so another person has to approve it.',
      own_account: () => 'You invited or reset the account that requested this, so another person has to approve it.',
      account_of_requester: () =>
        'The person who requested this invited you or reset your password, so another person has to approve it.',
      new_account: () => 'Your account is new or was reset. You can approve after 24 hours.',
      limit_per_withdrawal: (limit) => `Above the limit of ${limit} for one withdrawal.`,
      limit_per_day: (limit) => `Above the ${limit} that are left of the limit for this day (06:00 to 20:00).`,
      limit_per_night: (limit) => `Above the ${limit} that are left of the limit for this night (20:00 to 06:00).`,
      more_than_fees: (limit) => `The fees received are only ${limit}.`,
      more_than_owed: (limit) => `The debt is only ${limit}.`,
      more_than_balance: (limit) => `The account to debit has only ${limit}.`,
      same_account: () => 'Choose another account: debit and credit are the same.',
      br_code_invalid: () => 'Not a valid Pix code.',
      static_not_supported: () => 'Static and recurring codes cannot be paid here.',
      not_of_this_network: () => 'The code belongs to another network. Only charges of this simulator can be paid.',
      charge_unknown: () => 'The code leads to no charge.',
      charge_expired: () => 'The charge has expired.',
      already_paid: () => 'The charge is already paid.',
      payload_invalid: () => 'The charge is not signed by the institution that holds it.',
      amount_invalid: () => 'The amount is zero, or more than is left.',
      payer_invalid: () => 'Check the payer’s name, document, account and key.',
      unavailable: () => 'The receiver’s institution does not answer.',
      nothing_left: () => 'All of the money was returned already.',
      too_late: () => 'A payment can be disputed for 80 days only.',
      already_open: () => 'The payment already has an open dispute.',
      payment_unknown: () => 'There is no payment with this id.',
      payout_unknown: () => 'There is no payout with this id that has reached its receiver.',
      infraction_unknown: () => 'There is no such dispute.',
      refused: () => 'The simulator refused it.',
    },
  },
  pt: {
    ofField: {
      'reference duplicate': () => 'Outro lançamento neste PSP já tem esta referência.',
      'clientId required': () => 'Informe o client id do provedor externo.',
      'clientId duplicate': () => 'Outra credencial já tem este id.',
      'key invalid': () => 'Esta chave não é do tipo escolhido.',
      'key invalid_format': () => 'Informe uma chave Pix válida.',
      'email invalid_format': () => 'Informe um e-mail válido.',
      'document invalid': () => 'Informe um CPF ou CNPJ válido.',
      'confirm invalid': () => 'Digite o mesmo documento outra vez.',
      'maximum invalid': () => 'O máximo não pode ser menor que o mínimo.',
      'from invalid': () => 'O período pode ter no máximo três meses.',
      'code wrong': () => 'Código incorreto. Digite o que o aplicativo mostra agora.',
      'password wrong': () => 'Senha incorreta.',
      'currentPassword wrong': () => 'Senha incorreta.',
      'endToEndId invalid': () => 'Informe o E e os 31 caracteres de um pagamento feito depois da criação do saque.',
      'endToEndId duplicate': () => 'Este pagamento é de outro saque.',
      'amount not_held': () =>
        'Nenhuma conta de saída tem este valor no momento. O operador precisa transferir dinheiro para ela.',
    },
    ofCode: {
      required: () => 'Preencha este campo.',
      unknown_field: () => 'Campo desconhecido.',
      unknown_parameter: () => 'Filtro desconhecido.',
      duplicate: () => 'Valor repetido.',
      differs: () => 'Os dois valores são diferentes.',
      out_of_order: () => 'O início vem depois do fim.',
      invalid: () => 'Valor inválido.',
      invalid_type: () => 'Tipo de valor inválido.',
      invalid_value: () => 'Este valor não é permitido.',
      invalid_number: () => 'Número inválido.',
      invalid_text: () => 'Contém caracteres que não podem ser usados.',
      invalid_format: () => 'Formato inválido.',
      invalid_cursor: () => 'Página inválida. Volte à primeira.',
      too_small: (limit) => (limit === '' ? 'Abaixo do mínimo.' : `No mínimo ${limit}.`),
      too_large: (limit) => (limit === '' ? 'Acima do máximo.' : `No máximo ${limit}.`),
      too_short: (limit) => (limit === '' ? 'Curto demais.' : `No mínimo ${limit} caracteres.`),
      too_long: (limit) => (limit === '' ? 'Longo demais.' : `No máximo ${limit} caracteres.`),
      too_few: (limit) => (limit === '' ? 'Poucos itens.' : `No mínimo ${limit} itens.`),
      too_many: (limit) => (limit === '' ? 'Itens demais.' : `No máximo ${limit} itens.`),
      too_deep: () => 'Dados aninhados demais.',
      length: () => 'A senha tem de 12 a 256 caracteres.',
      too_easy: () => 'Fácil de adivinhar: não use nomes nem o e-mail, e varie os caracteres.',
      wrong: () => 'Incorreto.',
      not_offered: () => 'Não está disponível.',
      not_held: () => 'Não está mais aguardando análise.',
      not_pending: () => 'Não está mais pendente.',
      not_processing: () => 'Não está mais em processamento.',
      still_asked: () => 'O PSP ainda pode ser consultado. Aguarde a resposta dele.',
      not_open: () => 'Já foi decidido.',
      same_person: () => 'Você fez o pedido, então outra pessoa precisa aprovar.',
      own_secret: () =>
        'Você criou um segredo da credencial que pode ter feito este pedido, então outra pessoa precisa aprovar.',
      own_account: () => 'Você convidou ou redefiniu a conta que fez o pedido, então outra pessoa precisa aprovar.',
      account_of_requester: () =>
        'Quem fez o pedido convidou você ou redefiniu sua senha, então outra pessoa precisa aprovar.',
      new_account: () => 'Sua conta é nova ou foi redefinida. Você poderá aprovar depois de 24 horas.',
      limit_per_withdrawal: (limit) => `Acima do limite de ${limit} por saque.`,
      limit_per_day: (limit) => `Acima dos ${limit} que restam do limite deste dia (das 6h às 20h).`,
      limit_per_night: (limit) => `Acima dos ${limit} que restam do limite desta noite (das 20h às 6h).`,
      more_than_fees: (limit) => `As tarifas recebidas somam apenas ${limit}.`,
      more_than_owed: (limit) => `A dívida é de apenas ${limit}.`,
      more_than_balance: (limit) => `A conta de origem tem apenas ${limit}.`,
      same_account: () => 'Escolha outra conta: a de origem e a de destino são a mesma.',
      br_code_invalid: () => 'O código Pix não é válido.',
      static_not_supported: () => 'Códigos estáticos e recorrentes não podem ser pagos aqui.',
      not_of_this_network: () => 'O código é de outra rede. Só cobranças deste simulador podem ser pagas.',
      charge_unknown: () => 'O código não leva a nenhuma cobrança.',
      charge_expired: () => 'A cobrança expirou.',
      already_paid: () => 'A cobrança já foi paga.',
      payload_invalid: () => 'A cobrança não está assinada pela instituição dela.',
      amount_invalid: () => 'O valor é zero ou maior que o que resta.',
      payer_invalid: () => 'Confira o nome, o documento, a conta e a chave do pagador.',
      unavailable: () => 'A instituição do recebedor não responde.',
      nothing_left: () => 'Todo o dinheiro já foi devolvido.',
      too_late: () => 'Um pagamento só pode ser contestado por 80 dias.',
      already_open: () => 'O pagamento já tem uma contestação aberta.',
      payment_unknown: () => 'Não há pagamento com este id.',
      payout_unknown: () => 'Não há saque com este id que tenha chegado ao recebedor.',
      infraction_unknown: () => 'Esta contestação não existe.',
      refused: () => 'O simulador recusou.',
    },
  },
}
