/**
 * Who has an identifier when somebody signs up with it. `staged` only waits for a first one-time code; `claimed` is an email
 * that an account has by the word of a provider alone, which has not verified it.
 */
export type Holder = 'nobody' | 'staged' | 'claimed' | 'unconfirmed' | 'confirmed'

export const SIGN_UP_VERDICTS = ['signed-in', 'sent', 'sent-again', 'repeated', 'taken'] as const

/** `sent-again`: the holder's confirmation is on its way once more. `repeated`: nothing is. Both look like `sent`. */
export type SignUpVerdict = (typeof SIGN_UP_VERDICTS)[number]

export interface SignUpRules {
  /** Whether identifiers count as confirmed at once. */
  readonly autoconfirm: boolean
  /** Whether the last message to the identifier is long enough ago. */
  readonly isDue: boolean
}

/**
 * The model of a signup (reference: POST /signup). The database's functions `sign_up` and `sign_ups_at_once` decide the
 * same under their locks; a property test drives both through the same steps.
 */
export function judgeSignUp(holder: Holder, { autoconfirm, isDue }: SignUpRules): SignUpVerdict {
  const isNew = holder === 'nobody' || holder === 'staged' || holder === 'claimed'
  if (autoconfirm) return isNew ? 'signed-in' : 'taken'
  if (isNew) return 'sent'
  return holder === 'unconfirmed' && isDue ? 'sent-again' : 'repeated'
}
