import { Secret, TOTP } from 'otpauth'

/** A second factor as RFC 6238 has it, with what every authenticator app understands: SHA-1, six digits, thirty seconds. */
const periodSeconds = 30
/** A code lives for its thirty seconds and no longer (ASVS 6.5.5): phones and servers take their time from the network. */
const stepsAside = 0

/** A new secret, 160 bits in base32. */
export function newTotpSecret(): string {
  return new Secret({ size: 20 }).base32
}

/** What an authenticator app reads from a QR code. */
export function toTotpUri(secret: string, email: string): string {
  return toTotp(secret, email).toString()
}

/** The time step that a code is of, or null when it is of none near now. A step that was used before is for the caller to refuse. */
export function findTotpStep(secret: string, code: string, now: Date): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const delta = toTotp(secret).validate({ token: code, timestamp: now.getTime(), window: stepsAside })
  return delta === null ? null : Math.floor(now.getTime() / 1000 / periodSeconds) + delta
}

function toTotp(secret: string, label = ''): TOTP {
  return new TOTP({ issuer: 'Guichê', label, secret: Secret.fromBase32(secret), period: periodSeconds })
}
