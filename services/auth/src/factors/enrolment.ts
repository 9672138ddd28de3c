import { Secret, TOTP } from 'otpauth'
import { renderSVG } from 'uqr'
import { z } from 'zod'
import type { AssuranceLevel } from '../access-tokens/access-token.ts'
import type { AuthConfig } from '../config.ts'
import {
  enrolNeedsSecondFactor,
  phoneEnrolDisabled,
  phoneFactorExists,
  phoneVerifyDisabled,
  recoveryEnrolDisabled,
  tooManyFactors,
  totpEnrolDisabled,
  totpVerifyDisabled,
  webauthnEnrolDisabled,
  webauthnVerifyDisabled,
} from '../factor-errors.ts'
import {
  decryptSecret,
  type EncryptionKeys,
  type RandomBytes,
  readUpstreamSecret,
} from '../secrets/encrypted-secret.ts'
import { type Factor, requireFactor } from './factor.ts'
import type { FactorWithSecrets } from './factor-repository.ts'

export interface WantedFactor {
  /** Empty if the user gives no name. */
  readonly friendlyName: string
  /** Only for a phone factor. */
  readonly phone: string | undefined
}

/** The maximum factors of a user: AUTH_MFA_MAX_ENROLLED_FACTORS and AUTH_MFA_MAX_VERIFIED_FACTORS. */
interface FactorLimits {
  readonly enrolledFactorsMax: number
  readonly verifiedFactorsMax: number
}

/** Whether a factor may be enrolled. The order of the checks decides which error a client gets. */
export type EnrolmentVerdict = 'allowed' | 'phone-verified' | 'name-taken' | 'too-many' | 'needs-aal2'

/** Whether an enrolled factor may become verified. */
type ActivationVerdict = Exclude<EnrolmentVerdict, 'phone-verified' | 'name-taken'>

/** Requires that the user may add a factor. @throws tooManyFactors, enrolNeedsSecondFactor */
export function requireAllowed(verdict: ActivationVerdict): void {
  if (verdict === 'too-many') throw tooManyFactors()
  if (verdict === 'needs-aal2') throw enrolNeedsSecondFactor()
}

/**
 * Decides whether a user may enrol a factor (reference: Enrolment). Ignores an unverified factor with the same phone, because the
 * new factor replaces it. Recovery codes do not count either.
 * @param factors all factors of the user
 * @param aal the assurance level of the session
 */
export function judgeEnrolment(
  factors: readonly Factor[],
  { friendlyName, phone }: WantedFactor,
  aal: AssuranceLevel,
  { enrolledFactorsMax, verifiedFactorsMax }: FactorLimits,
): EnrolmentVerdict {
  const samePhone = factors.filter((factor) => phone !== undefined && factor.phone === phone)
  if (samePhone.some(isVerified)) return 'phone-verified'
  const others = factors.filter((factor) => !samePhone.includes(factor))
  if (others.some((factor) => (factor.friendlyName ?? '').trim() === friendlyName.trim())) return 'name-taken'
  const counted = others.filter(({ factorType }) => factorType !== 'recovery_code')
  const verified = counted.filter(isVerified)
  if (counted.length >= enrolledFactorsMax || verified.length >= verifiedFactorsMax) return 'too-many'
  return verified.length > 0 && aal !== 'aal2' ? 'needs-aal2' : 'allowed'
}

/**
 * Decides whether an enrolled factor may become verified. The user may have verified other factors since the enrolment. A person
 * who has only the password must then not add another factor.
 * @param factors all factors of the user
 */
export function judgeActivation(
  factors: readonly Factor[],
  aal: AssuranceLevel,
  { verifiedFactorsMax }: Pick<FactorLimits, 'verifiedFactorsMax'>,
): ActivationVerdict {
  const verified = factors.filter((factor) => isVerified(factor) && factor.factorType !== 'recovery_code')
  if (verified.length >= verifiedFactorsMax) return 'too-many'
  return verified.length > 0 && aal !== 'aal2' ? 'needs-aal2' : 'allowed'
}

