import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import type { MessageRequest } from '../messages/message-request.ts'
import { touchInterval } from '../rate-limits/send-interval.ts'
import { findChangeAskedAt } from '../users/pending-change-repository.ts'
import type { User } from '../users/user.ts'
import { lockUserByIdentifier, type UserIdentifier } from '../users/user-repository.ts'
import { sendEmailChange } from './send-email-change.ts'
import { sendPhoneChange } from './send-phone-change.ts'

/** For how long anybody may have the messages of a change sent again. Afterwards somebody who is signed in asks for it anew. */
const YOUNG_MS = 86_400_000

/** Sends the mails of a pending change of email once more; both addresses begin anew. @returns whether a young one is pending */
export async function resendEmailChange(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  request: MessageRequest,
): Promise<boolean> {
  const user = await lockOwner(trx, request)
  if (!user || user.emailChange === null || !(await isYoung(trx, deps, user, 'email'))) return false
  const { pkce, messageId } = request
  const message = { newEmail: user.emailChange, pkce, context: request, messageId, isAgain: true } as const
  await sendEmailChange(trx, deps, user, message)
  return true
}

/**
 * Sends the code of a pending change of phone once more. @returns whether a young one is pending, and an SMS may go: the
 * interval of the new number is known only here
 */
export async function resendPhoneChange(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  { channel = 'sms', messageId, ...request }: MessageRequest,
): Promise<boolean> {
  const user = await lockOwner(trx, request)
  if (!user || user.phoneChange === null || !(await isYoung(trx, deps, user, 'phone'))) return false
  const waitMs = await touchInterval(trx, deps, { kind: 'sms', identifier: user.phoneChange, audience: user.aud })
  if (waitMs !== undefined) return false
  return sendPhoneChange(trx, deps, user, { newPhone: user.phoneChange, channel, messageId, isAgain: true })
}

/** Users are known by what they have now, an email or a phone, whichever of the two changes. */
async function lockOwner(
  trx: Transaction<AuthDatabase>,
  { audience, identifier }: Pick<MessageRequest, 'audience' | 'identifier'>,
): Promise<User | undefined> {
  const user = await lockUserByIdentifier(trx, identifier)
  return user?.aud === audience ? user : undefined
}

async function isYoung(
  trx: Transaction<AuthDatabase>,
  { now }: Pick<AuthDeps, 'now'>,
  { id }: User,
  kind: UserIdentifier['kind'],
): Promise<boolean> {
  const askedAt = await findChangeAskedAt(trx, id, kind)
  return askedAt !== null && now().getTime() - Date.parse(askedAt) < YOUNG_MS
}
