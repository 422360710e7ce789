import { texts, useLanguage } from '../../text.ts'

export const words = texts({
  en: {
    title: 'Webhooks',
    lead: 'Every event sent to your receivers, each delivery attempt, and what is still waiting.',
    deliveries: 'Deliveries',
    events: 'All events',
    receivers: 'Receivers',
    receiversLead: 'Last 24 hours',
    delivered: (count: string) => `${count} delivered`,
    failing: (count: string) => `${count} failing`,
    givenUp: (count: string) => `${count} no longer retried`,
    waiting: (count: string) => `${count} waiting`,
    oldest: (time: string) => `oldest since ${time}`,
    allArrived: 'everything delivered',
    nothingWaits: 'nothing waiting',
    noReceivers:
      'Nothing was sent in the last 24 hours, and nothing is waiting. Receivers appear here with their deliveries.',
    state: 'Status',
    anyState: 'All',
    type: 'Event',
    anyType: 'All',
    from: 'From',
    until: 'Until',
    record: 'Record id',
    when: 'Date',
    receiver: 'Receiver',
    attempts: 'Attempts',
    none: 'No deliveries yet',
    noneHint:
      'Set a webhookUrl when you create a transaction or a withdrawal. Each status change is delivered to it and appears here.',
    noneFound: 'No deliveries match these filters',
    noneFoundHint: 'Remove a filter or widen the date range.',
    noEvents: 'No events yet',
    noEventsHint: 'Each status change of a transaction or withdrawal appears here.',
    more: (count: string) => `More than ${count} match. Narrow the dates for an exact count.`,
    noAddress: 'no webhook URL',
    states: {
      waiting: 'waiting',
      pending: 'retry scheduled',
      delivered: 'delivered',
      exhausted: 'attempts exhausted',
      gone: 'refused (410)',
    } as Record<string, string>,
    delivery: 'Delivery',
    next: (time: string) => `Next attempt ${time}.`,
    behind: 'It waits until an earlier event of the same record is delivered.',
    attempt: (number: string) => `Attempt ${number}`,
    noAttempts: 'No attempt yet, or the last one was more than 30 days ago.',
    noAnswer: 'no answer',
    payload: 'Payload',
    openRecord: 'View the record',
    resend: 'Resend',
    resent: 'Resending now.',
    many: 'Resend a period',
    manyLead:
      'Use this when a receiver was down or lost events. Choose which deliveries to resend; nothing is sent before you confirm.',
    which: 'Status',
    whichStates: {
      exhausted: 'Attempts exhausted',
      gone: 'Refused (410)',
      pending: 'Retry scheduled: send now instead of later',
      delivered: 'Already delivered: your receiver gets them twice',
    } as Record<string, string>,
    preview: (count: string, receivers: number) =>
      receivers === 1
        ? `${count} deliveries to one URL will be resent.`
        : `${count} deliveries to ${receivers} URLs will be resent.`,
    previewOne: 'One delivery will be resent.',
    previewNone: 'No deliveries match. Choose another period or status.',
    tooMany: (max: string) => `More than ${max} match. Choose a shorter period and resend the rest afterwards.`,
    invalid: 'Choose a start and a later end.',
    sendMany: (count: string) => `Resend ${count}`,
    progress: (done: string, count: string) => `${done} of ${count} delivered`,
    progressFailing: (count: string) => `${count} failed and are retried automatically`,
    progressGivenUp: (count: string) => `${count} no longer retried`,
    progressDone: 'All delivered.',
    close: 'Close',
    background: 'You can close this window. Resending continues in the background.',
  },
  pt: {
    title: 'Webhooks',
    lead: 'Os eventos enviados aos seus endpoints, cada tentativa de entrega e o que ainda está na fila.',
    deliveries: 'Entregas',
    events: 'Todos os eventos',
    receivers: 'Endpoints',
    receiversLead: 'Últimas 24 horas',
    delivered: (count: string) => `${count} entregues`,
    failing: (count: string) => `${count} falhando`,
    givenUp: (count: string) => `${count} sem novas tentativas`,
    waiting: (count: string) => `${count} na fila`,
    oldest: (time: string) => `a mais antiga desde ${time}`,
    allArrived: 'tudo entregue',
    nothingWaits: 'nada na fila',
    noReceivers:
      'Nada foi enviado nas últimas 24 horas e nada está na fila. Os endpoints aparecem aqui com as suas entregas.',
    state: 'Situação',
    anyState: 'Todas',
    type: 'Evento',
    anyType: 'Todos',
    from: 'De',
    until: 'Até',
    record: 'Id de um registro',
    when: 'Data',
    receiver: 'Endpoint',
    attempts: 'Tentativas',
    none: 'Nenhuma entrega ainda',
    noneHint:
      'Informe um webhookUrl ao criar uma transação ou um saque. Cada mudança de situação é enviada para esse endereço e aparece aqui.',
    noneFound: 'Nenhuma entrega encontrada',
    noneFoundHint: 'Remova um filtro ou amplie o período.',
    noEvents: 'Nenhum evento ainda',
    noEventsHint: 'Cada mudança de situação de uma transação ou de um saque aparece aqui.',
    more: (count: string) => `Mais de ${count} encontradas. Reduza o período para ver o total exato.`,
    noAddress: 'sem webhookUrl',
    states: {
      waiting: 'na fila',
      pending: 'nova tentativa',
      delivered: 'entregue',
      exhausted: 'tentativas esgotadas',
      gone: 'recusada (410)',
    },
    delivery: 'Entrega',
    next: (time: string) => `Próxima tentativa ${time}.`,
    behind: 'Aguarda a entrega de um evento anterior do mesmo registro.',
    attempt: (number: string) => `Tentativa ${number}`,
    noAttempts: 'Nenhuma tentativa ainda, ou a última foi há mais de 30 dias.',
    noAnswer: 'sem resposta',
    payload: 'Conteúdo',
    openRecord: 'Ver o registro',
    resend: 'Reenviar',
    resent: 'Reenviando agora.',
    many: 'Reenviar um período',
    manyLead:
      'Para quando um endpoint ficou fora do ar ou perdeu eventos. Escolha o que reenviar; nada é enviado antes de você confirmar.',
    which: 'Situação',
    whichStates: {
      exhausted: 'Tentativas esgotadas',
      gone: 'Recusadas (410)',
      pending: 'Nova tentativa agendada: enviar agora em vez de depois',
      delivered: 'Já entregues: seu endpoint recebe duas vezes',
    },
    preview: (count: string, receivers: number) =>
      receivers === 1
        ? `${count} entregas para um endereço serão reenviadas.`
        : `${count} entregas para ${receivers} endereços serão reenviadas.`,
    previewOne: 'Uma entrega será reenviada.',
    previewNone: 'Nenhuma entrega encontrada. Escolha outro período ou outra situação.',
    tooMany: (max: string) => `Mais de ${max} encontradas. Escolha um período menor e reenvie o resto depois.`,
    invalid: 'Escolha um início e um fim posterior.',
    sendMany: (count: string) => `Reenviar ${count}`,
    progress: (done: string, count: string) => `${done} de ${count} entregues`,
    progressFailing: (count: string) => `${count} falharam e serão tentadas de novo automaticamente`,
    progressGivenUp: (count: string) => `${count} sem novas tentativas`,
    progressDone: 'Tudo entregue.',
    close: 'Fechar',
    background: 'Você pode fechar esta janela. O reenvio continua em segundo plano.',
  },
})