/** Allows recovery codes only in a session that a second factor has stepped up (reference: Recovery codes). */
export function judgeRecoveryCodes(aal: AssuranceLevel): ActivationVerdict {
  return aal === 'aal2' ? 'allowed' : 'needs-aal2'
}

function isVerified({ status }: Factor): boolean {
  return status === 'verified'
}

export function refuseTakenPhone(): never {
  throw phoneFactorExists()
}

/** The types of factors with enrolment and challenges. Recovery codes have neither. */
export type EnrolledType = 'totp' | 'phone' | 'webauthn'

export function requireEnrolEnabled({ mfa }: Pick<AuthConfig, 'mfa'>, type: EnrolledType): void {
  if (mfa[type].enrolEnabled) return
  if (type === 'totp') throw totpEnrolDisabled()
  throw type === 'phone' ? phoneEnrolDisabled() : webauthnEnrolDisabled()
}

export function requireVerifyEnabled({ mfa }: Pick<AuthConfig, 'mfa'>, type: EnrolledType): void {
  if (mfa[type].verifyEnabled) return
  if (type === 'totp') throw totpVerifyDisabled()
  throw type === 'phone' ? phoneVerifyDisabled() : webauthnVerifyDisabled()
}

export function requireRecoveryCodesEnabled({ mfa }: Pick<AuthConfig, 'mfa'>): void {
  if (!mfa.recoveryCodes.enrolEnabled) throw recoveryEnrolDisabled()
}

/** Requires a factor that can be challenged. Recovery codes need no challenge. */
export function requireEnrolled<F extends Pick<Factor, 'factorType'>>(
  factor: F | undefined,
): F & { readonly factorType: EnrolledType } {
  return requireFactor(factor && isEnrolled(factor) ? factor : undefined)
}

/** Whether a factor can be challenged. */
export function isEnrolled<F extends Pick<Factor, 'factorType'>>(
  factor: F,
): factor is F & { readonly factorType: EnrolledType } {
  return factor.factorType !== 'recovery_code'
}

/**
 * Whether a factor has the secret or address that a challenge needs. A verified WebAuthn factor without a credential was inserted
 * by SQL of an application. It is not usable, because a new credential would be a second factor that nobody has proven.
 */
export function isUsable({ factorType, status, credential }: FactorWithSecrets): boolean {
  return factorType !== 'webauthn' || status === 'unverified' || credential !== null
}

const SECRET_BYTES = 20
const FORM = { algorithm: 'SHA1', digits: 6, period: 30 } as const
/** The accepted steps before and after the current one, because clocks differ and users type slowly. */
const SKEW_STEPS = 1
const BASE32 = /^[A-Z2-7]+=*$/

/** Generates a secret of 160 bits for an authenticator app (RFC 6238, RFC 4226 section 4), in unpadded base32. */
export function generateTotpSecret(randomBytes: RandomBytes): string {
  return new Secret({ buffer: Uint8Array.from(randomBytes(SECRET_BYTES)).buffer }).base32
}

/** The secret and the names that an authenticator app stores. The secret is in unpadded base32. */
interface TotpAccount {
  /** The name of the service that the app shows. */
  readonly issuer: string
  /** The name of the account, an email or a phone. */
  readonly account: string
  readonly secret: string
}

/** Returns the URI for the QR code of an authenticator app, in the Key Uri Format (reference: Enrolment). */
export function totpUri({ issuer, account, secret }: TotpAccount): string {
  const { algorithm, digits, period } = FORM
  // Replace colons, because in many apps the first colon ends the issuer even if it is escaped.
  const [name, label] = [issuer, account].map((text) => encodeURIComponent(text.replaceAll(':', '-')))
  return `otpauth://totp/${name}:${label}?algorithm=${algorithm}&digits=${digits}&issuer=${name}&period=${period}&secret=${secret}`
}

