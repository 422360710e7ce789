import { type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { assert } from '../lib/assert.ts'

/** Ids, names of clients and acquirers, references of a PSP: none that we accept is longer. */
const Name = Type.String({ maxLength: 128 })
/** A reason that an operator wrote. */
const Text = Type.String({ maxLength: 500 })
const Cents = Type.Integer({ minimum: 0 })
const Count = Type.Integer({ minimum: 0 })
/** As long as `guiche client move` accepts it. */
const CellAddress = Type.String({ maxLength: 200 })
const orNull = (schema: TSchema) => Type.Union([schema, Type.Null()])
const Moment = Type.String({ maxLength: 30 })
/** At least as many as there are scopes, roles or states. */
const Names = Type.Array(Name, { maxItems: 50 })

/**
 * All fields are optional, because the command line and the dashboard record different ones. `by` is the person
 * behind `--as`.
 */
function details(fields: TProperties): TObject {
  const optional = Object.entries(fields).map(([name, schema]) => [name, Type.Optional(schema)])
  return Type.Object({ ...Object.fromEntries(optional), by: Type.Optional(Name) }, { additionalProperties: false })
}

const none = details({})
const reason = details({ reason: Text })
/** An entry of the operator (src/entries/). `reference` identifies the movement in the PSP's list. */
const entryFields = { clientId: Name, acquirer: Name, amount: Cents, reference: orNull(Name), description: Text }
const entry = details(entryFields)
/** `person` is the keyed hash of the document. */
const person = details({ person: Name, transactions: Count, withdrawals: Count, unattributedPayments: Count })
const feeParts = { fixed: Cents, basisPoints: Count, minimum: Cents, maximum: orNull(Cents) }

/** For actions that need two persons: the decision's entry repeats the proposal and names its proposer. */
const decided = { proposalId: Name, proposedBy: Type.String({ maxLength: 300 }) }
const limits = {
  perWithdrawal: orNull(Cents),
  perDay: orNull(Cents),
  perNight: orNull(Cents),
  approvalAbove: orNull(Cents),
  operatorApprovalAbove: orNull(Cents),
  duplicateWindowSeconds: Count,
}
const manualEntry = { acquirer: Name, amount: Cents, debit: Name, credit: Name, description: Text }
const move = { acquirer: Name, amount: Cents, description: Text, otherCell: Name, otherClientId: Name }
const settlement = { endToEndId: orNull(Name), reason: Text }
/** `receiver`: scheme, host and port, because the rest of a URL may hold secrets. */
const endpoint = { receiver: Type.String({ maxLength: 300 }), eventTypes: Names }
const webhookTest = details({ receiver: endpoint.receiver, eventType: Name })
/** Recipients by their user ids: entries are kept forever, addresses are not. */
const report = details({ report: Name, format: Name, every: Name, recipients: Names })
/** Without the title: a merchant may write a customer's name into it. */
const link = details({ slug: Name, amount: orNull(Cents), isEnabled: Type.Boolean(), hasStaticCode: Type.Boolean() })
const attribution = { transactionId: Name, amount: Cents }

/**
 * Every action of the audit log and its allowed details. A request body is never logged as it came: a detail that is
 * not named here is refused. No secrets and no personal data of customers, because entries are kept forever.
 */
const detailsOf = {
  'payouts.freeze': reason,
  'payouts.release': details({ reason: Text, breaches: Count, isChecked: Type.Boolean() }),
  'branding.change': details({
    color: orNull(Name),
    origins: Type.Array(Type.String({ maxLength: 300 }), { maxItems: 10 }),
    showsItems: Type.Boolean(),
    hasLogo: Type.Boolean(),
  }),
  'client.create': details({ clientId: Name, scopes: Names }),
  'client.move': details({ clientId: Name, cell: orNull(Name), address: orNull(CellAddress) }),
  'client.revoke': details({ clientId: Name, tokensOnly: Type.Boolean() }),
  'client.rotate-secret': details({ clientId: Name, overlapHours: Type.Number() }),
  'client.rotate-webhook-secret': details({ clientId: Name, overlapHours: Type.Number() }),
  'client.scopes': details({ clientId: Name, scopes: Names }),
  'close.run': details({ date: Moment, acquirer: Name }),
  'entry.fee_draw': entry,
  'entry.manual': details({ ...manualEntry, ...decided }),
  'entry.manual.propose': details(manualEntry),
  'entry.manual.reject': details({ ...manualEntry, ...decided }),
  'entry.move_in': details({ ...move, ...decided }),
  'entry.move_in.propose': details(move),
  'entry.move_in.reject': details({ ...move, ...decided }),
  'entry.move_out': details({ ...move, ...decided }),
  'entry.move_out.propose': details(move),
  'entry.move_out.reject': details({ ...move, ...decided }),
  'entry.pay_in': details({ ...entryFields, ...decided }),
  'entry.pay_in.propose': entry,
  'entry.pay_in.reject': details({ ...entryFields, ...decided }),
  'entry.psp_fee': entry,
  'entry.write_off': details({ ...entryFields, ...decided }),
  'entry.write_off.propose': entry,
  'entry.write_off.reject': details({ ...entryFields, ...decided }),
  'customer.erase': person,
  'customer.export': person,
  'fee.set': details({ operation: Name, ...feeParts, returnsPaymentFee: Type.Boolean() }),
  'infraction.accept': details({ disputeId: Name }),
  'infraction.add_file': details({ disputeId: Name, fileId: Name }),
  'infraction.hand_in_defence': details({ disputeId: Name, files: Count }),
  'infraction.open': details({ amount: Cents, reason: Text }),
  'infraction.reject': details({ disputeId: Name }),
  'infraction.remove_file': details({ disputeId: Name, fileId: Name }),
  'infraction.send_defence': details({ disputeId: Name, files: Count }),
  'infraction.write_defence': details({ disputeId: Name }),
  'suspense.match': details({ ...attribution, ...decided, score: Type.Number() }),
  'suspense.match.propose': details(attribution),
  'suspense.match.reject': details({ ...attribution, ...decided }),
  'suspense.return': none,
  'suspense.undo': none,
  'reconcile.confirm': details({
    class: Name,
    reference: Name,
    proposal: Name,
    action: Name,
    kind: Name,
    cents: Type.Integer(),
    account: Name,
  }),
  'reconcile.dismiss': reason,
  'reconcile.run': details({ acquirer: Name, from: Moment, to: Moment }),
  'report.delete': report,
  'report.pause': report,
  'report.resume': report,
  'report.schedule': report,
  'payment-link.change': link,
  'payment-link.create': link,
  'rotate-signing-key': none,
  'transaction.cancel': none,
  'transaction.create': details({ amount: Cents }),
  'transaction.refund': details({ refundId: Name, amount: Cents, reason: orNull(Text) }),
  'transaction.test-webhook': webhookTest,
  'user.accept': details({ role: Name }),
  'user.add_second_factor': none,
  'user.change': details({ role: Name, isDisabled: Type.Boolean() }),
  'user.choose_password': details({ role: Name }),
  'user.disable': none,
  'user.enable': none,
  'user.end_sessions': details({ count: Count }),
  'user.invite': details({ role: Name }),
  'user.link': none,
  'user.lock_second_factor': none,
  'user.remove_second_factor': none,
  'user.reset': details({ secondFactor: Type.Boolean() }),
  'user.sign_in': none,
  'user.sign_in_failed': details({ attempts: Count, factor: Name }),
  'user.unlink': none,
  'webhook-endpoint.change': details({ ...endpoint, isDisabled: Type.Boolean() }),
  'webhook-endpoint.create': details(endpoint),
  'webhook-endpoint.delete': details(endpoint),
  'webhook-endpoint.disable': details({ ...endpoint, reason: Name }),
  'webhook-endpoint.rotate-secret': details({ clientId: Name, overlapHours: Type.Number() }),
  'webhook-endpoint.test': webhookTest,
  'webhook.resend': details({ endpointId: Name }),
  'webhook.resend-many': details({ from: Moment, until: Moment, states: Names, count: Count }),
  'withdrawal.approve': none,
  'withdrawal.cancel': none,
  'withdrawal.confirm': none,
  'withdrawal.create': details({ amount: Cents, pixKeyType: Name, hold: orNull(Name) }),
  'withdrawal.limits': details({ ...limits, ...decided }),
  'withdrawal.limits.propose': details(limits),
  'withdrawal.limits.reject': details({ ...limits, ...decided }),
  'withdrawal.reject': reason,
  'withdrawal.settle': details({ ...settlement, ...decided }),
  'withdrawal.settle.propose': details(settlement),
  'withdrawal.settle.reject': details({ ...settlement, ...decided }),
  'withdrawal.test-webhook': webhookTest,
} satisfies Record<string, TObject>

export type ActionName = keyof typeof detailsOf
export const actionNames = Object.keys(detailsOf) as ActionName[]
/** The names of all details of all actions. */
export const detailNames = [...new Set(Object.values(detailsOf).flatMap(({ properties }) => Object.keys(properties)))]

/** What an action is about: the first part of its name. */
export type ActionArea = ActionName extends infer Name ? (Name extends `${infer Area}.${string}` ? Area : Name) : never
export const actionAreas = [...new Set(actionNames.map((name) => name.split('.')[0]))] as ActionArea[]

/** An action that one person proposes and another approves or rejects. */
export type ProposedAction = {
  [Action in ActionName]: `${Action}.propose` | `${Action}.reject` extends ActionName ? Action : never
}[ActionName]

/**
 * Encodes the details as JSON for storage.
 *
 * @throws {BrokenInvariant} if they do not match the table above: an action that cannot be recorded must not happen
 */
export function toDetailsJson(action: ActionName, details: Record<string, unknown>): string {
  const json = JSON.stringify(details)
  const errors = Value.Errors(detailsOf[action], JSON.parse(json))
  const [first] = errors
  assert(
    !first,
    `the audit details of ${action} do not match src/audit/actions.ts: ${first?.instancePath} ${first?.message}`,
  )
  return json
}
