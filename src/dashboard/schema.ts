import { type Static, type TSchema, Type } from 'typebox'
import { scopes } from '../auth/scopes.ts'
import type { Explanation } from '../explain/explain.ts'
import { statementLines } from '../explain/statement.ts'
import { FreeForm, PixKeyView } from '../http/schemas.ts'
import { fieldErrorCodes } from '../lib/errors.ts'
import { obstacleCodes } from '../proposals/second-person.ts'
import { disputeStates } from '../transactions/dispute/store.ts'
import { DeliveryView, ErrorCode } from '../webhooks/schema.ts'
import { decisionOutcomes, reviewReasons, withdrawalStatuses } from '../withdrawals/status.ts'

/**
 * The responses of the dashboard's own API that merchants' users see as well, and some that only the operator's users
 * see. The dashboard takes its types from here (dashboard/src/types.ts). Amounts are in cents.
 */

export const Text = Type.String()
export const Cents = Type.Integer()
export const Count = Type.Integer()
export const Time = Type.String({ format: 'date-time' })
export const Flag = Type.Boolean()

export const OrNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
export const DataOf = <Item extends TSchema>(item: Item) => Type.Object({ data: Type.Array(item) })
export const PageOf = <Item extends TSchema>(item: Item) =>
  Type.Object({ total: Count, totalPages: Count, data: Type.Array(item) })

/** A record that was created or changed. */
export const IdView = Type.Object({ id: Text })
export const StateView = Type.Object({ id: Text, state: Text })

const balances = {
  ...{ available: Cents, reserved: Cents, blocked: Cents, fees: Cents, suspense: Cents, debt: Cents },
  /** The sum of all clearing accounts. */
  acquirer: Cents,
}
export const BalancesView = Type.Object(balances)

// ——— First screen and search

/** Amounts of the charges created in the period (not of those paid in it). */
const figures = {
  ...{ created: Count, createdAmount: Cents, paid: Count, paidAmount: Cents, failed: Count },
  /** The paid share of the charges, 0 to 1; null if none was created. */
  conversion: OrNull(Type.Number()),
}
const FiguresView = Type.Object(figures)

const RankedMerchantView = Type.Object({
  ...{ clientId: Text, name: Text, ...figures },
  /** Yesterday at the same time of day. */
  yesterday: OrNull(FiguresView),
})

export const OverviewView = Type.Object({
  today: FiguresView,
  /**
   * The seven days before, oldest first, each up to the same time of day (`until`): what happened to its charges later
   * is left out. Null shortly after midnight, until yesterday's per-minute totals are written.
   */
  sameTime: OrNull(Type.Array(Type.Object({ day: Text, ...figures }))),
  /** The minute to which the days are compared. */
  until: Time,
  days: Type.Array(Type.Object({ day: Text, ...figures })),
  /** Since midnight. */
  hours: Type.Array(Type.Object({ hour: Time, created: Count, paid: Count, paidAmount: Cents })),
  timeToPay: Type.Object({
    sample: Count,
    medianSeconds: OrNull(Type.Number()),
    p90Seconds: OrNull(Type.Number()),
    /** The median of the seven days before and of today. */
    days: Type.Array(Type.Object({ day: Text, medianSeconds: OrNull(Type.Number()) })),
  }),
  /** Null for a user without `balance.read`. */
  balances: OrNull(BalancesView),
  /** The merchants with the highest paid amount, of the charges created today; null in the view of one merchant. */
  merchants: OrNull(Type.Array(RankedMerchantView)),
})

// ——— What needs attention

export const attentionKinds = [
  ...(['payouts_frozen', 'books_not_balanced', 'disputes_due', 'disputes_overdue'] as const),
  ...([
    'withdrawals_to_approve',
    'withdrawals_to_confirm',
    'proposals_to_approve',
    'suspense_waits',
    'discrepancies_open',
  ] as const),
  ...(['receiver_fails', 'endpoint_disabled', 'alerts_open', 'certificate_expires'] as const),
] as const

const AttentionItem = Type.Object({
  ...{ kind: Type.Enum([...attentionKinds]), count: Count, amount: OrNull(Cents) },
  /** There may be more than `count`: the count ends at 100, or with the first page of withdrawals to approve. */
  isMore: Flag,
  /** Since when it waits; of certificates and disputes that are not overdue: until when there is time. */
  at: OrNull(Time),
  /** The client of a receiver, and the name of the receiver or of the acquirer. */
  ...{ clientId: OrNull(Text), name: OrNull(Text) },
})
export const AttentionView = DataOf(AttentionItem)

