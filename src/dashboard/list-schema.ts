import { type Static, Type } from 'typebox'
import { defenceStates } from '../defences/status.ts'
import { deliveryStates } from '../webhooks/read-store.ts'
import { ErrorCode } from '../webhooks/schema.ts'
import { Cents, Count, DisputeView, Flag, Hold, OrNull, Text, Time, UnattributedView } from './schema.ts'

/**
 * The responses of the lists of transactions, withdrawals, disputes and webhook deliveries, and the saved views of them.
 */

/** A page of a list. `after` and `before` take the cursors. */
const pageOf = { next: OrNull(Text), previous: OrNull(Text) }

export const TransactionsView = Type.Object({
  ...pageOf,
  data: Type.Array(
    Type.Object({
      ...{ id: Text, clientId: Text, clientName: Text, createdAt: Time, paidAt: OrNull(Time), status: Text },
      ...{ amount: Cents, amountPaid: OrNull(Cents), customerName: OrNull(Text), payerName: OrNull(Text) },
      /** Refunded, and returned under disputes. */
      refunded: Cents,
      externalCode: OrNull(Text),
    }),
  ),
})

export const WithdrawalsView = Type.Object({
  ...pageOf,
  data: Type.Array(
    Type.Object({
      ...{ id: Text, clientId: Text, clientName: Text, createdAt: Time, status: Text, hold: Hold, amount: Cents },
      ...{ pixKey: Text, receiverName: OrNull(Text), externalCode: OrNull(Text) },
    }),
  ),
})

/** How many records have each status, whatever status is chosen. */
const counted = {
  counts: Type.Array(Type.Object({ status: Text, count: Count })),
  /** Whether more than 10,000 records match (`countedMax` in list-store.ts): then the counts are incomplete. */
  isMore: Flag,
}

export const DisputesView = Type.Object({
  ...pageOf,
  ...counted,
  /** The service's time, to which the deadlines are compared. */
  now: Time,
  data: Type.Array(
    Type.Object({
      ...DisputeView.properties,
      /** Null before anything was written. */
      defence: OrNull(Type.Enum([...defenceStates])),
      payerName: OrNull(Text),
    }),
  ),
  /** Disputes of payments without a transaction, for the operator. */
  unattributed: Type.Array(UnattributedView),
})

export const DeliveryItemsView = Type.Object({
  ...pageOf,
  /** Until when they were searched, if the page is not full and there may be more. */
  searchedUntil: OrNull(Time),
  data: Type.Array(
    Type.Object({
      /** Of the last attempt, or of the event. */
      at: Time,
      ...{ clientId: Text, clientName: Text, eventId: Text, endpointId: OrNull(Text), type: Text, url: Text },
      ...{ state: Type.Enum([...deliveryStates]), attempts: Count, createdAt: Time, nextAttemptAt: OrNull(Time) },
      ...{ lastStatus: OrNull(Count), lastError: OrNull(Text), lastErrorCode: ErrorCode },
    }),
  ),
})

/** Of the deliveries that did not arrive; more than `countedMax` of a tab are not counted. */
export const DeliveryCountsView = Type.Object({
  ...{ counts: counted.counts, countedMax: Count },
  /** The merchants whose webhooks fail most. */
  worst: Type.Array(Type.Object({ clientId: Text, name: Text, failing: Count, givenUp: Count, state: Text })),
})

/** The counts, and the sums of the records that have a chosen status. */
export const ListSummaryView = Type.Object({
  ...counted,
  /** Null if too many match. */
  ...{ count: OrNull(Count), amount: OrNull(Cents), fees: OrNull(Cents), refunded: OrNull(Cents) },
  /** What was paid, or withdrawn. */
  settled: OrNull(Cents),
})

export const SavedViewSchema = Type.Object({ id: Text, name: Text, query: Text })

export type ListedTransaction = Static<typeof TransactionsView>['data'][number]
export type ListedWithdrawal = Static<typeof WithdrawalsView>['data'][number]
export type DeliveryItems = Static<typeof DeliveryItemsView>
export type DeliveryItem = DeliveryItems['data'][number]
export type DeliveryCounts = Static<typeof DeliveryCountsView>
export type Disputes = Static<typeof DisputesView>
export type ListedDispute = Disputes['data'][number]
export type ListSummary = Static<typeof ListSummaryView>
export type SavedView = Static<typeof SavedViewSchema>
