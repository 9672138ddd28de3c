import type { AssuranceLevel } from '../access-tokens/access-token.ts'
import { enrolNeedsSecondFactor, phoneFactorExists, tooManyFactors } from '../factor-errors.ts'
import type { Factor } from './factor.ts'

/** A factor that a user wants to enrol. */
export interface WantedFactor {
  /** Empty where the user gives no name. */
  readonly friendlyName: string
  /** Only a phone factor has one. */
  readonly phone: string | undefined
}

/** How many factors a user may have: AUTH_MFA_MAX_ENROLLED_FACTORS and AUTH_MFA_MAX_VERIFIED_FACTORS. */
export interface FactorLimits {
  readonly enrolledFactorsMax: number
  readonly verifiedFactorsMax: number
}

/** Whether a factor may be enrolled, or why not. The order of the checks decides which error a client sees. */
export type EnrolmentVerdict = 'allowed' | 'phone-verified' | 'name-taken' | 'too-many' | 'needs-aal2'

/** Whether a factor may become verified, or why not. */
export type ActivationVerdict = Exclude<EnrolmentVerdict, 'phone-verified' | 'name-taken'>

/** Requires that a user may have one more way to prove themselves. @throws tooManyFactors, enrolNeedsSecondFactor */
export function requireAllowed(verdict: ActivationVerdict): void {
  if (verdict === 'too-many') throw tooManyFactors()
  if (verdict === 'needs-aal2') throw enrolNeedsSecondFactor()
}

/**
 * Whether a user may enrol a factor (reference: Enrolment). An unverified factor with the same phone does not count, because
 * the new factor replaces it. Recovery codes do not count either.
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
 * Whether an enrolled factor may become verified. Since its enrolment other factors may have been verified, and somebody who has
 * only the password must not add a factor beside them.
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

/** Whether a user may make recovery codes: only in a session that a second factor has raised (reference: Recovery codes). */
export function judgeRecoveryCodes(aal: AssuranceLevel): ActivationVerdict {
  return aal === 'aal2' ? 'allowed' : 'needs-aal2'
}

function isVerified({ status }: Factor): boolean {
  return status === 'verified'
}

/** Refuses a phone number that another factor of the user has. @throws phoneFactorExists */
export function refuseTakenPhone(): never {
  throw phoneFactorExists()
}
