import { randomBytes } from 'node:crypto'
import type { Acquirers } from '../acquirers/registry.ts'
import { cents } from '../lib/money.ts'
import { encodeStaticBrCode } from '../pix/brcode.ts'
import type { LinkRow } from './store.ts'

/** A code must have a city. Banks do not show it. */
const merchantCity = 'BRASIL'
/** 96 bits in 24 letters and digits, of the 25 that a static code allows. */
const txidBytes = 12

/**
 * Creates a static code for a link. It pays to our Pix key at the acquirer to which the merchant's charges are routed.
 */
export function newStaticCode(
  acquirers: Acquirers,
  { link, clientId, merchantName, now }: { link: LinkRow; clientId: string; merchantName: string; now: Date },
): { static_txid: string; static_uri: string } {
  // A route may depend on the amount. A link without a fixed amount is routed like one of 1 cent.
  const acquirer = acquirers.forStaticCode({ clientId, amount: link.amount ?? 1, now, id: link.id })
  const txid = randomBytes(txidBytes).toString('hex')
  const amount = link.amount === null ? null : cents(link.amount)
  const code = { key: acquirer.chargeKey, txid, amount, merchantCity }
  return { static_txid: txid, static_uri: encodeStaticBrCode({ ...code, merchantName: nameOrDefault(merchantName) }) }
}

/** A code's name needs a Latin letter or a digit. Banks show the name of the account, not this one. */
function nameOrDefault(name: string): string {
  return /[a-z\d]/i.test(name.normalize('NFD')) ? name : 'PIX'
}
