import type { SignUpVerdict } from './sign-up-repository.ts'

/**
 * The state of the account with an identifier at a sign-up. `pending`: a sign-up that waits for its first code. `claimed`: an
 * external provider has given the email to an account without verifying it.
 */
export type OwnerState = 'nobody' | 'pending' | 'claimed' | 'unconfirmed' | 'confirmed'

/** The inputs of the model, except the owner of the identifier. */
export interface SignUpRules {
  /** Whether identifiers count as confirmed immediately. */
  readonly autoconfirm: boolean
  /** Whether enough time has passed since the last message to the identifier. */
  readonly isDue: boolean
  /** Whether the identifier is a phone whose owner has got a code within the interval. */
  readonly hasYoungCode: boolean
}

/** The model of a sign-up (reference: POST /signup). A property test compares it with `sign_up` and `sign_ups`. */
export function judgeSignUp(owner: OwnerState, { autoconfirm, isDue, hasYoungCode }: SignUpRules): SignUpVerdict {
  const isNew = owner === 'nobody' || owner === 'pending' || owner === 'claimed'
  if (autoconfirm) return isNew ? 'signed-in' : 'taken'
  if (owner === 'confirmed') return 'taken'
  if (hasYoungCode) return 'repeated'
  if (isNew) return 'sent'
  return isDue ? 'sent-again' : 'repeated'
}
