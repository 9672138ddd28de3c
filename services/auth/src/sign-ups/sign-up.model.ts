import type { SignUpVerdict } from './sign-up-repository.ts'

/**
 * The state of the account that has an identifier at a sign-up. A `pending` sign-up only waits for a first code. A `claimed`
 * email was given to an account by a provider that has not verified it.
 */
export type OwnerState = 'nobody' | 'pending' | 'claimed' | 'unconfirmed' | 'confirmed'

/** The inputs of the model of a sign-up, beside the owner of its identifier. */
export interface SignUpRules {
  /** Whether identifiers count as confirmed at once. */
  readonly autoconfirm: boolean
  /** Whether the last message to the identifier is long enough ago. */
  readonly isDue: boolean
  /** Whether the identifier is a phone, and its owner has got a code within the interval. */
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
