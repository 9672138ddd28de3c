import type { Factor } from './factor.ts'

/** A factor that its user wants to add. */
export interface WantedFactor {
  /** Empty where the user gives none. */
  readonly friendlyName: string
  /** Of a phone factor. */
  readonly phone: string | undefined
}

export interface FactorLimits {
  readonly enrolledFactorsMax: number
  readonly verifiedFactorsMax: number
}

export type EnrollmentVerdict = 'allowed' | 'phone-verified' | 'name-taken' | 'too-many' | 'needs-aal2'

/**
 * Whether a user may add a factor (reference: Enrolment). An unverified factor of the same phone is replaced, so
 * it does not count. Recovery codes are no factor that somebody enrolls.
 * @param factors those of the user
 * @param aal of the session that asks
 */
export function judgeEnrollment(
  factors: readonly Factor[],
  { friendlyName, phone }: WantedFactor,
  aal: 'aal1' | 'aal2',
  { enrolledFactorsMax, verifiedFactorsMax }: FactorLimits,
): EnrollmentVerdict {
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
 * Whether a factor that was enrolled earlier may become a verified one now: others may have been verified meanwhile, and
 * who has only a password must not put a factor of their own beside those.
 * @param factors those of the user
 */
export function judgeActivation(
  factors: readonly Factor[],
  aal: 'aal1' | 'aal2',
  { verifiedFactorsMax }: Pick<FactorLimits, 'verifiedFactorsMax'>,
): Exclude<EnrollmentVerdict, 'phone-verified' | 'name-taken'> {
  const verified = factors.filter((factor) => isVerified(factor) && factor.factorType !== 'recovery_code')
  if (verified.length >= verifiedFactorsMax) return 'too-many'
  return verified.length > 0 && aal !== 'aal2' ? 'needs-aal2' : 'allowed'
}

function isVerified({ status }: Factor): boolean {
  return status === 'verified'
}