export type AttentionItem = Static<typeof AttentionItem>
export type AttentionKind = AttentionItem['kind']

export type Figures = Static<typeof FiguresView>
export type Overview = Static<typeof OverviewView>

export const HitView = Type.Object({
  ...{ type: Type.Enum(['transaction', 'withdrawal']), id: Text, clientId: Text, status: Text },
  ...{ amount: Cents, createdAt: Time, externalCode: OrNull(Text), customerName: OrNull(Text) },
})
/** `id` is that of the customer's newest transaction which was found. A CPF in `document` is masked, as banks do. */
const FoundCustomerView = Type.Object({ id: Text, clientId: Text, name: Text, document: OrNull(Text) })
export const SearchView = Type.Object({
  customers: Type.Array(FoundCustomerView),
  records: Type.Array(HitView),
  /** Of each merchant only the newest transactions were searched by name. */
  leavesOutOlderNames: Flag,
})

export type Hit = Static<typeof HitView>
export type SearchResults = Static<typeof SearchView>

export const CustomerView = Type.Object({
  ...{ clientId: Text, name: OrNull(Text), document: OrNull(Text), email: OrNull(Text), isErased: Flag },
  /**
   * Null if the transaction names no customer. Of the newest transactions only, if there are very many, except
   * `firstAt`.
   */
  totals: OrNull(
    Type.Object({
      ...{ paid: Count, amountPaid: Cents, amountRefunded: Cents, amountReturned: Cents },
      ...{ coversOnlyNewest: Flag, firstAt: OrNull(Time), lastAt: OrNull(Time) },
    }),
  ),
  ...{ total: Count, totalPages: Count },
  data: Type.Array(Type.Object({ id: Text, status: Text, amount: Cents, createdAt: Time, externalCode: OrNull(Text) })),
})
export type CustomerView = Static<typeof CustomerView>

const firstSteps = [
  'merchant',
  'charge',
  'payment',
  'receiver',
  'delivery',
  'withdrawal',
  'colleague',
  'secondFactor',
  'psp',
] as const
export const FirstStepsView = Type.Object({
  isDismissed: Flag,
  steps: Type.Array(Type.Object({ name: Type.Enum([...firstSteps]), isDone: Flag })),
})
export type FirstStep = (typeof firstSteps)[number]
export type FirstSteps = Static<typeof FirstStepsView>

/** Codes and data of the sentences and the timeline are typed in src/explain. Their moments become text. */
export const ExplanationView = Type.Unsafe<Explanation>(
  Type.Object({
    ...{ id: Text, type: Type.Enum(['transaction', 'withdrawal']), status: Text, amount: Cents },
    ...{ merchantId: Text, clientId: Text, acquirer: Text, otherAcquirers: Type.Array(Text), endToEnd: OrNull(Text) },
    link: OrNull(Type.Object({ id: Text, title: Text })),
    statement: OrNull(
      Type.Object({
        lines: Type.Array(Type.Object({ line: Type.Enum([...statementLines]), amount: Cents })),
        net: Cents,
      }),
    ),
    timeline: Type.Array(Type.Object({ at: Time, kind: Text, what: Text, data: FreeForm() })),
    sentences: Type.Array(Type.Object({ code: Text, data: FreeForm() })),
    summary: Text,
  }),
)

// ——— API clients

const client = {
  ...{ clientId: Text, merchantId: Text, name: Text, scopes: Type.Array(Type.Enum([...scopes])), isActive: Flag },
  ...{ createdAt: Time, tokensRefusedBefore: OrNull(Time) },
  movedTo: OrNull(Type.Object({ cell: Text, address: Text })),
}
/** `expiresAt` is null until the next secret is created. */
const SecretView = Type.Object({ id: Text, createdAt: Time, expiresAt: OrNull(Time) })

export const ClientView = Type.Object(client)
export const ClientDetailView = Type.Object({
  ...client,
  ...{ secrets: Type.Array(SecretView), webhookSecrets: Type.Array(SecretView), hasProvider: Flag },
})
/** Without `clientSecret` if an external provider issues the tokens. */
export const NewClientView = Type.Object({
  ...{ clientId: Text, merchantId: Text, clientSecret: Type.Optional(Text), webhookSecret: Text },
})
export const NewSecretView = Type.Object({ secret: Text, formerExpiresAt: Time })

