import { texts } from '../../text.ts'

export const words = texts({
  en: {
    title: 'By e-mail',
    lead: 'A report is sent at 6 a.m. (Brasília) after its period is over, once to each recipient.',
    noMail:
      'No mail server is configured (SMTP_URL), so nothing is sent. Scheduled reports are sent once a mail server is configured.',
    none: 'No reports are scheduled',
    add: 'Schedule a report',
    report: 'Report',
    reports: {
      transactions: 'Transactions',
      withdrawals: 'Withdrawals',
      statement: 'Statement',
      fees: 'Fee statement',
      closed_day: 'Closed days',
    } as Record<string, string>,
    format: 'Format',
    every: 'How often',
    everyNames: { day: 'Every day', week: 'Every Monday', month: 'On the 1st of each month' } as Record<string, string>,
    by: 'Payments and withdrawals by date of',
    recipients: 'Recipients',
    recipientsLead: 'People who can sign in and read this report. Invite the accountant with the role accountant.',
    save: 'Schedule',
    pause: 'Pause',
    resume: 'Resume',
    remove: 'Delete',
    removeOf: (name: string) => `Delete: ${name}`,
    pauseOf: (name: string) => `Pause: ${name}`,
    resumeOf: (name: string) => `Resume: ${name}`,
    removeLead: (name: string) => `${name} is no longer sent.`,
    next: (time: string) => `next: ${time}`,
    paused: 'paused',
    neverSent: 'not sent yet',
    outcomes: {
      sent: (period: string, time: string) => `${period} sent ${time}`,
      no_recipient: (period: string, _: string) =>
        `${period} not sent: no recipient has permission to read this report any more`,
      given_up: (period: string, _: string, error: string) =>
        `${period} not sent, no longer retried${error && `: ${error}`}`,
      paused: (period: string, _: string) => `${period} not sent: paused`,
    },
    failing: (period: string, attempts: string, error: string) =>
      `${period} not sent yet: ${error} (attempts: ${attempts}). It is tried again.`,
    errorOf: (error: string) => error,
    sending: (period: string) => `${period} is being sent`,
    period: (from: string, until: string) => (from === until ? from : `${from} to ${until}`),
  },
  pt: {
    title: 'Por e-mail',
    lead: 'O relatório é enviado às 6h (Brasília) depois que o período acaba, uma vez para cada destinatário.',
    noMail:
      'Nenhum servidor de e-mail está configurado (SMTP_URL), por isso nada é enviado. Os relatórios agendados serão enviados quando houver um.',
    none: 'Nenhum relatório agendado',
    add: 'Agendar um relatório',
    report: 'Relatório',
    reports: {
      transactions: 'Transações',
      withdrawals: 'Saques',
      statement: 'Extrato',
      fees: 'Extrato de tarifas',
      closed_day: 'Dias fechados',
    },
    format: 'Formato',
    every: 'Frequência',
    everyNames: { day: 'Todo dia', week: 'Toda segunda-feira', month: 'Todo dia 1º' },
    by: 'Pagamentos e saques pela data de',
    recipients: 'Destinatários',
    recipientsLead: 'Usuários que podem ler este relatório. Convide a contabilidade com o perfil de contador.',
    save: 'Agendar',
    pause: 'Pausar',
    resume: 'Retomar',
    remove: 'Excluir',
    removeOf: (name: string) => `Excluir: ${name}`,
    pauseOf: (name: string) => `Pausar: ${name}`,
    resumeOf: (name: string) => `Retomar: ${name}`,
    removeLead: (name: string) => `${name} não será mais enviado.`,
    next: (time: string) => `próximo: ${time}`,
    paused: 'pausado',
    neverSent: 'ainda não enviado',
    outcomes: {
      sent: (period: string, time: string) => `${period} enviado ${time}`,
      no_recipient: (period: string, _: string) =>
        `${period} não enviado: nenhum destinatário tem mais permissão para ler este relatório`,
      given_up: (period: string, _: string, error: string) =>
        `${period} não enviado, sem novas tentativas${error && `: ${error}`}`,
      paused: (period: string, _: string) => `${period} não enviado: pausado`,
    },
    failing: (period: string, attempts: string, error: string) =>
      `${period} ainda não enviado: ${error} (tentativas: ${attempts}). Haverá nova tentativa.`,
    errorOf: (error: string) =>
      error
        .replace('the mail was not accepted', 'o servidor de e-mail não aceitou a mensagem')
        .replace(
          'the mail server did not confirm that it accepted the mail',
          'o servidor de e-mail não confirmou que aceitou a mensagem',
        )
        .replace('the mail server refused a recipient', 'o servidor de e-mail recusou um destinatário')
        .replace('no mail server is configured any more', 'não há mais servidor de e-mail configurado')
        .replace('the day is not closed yet', 'o dia ainda não foi fechado'),
    sending: (period: string) => `${period} está sendo enviado`,
    period: (from: string, until: string) => (from === until ? from : `${from} a ${until}`),
  },
})
