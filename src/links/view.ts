import { type Cell, linkPrefix } from '../lib/cell.ts'
import { qrCodeDataUrl } from '../pix/qrcode.ts'
import type { LinkDetailResponse, LinkPaymentResponse, LinkResponse } from './schema.ts'
import { linkState } from './state.ts'
import type { LinkPaymentRow, LinkWithTotals } from './store.ts'

/** `cell`: the name of this installation if there are several; null otherwise. */
type Shown = { baseUrl: string; cell: Cell | null; now: Date }

export function toLinkResponse(row: LinkWithTotals, { baseUrl, cell, now }: Shown): LinkResponse {
  return {
    id: row.id,
    clientId: row.client_id,
    merchantName: row.merchant_name,
    url: `${baseUrl}/l/${linkPrefix(cell)}${row.slug}`,
    slug: row.slug,
    title: row.title,
    description: row.description,
    amount: row.amount,
    amountMin: row.amount_min,
    amountMax: row.amount_max,
    stock: row.stock,
    expiresAt: row.expires_at?.toISOString() ?? null,
    needsCustomer: row.needs_customer,
    webhookUrl: row.webhook_url,
    isEnabled: row.is_enabled,
    state: linkState(row, now),
    paymentCount: row.paid,
    paymentAmount: row.amount_paid,
    reserved: row.live,
    hasStaticCode: row.static_txid !== null,
    createdAt: row.created_at.toISOString(),
    changedAt: row.changed_at.toISOString(),
  }
}

export function toLinkDetailResponse(row: LinkWithTotals, shown: Shown): LinkDetailResponse {
  const link = toLinkResponse(row, shown)
  return {
    ...link,
    qrCode: qrCodeDataUrl(link.url),
    staticCode: row.static_uri,
    staticQrCode: row.static_uri === null ? null : qrCodeDataUrl(row.static_uri),
  }
}

export function toLinkPaymentResponse(row: LinkPaymentRow): LinkPaymentResponse {
  return {
    id: row.id,
    status: row.status,
    amount: row.amount,
    createdAt: row.created_at.toISOString(),
    paidAt: row.payment_date?.toISOString() ?? null,
    payerName: row.payer_name,
    isStatic: row.is_static,
  }
}
