import type { Texts } from './text.ts'

export const english: Texts = {
  alerts: {
    payouts_frozen: [
      'Withdrawals and refunds are frozen',
      'The ledger is inconsistent, money left that is not in the ledger, the database lost commits or was restored, or an operator froze payouts. `npx guiche ledger verify` shows the reason.',
    ],
    database_went_back: [
      'The database went back in time',
      'Payouts are frozen: `npx guiche ledger release` says what to check.',
    ],
    ledger_not_verified: [
      'The ledger is not being verified',
      'The log says `a recurring job failed`, or no process runs jobs.',
    ],
    discrepancy_open: ['Undecided discrepancies with {acquirer}', '`npx guiche reconcile list --open` shows them.'],
    balance_differs: [
      'The balance at {acquirer} differs from the ledger',
      'A PSP fee, a draw or a pay-in is not recorded: `npx guiche ledger accounts`.',
    ],
    balance_unread: [
      'The balance at {acquirer} cannot be read',
      'Its last difference may be out of date. `npx guiche acquirer check {acquirer}` says why.',
    ],
    reconciliation_overdue: [
      'No reconciliation with {acquirer}',
      'Its lists cannot be read completely: the log says why.',
    ],
    close_overdue: [
      'No day of {acquirer} is being closed',
      'Its lists of the day cannot be read completely: the log says why.',
    ],
    charge_open_late: [
      'A charge is still open an hour after it expired',
      'The acquirer calls it paid without showing the payment, or does not answer: the log says which. Look the payment up at the acquirer.',
    ],
    suspense_waits: ['An unattributed payment waits for a person', '`npx guiche suspense list` shows it.'],
    return_unconfirmed: ['An acquirer does not confirm a return', '`npx guiche suspense list` shows it.'],
    other_cell_payments: [
      'Payments of cell {cell} arrive here',
      'An account at a PSP is configured in two cells: remove it from one of them.',
    ],
    withdrawal_waits: [
      'A withdrawal waits for a decision',
      'It is not sent before somebody decides: `npx guiche withdrawal list --pending-review`.',
    ],
    dispute_deadline_near: [
      'Disputes with a deadline on {day} have no defence: three days or less are left',
      'Send the bank proof of the sales.',
    ],
    dispute_deadline: [
      'Disputes with a deadline on {day} have no defence: a day or less is left',
      'Send the bank proof of the sales.',
    ],
    dispute_overdue: [
      'A dispute did not end in time, and its money stays blocked',
      'Ask the PSP how it ended. If nothing more is returned, reject it on the dashboard.',
    ],
    disputed_differs: [
      'The amount blocked under MED at {acquirer} differs from the ledger',
      'A dispute may be missing here, or has ended there: compare those at the PSP with the list of disputes.',
    ],
    disputes_unread: [
      'The disputes of {acquirer} cannot be read',
      'The money of new disputes can be withdrawn meanwhile. `npx guiche acquirer check {acquirer}` says why.',
    ],
    dispute_unreadable: [
      'A dispute in the list of {acquirer} cannot be read',
      'The dispute or its payment cannot be read, and its money may not be blocked. The log names it: look it up at the acquirer.',
    ],
    dispute_status_unknown: [
      'A dispute has a status that Guichê does not know',
      'Its money stays blocked until an operator decides it on the dashboard.',
    ],
    dispute_unattributed: [
      'A payment in suspense, or one that is not in the ledger, is disputed',
      'Check it before it is attributed.',
    ],
    certificate_expires: [
      'Our client certificate at {acquirer} expires within 30 days',
      'Get a new certificate from the PSP and replace the old file.',
    ],
    certificate_expired: [
      'Our client certificate at {acquirer} has expired',
      'The PSP refuses requests. Get a new certificate from it and replace the old file.',
    ],
    callbacks_delayed: ['Payments are not being confirmed', 'No process runs jobs, or too few do.'],
    callbacks_fail: [
      'Callbacks cannot be checked',
      'The acquirer does not answer, so payments are not being confirmed.',
    ],
    jobs_delayed: [
      'Jobs are not being run',
      'Refunds and withdrawals are not being sent, and acquirers are not being polled.',
    ],
    job_given_up: ['A job was given up', 'It failed for a week and is no longer retried.'],
    clock_differs: [
      'The clock of {host} differs from that of PostgreSQL',
      'Set the clocks of both machines by NTP. A day is closed when it is over by both, but charges expire and webhooks are sent by the clock of {host}.',
    ],
    webhooks_delayed: ['Webhooks are not being delivered', 'No process delivers them, or too few do.'],
    receiver_fails: [
      'Webhooks to {receiver} fail',
      'The receiver of client {client} has accepted nothing for hours. After three days its events are given up.',
    ],
    endpoint_disabled: [
      'The webhook endpoint {receiver} was disabled',
      'That of client {client} answered 410, or every attempt failed for five days. Its merchant enables it again, or disables it for good.',
    ],
    report_undelivered: [
      'A scheduled report is not being mailed',
      'Its schedule under Month closing says why, or that of closed days under Reconciliation. After three days it is given up.',
    ],
    event_sink_behind: [
      'Events wait for the message broker {sink}',
      'It does not acknowledge them. The log says why. Nothing is lost: they are sent when it does.',
    ],
  },
  facts: {
    age: (value) => `For ${value}`,
    count: (value) => `Number: ${value}`,
    left: (value) => `Time left: ${value}`,
    days: (value) => `Days left: ${value}`,
    cents: (value) => `Difference: ${value}`,
    seconds: (value) => `Difference: ${value}`,
  },
  passed: 'The deadline has passed',
  states: {
    opened: (title) => title,
    lasts: (title) => `Still: ${title}`,
    ended: (title) => `Resolved: ${title}`,
    test: (title) => title,
  },
  since: (at) => `Since ${at} (Brasília)`,
  lasted: (from, to) => `From ${from} to ${to} (Brasília)`,
  test: ['A test of Guichê’s alerts', 'Alerts arrive here. Nothing needs to be done.'],
}
