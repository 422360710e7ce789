import { type Static, Type } from 'typebox'
import { evidenceNames } from '../attribution/score.ts'
import type { Reason } from '../explain/sentences.ts'
import { FreeForm } from '../http/schemas.ts'
import { entryTypes, fixedAccounts, transferKinds } from '../ledger/accounts.ts'
import { freezeReasonCodes } from '../ledger/payout-freeze.ts'
import { classNames, type DiscrepancyClass, type Proposal as ProposedAction } from '../reconciliation/classes.ts'
import { discrepancyStates } from '../reconciliation/store.ts'
import { suspenseStatuses } from '../suspense/status.ts'
import { BalancesView, Cents, Count, Flag, OrNull, PaymentDisputeView, ProposalView, Text, Time } from './schema.ts'

/**
 * The responses of the dashboard's own API for the operator's users. Of them, a merchant's users see only `FeeView`,
 * `EntryRecordView` and the PDF of a receipt. Amounts are in cents.
 */

const AccountName = Type.Enum([...fixedAccounts, 'acquirer'])
/** A sentence that is stored in English, and its code; the code is null if a PSP or a person wrote it. */
const ReasonView = Type.Unsafe<Reason>(Type.Object({ text: Text, code: OrNull(Text) }))

const ClientName = Type.Object({ clientId: Text, name: Text })

// ——— System and audit log

/** A part of `reason`. The code is null if a person wrote it; `at` is the moment that it names. */
const FreezeReasonView = Type.Object({ text: Text, code: OrNull(Type.Enum([...freezeReasonCodes])), at: OrNull(Time) })
const PayoutFreeze = OrNull(
  Type.Object({ reason: Text, reasons: Type.Array(FreezeReasonView), engagedAt: Time, needsDataLossChecks: Flag }),
)
const Verification = Type.Object({ at: Time, tookMs: Type.Number() })
/** The last verifications of the whole ledger and of its recent changes. */
const Verified = OrNull(Type.Object({ all: Verification, recent: Verification }))

export const SystemView = Type.Object({
  ...{ version: Text, node: Text, startedAt: Time, memoryBytes: Count },
  jobs: Type.Object({ due: Count, oldestDueSeconds: Type.Number(), failing: Count, givenUp: Count }),
  callbacks: Type.Object({ due: Count, failing: Count, oldestDueAt: OrNull(Time) }),
  deliveries: Type.Object({
    ...{ waiting: Count, failing: Count, givenUp: Count, oldestWaitingAt: OrNull(Time) },
    worst: Type.Array(Type.Object({ clientId: Text, name: Text, failing: Count, givenUp: Count, state: Text })),
  }),
  acquirers: Type.Array(
    Type.Object({
      ...{ name: Text, isRemote: Flag, isAvailable: Flag, hasPayouts: Flag, hasDisputes: Flag },
      certificateExpiresAt: OrNull(Time),
    }),
  ),
  /** Acquirers that have open records but are no longer configured: nobody can query them. */
  unconfigured: Type.Array(Text),
  verified: Verified,
  payoutFreeze: PayoutFreeze,
})

/** Of each cell what its own metrics say; null where they could not be read. */
const CellView = Type.Object({
  ...{ cell: Text, address: Text, state: Type.Enum(['ok', 'unreachable', 'refused', 'other']) },
  figures: OrNull(
    Type.Object({
      ...{ version: Text, arePayoutsFrozen: Flag, suspense: Count, differences: Count, jobsGivenUp: Count },
      ...{ oldestDeliverySeconds: Type.Number(), otherCellPayments: Count },
      moves: Type.Array(Type.Object({ direction: Type.Enum(['in', 'out']), cell: Text, cents: Cents })),
    }),
  ),
})
export const CellsView = Type.Object({ data: Type.Array(CellView) })

export type CellSummary = Static<typeof CellView>
export type CellsView = Static<typeof CellsView>

/** `isNew`: payouts were not frozen before. `released` is null if they were not frozen. */
export const FreezeView = Type.Object({ payoutFreeze: PayoutFreeze, isNew: Flag })
export const ReleaseView = Type.Object({ released: PayoutFreeze })

