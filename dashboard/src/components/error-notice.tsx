import { Alert, Button, Group, Text } from '@mantine/core'
import { codeOf, fieldErrorsOf, Refused, sentenceOf } from '../api.ts'
import { writeFieldError } from '../field-errors.ts'
import { texts, useLanguage, useText } from '../text.ts'

const words = texts({
  en: { title: 'Something went wrong', retry: 'Try again', request: 'Request', detail: '' },
  pt: { title: 'Algo deu errado', retry: 'Tentar de novo', request: 'Requisição', detail: 'Detalhe (em inglês):' },
})

/** The service answers in English. These are translations of the most frequent errors, by code. */
const inPortuguese: Record<string, string> = {
  not_found: 'Nada foi encontrado aqui. Confira o endereço ou o id, ou se o link já foi usado ou expirou.',
  not_signed_in: 'Sua sessão expirou. Entre de novo.',
  csrf_token_missing: 'Esta página está desatualizada. Recarregue-a e tente de novo.',
  permission_missing: 'Seu perfil não permite isso. Peça a um administrador.',
  sign_in_failed: 'E-mail, senha ou código incorreto. Confira e tente de novo.',
  second_factor_needed: 'Falta o código do segundo fator. Abra o aplicativo autenticador e digite-o.',
  second_factor_locked:
    'Houve 10 códigos errados seguidos, e o segundo fator foi bloqueado. Peça a um administrador um link para uma nova senha.',
  second_factor_required: 'Seu perfil exige um segundo fator. Adicione um em “Sua conta”.',
  proposal_not_possible: 'Não é possível fazer isso com esta proposta. Veja quem propôs e se ela ainda está aberta.',
  insufficient_balance:
    'O saldo disponível não cobre o valor e a tarifa. Use um valor menor ou aguarde mais pagamentos.',
  payouts_stopped: 'As saídas estão bloqueadas. Veja o motivo na tela Sistema antes de tentar de novo.',
  acquirer_unavailable: 'O PSP ainda não informou o resultado. Ele será consultado de novo; acompanhe pelo registro.',
  rate_limited: 'Muitas requisições em pouco tempo. Aguarde um minuto e tente de novo.',
  validation_failed: 'Há um campo inválido.',
  internal_error:
    'Ocorreu um erro no serviço. Tente de novo; se continuar, informe o número da requisição ao operador.',
  overloaded: 'O serviço está sobrecarregado. Aguarde alguns segundos e tente de novo.',
  database_unavailable:
    'O banco de dados está fora do ar. O serviço se reconecta automaticamente; tente de novo em alguns segundos.',
  request_timeout: 'A requisição demorou demais para chegar. Tente de novo.',
  connection_failed: 'Não houve resposta do serviço. Confira a sua conexão e tente de novo.',
  timeout: 'O serviço não respondeu a tempo. Confira o registro antes de tentar de novo.',
  acquirer_refused: 'O PSP recusou o pedido.',
  payment_refused: 'O banco simulado recusou o pagamento.',
  refund_not_possible: 'Não é possível devolver esta transação.',
  infraction_not_possible: 'Não é possível fazer isso com esta contestação.',
  suspense_not_possible: 'Não é possível fazer isso com este pagamento.',
  difference_not_possible: 'Não é possível decidir esta divergência.',
  entry_not_possible: 'Não é possível fazer este lançamento.',
  withdrawal_not_possible: 'Não é possível fazer isso com este saque.',
  user_not_possible: 'Não é possível fazer isso com este usuário.',
  idempotency_key_reused:
    'Este pedido já foi enviado com outros dados. Recarregue a página e confira antes de tentar de novo.',
  body_too_large: 'Os dados enviados são grandes demais.',
}

/** For these codes the service's sentence says more than a translation by code can, unless it names the fields. */
const hasMore = (code: string) => code.endsWith('_not_possible') || code.endsWith('_refused')

/** These replace sentences that repeat what is wrong with each field. */
const beforeFields: Record<string, string> = {
  validation_failed: 'A field is not valid.',
  entry_not_possible: 'This entry cannot be posted.',
  withdrawal_not_possible: 'This is not possible with this withdrawal.',
  proposal_not_possible: 'This is not possible with this proposal.',
  payment_refused: 'The simulated bank refused the payment.',
}

/** These replace the SDK's sentences, which are written for developers. */
const inEnglish: Record<string, string> = {
  connection_failed: 'The service cannot be reached. Check your connection and try again.',
  timeout: 'The service did not answer in time. Check the record before you try again.',
}

/** Writes the sentence for any thrown error, in the chosen language. */
export function useSentence(): (error: unknown) => string {
  const { language } = useLanguage()
  return (error) => {
    const byCode = language === 'pt' ? inPortuguese : fieldErrorsOf(error).length > 0 ? beforeFields : inEnglish
    return byCode[codeOf(error)] ?? sentenceOf(error)
  }
}

/** A retry cannot help with these. */
const finalCodes = ['not_found', 'permission_missing', 'validation_failed', 'bad_request']

/** What went wrong, what to do, and the request id with which the operator finds it in the log. */
export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const t = useText(words)
  const { language } = useLanguage()
  const code = codeOf(error)
  const sentence = useSentence()(error)
  const isOwnSentence = sentence !== sentenceOf(error)
  const fields = isOwnSentence ? fieldErrorsOf(error) : []
  const requestId = error instanceof Refused ? error.requestId : null
  return (
    <Alert color="red" title={t.title} role="alert">
      <Text size="sm">{sentence}</Text>
      {fields.map((field) => (
        <Text key={`${field.field} ${field.code}`} size="sm">
          <span className="identifier">{field.field}</span>: {writeFieldError(field, language)}
        </Text>
      ))}
      {language === 'pt' && hasMore(code) && fields.length === 0 && (
        <Text size="xs" c="dimmed" mt={4}>
          {t.detail} <span lang="en">{sentenceOf(error)}</span>
        </Text>
      )}
      {requestId && (
        <Text size="xs" c="dimmed" mt={4}>
          {t.request} <span className="identifier">{requestId}</span>
        </Text>
      )}
      {onRetry && !finalCodes.includes(code) && (
        <Group mt="sm">
          <Button size="xs" variant="light" color="red" onClick={onRetry}>
            {t.retry}
          </Button>
        </Group>
      )}
    </Alert>
  )
}