export type ClientView = Static<typeof ClientView>
export type ClientDetail = Static<typeof ClientDetailView>
export type NewClient = Static<typeof NewClientView>
export type ValidSecret = Static<typeof SecretView>

// ——— Proposals, which wait for a second person

export const ProposalView = Type.Object({
  ...{
    id: Text,
    kind: Text,
    clientId: OrNull(Text),
    clientName: OrNull(Text),
    recordId: OrNull(Text),
    content: FreeForm(),
  },
  ...{ proposedBy: Text, proposedAt: Time, isOwn: Flag },
  /** Why this person cannot approve it. */
  obstacle: OrNull(Type.Enum([...obstacleCodes])),
})

export const NoticeView = Type.Object({
  ...{ id: Count, at: Time, actor: Text, action: Text, clientName: OrNull(Text), proposedBy: OrNull(Text) },
})

export type ProposalView = Static<typeof ProposalView>
export type NoticeView = Static<typeof NoticeView>

// ——— Withdrawals

export const Hold = OrNull(Type.Enum([...reviewReasons]))

/** What was sent to the Pix key before. The receiver's name is the one that the last withdrawal to it reported. */
const ReceiverHistoryView = Type.Object({
  ...{ name: OrNull(Text), count: Count, sum: Cents, isMore: Flag, lastAt: OrNull(Time) },
  /** By other merchants; a merchant's users do not see it. */
  others: OrNull(Type.Object({ count: Count, sum: Cents, isMore: Flag, merchants: Count })),
})

export const WithdrawalView = Type.Object({
  ...{ id: Text, clientId: Text, clientName: Text, status: Text, hold: Hold, amount: Cents, feeAmount: OrNull(Cents) },
  ...{ pixKey: PixKeyView, createdAt: Time, receiver: ReceiverHistoryView },
  /**
   * Who requested it; null: the merchant, with its token. Merchants see "operator" instead of the names of the
   * operator's users.
   */
  requestedBy: OrNull(Text),
  /** A user of the operator requested it; `isThroughOperators`: or may have, with a secret or account just created. */
  ...{ isOperators: Flag, isThroughOperators: Flag },
  /** Nobody approves their own request. */
  isOwn: Flag,
  /** Why this user cannot approve it. */
  obstacle: OrNull(Type.Enum([...obstacleCodes])),
  ...{ approvalAbove: OrNull(Cents), mayBeSent: Flag },
  /** Of a duplicate: the withdrawal before it of the same amount to the same key. */
  earlier: OrNull(Type.Object({ id: Text, status: Text, createdAt: Time })),
  /** Only for whoever decides: a person has to enter the outcome, and what is proposed as the outcome. */
  ...{ needsOutcome: Flag, proposal: OrNull(ProposalView) },
})

/** What became of each of several withdrawals. */
export const DecisionsView = DataOf(
  Type.Object({
    ...{ id: Text, outcome: Type.Enum([...decisionOutcomes]), code: OrNull(Type.Enum([...fieldErrorCodes])) },
    status: OrNull(Type.Enum([...withdrawalStatuses])),
  }),
)

export const WithdrawalPreviewView = Type.Object({
  pixKey: PixKeyView,
  /** What the receiver gets, the fee on top, and the available balance. */
  ...{ amount: Cents, fee: Cents, available: Cents },
  /** The review that it would need. */
  hold: Hold,
})

export const LimitsView = Type.Object({
  ...{ perWithdrawal: OrNull(Cents), perDay: OrNull(Cents), perNight: OrNull(Cents) },
  ...{ approvalAbove: OrNull(Cents), operatorApprovalAbove: OrNull(Cents), duplicateWindowSeconds: Count },
  /** Looser limits that wait for a second person. A merchant's users do not see them. */
  proposal: OrNull(ProposalView),
})

export type DecisionResult = Static<typeof DecisionsView>['data'][number]
export type WithdrawalView = Static<typeof WithdrawalView>
export type WithdrawalPreview = Static<typeof WithdrawalPreviewView>
export type LimitsView = Static<typeof LimitsView>

// ——— Disputes and refunds

export const DisputeView = Type.Object({
  ...{ id: Text, transactionId: Text, clientId: Text, clientName: Text, amount: Cents },
  /** Blocked for the dispute now, and returned under it. */
  ...{ blocked: Cents, returned: Cents },
  /** The acquirer's own status if Guichê does not know it: a person has to check. */
  unknownStatus: OrNull(Text),
  ...{ reason: OrNull(Text), state: Type.Enum([...disputeStates]) },
  /** True if the acquirer reported it; otherwise an operator entered it manually. */
  isReportedByAcquirer: Flag,
  ...{ openedAt: Time, analysisEndsAt: Time, endsAt: Time, decidedAt: OrNull(Time), finishedAt: OrNull(Time) },
})