const ActionView = Type.Object({
  ...{ id: Count, at: Time, actor: Text, action: Text, recordId: OrNull(Text), details: OrNull(FreeForm()) },
  ...{ actorName: OrNull(Text), merchant: OrNull(ClientName) },
  /** Of the transaction or withdrawal that the entry is about. */
  amount: OrNull(Cents),
  /** The user that the entry is about. */
  userName: OrNull(Text),
})
export const ActionsView = Type.Object({
  data: Type.Array(ActionView),
  /** The id to continue before; null at the end. */
  next: OrNull(Count),
})

/** Worded in the language that was asked for. `screen` is a path of the dashboard. */
const AlertView = Type.Object({
  ...{ id: Text, severity: Type.Enum(['critical', 'warning']), title: Text, fact: OrNull(Text), advice: Text },
  ...{ screen: Text, beganAt: Time, endedAt: OrNull(Time) },
})
/** The open ones, then those that ended lately. */
export const AlertsView = Type.Object({ data: Type.Array(AlertView) })

export type AlertsView = Static<typeof AlertsView>
export type SystemView = Static<typeof SystemView>
export type Action = Static<typeof ActionView>
export type Actions = Static<typeof ActionsView>

// ——— Personal data

export const ExportedPersonView = FreeForm()
export const ErasedPersonView = Type.Object({
  ...{ person: Text, transactions: Count, withdrawals: Count, unattributedPayments: Count },
})

export type ErasedPerson = Static<typeof ErasedPersonView>

// ——— Ledger, fees and manual entries

/** The balance of an account at the PSP by the PSP and by the ledger; null where the PSP does not report it. */
const ComparedBalance = Type.Object({
  ...{ acquirer: Text, at: Time, available: Cents, blocked: OrNull(Cents), disputed: OrNull(Cents) },
  ...{ ledgerBalance: Cents, ledgerDisputed: Cents, difference: Cents },
})

export const LedgerView = Type.Object({
  /** Balances of one client, or the sum of all, the operator's own account included. */
  accounts: BalancesView,
  /** Balances of the operator's own merchant; null if one client is selected. */
  operator: OrNull(BalancesView),
  /**
   * Per acquirer: the balance that it must hold for all merchants, and the last one that it reported. Empty if one
   * client is selected.
   */
  acquirers: Type.Array(Type.Object({ acquirer: Text, ledgerBalance: Cents, compared: OrNull(ComparedBalance) })),
  /** Merchants whose balances do not add up to zero. */
  unevenMerchants: Count,
  verified: Verified,
  payoutFreeze: PayoutFreeze,
})

/** The transaction of a refund or a dispute in a statement. */
export const EntryRecordView = Type.Object({ id: Text, transactionId: Text })

export const FeeView = Type.Object({
  ...{ clientId: Text, operation: Type.Enum(['transaction', 'refund', 'withdrawal']) },
  ...{ fixed: Cents, basisPoints: Count, minimum: Cents, maximum: OrNull(Cents), returnsPaymentFee: Flag },
  ...{ validFrom: Time, isInForce: Flag, examples: Type.Array(Type.Object({ amount: Cents, fee: Cents })) },
})

export const EntryView = Type.Object({
  ...{ id: Text, type: Type.Enum([...entryTypes]), clientId: OrNull(Text), clientName: OrNull(Text), acquirer: Text },
  ...{ amount: Cents, debit: OrNull(AccountName), credit: OrNull(AccountName), reference: OrNull(Text) },
  ...{ description: Text, createdBy: Text, isApproved: Flag, createdAt: Time },
})

export const EntriesView = Type.Object({
  data: Type.Array(EntryView),
  /** The acquirers where money can be: the configured ones, and those in the ledger. */
  acquirers: Type.Array(Text),
  approvalAbove: Cents,
})

const transfer = { debit: AccountName, credit: AccountName, amount: Cents }

export const EntryPreviewView = Type.Object({
  transfers: Type.Array(
    Type.Object({ kind: Type.Enum([...transferKinds]), ...transfer, merchants: Count, isOperators: Flag }),
  ),
  needsApproval: Flag,
})

export type LedgerView = Static<typeof LedgerView>
export type FeeView = Static<typeof FeeView>
export type EntriesView = Static<typeof EntriesView>
export type EntryPreview = Static<typeof EntryPreviewView>

