import { Secret, TOTP } from 'otpauth'

// The second factor: TOTP as in RFC 6238, with the parameters that every authenticator app supports: SHA-1, six digits,
// thirty seconds.

const periodSeconds = 30

/**
 * A code is valid for its thirty seconds only (ASVS 6.5.5): phones and servers synchronize their clocks over the
 * network.
 */
const stepsTolerated = 0

/** A new secret, 160 bits in base32. */
export function newTotpSecret(): string {
  return new Secret({ size: 20 }).base32
}

/** The content of the QR code for an authenticator app. */
export function toTotpUri(secret: string, email: string): string {
  return toTotp(secret, email).toString()
}

/**
 * The time step of a code, or null if it is not the code of the current step. The caller must refuse a step that was
 * used before.
 */
export function findTotpStep(secret: string, code: string, now: Date): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const delta = toTotp(secret).validate({ token: code, timestamp: now.getTime(), window: stepsTolerated })
  return delta === null ? null : Math.floor(now.getTime() / 1000 / periodSeconds) + delta
}

function toTotp(secret: string, label = ''): TOTP {
  return new TOTP({ issuer: 'Guichê', label, secret: Secret.fromBase32(secret), period: periodSeconds })
}
