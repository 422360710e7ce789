import { formats } from './format.ts'
import { counted, findLanguage, type Language } from './text.ts'
import type { FieldErrorCode } from './types.ts'

/** An error of one field of a refused request. */
export type FieldError = { field: string; code: string; limit?: number; unit?: 'cents' | 'bytes'; recordId?: string }

/** Writes what is wrong with a field. `limit` is the value that is allowed, formatted. */
type Write = (limit: string) => string

/** Writes what is wrong with a field in the chosen language. */
export function writeFieldError({ field, code, limit, unit }: FieldError, language = findLanguage()): string {
  const format = formats[language]
  const writeLimit = unit === 'cents' ? format.money : unit === 'bytes' ? format.bytes : format.number
  const shown = limit === undefined ? '' : writeLimit(limit)
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
      'url duplicate': () => 'Another endpoint has this URL.',
      'slug duplicate': () => 'Another link has this address.',
      'amountMax out_of_order': () => 'The maximum is below the minimum.',
      'amount not_offered': () => 'The amount cannot change: the link has a static code, which may be printed.',
      'title too_many': (limit) => `There can be at most ${limit} links.`,
      'url too_many': (limit) => `There can be at most ${limit} endpoints. Delete one that is no longer used.`,
      'key invalid': () => 'This key is not of the chosen type.',
      'key invalid_format': () => 'Enter a valid Pix key.',
      'email invalid_format': () => 'Enter a valid e-mail address.',
      'document invalid': () => 'Enter a valid CPF or CNPJ.',
      'confirm invalid': () => 'Enter the same document again.',
      'maximum invalid': () => 'The maximum must not be below the minimum.',
      'from invalid': () => 'A period has three months at most.',
      'code wrong': () => 'Wrong code. Enter the one that the app shows now.',
      'password wrong': () => 'Wrong password.',
      'current wrong': () => 'Wrong password.',
      'endToEndId invalid': () =>
        'Enter the E and the 31 characters of a payment made after the withdrawal was created.',
      'endToEndId duplicate': () => 'This payment belongs to another withdrawal.',
      'secondFactor duplicate': () => 'There is a second factor already. Remove it first.',
      'email duplicate': () => 'There is a user with this e-mail address already.',
      'refunds too_many': (limit) => `A transaction can have at most ${limit} refunds.`,
      'page too_deep': () => 'This page is too far back. Narrow the list.',
      'file required': () => 'The file is empty.',
      'file invalid_format': () => 'Only PDF, PNG, JPEG, WebP and plain text files can be added.',
      'file too_large': (limit) => `Too large: the limit is ${limit}.`,
      'file too_many': (limit) => `There can be at most ${limit} files.`,
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
      too_short: (limit) =>
        limit === '' ? 'Too short.' : `Enter at least ${counted(limit, 'character', 'characters')}.`,
      too_long: (limit) => (limit === '' ? 'Too long.' : `Enter at most ${limit} characters.`),
      too_few: (limit) => (limit === '' ? 'Too few.' : `Choose at least ${limit}.`),
      too_many: (limit) => (limit === '' ? 'Too many.' : `Choose at most ${limit}.`),
      too_deep: () => 'Nested too deeply.',
      length: () => 'A password has 12 to 256 characters.',
      too_easy: () =>
        'This password is easy to guess. Use a sentence of your own, without names, common words alone, or rows of keys.',
      wrong: () => 'Wrong.',
      not_offered: () => 'Not available.',
      not_pending_review: () => 'It is not pending review any more.',
      more_than_payout_account: () =>
        'No payout account has this amount free at the moment. The operator has to move money there.',
      not_pending: () => 'It is not pending any more.',
      maybe_sent: () =>
        'It may have been sent already: the database was restored or lost its last changes. Only the operator can decide on it.',
      not_processing: () => 'It is not being processed any more.',
      still_checked: () => 'The PSP can still be asked for the outcome. Wait until it answers.',
      not_open: () => 'It was decided already.',
      same_person: () => 'You requested this, so another person has to approve it.',
      own_secret: () =>
        'You created a client secret that may have made this request, so another person has to approve it.',
      own_account: () =>
        'You invited or reset, directly or through other accounts, the account that made this request or that created a client secret it may have used. Another person has to approve it.',
      account_of_requester: () =>
        'The account that made this request, or that created a client secret it may have used, invited you or reset your password, directly or through other accounts. Another person has to approve it.',
      same_inviter: () =>
        'The same person, directly or through other accounts, invited or reset your account and the one that made this request or that created a client secret it may have used. Another person has to approve it.',
      new_account: () => 'Your account is new, or was reset or linked. You can approve after 24 hours.',
      limit_per_withdrawal: (limit) => `Above the limit of ${limit} for one withdrawal.`,
      limit_per_day: (limit) => `Above the ${limit} that are left of the limit for this day (06:00 to 20:00).`,
      limit_per_night: (limit) => `Above the ${limit} that are left of the limit for this night (20:00 to 06:00).`,
      more_than_fees: (limit) => `The fees received are only ${limit}.`,
      more_than_owed: (limit) => `The debt is only ${limit}.`,
      more_than_balance: (limit) => `The account to debit has only ${limit}.`,
      same_account: () => 'Choose another account: debit and credit are the same.',
      br_code_invalid: () => 'Not a valid Pix code.',
      static_not_supported: () => 'Recurring codes cannot be paid here.',
      not_of_this_network: () =>
        'The code belongs to another network. Only charges and static codes of this simulator can be paid.',
      charge_unknown: () => 'The code leads to no charge.',
      charge_expired: () => 'The charge has expired.',
      charge_removed: () => 'The charge was canceled.',
      has_failed: () => 'It has failed: there is no open charge to cancel.',
      already_paid: () => 'The charge is already paid.',
      amount_invalid: () => 'The amount is missing, zero, or more than is left.',
      payer_invalid: () => 'Check the payer’s name, document, account and key.',
      nothing_left: () => 'Nothing is left: all of the money was returned already, or is disputed.',
      too_late: () => 'A payment can be disputed for 80 days only.',
      already_open: () => 'The payment already has an open dispute.',
      payment_unknown: () => 'There is no payment with this id.',
      payout_unknown: () => 'There is no payout with this id that has reached its receiver.',
      infraction_unknown: () => 'There is no such dispute.',
      refused: () => 'The simulator refused it.',
      changed: () => 'It has changed meanwhile. Check it again.',
      not_configured: () => 'The PSP that holds this money is not configured. The operator has to configure it first.',
      not_paid: () => 'The transaction is not paid.',
      too_old: () => 'The payment is more than 90 days old, and Pix accepts no returns of it any more.',
      disputed: () => 'The payment is disputed (MED). Wait for the decision.',
      has_open_dispute: () =>
        'The payment has an open dispute (MED). Attribute it to a transaction, which blocks it there, or wait.',
      refund_in_progress: () => 'A refund of this transaction is in progress. Try again when it has ended.',
      refunds_failed: (limit) =>
        `The last refunds of this transaction failed. Try again in ${counted(limit, 'second', 'seconds')}.`,
      refunded: () => 'Nothing of the payment is left to refund.',
      returned: () => 'Nothing of the payment is left: it was returned under MED, in whole or together with refunds.',
      only_returnable: () => 'A part of it was returned to the payer. What is left can only be sent back.',
      only_refundable: () => 'A part of the payment is already back with the payer. Refund the rest instead.',
      attributed: () => 'It is attributed to a transaction. Reverse the attribution first, or refund the transaction.',
      not_attributed: () => 'It is attributed to no transaction.',
      other_merchant: () => 'It was paid to another merchant, for a transaction that was already paid.',
      returning: () => 'It is being sent back to the payer.',
      sent_back: () => 'It was sent back to the payer.',
      no_code: () => 'The transaction never had a code that could be paid.',
      code_unknown: () => 'The code of the transaction is not known yet, so nobody can have paid it. Try again later.',
      already_accepted: () => 'It is already accepted, and waits for the return.',
      resolves_itself: () => 'There is nothing to do: the next run or the next close resolves it automatically.',
      needs_investigation: () =>
        'No entry follows from what is known. Investigate it at the PSP, then dismiss it with the reason.',
      no_answer: () =>
        'The PSP could not be queried, so this was not carried out. Try again when the PSP answers: nothing is posted twice.',
      not_confirmed: () =>
        'The PSP does not confirm all of it when it is queried individually, so the discrepancy stays open. Try again later, or dismiss it with the reason.',
      other_proposal: () => 'Another person’s proposal about the same record is waiting. Approve or reject it first.',
      still_open: () => 'Not finished yet. Until then the data is needed.',
      last_admin: () => 'No admin would be left. Make somebody else an admin first.',
      already_sent: () => 'The defence was sent already. Nothing can be changed any more.',
      not_over: () => 'This day is not over in Brasília.',
      not_checked: () => 'Confirm that everything in the list was checked.',
    },
  },
  pt: {
    ofField: {
      'reference duplicate': () => 'Outro lançamento neste PSP já tem esta referência.',
      'clientId required': () => 'Informe o client id do provedor externo.',
      'clientId duplicate': () => 'Outra credencial já tem este id.',
      'url duplicate': () => 'Outro endpoint já tem esta URL.',
      'slug duplicate': () => 'Outro link já tem este endereço.',
      'amountMax out_of_order': () => 'O máximo é menor que o mínimo.',
      'amount not_offered': () => 'O valor não pode mudar: o link tem um código estático, que pode estar impresso.',
      'title too_many': (limit) => `Pode haver no máximo ${limit} links.`,
      'url too_many': (limit) => `Pode haver no máximo ${limit} endpoints. Exclua um que não é mais usado.`,
      'key invalid': () => 'Esta chave não é do tipo escolhido.',
      'key invalid_format': () => 'Informe uma chave Pix válida.',
      'email invalid_format': () => 'Informe um e-mail válido.',
      'document invalid': () => 'Informe um CPF ou CNPJ válido.',
      'confirm invalid': () => 'Digite o mesmo documento outra vez.',
      'maximum invalid': () => 'O máximo não pode ser menor que o mínimo.',
      'from invalid': () => 'O período pode ter no máximo três meses.',
      'code wrong': () => 'Código incorreto. Digite o que o aplicativo mostra agora.',
      'password wrong': () => 'Senha incorreta.',
      'current wrong': () => 'Senha incorreta.',
      'endToEndId invalid': () => 'Informe o E e os 31 caracteres de um pagamento feito depois da criação do saque.',
      'endToEndId duplicate': () => 'Este pagamento é de outro saque.',
      'secondFactor duplicate': () => 'Já existe um segundo fator. Remova-o primeiro.',
      'email duplicate': () => 'Já existe um usuário com este e-mail.',
      'refunds too_many': (limit) => `Uma transação pode ter no máximo ${limit} devoluções.`,
      'page too_deep': () => 'Esta página está longe demais. Restrinja a lista.',
      'file required': () => 'O arquivo está vazio.',
      'file invalid_format': () => 'Só são aceitos arquivos PDF, PNG, JPEG, WebP e texto simples.',
      'file too_large': (limit) => `Arquivo grande demais: o limite é ${limit}.`,
      'file too_many': (limit) => `O limite é de ${limit} arquivos.`,
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
      too_short: (limit) =>
        limit === '' ? 'Curto demais.' : `No mínimo ${counted(limit, 'caractere', 'caracteres')}.`,
      too_long: (limit) => (limit === '' ? 'Longo demais.' : `No máximo ${limit} caracteres.`),
      too_few: (limit) => (limit === '' ? 'Poucos itens.' : `No mínimo ${counted(limit, 'item', 'itens')}.`),
      too_many: (limit) => (limit === '' ? 'Itens demais.' : `No máximo ${limit} itens.`),
      too_deep: () => 'Dados aninhados demais.',
      length: () => 'A senha tem de 12 a 256 caracteres.',
      too_easy: () =>
        'Fácil de adivinhar. Use uma frase sua, sem nomes nem sequências do teclado, e não só de palavras comuns.',
      wrong: () => 'Incorreto.',
      not_offered: () => 'Não está disponível.',
      not_pending_review: () => 'Não está mais aguardando análise.',
      more_than_payout_account: () =>
        'Nenhuma conta de saída tem este valor disponível no momento. O operador precisa transferir dinheiro para ela.',
      not_pending: () => 'Não está mais pendente.',
      maybe_sent: () =>
        'Pode já ter sido enviado: o banco de dados foi restaurado ou perdeu as últimas alterações. Só o operador pode decidir.',
      not_processing: () => 'Não está mais em processamento.',
      still_checked: () => 'O PSP ainda pode ser consultado. Aguarde a resposta dele.',
      not_open: () => 'Já foi decidido.',
      same_person: () => 'Você fez o pedido, então outra pessoa precisa aprovar.',
      own_secret: () =>
        'Você criou um segredo da credencial que pode ter feito este pedido, então outra pessoa precisa aprovar.',
      own_account: () =>
        'Você convidou ou redefiniu, diretamente ou por meio de outras contas, a conta que fez este pedido ou que criou um segredo da credencial que ele pode ter usado. Outra pessoa precisa aprovar.',
      account_of_requester: () =>
        'A conta que fez este pedido, ou que criou um segredo da credencial que ele pode ter usado, convidou você ou redefiniu sua senha, diretamente ou por meio de outras contas. Outra pessoa precisa aprovar.',
      same_inviter: () =>
        'A mesma pessoa, diretamente ou por meio de outras contas, convidou ou redefiniu a sua conta e a que fez este pedido ou que criou um segredo da credencial que ele pode ter usado. Outra pessoa precisa aprovar.',
      new_account: () => 'Sua conta é nova, ou foi redefinida ou vinculada. Você poderá aprovar depois de 24 horas.',
      limit_per_withdrawal: (limit) => `Acima do limite de ${limit} por saque.`,
      limit_per_day: (limit) => `Acima dos ${limit} que restam do limite deste dia (das 6h às 20h).`,
      limit_per_night: (limit) => `Acima dos ${limit} que restam do limite desta noite (das 20h às 6h).`,
      more_than_fees: (limit) => `As tarifas recebidas somam apenas ${limit}.`,
      more_than_owed: (limit) => `A dívida é de apenas ${limit}.`,
      more_than_balance: (limit) => `A conta de origem tem apenas ${limit}.`,
      same_account: () => 'Escolha outra conta: a de origem e a de destino são a mesma.',
      br_code_invalid: () => 'O código Pix não é válido.',
      static_not_supported: () => 'Códigos recorrentes não podem ser pagos aqui.',
      not_of_this_network: () =>
        'O código é de outra rede. Só cobranças e códigos estáticos deste simulador podem ser pagos.',
      charge_unknown: () => 'O código não leva a nenhuma cobrança.',
      charge_expired: () => 'A cobrança expirou.',
      charge_removed: () => 'A cobrança foi cancelada.',
      has_failed: () => 'A transação falhou: não há cobrança aberta para cancelar.',
      already_paid: () => 'A cobrança já foi paga.',
      amount_invalid: () => 'Falta o valor, ou ele é zero ou maior que o que resta.',
      payer_invalid: () => 'Confira o nome, o documento, a conta e a chave do pagador.',
      nothing_left: () => 'Não resta nada: todo o dinheiro já foi devolvido ou está em contestação.',
      too_late: () => 'Um pagamento só pode ser contestado por 80 dias.',
      already_open: () => 'O pagamento já tem uma contestação aberta.',
      payment_unknown: () => 'Não há pagamento com este id.',
      payout_unknown: () => 'Não há saque com este id que tenha chegado ao recebedor.',
      infraction_unknown: () => 'Esta contestação não existe.',
      refused: () => 'O simulador recusou.',
      changed: () => 'Houve uma mudança enquanto isso. Confira de novo.',
      not_configured: () => 'O PSP que tem este dinheiro não está configurado. O operador precisa configurá-lo antes.',
      not_paid: () => 'A transação não está paga.',
      too_old: () => 'O pagamento tem mais de 90 dias, e o Pix não aceita mais a devolução.',
      disputed: () => 'O pagamento está em contestação (MED). Aguarde a decisão.',
      has_open_dispute: () =>
        'O pagamento tem uma contestação aberta (MED). Concilie-o com uma transação, que fica bloqueada, ou aguarde.',
      refund_in_progress: () => 'Uma devolução desta transação está em andamento. Tente de novo quando terminar.',
      refunds_failed: (limit) =>
        `As últimas devoluções desta transação falharam. Tente de novo em ${counted(limit, 'segundo', 'segundos')}.`,
      refunded: () => 'Não resta nada do pagamento para devolver.',
      returned: () => 'Não resta nada do pagamento: ele foi devolvido por MED, no todo ou junto com outras devoluções.',
      only_returnable: () => 'Uma parte já voltou para o pagador. O que resta só pode ser devolvido.',
      only_refundable: () => 'Uma parte do pagamento já voltou para o pagador. Devolva o restante pela transação.',
      attributed: () => 'Está conciliado com uma transação. Desfaça a conciliação antes, ou devolva pela transação.',
      not_attributed: () => 'Não está conciliado com nenhuma transação.',
      other_merchant: () => 'Foi pago a outro lojista, por uma transação que já estava paga.',
      returning: () => 'Está sendo devolvido ao pagador.',
      sent_back: () => 'Já foi devolvido ao pagador.',
      no_code: () => 'A transação nunca teve um código que pudesse ser pago.',
      code_unknown: () =>
        'O código da transação ainda não é conhecido, então ninguém pode ter pago. Tente de novo mais tarde.',
      already_accepted: () => 'Já foi aceita e aguarda a devolução.',
      resolves_itself: () => 'Não há nada a fazer: a próxima conciliação ou o próximo fechamento resolve sozinho.',
      needs_investigation: () =>
        'O que se sabe não leva a nenhum lançamento. Apure com o PSP e depois descarte com o motivo.',
      no_answer: () =>
        'Não foi possível consultar o PSP, então isto não foi executado. Tente de novo quando o PSP responder: nada é lançado duas vezes.',
      not_confirmed: () =>
        'O PSP não confirma tudo na consulta individual, então a divergência continua aberta. Tente mais tarde, ou descarte-a com o motivo.',
      other_proposal: () => 'A proposta de outra pessoa sobre o mesmo assunto está aberta. Aprove ou rejeite-a antes.',
      still_open: () => 'Ainda não terminou. Até lá os dados são necessários.',
      last_admin: () => 'Não restaria nenhum administrador. Torne outra pessoa administradora antes.',
      already_sent: () => 'A defesa já foi enviada. Nada mais pode ser alterado.',
      not_over: () => 'Este dia ainda não terminou em Brasília.',
      not_checked: () => 'Confirme que tudo na lista foi verificado.',
    },
  },
}
