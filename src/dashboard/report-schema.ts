import { type Static, Type } from 'typebox'
import { feeLineOperations } from '../reports/names.ts'
import { Cents, Count, Flag, OrNull, Text, Time } from './schema.ts'

/** The responses of the dashboard's own API about the reports of a merchant's period, and their schedules. */

const FeeRuleView = Type.Object({ fixed: Cents, basisPoints: Count, minimum: Cents, maximum: OrNull(Cents) })
const FeeStatementView = Type.Object({
  ...{ from: Text, until: Text, total: Cents },
  lines: Type.Array(
    Type.Object({
      ...{ operation: Type.Enum([...feeLineOperations]), rule: OrNull(FeeRuleView), count: Count },
      ...{ volume: OrNull(Cents), fee: Cents },
    }),
  ),
})

/** A period of one merchant: its balances before and after it, what changed them, and its fees. */
export const PeriodView = Type.Object({
  ...{ from: Text, until: Text, isOver: Flag, opening: Cents, closing: Cents, fees: FeeStatementView },
  changes: Type.Array(Type.Object({ kind: Text, count: Count, amount: Cents })),
})

/** The balances at the end of a day. */
export const DayBalancesView = Type.Object({ day: Text, available: Cents, reserved: Cents, blocked: Cents })

/** The report of the last period of a schedule. `error`: why it has not been sent yet, or was given up. */
const SendingView = Type.Object({
  ...{ from: Text, until: Text, outcome: OrNull(Type.Enum(['sent', 'no_recipient', 'given_up', 'paused'])) },
  ...{ sentTo: Count, attempts: Count, error: OrNull(Text), finishedAt: OrNull(Time) },
})
export const ReportSchedulesView = Type.Object({
  /** False: no mail server is configured, and nothing is sent. */
  hasMail: Flag,
  data: Type.Array(
    Type.Object({
      ...{ id: Text, report: Text, format: Text, every: Text, by: Text, language: Text, isPaused: Flag, dueAt: Time },
      recipients: Type.Array(Type.Object({ name: Text, email: Text, mayRead: Flag })),
      last: OrNull(SendingView),
    }),
  ),
  /** Who may be named, and the reports that each may read. */
  candidates: Type.Array(Type.Object({ id: Text, name: Text, email: Text, reports: Type.Array(Text) })),
})

export type ReportSchedules = Static<typeof ReportSchedulesView>
export type DayBalances = Static<typeof DayBalancesView>
export type PeriodFigures = Static<typeof PeriodView>
