import { counted, texts } from '../../text.ts'
import { closedDayLabels } from '../../types.ts'

export const words = texts({
  en: {
    ...closedDayLabels.en,
    day: 'Day',
    close: 'Close a day',
    closeAgain: 'Close again',
    closeLead:
      'The ledger is compared with the PSP for this day, and the totals of both are signed. If the day was already closed and something has changed, a new version is added; earlier versions stay.',
    whichDay: 'Day (Brasília time)',
    atAcquirer: 'Closing balance at the PSP',
    inLedger: 'Closing balance in the ledger',
    openOnes: (count: string) => `${count} open`,
    versionAt: (version: string, time: string) => `version ${version}, signed on ${time}`,
    versionFrom: (version: string, since: string) => `version ${version}, signed ${since}`,
    none: 'No closed days yet',
    noneHint:
      'Each day is closed automatically half an hour after midnight in Brasília and appears here. You can also close any past day manually.',
    back: 'Closed days',
    lead: (acquirer: string) => `The totals of ${acquirer} and of the ledger for this day, as signed.`,
    download: 'Signed statement',
    keys: 'Public keys',
    acquirer: 'PSP',
    ledger: 'Ledger',
    notReported: 'not available',
    dated: 'dated this day by the PSP',
    datedByPsp: (count: string, sum: string) =>
      `According to the PSP's dates, ${counted(count, 'payment', 'payments')} (${sum}) in the ledger belong to this day, whenever they were posted.`,
    changes: 'Changes since the previous version',
    postedSince: (count: string, sum: string) =>
      `Posted after the previous version: ${counted(count, 'payment', 'payments')} of this day (${sum}).`,
    notKnown: 'unknown',
    gone: 'no longer there',
    signature: 'For auditors',
    signatureLead:
      'The statement is a JWS (ES256). Anyone with the file and the public keys can verify it without this service: guiche close verify statement.jws --keys statement-keys.json',
    sha256: 'SHA-256 of the file',
  },
  pt: {
    ...closedDayLabels.pt,
    day: 'Dia',
    close: 'Fechar um dia',
    closeAgain: 'Fechar de novo',
    closeLead:
      'O razão é comparado com o PSP neste dia, e os totais de ambos são assinados. Se o dia já estava fechado e algo mudou, uma nova versão é criada; as anteriores são mantidas.',
    whichDay: 'Dia (horário de Brasília)',
    atAcquirer: 'Saldo final no PSP',
    inLedger: 'Saldo final no razão',
    openOnes: (count: string) => counted(count, 'aberta', 'abertas'),
    versionAt: (version: string, time: string) => `versão ${version}, assinada em ${time}`,
    versionFrom: (version: string, since: string) => `versão ${version}, assinada ${since}`,
    none: 'Nenhum dia fechado ainda',
    noneHint:
      'Cada dia é fechado automaticamente meia hora depois da meia-noite de Brasília e aparece aqui. Você também pode fechar manualmente qualquer dia passado.',
    back: 'Dias fechados',
    lead: (acquirer: string) => `Os totais do ${acquirer} e do razão neste dia, como foram assinados.`,
    download: 'Fechamento assinado',
    keys: 'Chaves públicas',
    acquirer: 'PSP',
    ledger: 'Razão',
    notReported: 'não disponível',
    dated: 'deste dia, segundo o PSP',
    datedByPsp: (count: string, sum: string) =>
      `Pelas datas do PSP, ${counted(count, 'pagamento', 'pagamentos')} (${sum}) deste dia no razão, qualquer que seja a data do lançamento.`,
    changes: 'Mudanças desde a versão anterior',
    postedSince: (count: string, sum: string) =>
      `Lançado depois da versão anterior: ${counted(count, 'pagamento', 'pagamentos')} deste dia (${sum}).`,
    notKnown: 'desconhecida',
    gone: 'não existe mais',
    signature: 'Para a auditoria',
    signatureLead:
      'O fechamento é um JWS (ES256). Com o arquivo e as chaves públicas, qualquer pessoa pode conferi-lo sem este serviço: guiche close verify statement.jws --keys statement-keys.json',
    sha256: 'SHA-256 do arquivo',
  },
})
