import type { Trx } from '../database.ts'
import { type IntervalDeps, requireInterval, restOfInterval, touchInterval } from './send-interval.ts'

/** A user whose address changes. */
interface ChangingUser {
  readonly id: string
  readonly email: string | null
  readonly phone: string | null
  readonly audience: string
}

/** The address that a user wants. `email_change`: an email. `sms`: a phone. */
interface WantedAddress {
  readonly kind: 'email_change' | 'sms'
  readonly address: string
}

/**
 * Uses up the intervals of a change of address: that of the user, so that nobody mails any number of addresses, and that of the
 * wanted address, so that no number of users mails one address. `POST /resend` waits for the change too.
 * @throws emailTooSoon or smsTooSoon
 */
export async function requireChangeIntervals(
  trx: Trx,
  deps: IntervalDeps,
  user: ChangingUser,
  { kind, address }: WantedAddress,
): Promise<void> {
  const { audience } = user
  await requireInterval(trx, deps, { kind, scope: 'user', identifier: user.id, audience })
  await requireInterval(trx, deps, { kind, scope: 'new-address', identifier: address, audience: undefined })
  // A request to send the message again names the user by the email or the phone that the user has.
  for (const identifier of [user.email, user.phone]) {
    if (identifier !== null) await touchInterval(trx, deps, { kind, scope: 'resend', identifier, audience })
  }
}

/**
 * Uses up the interval of the wanted address, for a message that a stranger may have asked for again. The interval of the user
 * has to be over, and stays so: a stranger must not hold off a change that the user asks for.
 * @returns false while an interval is not over
 */
export async function claimResend(
  trx: Trx,
  deps: IntervalDeps,
  user: Pick<ChangingUser, 'id' | 'audience'>,
  { kind, address }: WantedAddress,
): Promise<boolean> {
  const { id, audience } = user
  if (await restOfInterval(trx, deps, { kind, scope: 'user', identifier: id, audience })) return false
  const key = { kind, scope: 'new-address', identifier: address, audience: undefined } as const
  return (await touchInterval(trx, deps, key)) === undefined
}
