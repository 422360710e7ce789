import { createHmac } from 'node:crypto'
import { locationMax } from '../src/pix/brcode.ts'
import type { Network } from './network.ts'

const prefix = '/qr/v2/'
const tokenLength = 22

/**
 * The id under which a charge is stored: a keyed hash of its txid. A location reveals nothing of the txid, as on the
 * real network, and one index serves both to find a charge and to refuse a second one.
 */
export function toChargeId(network: Pick<Network, 'secrets'>, txid: string): string {
  return createHmac('sha256', network.secrets.locationKey).update(txid).digest('hex').slice(0, 32)
}

/** The address of a charge's payload, without scheme, as in its BR Code. */
export function toLocation(charge: { baseUrl: string; id: string }): string {
  return `${withoutScheme(charge.baseUrl)}${prefix}${Buffer.from(charge.id, 'hex').toString('base64url')}`
}

/** The charge's id in a path `/qr/v2/…`. Null for any other path. */
export function readLocationPath(path: string): string | null {
  const token = path.startsWith(prefix) ? path.slice(prefix.length) : ''
  if (token.length !== tokenLength) return null
  const bytes = Buffer.from(token, 'base64url')
  return bytes.toString('base64url') === token ? bytes.toString('hex') : null
}

/** The path of a location that begins with one of the base URLs, without that URL. Null for another network's. */
export function toLocationPath(location: string, baseUrls: string[]): string | null {
  for (const baseUrl of baseUrls) {
    const base = withoutScheme(baseUrl)
    if (location.startsWith(`${base}${prefix}`)) return location.slice(base.length)
  }
  return null
}

/** Removes a final slash. Throws if no BR Code could contain a location under this address. */
export function parseBaseUrl(text: string): string {
  const baseUrl = text.replace(/\/+$/, '')
  const length = withoutScheme(baseUrl).length
  const lengthMax = locationMax - prefix.length - tokenLength
  if (!/^https?:\/\/[^?#\s]+$/.test(baseUrl) || !URL.canParse(baseUrl))
    throw new Error('The base URL is not an http address')
  if (length > lengthMax) {
    throw new Error(
      `The base URL is too long for a QR code: ${length} characters after the scheme, at most ${lengthMax}`,
    )
  }
  return baseUrl
}

function withoutScheme(url: string): string {
  return url.replace(/^https?:\/\//, '')
}
