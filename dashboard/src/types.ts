/**
 * What the dashboard shares with the service. No other file of the dashboard imports from src/. Most are the types of
 * the service's answers, from the schemas of its routes; the values are names and formats that its reports use too.
 */

import type { Static } from 'typebox'
import type { Explanation } from '../../src/explain/explain.ts'
import type {
  FactorView,
  InvitationView,
  OwnSession,
  SessionView,
  SignedOut as SignedOutView,
  SignInOptions as SignInOptionsView,
  UserView,
} from '../../src/users/schema.ts'

export type { Evidence } from '../../src/attribution/score.ts'
export type { ActionArea, ActionName } from '../../src/audit/actions.ts'
export type { BrandingView } from '../../src/branding/schema.ts'
export type * from '../../src/dashboard/list-schema.ts'
export type * from '../../src/dashboard/live-schema.ts'
export type * from '../../src/dashboard/operator-schema.ts'
export type * from '../../src/dashboard/report-schema.ts'
export type * from '../../src/dashboard/schema.ts'
export type { DefenceView, Delivery } from '../../src/defences/schema.ts'
export type { NextStep, Reason, ReasonCode, Sentence, SentenceData } from '../../src/explain/sentences.ts'
export type { StatementLine } from '../../src/explain/statement.ts'
export type { TimelineData, TimelineEntry } from '../../src/explain/timeline.ts'
export type { Account, EntryType, TransferKind, WrittenType } from '../../src/ledger/accounts.ts'
export { correctionTexts } from '../../src/ledger/correction-texts.ts'
export { kindNames } from '../../src/ledger/kind-names.ts'
export type { FreezeReason } from '../../src/ledger/payout-freeze.ts'
export type { ErrorCode, FieldErrorCode } from '../../src/lib/errors.ts'
export type { LinkDetailResponse, LinkPaymentResponse, LinkResponse } from '../../src/links/schema.ts'
export type { DiscrepancyClass, Side } from '../../src/reconciliation/classes.ts'
export { closedDayLabels } from '../../src/reconciliation/closed-day-labels.ts'
export { discrepancyClassLabels } from '../../src/reconciliation/discrepancy-class-labels.ts'
export type { Amount } from '../../src/reconciliation/statement.ts'
export { operationNames, statusNames } from '../../src/reports/names.ts'
export { type CellWriters, createSpreadsheet } from '../../src/reports/spreadsheet.ts'
export type { SuspenseStatus } from '../../src/suspense/status.ts'
export type { SignInFault } from '../../src/users/oidc.ts'
export type { AttemptErrorCode } from '../../src/webhooks/attempt-errors.ts'

/** Dates are text in JSON. */
export type ExplainedRecord = Explanation<string>
export type Session = Static<typeof SessionView>
export type User = Session['user']
export type SignInOptions = Static<typeof SignInOptionsView>
export type SignedOut = Static<typeof SignedOutView>
export type Person = Static<typeof UserView>
export type NewSecondFactor = Static<typeof FactorView>
export type Invitation = Static<typeof InvitationView>
export type SignedInSession = Static<typeof OwnSession>