const unattributedDispute = {
  ...{ reference: Text, amount: Cents, reason: OrNull(Text), state: Type.Enum([...disputeStates, 'unknown']) },
  ...{ status: OrNull(Text), openedAt: Time, deadline: OrNull(Time) },
}
/** A dispute of a payment in suspense. */
export const PaymentDisputeView = Type.Object(unattributedDispute)
/** A dispute of a payment without a transaction. */
export const UnattributedView = Type.Object({
  ...unattributedDispute,
  ...{ acquirer: Text, endToEnd: Text, suspenseId: OrNull(Text) },
})

export const RefundPreviewView = Type.Object({
  /** What is left of the payment, what would be refunded, what that costs, and the part of the fee that comes back. */
  ...{ amountLeft: Cents, amount: Cents, fee: Cents, feeReturned: Cents },
  until: Time,
})

/** What became of each of several refunds, in the order of the request; `error` is null if it was accepted. */
export const RefundResultsView = DataOf(
  Type.Object({
    status: Count,
    error: OrNull(
      Type.Object({
        code: Text,
        fields: Type.Array(
          Type.Object({
            ...{ field: Text, code: Type.Enum([...fieldErrorCodes]), limit: Type.Optional(Type.Integer()) },
            unit: Type.Optional(Type.Enum(['cents', 'bytes'])),
          }),
        ),
      }),
    ),
  }),
)

export type RefundResult = Static<typeof RefundResultsView>['data'][number]
export type DisputeView = Static<typeof DisputeView>
export type UnattributedView = Static<typeof UnattributedView>
export type RefundPreview = Static<typeof RefundPreviewView>

// ——— Webhooks

export const DeliveriesView = Type.Object({
  ...{ total: Count, totalPages: Count },
  /** More than `total` match: filtered by endpoint, type, receiver or period, only a part is counted. */
  isMore: Flag,
  data: Type.Array(DeliveryView),
})

export const PayloadView = Type.Object({ payload: OrNull(FreeForm()) })

/** The deliveries of the last day, and all that wait. `receiver`: scheme, host and port. `failing`: tried already. */
const ReceiverView = Type.Object({
  ...{ receiver: Text, deliveries: Count, tried: Count, delivered: Count, givenUp: Count, p95Ms: OrNull(Count) },
  ...{ waiting: Count, failing: Count, oldestWaitingAt: OrNull(Time) },
  ...{ lastError: OrNull(Text), lastErrorCode: ErrorCode, lastStatus: OrNull(Count) },
  ...{ failedAt: OrNull(Time), nextAttemptAt: OrNull(Time) },
})
export const ReceiversView = Type.Object({
  data: Type.Array(ReceiverView),
  /** The counts of the last day include at most this many deliveries, the newest ones. */
  newestMax: Count,
})

export const ResendPreviewView = Type.Object({
  ...{ total: Count, isTooMany: Flag, max: Count },
  receivers: Type.Array(Type.Object({ receiver: Text, count: Count })),
})
export const ResendView = Type.Object({ resendId: Text, count: Count })
export const ResendProgressView = Type.Object({
  ...{ requested: Count, delivered: Count, waiting: Count, failing: Count, givenUp: Count },
})

export type Deliveries = Static<typeof DeliveriesView>
export type ReceiverHealth = Static<typeof ReceiverView>
export type Receivers = Static<typeof ReceiversView>
export type ResendPreview = Static<typeof ResendPreviewView>
export type ResendProgress = Static<typeof ResendProgressView>

// ——— Requests of a merchant's programs

export const ApiRequestsView = Type.Object({
  data: Type.Array(
    Type.Object({
      ...{ id: Count, at: Time, requestId: Text, method: Text, route: Text, status: Count, durationMs: Count },
      ...{ recordId: OrNull(Text), request: OrNull(FreeForm()) },
      response: OrNull(FreeForm()),
      problem: OrNull(Type.Object({ code: Text, errors: Type.Array(Type.Object({ field: Text, code: Text })) })),
      /** Failed requests before this one that were too many to be written. */
      dropped: Count,
    }),
  ),
  /** The cursor of the next page. */
  next: OrNull(Text),
})

export type ApiRequests = Static<typeof ApiRequestsView>
