import { randomUUID } from 'node:crypto'
import type { RunWork } from '../../audit/audit-log.ts'
import type { AuthConfig } from '../../config.ts'
import type { Trx } from '../../database.ts'
import { messageNotFound, messageOver } from '../../errors.ts'
import { resendCode, sendRequested } from '../../message-requests/request-message.ts'
import { type HookedDeps, type Repeatable, runHooked } from '../../messages/hooked-transaction.ts'
import { type Message, maskAddress } from '../../messages/message-record.ts'
import { findMessage } from '../../messages/message-repository.ts'
import { countMessages, type MessagePurpose, type MessageRequest } from '../../messages/message-request.ts'
import { type RateLimits, takeAllowances } from '../../rate-limits/rate-limits.ts'
import type { UserIdentifier } from '../../requests/fields.ts'
import type { RequestContext } from '../../requests/request-context.ts'
import type { Admin } from '../../sessions/admin.ts'
import { getOrCreateInvited, mailInvitation } from '../../sign-ups/insert-own-user.ts'
import { findSignUpData } from '../../sign-ups/sign-up-repository.ts'
import { isPendingSignUp, requireUser, type User } from '../../users/user.ts'
import { lockUserById } from '../../users/user-repository.ts'

type ResendDeps = HookedDeps & { readonly config: AuthConfig; readonly rateLimits: RateLimits }

export interface ResendMessageForOperatorInput {
  readonly admin: Admin
  readonly messageId: string
  readonly context: RequestContext
}

/**
 * The purposes of message requests, by the kind and the purpose that operators see. `inviteAgain` sends invitations. Only the
 * user can request messages that are missing here, such as the code of a second factor.
 */
const REQUESTED_PURPOSES: Readonly<Record<Message['kind'], Readonly<Record<string, MessagePurpose>>>> = {
  mail: {
    magic_link: 'magiclink',
    recovery: 'recovery',
    confirmation: 'confirmation',
    email_change: 'email_change',
  },
  sms: {
    // For a sign-in, or to confirm the number.
    one_time_code: 'confirmation',
    phone_change: 'phone_change',
  },
}

/**
 * Sends a message again, as a new message with new secrets (console reference: Messages of operators). It counts for the limits
 * of messages, but no interval delays it.
 */
export async function resendMessageForOperator<Answer>(
  deps: ResendDeps,
  input: ResendMessageForOperatorInput,
  runWork: RunWork<Message, Answer>,
): Promise<Answer> {
  const message = await findMessage(deps.db, input.messageId)
  if (message === undefined) throw messageNotFound()
  const allowance = await takeAllowance(deps, message, input.admin.limitKey)
  const newId = randomUUID()
  try {
    return await runHooked(deps, (trx, repeatable) =>
      runWork(trx, repeatable, () => resend(trx, repeatable, { ...input, message, newId })),
    )
  } catch (error) {
    await allowance.giveBack()
    throw error
  }
}

/** Counts the message for the limits, including that of operators. */
function takeAllowance({ config, rateLimits }: ResendDeps, { kind, purpose }: Message, limitKey: string | undefined) {
  if (kind === 'sms') return rateLimits.sms.take(limitKey)
  const mails = purpose === 'email_change' ? countMessages({ purpose }, config) : 1
  return takeAllowances(Array.from({ length: mails }, () => () => rateLimits.email.take(limitKey)))
}

interface Resent extends ResendMessageForOperatorInput {
  readonly message: Message
  /** The id of the new message. */
  readonly newId: string
}

async function resend(trx: Trx, deps: Repeatable<ResendDeps>, again: Resent): Promise<Message> {
  const { admin, message, newId } = again
  const user = requireUser(await lockUserById(trx, message.userId))
  admin.requireMayManage(user)
  const isSent =
    message.purpose === 'invite' ? await inviteAgain(trx, deps, user, again) : await sendAgain(trx, deps, user, again)
  const resent = isSent ? await findMessage(trx, newId) : undefined
  if (resent === undefined) throw messageOver()
  return resent
}

/** @returns whether the user still has a pending invitation at the address */
async function inviteAgain(
  trx: Trx,
  deps: Repeatable<ResendDeps>,
  { email, emailConfirmedAt, invitedAt, audience }: User,
  { message, context, newId }: Resent,
): Promise<boolean> {
  if (email === null || emailConfirmedAt !== null || invitedAt === null) return false
  if (maskAddress(email) !== message.recipient) return false
  const invitation = { email, data: {}, context: { ...context, audience } }
  const user = await getOrCreateInvited(trx, deps, invitation)
  await mailInvitation(trx, deps, { ...invitation, user, messageId: newId })
  return true
}

/** @returns whether there is still a message to send to the address */
async function sendAgain(
  trx: Trx,
  deps: Repeatable<ResendDeps>,
  user: User,
  { message, context, newId }: Resent,
): Promise<boolean> {
  const { kind, channel } = message
  const purpose = REQUESTED_PURPOSES[kind][message.purpose]
  const identifier = findIdentifier(user, message)
  if (purpose === undefined || identifier === undefined) return false
  const { redirectTo, linkBase, ip } = context
  const request: MessageRequest = {
    purpose,
    identifier,
    audience: user.audience,
    stage: purpose === 'magiclink' ? await findPendingContent(trx, user) : undefined,
    redirectTo,
    linkBase,
    ip,
    ...(channel === null ? {} : { channel }),
    messageId: newId,
    askedAt: deps.now().toISOString(),
    restartsChange: true,
  }
  // With a confirmed phone, the code is for a sign-in.
  const send =
    message.purpose === 'one_time_code' ? resendCode(trx, deps, user, request) : sendRequested(trx, deps, request)
  return (await send) === 'sent'
}

/** Returns the metadata of the request for a link. The new link must give the user the same metadata. */
async function findPendingContent(trx: Trx, user: User): Promise<MessageRequest['stage']> {
  const data = isPendingSignUp(user) ? user.userMetadata : await findSignUpData(trx, user.id, 'recovery')
  return data && { data }
}

/** Returns the identifier to which the message was sent, or `undefined` if the user has changed it. */
function findIdentifier(user: User, { purpose, recipient }: Message): UserIdentifier | undefined {
  const { email, phone, emailChange, phoneChange } = user
  const byEmail = email === null ? undefined : ({ kind: 'email', value: email } as const)
  const byPhone = phone === null ? undefined : ({ kind: 'phone', value: phone } as const)
  const isRecipient = (address: string | null) => address !== null && maskAddress(address) === recipient
  switch (purpose) {
    case 'one_time_code':
      return isRecipient(phone) ? byPhone : undefined
    case 'phone_change':
      return isRecipient(phoneChange) ? (byEmail ?? byPhone) : undefined
    case 'email_change':
      return isRecipient(emailChange) || isRecipient(email) ? (byEmail ?? byPhone) : undefined
    default:
      return isRecipient(email) ? byEmail : undefined
  }
}
