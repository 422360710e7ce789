import type { Format } from './format.ts'
import type { Language } from './text.ts'
import type { FreezeReason, Reason, ReasonCode } from './types.ts'

/** The Portuguese for reasons that the service writes in English. What a PSP or a person wrote stays as it is. */
const reasons: Record<ReasonCode, string> = {
  code_expired: 'o QR Code expirou',
  charge_removed: 'o PSP removeu a cobrança, e o QR Code não pode mais ser pago',
  charge_canceled: 'a cobrança foi cancelada',
  charge_of_other_amount: 'o PSP tem uma cobrança de outro valor com este txid',
  rejected_without_reason: 'o PSP recusou sem informar o motivo',
  returned_by_receiver: 'O recebedor devolveu o dinheiro',
  returned_in_part_by_receiver: 'O recebedor devolveu uma parte do dinheiro',
  payouts_frozen: 'as saídas estão bloqueadas até o operador conferir o razão; nada se perde',
  acquirer_not_configured: 'o PSP não está mais configurado: configure-o de novo',
  acquirer_circuit_open: 'o PSP não respondia há pouco, e a consulta não foi enviada',
  acquirer_silent: 'o PSP não respondeu a tempo',
  acquirer_not_reached: 'o PSP não pôde ser alcançado',
  acquirer_refused: 'o PSP recusou a consulta',
  acquirer_token_refused: 'o PSP não emitiu um token de acesso',
  acquirer_path_missing: 'o PSP respondeu 404 porque não tem este caminho: confira baseUrl e overrides.paths',
  acquirer_redirected: 'confira baseUrl, porque o PSP redireciona para outro endereço',
  acquirer_failed: 'o PSP respondeu com um erro',
  acquirer_unreadable: 'o PSP deu uma resposta que não pode ser lida',
  stopped: 'o serviço foi encerrado durante a comparação',
  AB03: 'o SPI interrompeu o pagamento porque demorou demais (AB03)',
  AB09: 'o banco do recebedor teve um erro e interrompeu o pagamento (AB09)',
  AC03: 'a conta do recebedor não existe ou o número está errado (AC03)',
  AC06: 'a conta do recebedor está bloqueada (AC06)',
  AC07: 'a conta do recebedor está encerrada (AC07)',
  AC14: 'a conta do recebedor não é do tipo informado (AC14)',
  AG03: 'a conta do recebedor não aceita este tipo de pagamento (AG03)',
  AG13: 'uma devolução não pode ser devolvida (AG13)',
  AM02: 'o valor passa do limite da conta do recebedor (AM02)',
  AM04: 'o saldo da conta ou do banco pagador não cobre o valor (AM04)',
  AM09: 'as devoluções juntas passariam do valor do pagamento (AM09)',
  BE01: 'o CPF ou CNPJ não é o do titular da conta (BE01)',
  BE17: 'o banco do recebedor recusou o QR Code (BE17)',
  CH11: 'o CPF ou CNPJ do recebedor não é válido (CH11)',
  DS04: 'o banco do recebedor recusou o pagamento (DS04)',
  DS27: 'o banco do recebedor não participa do Pix ou ainda não participa (DS27)',
  DT05: 'um pagamento só pode ser devolvido em até 90 dias (DT05)',
  DUPL: 'o identificador do pagamento já foi usado (DUPL)',
  ED05: 'o SPI não conseguiu processar o pagamento (ED05)',
  FF08: 'o identificador fim a fim do pagamento não é válido (FF08)',
  FRAD: 'o pagamento foi recusado por suspeita de fraude (FRAD)',
  RC09: 'o ISPB do banco pagador não é válido (RC09)',
  RC10: 'o ISPB do banco do recebedor não é válido (RC10)',
  RR04: 'o pagamento é barrado por regulação ou sanção (RR04)',
}

/** What the Portuguese also has from the English text, such as the PSP's own words. */
const quoted: Partial<Record<ReasonCode, RegExp>> = {
  acquirer_refused: /: (.+)$/,
  acquirer_token_refused: / answered (\d{3}) to the request for a token(?:: (.+))?$/,
  // The text has `elsewhere` if the answer names no host.
  acquirer_redirected: / points to (?!elsewhere,)([^,]+),/,
}

export function writeReason({ text, code }: Reason, language: Language): string {
  if (language === 'en' || code === null) return text
  const [, ...parts] = quoted[code]?.exec(text) ?? []
  const said = parts.filter(Boolean).join(' ')
  return said ? `${reasons[code]}: ${said}` : reasons[code]
}

/** The same as a sentence of its own. */
export function writeReasonSentence(reason: Reason, language: Language): string {
  const text = writeReason(reason, language)
  return withStop(text.charAt(0).toUpperCase() + text.slice(1))
}

const freezeReasons: Record<Language, Record<NonNullable<FreezeReason['code']>, (data: string) => string>> = {
  en: {
    ledger_inconsistent: (breach) => `The ledger is inconsistent (${breach}).`,
    money_left: (text) => text,
    backup_restored: (at) => `The backup of ${at} was restored.`,
    database_lost: (at) => `The database went back in time: it has lost what was committed after ${at}.`,
  },
  pt: {
    ledger_inconsistent: (breach) => `O razão está inconsistente (${breach}).`,
    money_left: () =>
      'A conciliação encontrou dinheiro que saiu e que nenhum saque explica: `npx guiche reconcile list --open` mostra.',
    backup_restored: (at) => `O backup de ${at} foi restaurado.`,
    database_lost: (at) => `O banco de dados voltou no tempo: perdeu o que foi gravado depois de ${at}.`,
  },
}

/** Why payouts are frozen, with times in Brasília time. What a person wrote, and the name of a rule, stay as they are. */
export function writeFreezeReasons(reasons: FreezeReason[], language: Language, format: Format): string {
  const write = ({ text, code, at }: FreezeReason) =>
    code === null ? withStop(text) : freezeReasons[language][code](at === null ? text : format.dateTime(at))
  return reasons.map(write).join(' ')
}

export function withStop(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