/**
 * Returns the secret of an authenticator app, in base32. SQL of an application inserts it unencrypted, and supabase/auth may have
 * encrypted it.
 * @returns `undefined` if the secret is not base32, so that no code of the factor is right
 */
export function readTotpSecret(
  { encryptionKeys }: { readonly encryptionKeys: EncryptionKeys },
  { id, secret, plainSecret }: Pick<FactorWithSecrets, 'id' | 'secret' | 'plainSecret'>,
): string | undefined {
  if (secret !== null) return decryptSecret(encryptionKeys, id, secret)
  const opened = readUpstreamSecret(encryptionKeys, id, plainSecret ?? '')
  return BASE32.test(opened ?? '') ? opened : undefined
}

/** Returns the time step of a code, or `undefined` if no step near `now` has this code. */
export function findTotpStep(secret: string, code: string, now: Date): number | undefined {
  // The library throws for six characters with more than six bytes, because it compares bytes.
  if (!/^[0-9]{6}$/.test(code)) return undefined
  const timestampMs = now.getTime()
  const delta = new TOTP({ ...FORM, secret }).validate({ token: code, timestamp: timestampMs, window: SKEW_STEPS })
  return delta === null ? undefined : Math.floor(timestampMs / 1_000 / FORM.period) + delta
}

/** A factor right after its enrolment. The secret is shown only now (reference: Enrolment). */
export const EnrolledFactorView = z.object({
  id: z.guid(),
  type: z.enum(['totp', 'phone', 'webauthn']),
  friendly_name: z.string(),
  totp: z
    .object({
      qr_code: z.string().meta({ description: 'The secret as a QR code: an SVG' }),
      secret: z.string().meta({ description: 'The secret of the authenticator app, in base32' }),
      uri: z.string(),
    })
    .optional(),
  phone: z.string().optional(),
})

/** The parts of the answer to an enrolment. `totpSecret` is base32, and `undefined` for other types. */
interface EnrolledFactorParts {
  readonly id: string
  readonly type: EnrolledType
  readonly friendlyName: string
  readonly phone: string | undefined
  readonly issuer: string
  readonly account: string
  readonly totpSecret: string | undefined
}

export function viewEnrolledFactor(factor: EnrolledFactorParts): z.output<typeof EnrolledFactorView> {
  const { id, type, friendlyName, phone, totpSecret, issuer, account } = factor
  const view = { id, type, friendly_name: friendlyName }
  if (totpSecret === undefined) return phone === undefined ? view : { ...view, phone }
  const uri = totpUri({ issuer, account, secret: totpSecret })
  return { ...view, totp: { qr_code: qrCodeSvg(uri), secret: totpSecret, uri } }
}

/** The white border around the code, in modules. The standard requires it. */
const BORDER = 4
const PIXELS_PER_MODULE = 5

/**
 * Returns a QR code as SVG, with as much error correction as its size allows. Clients put the SVG into a data URI without
 * escaping, so it must not contain `#`. @param text at most 2,953 bytes
 */
function qrCodeSvg(text: string): string {
  return renderSVG(text, { ecc: 'L', boostEcc: true, border: BORDER, pixelSize: PIXELS_PER_MODULE })
}

/** A set of recovery codes. The codes are shown only now (reference: Recovery codes). */
export const RecoveryCodesView = z.object({
  id: z.guid(),
  type: z.literal('recovery_code'),
  friendly_name: z.string(),
  total: z.int(),
  codes: z.array(z.string()),
})

export function viewRecoveryCodes({
  factor,
  codes,
}: {
  readonly factor: Factor
  readonly codes: readonly string[]
}): z.output<typeof RecoveryCodesView> {
  const { id, friendlyName } = factor
  return { id, type: 'recovery_code', friendly_name: friendlyName ?? '', total: codes.length, codes: [...codes] }
}
