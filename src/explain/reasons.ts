import { otherAmountReason } from '../acquirers/bacen/charge.ts'
import { type RejectionCode, rejectedWithoutReason, rejections, writeRejection } from '../acquirers/bacen/spi-codes.ts'
import { expiredMessage, removedMessage } from '../transactions/check.ts'
import { returnedInPartMessage, returnedMessage } from '../withdrawals/settle.ts'

/** Why something failed. Records store the text in English. The code is null for a text that a PSP or a person wrote. */
export type Reason = { text: string; code: ReasonCode | null }

const ownReasons = {
  code_expired: expiredMessage,
  charge_removed: removedMessage,
  charge_of_other_amount: otherAmountReason,
  rejected_without_reason: rejectedWithoutReason,
  returned_by_receiver: returnedMessage,
  returned_in_part_by_receiver: returnedInPartMessage,
}

export type ReasonCode = keyof typeof ownReasons | RejectionCode

const codes = new Map<string, ReasonCode>([
  ...(Object.keys(ownReasons) as (keyof typeof ownReasons)[]).map((code) => [ownReasons[code], code] as const),
  ...(Object.keys(rejections) as RejectionCode[]).map((code) => [writeRejection(code), code] as const),
])

export function toReason(text: string | null): Reason | null {
  return text === null ? null : { text, code: codes.get(text) ?? null }
}
