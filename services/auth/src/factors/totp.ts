import { Secret, TOTP } from 'otpauth'

const SECRET_BYTES = 20
const FORM = { algorithm: 'SHA1', digits: 6, period: 30 } as const
/** Steps before and after the present one whose codes are taken too: clocks differ, and people type slowly. */
const SKEW_STEPS = 1

/** A new secret of an authenticator app (RFC 6238): base32 without padding. */
export function makeTotpSecret(randomBytes: (size: number) => Buffer): string {
  return new Secret({ buffer: Uint8Array.from(randomBytes(SECRET_BYTES)).buffer }).base32
}

export interface TotpAccount {
  /** Who asks for the code, as the app shows it. */
  readonly issuer: string
  /** Whose code it is: an email or a phone. */
  readonly account: string
  readonly secret: string
}

/** The URI in the QR code of an authenticator app, in the Key Uri Format (reference: Enrolment). */
export function totpUri({ issuer, account, secret }: TotpAccount): string {
  const { algorithm, digits, period } = FORM
  const [name, label] = [encodeURIComponent(issuer), encodeURIComponent(account)]
  return `otpauth://totp/${name}:${label}?algorithm=${algorithm}&digits=${digits}&issuer=${name}&period=${period}&secret=${secret}`
}

/** The time step that a code belongs to; undefined for a code of no step near `now`. */
export function findTotpStep(secret: string, code: string, now: Date): number | undefined {
  // The library compares bytes: six characters that are more of them would be an exception.
  if (!/^[0-9]{6}$/.test(code)) return undefined
  const timestamp = now.getTime()
  const delta = new TOTP({ ...FORM, secret }).validate({ token: code, timestamp, window: SKEW_STEPS })
  return delta === null ? undefined : Math.floor(timestamp / 1_000 / FORM.period) + delta
}
