import type { operations } from './openapi.ts'

/** The types of the OpenAPI document, and types that the document does not have in this form. */

export type * from './openapi.ts'

/** A page of a list. */
export interface Page<Entry> {
  /** Number of items on all pages. */
  total: number
  totalPages: number
  /** Counts from 1. */
  currentPage: number
  perPage: number
  data: Entry[]
  /** Send it as `cursor` to get the next page. Null on the last page. */
  nextCursor: string | null
}

/** The filters of an operation. Dates may be `Date`s. */
type Filters<Name extends keyof operations> = WithDates<NonNullable<operations[Name]['parameters']['query']>>
type WithDates<Query> = {
  [Name in keyof Query]: Query[Name] | (Name extends 'startDate' | 'endDate' | 'at' ? Date : never)
}

/** Filters of the list of transactions; all must match. */
export type TransactionFilters = Filters<'listTransactions'>

/** Filters of the list of withdrawals; all must match. */
export type WithdrawalFilters = Filters<'listWithdrawals'>

/** Filters of the statement; all must match. */
export type StatementFilters = Filters<'listStatement'>

/** Which page of the events of a transaction or withdrawal. */
export type EventFilters = Filters<'listTransactionEvents'>

/** Which events: with `after` those of the feed, otherwise a page of the list. */
export type EventQuery = Filters<'listEvents'>

/** Filters of the list of deliveries; all must match. */
export type DeliveryFilters = Filters<'listDeliveries'>

/** Which page of the webhook endpoints. */
export type WebhookEndpointFilters = Filters<'listWebhookEndpoints'>

/** The moment whose balance is wanted. */
export type BalanceQuery = Filters<'getBalance'>
