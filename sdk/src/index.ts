export type { Balances } from './balance.ts'
export {
  AcquirerRefusedError,
  AcquirerUnavailableError,
  AuthenticationError,
  ConnectionError,
  GuicheError,
  IdempotencyKeyReusedError,
  InsufficientBalanceError,
  NotFoundError,
  PermissionError,
  RateLimitedError,
  type SdkErrorCode,
  ServerError,
  ValidationError,
  WebhookVerificationError,
} from './errors.ts'
export type {
  FeedEvent,
  FeedPage,
  FeedQuery,
  TransactionEvent,
  WebhookEvent,
  WebhookEventOf,
  WebhookEventType,
  WithdrawalEvent,
} from './event-types.ts'
export type { Deliveries, Events, FollowOptions, FollowQuery } from './events.ts'
export { Guiche, type GuicheOptions } from './guiche.ts'
export type { RequestOptions } from './http.ts'
export type { List } from './list.ts'
export { formatBRL, toCents } from './money.ts'
export type { Sandbox } from './sandbox.ts'
export type { Statement } from './statement.ts'
export type { CreateRefund, CreateTransaction, Transactions } from './transactions.ts'
export type * from './types.ts'
export type { WaitOptions } from './wait.ts'
export { type VerifyOptions, verifyWebhook, type WebhookHeaders } from './webhook.ts'
export type { WebhookEndpoints } from './webhook-endpoints.ts'
export type { CreateWithdrawal, Withdrawals } from './withdrawals.ts'
