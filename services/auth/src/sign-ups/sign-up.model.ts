import type { SignUpVerdict } from './sign-up-repository.ts'

/**
 * The state of the account that has an identifier when somebody signs up with it. A `staged` user only waits for a first code.
 * A `claimed` email is one that a provider has given to an account without verifying it.
 */
export type OwnerState = 'nobody' | 'staged' | 'claimed' | 'unconfirmed' | 'confirmed'

/** The inputs of the model of a sign-up, beside the owner of its identifier. */
export interface SignUpRules {
  /** Whether identifiers count as confirmed at once. */
  readonly autoconfirm: boolean
  /** Whether the last message to the identifier is long enough ago. */
  readonly isDue: boolean
}

/**
 * The model of a sign-up (reference: POST /signup). The SQL functions `sign_up` and `sign_ups` decide the same under their locks.
 * A property test takes both through the same steps.
 */
export function judgeSignUp(owner: OwnerState, { autoconfirm, isDue }: SignUpRules): SignUpVerdict {
  const isNew = owner === 'nobody' || owner === 'staged' || owner === 'claimed'
  if (autoconfirm) return isNew ? 'signed-in' : 'taken'
  if (isNew) return 'sent'
  if (owner === 'confirmed') return 'taken'
  return isDue ? 'sent-again' : 'repeated'
}
