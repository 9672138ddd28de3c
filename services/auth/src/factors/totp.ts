import { Secret, TOTP } from 'otpauth'
import { type EncryptionKeys, openSecret, type RandomBytes, readUpstreamSecret } from '../secrets/sealed-secret.ts'
import type { FactorWithSecrets } from './factor-repository.ts'

const SECRET_BYTES = 20
const FORM = { algorithm: 'SHA1', digits: 6, period: 30 } as const
/** The steps before and after the current one whose codes are accepted: clocks differ, and users type slowly. */
const SKEW_STEPS = 1
const BASE32 = /^[A-Z2-7]+=*$/

/** Generates a secret of 160 bits for an authenticator app (RFC 6238, RFC 4226 section 4), in base32 without padding. */
export function generateTotpSecret(randomBytes: RandomBytes): string {
  return new Secret({ buffer: Uint8Array.from(randomBytes(SECRET_BYTES)).buffer }).base32
}

/** The secret and the names that an authenticator app stores. The secret is base32 without padding. */
export interface TotpAccount {
  /** The name of the service, as the app shows it. */
  readonly issuer: string
  /** The name of the account: an email or a phone. */
  readonly account: string
  readonly secret: string
}

/** The URI in the QR code of an authenticator app, in the Key Uri Format (reference: Enrolment). */
export function totpUri({ issuer, account, secret }: TotpAccount): string {
  const { algorithm, digits, period } = FORM
  // The first colon ends the issuer for many apps, an escaped one too.
  const [name, label] = [issuer, account].map((text) => encodeURIComponent(text.replaceAll(':', '-')))
  return `otpauth://totp/${name}:${label}?algorithm=${algorithm}&digits=${digits}&issuer=${name}&period=${period}&secret=${secret}`
}

/**
 * The secret of an authenticator app, in base32. SQL of others inserts it unencrypted, and supabase/auth may have sealed it.
 * @returns undefined where it is neither, so that no code of the factor is right
 */
export function readTotpSecret(
  { encryptionKeys }: { readonly encryptionKeys: EncryptionKeys },
  { id, secret, plainSecret }: Pick<FactorWithSecrets, 'id' | 'secret' | 'plainSecret'>,
): string | undefined {
  if (secret !== null) return openSecret(encryptionKeys, id, secret)
  const opened = readUpstreamSecret(encryptionKeys, id, plainSecret ?? '')
  return BASE32.test(opened ?? '') ? opened : undefined
}

/** The time step of a code; undefined for a code of no step near `now`. */
export function findTotpStep(secret: string, code: string, now: Date): number | undefined {
  // The library compares bytes, and throws for six characters that are more than six bytes.
  if (!/^[0-9]{6}$/.test(code)) return undefined
  const timestampMs = now.getTime()
  const delta = new TOTP({ ...FORM, secret }).validate({ token: code, timestamp: timestampMs, window: SKEW_STEPS })
  return delta === null ? undefined : Math.floor(timestampMs / 1_000 / FORM.period) + delta
}