// ——— Reconciliation

export const RunView = Type.Object({
  ...{ id: Text, acquirer: Text, kind: Type.Enum(['rolling', 'daily', 'manual']), from: Time, to: Time },
  ...{ startedAt: Time, finishedAt: OrNull(Time), state: Type.Enum(['running', 'complete', 'interrupted']) },
  error: OrNull(ReasonView),
  compared: OrNull(Type.Object({ payment: Count, return: Count, payout: Count })),
  counts: Type.Unsafe<Partial<Record<DiscrepancyClass, number>>>(
    Type.Object(Object.fromEntries(classNames.map((name) => [name, Type.Optional(Count)]))),
  ),
  newCount: Count,
})

export const ReconciliationView = Type.Object({
  acquirers: Type.Array(Text),
  /** The current day in Brasília, yyyy-mm-dd. */
  today: Text,
  open: Type.Array(Type.Object({ acquirer: Text, class: Type.Enum([...classNames]), count: Count })),
  runs: Type.Array(RunView),
  suspense: Type.Object({ held: Count, returning: Count }),
})

/** A run that a user requested: it waits, is running, or has ended. `version`: of the statement that it signed. */
export const RequestedRunView = Type.Object({
  ...{ id: Text, isUnderWay: Flag, run: OrNull(RunView), version: OrNull(Count) },
})

/** One side of a discrepancy. `raw` is an unreadable entry, until the discrepancy ends; its hash is kept. */
const SideView = Type.Object({
  ...{ amount: Cents, at: Text, state: Type.Optional(Text), fee: Type.Optional(Cents) },
  ...{ postedAt: Type.Optional(Text), med: Type.Optional(Cents) },
  ...{ raw: Type.Optional(Text), rawSha256: Type.Optional(Text) },
})
export const ProposedView = Type.Unsafe<ProposedAction>(
  Type.Object({
    action: Type.Enum(['none', 'settle', 'investigate', 'suspend', 'correct']),
    kind: Type.Optional(Type.Enum(['duplicate', 'unattributed'])),
    cents: Type.Optional(Cents),
    account: Type.Optional(Type.Enum(['merchant', 'house'])),
  }),
)

const difference = {
  ...{
    id: Text,
    acquirer: Text,
    class: Type.Enum([...classNames]),
    subject: Type.Enum(['payment', 'return', 'payout']),
  },
  ...{ reference: Text, at: Time, atAcquirer: OrNull(SideView), inLedger: OrNull(SideView), proposal: ProposedView },
  ...{ state: Type.Enum([...discrepancyStates]), client: OrNull(ClientName) },
  record: OrNull(Type.Object({ type: Text, id: Text })),
  ...{ foundAt: Time, decidedAt: OrNull(Time), decidedBy: OrNull(Text), reason: OrNull(Text) },
}
export const DiscrepancyView = Type.Object(difference)
export const DiscrepancyDetailView = Type.Object({
  ...difference,
  /** The transfers that a confirmation would post, given the current balances. */
  entries: Type.Array(Type.Object(transfer)),
})

export type RunView = Static<typeof RunView>
export type ReconciliationView = Static<typeof ReconciliationView>
export type RequestedRunView = Static<typeof RequestedRunView>
export type DiscrepancyView = Static<typeof DiscrepancyView>
export type DiscrepancyDetail = Static<typeof DiscrepancyDetailView>

// ——— Closed days

const Sum = Type.Object({ count: Count, sum: Cents })
const moved = { opening: Cents, in: Sum, returned: Sum, paidOut: Sum, closing: Cents }

export const ListedDayView = Type.Object({
  ...{ acquirer: Text, day: Text, version: Count, signedAt: Time },
  in: Type.Object({ acquirer: Sum, ledger: Sum }),
  closing: Type.Object({ acquirer: Cents, ledger: Cents }),
  ...{ differences: Count, openDiscrepancies: Count },
})

