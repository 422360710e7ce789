import { AppError, type apiErrors, type ErrorCode, errors, type FieldError } from '../lib/errors.ts'
import { toProblem } from './problem.ts'

/** One example of each error of the API, for the OpenAPI document. */

const transactionId = '0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1'

type Example = { detail: string; fields?: FieldError[]; members?: Record<string, string | number> }

const examples: Record<keyof typeof apiErrors, Example> = {
  validation_failed: {
    detail: 'amount must be at least 1.',
    fields: [{ field: 'amount', code: 'too_small', message: 'must be at least 1', limit: 1, unit: 'cents' }],
  },
  malformed_json: { detail: 'The body is not valid JSON at line 3, column 14: "," or "}" is expected.' },
  idempotency_key_reused: {
    detail: 'This idempotency key was used for a request with different content. Use a new key for a new transaction.',
    fields: [{ field: 'amount', code: 'differs', message: 'differs from the request that used the key first' }],
  },
  acquirer_refused: {
    detail: 'The acquirer refused the charge: the key is not registered',
    members: { transactionId },
  },
  payment_refused: {
    detail: 'The charge has expired.',
    fields: [{ field: 'uri', code: 'charge_expired', message: 'The charge has expired.' }],
  },
  insufficient_balance: {
    detail: 'The available balance does not cover the amount and its fee. GET /balance shows the balance.',
  },
  cancel_not_possible: {
    detail: 'status is PAID: it was paid, so refund it instead.',
    fields: [{ field: 'status', code: 'already_paid', message: 'is PAID: it was paid, so refund it instead' }],
    members: { transactionStatus: 'PAID' },
  },
  refund_not_possible: {
    detail: 'The amount is more than the 1590 cents that are left of the payment.',
    fields: [{ field: 'amount', code: 'too_large', message: 'must be at most 1590', limit: 1590, unit: 'cents' }],
    members: { amountLeft: 1590 },
  },
  withdrawal_not_possible: {
    detail: 'status is PROCESSED, and only a PENDING withdrawal can be stopped or changed.',
    fields: [
      {
        field: 'status',
        code: 'not_pending',
        message: 'is PROCESSED, and only a PENDING withdrawal can be stopped or changed',
      },
    ],
  },
  position_unknown: {
    detail:
      'The feed has no event at this position: it is from another merchant or installation, or the database was restored to an earlier moment. Begin again with after=start, and a startDate before the last event that you have, and skip the ids that you have.',
  },
  payouts_stopped: {
    detail:
      'Payouts are frozen: withdrawals and refunds wait until the operator has checked the ledger. Nothing is lost; try again later.',
  },
  missing_token: {
    detail: 'Send the header "Authorization: Bearer <access token>". POST /auth/token gives you one.',
  },
  invalid_token: {
    detail: 'The access token cannot be read, or was not signed by this gateway. POST /auth/token gives you one.',
  },
  token_expired: {
    detail:
      'The access token has expired. Get a new one from /auth/token; `expires_in_sec` is its lifetime in seconds.',
  },
  token_revoked: { detail: 'The access token was revoked. Get a new one from /auth/token.' },
  client_not_registered: {
    detail: 'The token is valid, but its client is not registered at this gateway. Ask the operator to register it.',
  },
  merchant_moved: {
    detail:
      'New charges of this merchant are created at https://pix2.example.com, with its credentials there. Existing transactions stay here.',
    members: { address: 'https://pix2.example.com' },
  },
  insufficient_scope: {
    detail:
      'The token lacks the scope refund.write. Request a token with it, or ask the operator to grant it to the client.',
  },
  not_found: { detail: 'There is no transaction with this id.' },
  method_not_allowed: { detail: 'This address answers GET, POST.' },
  request_timeout: { detail: 'The request took too long to arrive.' },
  body_too_large: { detail: 'The body may have 64 KiB at most.' },
  unsupported_media_type: { detail: 'Send the body as Content-Type: application/json.' },
  headers_too_large: { detail: 'The headers are too large.' },
  rate_limited: {
    detail: 'Too many requests: after a burst of 200, one every 10 ms is allowed. Wait 1 s and try again.',
  },
  bad_request: { detail: 'The body is not as long as Content-Length says.' },
  internal_error: {
    detail: 'Something went wrong on our side. Give the requestId to the operator, who finds the cause in the log.',
  },
  acquirer_unavailable: {
    detail:
      'The acquirer did not answer in time, so it is not known yet whether the charge exists. The transaction is kept and will be resolved: fetch it later, or repeat the request with the same idempotency key.',
    members: { transactionId },
  },
  database_unavailable: {
    detail:
      'The database did not answer. Repeat the request in a few seconds, with the same idempotency key if it has one: nothing is done twice.',
  },
  overloaded: {
    detail: 'This merchant has many events, and they are being numbered for the first time. Repeat the request.',
  },
}

const source = {
  errorPage: 'https://pix.example.com/guide/errors.html',
  requestId: '7b0f6c1e-3d0e-4f0a-8f43-3a3f5b2a9c11',
}

/** The example of an error code, as an Example Object of OpenAPI. */
export function toProblemExample(code: ErrorCode): { summary: string; value: unknown } {
  const example: Example | undefined = code in examples ? examples[code as keyof typeof examples] : undefined
  // The type requires `fields` for a refusal code. Each refusal code has `fields` in the examples above.
  const error = new AppError(code, { ...example, fields: example?.fields } as { fields: FieldError[] })
  return { summary: errors[code].title, value: JSON.parse(toProblem(error, source)) }
}