/** Translations of the service's sentences for attempts without an HTTP response. */
const attemptErrorsPt: Record<string, string> = {
  'No answer in time': 'Sem resposta a tempo',
  'The address of the receiver may not be called': 'O endereço do endpoint não é permitido',
  'The address of the receiver may not be called (WEBHOOK_ALLOW_PRIVATE=true allows private hosts)':
    'O endereço do endpoint é de uma rede privada (WEBHOOK_ALLOW_PRIVATE=true permite)',
  'The receiver answered 410: it accepts no more events': 'O endpoint respondeu 410: não aceita mais eventos',
  'The connection was refused': 'Conexão recusada',
  'The connection was closed before an answer': 'Conexão encerrada antes da resposta',
  'The receiver cannot be reached': 'Endpoint inacessível',
  'The name of the receiver was not found': 'O domínio do endpoint não foi encontrado',
  'The name of the receiver has no address': 'O domínio do endpoint não tem endereço',
  'The name server of the receiver failed': 'Falha no DNS do endpoint',
  'The name server of the receiver did not answer': 'O DNS do endpoint não respondeu',
  'The connection was not made in time': 'A conexão demorou demais',
  'The head of the answer is too long': 'Cabeçalhos da resposta longos demais',
  'The certificate of the receiver has expired': 'O certificado do endpoint expirou',
  'The certificate of the receiver is self-signed': 'O certificado do endpoint é autoassinado',
  'The certificate of the receiver is for another name': 'O certificado do endpoint é de outro domínio',
  'The certificate of the receiver lacks its chain': 'Falta a cadeia do certificado do endpoint',
  'The answer is not HTTP': 'A resposta não é HTTP',
  'The connection failed': 'A conexão falhou',
}

/** Translates the error of an attempt. An unknown error stays in English. */
export function writeAttemptErrorPt(error: string): string {
  const status = /^The receiver answered (\d+)$/.exec(error)?.[1]
  return status === undefined ? (attemptErrorsPt[error] ?? error) : `O endpoint respondeu ${status}`
}

/** Writes the error of an attempt in the chosen language. */
export function useAttemptError(): (error: string) => string {
  const { language } = useLanguage()
  return language === 'pt' ? writeAttemptErrorPt : (error) => error
}
