import type { SdkErrorCode } from '@guiche/sdk'
import { type FieldError, writeFieldError } from './field-errors.ts'
import type { Language } from './text.ts'
import type { ErrorCode } from './types.ts'

/** An error of the service, or one that the SDK finds itself. */
type Code = ErrorCode | SdkErrorCode

/** The sentence of each error, by its code. The sentences of its field errors follow it. */
export const errorTexts: Record<Language, Record<Code, string>> = {
  en: {
    validation_failed: 'A field is not valid.',
    malformed_json: 'The service could not read the request. Reload the page and try again.',
    idempotency_key_reused:
      'This request was already sent with other data. Reload the page and check before you try again.',
    acquirer_refused: 'The PSP refused the request.',
    payment_refused: 'The simulated bank refused the payment.',
    insufficient_balance:
      'The available balance does not cover the amount and its fee. Use a smaller amount, or wait for more payments.',
    cancel_not_possible: 'This charge cannot be canceled.',
    refund_not_possible: 'This transaction cannot be refunded.',
    change_not_possible: 'Nothing was saved.',
    defence_not_possible: 'This is not possible with this defence.',
    infraction_not_possible: 'This is not possible with this dispute.',
    suspense_not_possible: 'This is not possible with this payment.',
    difference_not_possible: 'This discrepancy cannot be decided.',
    entry_not_possible: 'This entry cannot be posted.',
    withdrawal_not_possible: 'This is not possible with this withdrawal.',
    release_not_possible: 'The payout freeze cannot be lifted yet.',
    proposal_not_possible: 'This is not possible with this proposal.',
    erasure_not_possible: 'Nothing was erased. These records are still open:',
    user_not_possible: 'This is not possible with this user.',
    position_unknown: 'The feed has no event at this position.',
    payouts_stopped: 'Payouts are frozen. Try again later. The operator sees the reason on the System screen.',
    missing_token: 'Your session has ended. Sign in again.',
    invalid_token: 'Your session has ended. Sign in again.',
    token_expired: 'Your session has ended. Sign in again.',
    token_revoked: 'Your session has ended. Sign in again.',
    not_signed_in: 'Your session has ended. Sign in again.',
    sign_in_failed: 'E-mail address, password or code is wrong. Check them and try again.',
    second_factor_needed: 'Enter the code that your authenticator app shows.',
    second_factor_locked:
      'Ten codes in a row were wrong, so the second factor is locked. Ask an admin for a link to set a new password.',
    second_factor_required: 'Your role requires a second factor. Add one in “Your account”.',
    csrf_token_missing: 'This page is out of date. Reload it and try again.',
    permission_missing: 'Your role does not allow this. Ask an admin.',
    client_not_registered: 'This API client is not registered here. Ask the operator to register it.',
    merchant_moved: 'The merchant has moved to another address: new charges are created there.',
    certificate_refused: 'The required client certificate is missing.',
    insufficient_scope: 'The API client lacks a scope. Ask the operator to grant it.',
    not_found: 'Nothing was found here. Check the address or the id, or whether the link was used or has expired.',
    method_not_allowed: 'The service does not offer this. Reload the page and try again.',
    request_timeout: 'The request took too long to arrive. Try again.',
    body_too_large: 'The data is too large.',
    unsupported_media_type: 'The service could not read the request. Reload the page and try again.',
    headers_too_large: 'The request is too large. Delete the cookies of this site and try again.',
    rate_limited: 'Too many requests in a short time. Wait a minute and try again.',
    bad_request: 'The service could not read the request. Reload the page and try again.',
    internal_error:
      'Something went wrong in the service. Try again. If it happens again, give the request number to the operator.',
    acquirer_unavailable:
      'The PSP has not reported the outcome yet. It will be queried again, and the record shows the result.',
    overloaded: 'The service is overloaded. Wait a few seconds and try again.',
    database_unavailable: 'The database is down. The service reconnects automatically. Try again in a few seconds.',
    connection_failed: 'The service cannot be reached. Check your connection and try again.',
    timeout: 'The service did not answer in time. Check the record before you try again.',
    unexpected_answer: 'The answer did not come from Guichê. Check your connection and try again.',
    invalid_client: 'The credentials were refused.',
    webhook_not_verified: 'The webhook cannot be trusted.',
    wait_timed_out: 'It takes longer than expected. Check the record.',
  },
  pt: {
    validation_failed: 'Há um campo inválido.',
    malformed_json: 'O serviço não conseguiu ler a requisição. Recarregue a página e tente de novo.',
    idempotency_key_reused:
      'Este pedido já foi enviado com outros dados. Recarregue a página e confira antes de tentar de novo.',
    acquirer_refused: 'O PSP recusou o pedido.',
    payment_refused: 'O banco simulado recusou o pagamento.',
    insufficient_balance:
      'O saldo disponível não cobre o valor e a tarifa. Use um valor menor ou aguarde mais pagamentos.',
    cancel_not_possible: 'Não é possível cancelar esta cobrança.',
    refund_not_possible: 'Não é possível devolver esta transação.',
    change_not_possible: 'Nada foi salvo.',
    defence_not_possible: 'Não é possível fazer isso com esta defesa.',
    infraction_not_possible: 'Não é possível fazer isso com esta contestação.',
    suspense_not_possible: 'Não é possível fazer isso com este pagamento.',
    difference_not_possible: 'Não é possível decidir esta divergência.',
    entry_not_possible: 'Não é possível fazer este lançamento.',
    withdrawal_not_possible: 'Não é possível fazer isso com este saque.',
    release_not_possible: 'As saídas ainda não podem ser desbloqueadas.',
    proposal_not_possible: 'Não é possível fazer isso com esta proposta.',
    erasure_not_possible: 'Nada foi eliminado. Estes registros ainda estão em aberto:',
    user_not_possible: 'Não é possível fazer isso com este usuário.',
    position_unknown: 'O feed não tem nenhum evento nesta posição.',
    payouts_stopped: 'As saídas estão bloqueadas. Tente de novo mais tarde. O operador vê o motivo na tela Sistema.',
    missing_token: 'Sua sessão expirou. Entre de novo.',
    invalid_token: 'Sua sessão expirou. Entre de novo.',
    token_expired: 'Sua sessão expirou. Entre de novo.',
    token_revoked: 'Sua sessão expirou. Entre de novo.',
    not_signed_in: 'Sua sessão expirou. Entre de novo.',
    sign_in_failed: 'E-mail, senha ou código incorreto. Confira e tente de novo.',
    second_factor_needed: 'Falta o código do segundo fator. Abra o aplicativo autenticador e digite-o.',
    second_factor_locked:
      'Houve 10 códigos errados seguidos, e o segundo fator foi bloqueado. Peça a um administrador um link para uma nova senha.',
    second_factor_required: 'Seu perfil exige um segundo fator. Adicione um em “Sua conta”.',
    csrf_token_missing: 'Esta página está desatualizada. Recarregue-a e tente de novo.',
    permission_missing: 'Seu perfil não permite isso. Peça a um administrador.',
    client_not_registered: 'Esta credencial de API não está cadastrada aqui. Peça ao operador para cadastrá-la.',
    merchant_moved: 'O lojista mudou para outro endereço: as novas cobranças são criadas lá.',
    certificate_refused: 'Falta o certificado de cliente exigido.',
    insufficient_scope: 'Falta um escopo à credencial de API. Peça ao operador para concedê-lo.',
    not_found: 'Nada foi encontrado aqui. Confira o endereço ou o id, ou se o link já foi usado ou expirou.',
    method_not_allowed: 'O serviço não oferece isso. Recarregue a página e tente de novo.',
    request_timeout: 'A requisição demorou demais para chegar. Tente de novo.',
    body_too_large: 'Os dados enviados são grandes demais.',
    unsupported_media_type: 'O serviço não conseguiu ler a requisição. Recarregue a página e tente de novo.',
    headers_too_large: 'A requisição é grande demais. Apague os cookies deste site e tente de novo.',
    rate_limited: 'Muitas requisições em pouco tempo. Aguarde um minuto e tente de novo.',
    bad_request: 'O serviço não conseguiu ler a requisição. Recarregue a página e tente de novo.',
    internal_error:
      'Ocorreu um erro no serviço. Tente de novo; se continuar, informe o número da requisição ao operador.',
    acquirer_unavailable: 'O PSP ainda não informou o resultado. Ele será consultado de novo; acompanhe pelo registro.',
    overloaded: 'O serviço está sobrecarregado. Aguarde alguns segundos e tente de novo.',
    database_unavailable:
      'O banco de dados está fora do ar. O serviço se reconecta automaticamente; tente de novo em alguns segundos.',
    connection_failed: 'Não houve resposta do serviço. Confira a sua conexão e tente de novo.',
    timeout: 'O serviço não respondeu a tempo. Confira o registro antes de tentar de novo.',
    unexpected_answer: 'A resposta não veio do Guichê. Confira a sua conexão e tente de novo.',
    invalid_client: 'As credenciais foram recusadas.',
    webhook_not_verified: 'O webhook não é confiável.',
    wait_timed_out: 'Está demorando mais que o esperado. Confira o registro.',
  },
}

/** The errors whose fields are listed by name, each with what is wrong with it. */
const namingFields = ['validation_failed', 'idempotency_key_reused']

/** What happened and why, and a list of the fields or the records that the error names. */
export type WrittenError = { sentence: string; list: [name: string, text: string][] }

/** Writes an error in the chosen language. An unknown code gets the service's own sentence. */
export function writeError(
  { code, fields, sentence }: { code: string; fields: readonly FieldError[]; sentence: string },
  language: Language,
): WrittenError {
  const texts = errorTexts[language]
  if (!Object.hasOwn(texts, code)) return { sentence, list: [] }
  const list: WrittenError['list'] = []
  const reasons: string[] = []
  for (const fault of fields) {
    const name = fault.recordId ?? (namingFields.includes(code) ? fault.field : undefined)
    const text = writeFieldError(fault, language)
    if (name === undefined) reasons.push(text)
    else list.push([name, text])
  }
  return { sentence: [texts[code as Code], ...reasons].join(' '), list }
}
