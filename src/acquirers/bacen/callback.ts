import { type CallbackNotice, UnreadableCallback } from '../acquirer.ts'
import type { Client } from './client.ts'
import { isRecord, text } from './read.ts'

// 32 letters and digits by the standard; what they mean is the payer's bank's business.
const endToEndIdShape = /^[A-Za-z0-9]{32}$/
const txidShape = /^[A-Za-z0-9]{1,35}$/

/**
 * `{ "pix": [ … ] }`, several payments in one call. An entry without a payment's id is passed over, so that it does not
 * take the good ones with it; a call without a single readable one is unreadable.
 */
export function readCallback(body: unknown): CallbackNotice[] {
  const entries = isRecord(body) ? body.pix : undefined
  if (!Array.isArray(entries)) throw new UnreadableCallback('The callback has no list of payments')
  const notices = entries.flatMap(readNotice)
  if (notices.length === 0 && entries.length > 0) throw new UnreadableCallback('No payment of the callback can be read')
  return notices
}

function readNotice(entry: unknown): CallbackNotice[] {
  const endToEndId = isRecord(entry) ? text(entry, 'endToEndId') : null
  if (!isRecord(entry) || !endToEndId || !endToEndIdShape.test(endToEndId)) return []
  const txid = text(entry, 'txid')
  return [{ eventKey: endToEndId, endToEndId, txid: txid && txidShape.test(txid) ? txid : null }]
}

/**
 * `PUT /webhook/{chave}`. Throws an ordinary error when the PSP says no: the address or the key is wrong, and asking
 * again will not help. A PSP that refuses to register the same address twice is asked which one it has.
 */
export async function registerCallback(deps: { client: Client; chave: string }, url: string): Promise<void> {
  const path = `/webhook/${encodeURIComponent(deps.chave)}`
  const answer = await deps.client({ method: 'PUT', path, body: { webhookUrl: url } })
  if (answer.ok) return
  const current = await deps.client({ method: 'GET', path })
  if (current.ok && text(current.body, 'webhookUrl') === url) return
  throw new Error(`The acquirer refused the address for callbacks: ${answer.reason}`)
}