export const ClosedDayView = Type.Object({
  ...{ acquirer: Text, day: Text, version: Count, signedAt: Time, sha256: Text, from: Text, to: Text },
  /** By the time of posting. `payoutsReturned`: payouts that their receivers sent back. */
  ledgerSide: Type.Object({ ...moved, payoutsReturned: Sum, corrections: Sum }),
  /** By the acquirer's own time. `fees` is null where it does not report them. */
  acquirerSide: Type.Object({ ...moved, fees: OrNull(Cents) }),
  /** Payments that the acquirer dates on this day, whenever they were posted. */
  dated: Sum,
  former: OrNull(Type.Object({ version: Count, sha256: Text })),
  /** The changes since the previous version; null in the first. */
  changes: OrNull(
    Type.Object({
      postedSince: Sum,
      totals: Type.Array(Type.Object({ name: Text, before: OrNull(Cents), after: OrNull(Cents) })),
      differences: Type.Array(
        Type.Object({ id: Text, class: Text, reference: Text, before: OrNull(Text), after: OrNull(Text) }),
      ),
    }),
  ),
  differenceCount: Count,
  differences: Type.Array(
    Type.Object({
      ...{ id: Text, class: Text, reference: Text, at: Text, atAcquirer: OrNull(SideView), inLedger: OrNull(SideView) },
      ...{ proposal: ProposedView, state: Text, decidedBy: OrNull(Text), reason: OrNull(Text) },
    }),
  ),
  versions: Type.Array(Type.Object({ version: Count, signedAt: Time })),
})

/** A file that is served as it was stored. */
export const StatementFile = Type.String()
export const PdfFile = Type.Unsafe<Buffer>(Type.String())
export const StatementKeys = Type.Object({ keys: Type.Array(FreeForm()) })

export type ListedDay = Static<typeof ListedDayView>
export type ClosedDayView = Static<typeof ClosedDayView>

// ——— Payments in suspense

const PaymentKind = Type.Enum(['duplicate', 'unattributed'])

export const ListedPaymentView = Type.Object({
  ...{ id: Text, kind: PaymentKind, status: Type.Enum([...suspenseStatuses]), clientId: OrNull(Text) },
  ...{ clientName: OrNull(Text), acquirer: Text, amount: Cents, paidAt: Time, endToEnd: Text },
  ...{ payerName: OrNull(Text), transactionId: OrNull(Text), error: OrNull(ReasonView) },
})

export const PaymentView = Type.Object({
  ...{ id: Text, kind: PaymentKind, status: Type.Enum([...suspenseStatuses]), amount: Cents, paidAt: Time },
  ...{ acquirer: Text, endToEnd: Text, txid: OrNull(Text) },
  payer: OrNull(Type.Object({ name: Text, document: Text })),
  /** Null: the operator's own account. */
  client: OrNull(ClientName),
  /** For a duplicate payment: the transaction that was already paid. */
  paidTransactionId: OrNull(Text),
  matched: OrNull(Type.Object({ transactionId: Text, client: OrNull(ClientName) })),
  ...{ returnedByOthers: Cents, returnAmount: OrNull(Cents), returnEndToEnd: OrNull(Text), error: OrNull(ReasonView) },
  history: Type.Array(Type.Object({ place: Count, status: Type.Enum([...suspenseStatuses]), at: Text })),
  candidates: Type.Array(
    Type.Object({
      ...{ score: Type.Number(), transactionId: Text, client: OrNull(ClientName), status: Text, createdAt: Time },
      evidence: Type.Array(Type.Object({ what: Type.Enum([...evidenceNames]), points: Type.Number() })),
    }),
  ),
  disputes: Type.Array(PaymentDisputeView),
  /** An attribution that waits for another person. */
  proposal: OrNull(ProposalView),
  /** An attribution above this amount needs a second person. */
  approvalAbove: Cents,
  /** After an attribution was reversed: the transaction that the payment was attributed to. */
  transactionId: Type.Optional(Text),
})

export const AttributionPreviewView = Type.Object({
  transaction: Type.Object({
    ...{ id: Text, clientId: Text, clientName: Text, status: Text, amount: Cents, externalCode: OrNull(Text) },
    ...{ customerName: OrNull(Text), createdAt: Time },
  }),
  /** What the merchant is credited with, and the fee that is deducted from it. */
  ...{ amount: Cents, fee: Cents },
})

export type ListedPaymentView = Static<typeof ListedPaymentView>
export type PaymentView = Static<typeof PaymentView>
export type AttributionPreview = Static<typeof AttributionPreviewView>
