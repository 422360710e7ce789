import type { Texts } from './text.ts'

export const portuguese: Texts = {
  alerts: {
    payouts_frozen: [
      'Saques e devoluções estão bloqueados',
      'O razão está inconsistente, saiu dinheiro que não está no razão, o banco de dados perdeu gravações ou foi restaurado, ou um operador bloqueou as saídas. `npx guiche ledger verify` mostra o motivo.',
    ],
    database_went_back: [
      'O banco de dados voltou no tempo',
      'As saídas estão bloqueadas: `npx guiche ledger release` diz o que verificar.',
    ],
    ledger_not_verified: [
      'O razão não está sendo conferido',
      'O log diz `a recurring job failed`, ou nenhum processo executa tarefas.',
    ],
    discrepancy_open: [
      'Divergências sem decisão com {acquirer}',
      '`npx guiche reconcile list --open` mostra quais são.',
    ],
    balance_differs: [
      'O saldo em {acquirer} difere do razão',
      'Falta lançar uma tarifa do PSP, uma retirada ou um aporte: `npx guiche ledger accounts`.',
    ],
    balance_unread: [
      'O saldo em {acquirer} não pode ser lido',
      'A última diferença pode estar desatualizada. `npx guiche acquirer check {acquirer}` diz o motivo.',
    ],
    reconciliation_overdue: [
      'Sem conciliação com {acquirer}',
      'As listas dele não podem ser lidas por completo: o log diz por quê.',
    ],
    close_overdue: [
      'Nenhum dia de {acquirer} é fechado',
      'As listas do dia não podem ser lidas por completo: o log diz por quê.',
    ],
    charge_open_late: [
      'Uma cobrança continua aberta uma hora depois de expirar',
      'O PSP diz que ela foi paga sem mostrar o pagamento, ou não responde: o log diz qual dos dois. Consulte o pagamento no PSP.',
    ],
    suspense_waits: ['Um pagamento não identificado aguarda uma pessoa', '`npx guiche suspense list` mostra qual é.'],
    return_unconfirmed: ['Um PSP não confirma uma devolução', '`npx guiche suspense list` mostra qual é.'],
    other_cell_payments: [
      'Pagamentos da célula {cell} chegam aqui',
      'Uma conta em um PSP está configurada em duas células: remova-a de uma delas.',
    ],
    withdrawal_waits: [
      'Um saque aguarda uma decisão',
      'Ele só será enviado quando alguém decidir: `npx guiche withdrawal list --pending-review`.',
    ],
    dispute_deadline_near: [
      'Contestações com prazo em {day} estão sem defesa: restam três dias ou menos',
      'Envie ao banco a comprovação das vendas.',
    ],
    dispute_deadline: [
      'Contestações com prazo em {day} estão sem defesa: resta um dia ou menos',
      'Envie ao banco a comprovação das vendas.',
    ],
    dispute_overdue: [
      'Uma contestação não terminou no prazo, e o valor continua bloqueado',
      'Pergunte ao PSP como ela terminou. Se nada mais for devolvido, rejeite-a no painel.',
    ],
    disputed_differs: [
      'O valor bloqueado pelo MED em {acquirer} difere do razão',
      'Pode faltar uma contestação aqui, ou uma pode ter terminado lá: compare as do PSP com a lista de contestações.',
    ],
    disputes_unread: [
      'As contestações de {acquirer} não podem ser lidas',
      'Até lá, o dinheiro de novas contestações pode ser sacado. `npx guiche acquirer check {acquirer}` diz o motivo.',
    ],
    dispute_unreadable: [
      'Uma contestação na lista de {acquirer} não pode ser lida',
      'A contestação ou o pagamento dela não pode ser lido, e o dinheiro pode não estar bloqueado. O log diz qual é: consulte-a no PSP.',
    ],
    dispute_status_unknown: [
      'Uma contestação tem uma situação que o Guichê não conhece',
      'O dinheiro continua bloqueado até um operador decidir no painel.',
    ],
    dispute_unattributed: [
      'Um pagamento na conta transitória, ou que não está no razão, foi contestado',
      'Verifique-o antes de conciliar.',
    ],
    certificate_expires: [
      'Nosso certificado de cliente em {acquirer} expira em menos de 30 dias',
      'Peça um novo certificado ao PSP e substitua o arquivo.',
    ],
    certificate_expired: [
      'Nosso certificado de cliente em {acquirer} expirou',
      'O PSP recusa as requisições. Peça um novo certificado e substitua o arquivo.',
    ],
    callbacks_delayed: [
      'Pagamentos não estão sendo confirmados',
      'Nenhum processo executa tarefas, ou são poucos os que executam.',
    ],
    callbacks_fail: [
      'Notificações do PSP não podem ser conferidas',
      'O PSP não responde, e por isso os pagamentos não são confirmados.',
    ],
    jobs_delayed: [
      'Tarefas não estão sendo executadas',
      'Devoluções e saques não são enviados, e os PSPs não são consultados.',
    ],
    job_given_up: ['Uma tarefa foi abandonada', 'Ela falhou por uma semana e não é mais repetida.'],
    clock_differs: [
      'O relógio de {host} difere do relógio do PostgreSQL',
      'Acerte os relógios das duas máquinas por NTP. Um dia só é fechado quando acabou nos dois, mas as cobranças expiram e os webhooks são enviados pelo relógio de {host}.',
    ],
    webhooks_delayed: [
      'Webhooks não estão sendo entregues',
      'Nenhum processo faz as entregas, ou são poucos os que fazem.',
    ],
    receiver_fails: [
      'Webhooks para {receiver} falham',
      'O endereço da credencial {client} não aceita nada há horas. Depois de três dias os eventos não são mais repetidos.',
    ],
    endpoint_disabled: [
      'O endpoint de webhook {receiver} foi desativado',
      'O da credencial {client} respondeu 410, ou todas as tentativas falharam durante cinco dias. O lojista o reativa, ou o desativa de vez.',
    ],
    report_undelivered: [
      'Um relatório agendado não é enviado por e-mail',
      'O agendamento em Fechamento do mês diz por quê, ou o dos dias fechados em Conciliação. Depois de três dias não há novas tentativas.',
    ],
    event_sink_behind: [
      'Há eventos esperando pelo message broker {sink}',
      'Ele não os confirma. O log diz por quê. Nada se perde: eles serão enviados quando ele voltar a confirmar.',
    ],
  },
  facts: {
    age: (value) => `Há ${value}`,
    count: (value) => `Quantidade: ${value}`,
    left: (value) => `Tempo restante: ${value}`,
    days: (value) => `Dias restantes: ${value}`,
    cents: (value) => `Diferença: ${value}`,
    seconds: (value) => `Diferença: ${value}`,
  },
  passed: 'O prazo passou',
  states: {
    opened: (title) => title,
    lasts: (title) => `Continua: ${title}`,
    ended: (title) => `Resolvido: ${title}`,
    test: (title) => title,
  },
  since: (at) => `Desde ${at} (Brasília)`,
  lasted: (from, to) => `De ${from} a ${to} (Brasília)`,
  test: ['Um teste dos alertas do Guichê', 'Os alertas chegam aqui. Não é preciso fazer nada.'],
}
