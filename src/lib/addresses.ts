import { isIP } from 'node:net'

/** An IP address or a host name. */
export function isHost(text: string): boolean {
  // Text that looks like an IP address must be one: 999.1.1.1 is not a host name either.
  if (/^[\d.]+$|:/.test(text)) return isIP(text) !== 0
  return /^(?!-)[a-z\d-]{1,63}(?:\.(?!-)[a-z\d-]{1,63})*\.?$/i.test(text)
}

/** An address, or a network such as 10.0.0.0/8. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  const bitsMax = family === 4 ? 32 : 128
  return (
    family !== 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax))
  )
}
