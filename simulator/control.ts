/** The outcome of one of the sandbox's controls (sandbox.ts), such as opening a dispute. */
export type ControlOutcome = { ok: true; id: string } | { ok: false; code: ControlRefusal; message: string }

const messages = {
  payment_unknown: 'There is no payment with this end-to-end id.',
  payout_unknown: 'There is no payout with this id that has reached its receiver.',
  infraction_unknown: 'There is no dispute with this reference, and no open one of a payment with this end-to-end id.',
  amount_invalid: 'The amount is zero, or more than is left.',
  nothing_left: 'All of the money was returned already.',
  too_late: 'A payment can be disputed within 80 days only.',
  already_open: 'The payment has an open dispute already.',
  not_open: 'The dispute is decided already.',
}

export type ControlRefusal = keyof typeof messages

export function refused(code: ControlRefusal): Extract<ControlOutcome, { ok: false }> {
  return { ok: false, code, message: messages[code] }
}
