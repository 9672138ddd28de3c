import { randomUUID } from 'node:crypto'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import { issueMailToken, type MailToken, type MailTokenDeps } from '../messages/mail-token.ts'
import { countEmailChange, type MessageRequest, type Sending } from '../messages/message-request.ts'
import { issueSmsCode, type SmsAllowanceDeps, type SmsCode, type SmsCodeDeps, takeSms } from '../messages/sms-code.ts'
import type { SmsChannel } from '../messages/sms-gateway.ts'
import { queueSms } from '../messages/sms-job.ts'
import {
  deleteAnonymousChanges,
  deleteEmailChangeTokens,
  deleteTokensOfKinds,
  findChangeAskedAt,
  findFreePlaces,
  type MessagePlace,
} from '../one-time-tokens/one-time-token-repository.ts'
import { type Allowance, type RateLimits, takeAllowances } from '../rate-limits/rate-limits.ts'
import { claimResend, requireChangeIntervals } from '../rate-limits/send-interval.ts'
import type { IdentifierKind } from '../requests/fields.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { User } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'
import { lockIdentifierOwner } from '../users/user-repository.ts'
import {
  type ApplyDeps,
  applyEmailChange,
  applyPhoneChange,
  type EmailChangeToken,
  needsBothAddresses,
} from './apply-address-change.ts'

export interface MessageAllowanceDeps extends SmsAllowanceDeps {
  readonly config: Pick<AuthConfig, 'compatibility' | 'mail' | 'sms'>
  readonly rateLimits: Pick<RateLimits, 'email' | 'sms'>
}

interface ChangeDeps extends ApplyDeps, EmailChangeDeps, PhoneChangeDeps {
  readonly config: Pick<AuthConfig, 'compatibility' | 'database' | 'jwt' | 'mail' | 'mfa' | 'signup' | 'sms'>
}

/** The normalised addresses that a user wants, and the way to confirm them. */
export interface OwnAddresses {
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly channel: SmsChannel
  readonly pkce: PkceChallenge | undefined
}

/** Returns the address of a kind that a user wants and does not have, or `undefined` if there is none. */
export function findNewAddress(user: User, wanted: OwnAddresses, kind: IdentifierKind): string | undefined {
  return wanted[kind] === user[kind] ? undefined : wanted[kind]
}

/** Counts the mails and SMS of the changes towards the rate limits, before any other step. */
export async function takeMessageAllowances(
  deps: MessageAllowanceDeps,
  user: User,
  wanted: OwnAddresses,
  limitKey: string | undefined,
): Promise<Allowance> {
  const { mail, sms } = deps.config
  const phone = findNewAddress(user, wanted, 'phone')
  const takes: (() => Promise<Allowance>)[] = []
  if (findNewAddress(user, wanted, 'email') !== undefined && !isAppliedAtOnce(deps, user)) {
    const mails = countEmailChange(deps.config, needsBothAddresses(user, mail) ? 'both' : 'new')
    takes.push(...Array.from({ length: mails }, () => () => deps.rateLimits.email.take(limitKey)))
  }
  if (phone !== undefined && !sms.autoconfirm) takes.push(() => takeSms(deps, phone, limitKey))
  return takeAllowances(takes)
}

interface OwnChange {
  readonly changes: OwnAddresses
  /** The session of the caller, or `null` if the access token has no session. */
  readonly sessionId: string | null
  readonly context: RequestContext
}

/** Stores pending changes of addresses, or applies changes that need no confirmation. @param user locked */
export async function changeOwnAddresses(
  trx: Trx,
  deps: ChangeDeps,
  user: User,
  { changes, context, sessionId }: OwnChange,
): Promise<void> {
  const { ip } = context
  const newEmail = findNewAddress(user, changes, 'email')
  const newPhone = findNewAddress(user, changes, 'phone')
  const isEmailApplied = newEmail !== undefined && isAppliedAtOnce(deps, user)
  const isPhoneApplied = newPhone !== undefined && deps.config.sms.autoconfirm
  let current = user
  if (isEmailApplied) current = await applyEmailChange(trx, deps, user, { newEmail, ip })
  if (isPhoneApplied) current = await applyPhoneChange(trx, deps, current, { newPhone, ip })
  current = await deleteAnonymousChanges(trx, deps.config, user, current)
  if (newEmail !== undefined && !isEmailApplied) {
    await requireChangeIntervals(trx, deps, user, { kind: 'email_change', address: newEmail })
    await sendEmailChange(trx, deps, user, { newEmail, pkce: changes.pkce, context, sessionId })
  }
  if (newPhone === undefined || isPhoneApplied) return
  await requireChangeIntervals(trx, deps, user, { kind: 'sms', address: newPhone })
  const message = { newPhone, channel: changes.channel, messageId: randomUUID(), sessionId }
  await sendPhoneChange(trx, deps, current, message)
}

/** The first email of an anonymous user may need no confirmation (reference: Anonymous users). */
function isAppliedAtOnce({ config }: Pick<MessageAllowanceDeps, 'config'>, { isAnonymous }: User): boolean {
  return isAnonymous && config.mail.autoconfirm
}

export interface PhoneChangeDeps extends SmsCodeDeps {
  readonly config: Pick<AuthConfig, 'jwt' | 'mail' | 'mfa' | 'sms'>
  readonly jobs: Jobs
}

export interface EmailChangeDeps extends MailTokenDeps {
  readonly jobs: Jobs
}

type ResendDeps = PhoneChangeDeps & AuditDeps & { readonly config: Pick<AuthConfig, 'compatibility'> }

/** The messages of a change of email: one to the new address and, for a secure change, one to the current address. */
interface EmailChangeMessage extends Pick<MailToken, 'context' | 'messageId'> {
  readonly newEmail: string
  readonly pkce: PkceChallenge | undefined
  /** The session of the caller. If it is `undefined`, this is a resend: the change keeps its session and its time. */
  readonly sessionId?: string | null
  /** Whether to send no mail to a new address that another user has. Always `true` for anonymous users. */
  readonly onlyIfFree?: boolean
}

/**
 * Stores a pending change of email, and sends the new address a mail to confirm it. A secure change also sends a mail to the
 * current address (reference: Change of email). Discards an earlier confirmation, because each mail can be used only once.
 * @param user locked
 */
export async function sendEmailChange(
  trx: Trx,
  deps: EmailChangeDeps,
  user: User,
  { newEmail, pkce, context, messageId, sessionId, onlyIfFree = user.isAnonymous }: EmailChangeMessage,
): Promise<void> {
  const at = deps.now()
  await deleteEmailChangeTokens(trx, user.id)
  await updateUser(trx, user.id, {
    email_change: newEmail,
    email_change_sent_at: at,
    ...(sessionId === undefined ? {} : { email_change_asked_at: at, email_change_session_id: sessionId }),
    email_change_confirm_status: 0,
    updated_at: at,
  })
  const places = changeKinds(user, deps).map((kind) => ({ kind, isResent: false }))
  const named = messageId === undefined ? {} : { messageId }
  await mailChange(trx, deps, user, { newEmail, pkce, context, ...named, onlyIfFree, places })
}

/** Sends mails to the addresses of a change. The first mail has the message id that the client knows. */
async function mailChange(
  trx: Trx,
  deps: EmailChangeDeps,
  user: User,
  message: Omit<EmailChangeMessage, 'sessionId'> & { readonly places: readonly MessagePlace<EmailChangeToken>[] },
): Promise<void> {
  const { newEmail, pkce, context, messageId, onlyIfFree, places } = message
  const mail = {
    user,
    mailKind: 'EMAIL_CHANGE',
    linkType: 'email_change',
    linkPath: deps.config.mail.linkPaths.emailChange,
    flow: { method: 'email_change', pkce },
    context,
    change: { oldEmail: user.email ?? '', newEmail },
  } as const
  for (const [index, { kind, isResent }] of places.entries()) {
    const isNew = kind === 'email_change_new'
    await issueMailToken(trx, deps, {
      ...mail,
      email: isNew ? newEmail : (user.email ?? ''),
      tokenKind: kind,
      isResent,
      ...(index === 0 && messageId !== undefined ? { messageId } : {}),
      ...(isNew && onlyIfFree ? { onlyIfFree: true } : {}),
    })
  }
}

function changeKinds(user: User, { config }: Pick<EmailChangeDeps, 'config'>): readonly EmailChangeToken[] {
  return needsBothAddresses(user, config.mail) ? ['email_change_new', 'email_change_current'] : ['email_change_new']
}

/** The message of a change of phone. It goes to the new number. */
interface PhoneChangeMessage extends Pick<SmsCode, 'channel' | 'messageId'> {
  readonly newPhone: string
  /** The slot of an SMS that is sent again. If it is `undefined`, all earlier codes of the change become invalid. */
  readonly place?: MessagePlace | undefined
  /** The session of the caller. If it is `undefined`, this is a resend: the change keeps its session and its time. */
  readonly sessionId?: string | null
}

/**
 * Stores a pending change of phone, and sends the new number a code to confirm it (reference: Change of phone).
 * @param user locked @returns `false` for a test phone, which gets no SMS
 */
export async function sendPhoneChange(
  trx: Trx,
  deps: SmsCodeDeps & { readonly jobs: Jobs },
  user: User,
  { newPhone, sessionId, place, ...sms }: PhoneChangeMessage,
): Promise<boolean> {
  const at = deps.now()
  if (!place) await deleteTokensOfKinds(trx, user.id, ['phone_change'])
  await updateUser(trx, user.id, {
    phone_change: newPhone,
    phone_change_sent_at: at,
    ...(sessionId === undefined ? {} : { phone_change_asked_at: at, phone_change_session_id: sessionId }),
    updated_at: at,
  })
  const message = {
    ...sms,
    user,
    phone: newPhone,
    tokenKind: 'phone_change',
    isResent: place?.isResent ?? false,
  } as const
  const job = await issueSmsCode(trx, deps, message)
  if (job) await queueSms(trx, deps, user.isAnonymous ? { ...job, onlyIfFree: true } : job)
  return job !== undefined
}

/** How long clients can request the messages of a change again. Afterwards the user must request the change again. */
const YOUNG_MS = 86_400_000

/** Returns whether sending a message again restarts the change. This is so for operators, and in the profile supabase. */
function restartsChange(
  { config }: { readonly config: Pick<AuthConfig, 'compatibility'> },
  request: MessageRequest,
): boolean {
  return request.restartsChange === true || config.compatibility.restartChangeAtResend
}

/**
 * Sends the mails of a pending change of email again. Anyone may request this, so it invalidates nothing: an address that has
 * already agreed gets no mail, and the secrets of earlier mails stay valid. An address has at most two mails with valid secrets.
 * @returns `nobody` if no change of the last day is pending, if each address has two mails, or if an interval is not over
 */
export async function resendEmailChange(
  trx: Trx,
  deps: ResendDeps & EmailChangeDeps,
  request: MessageRequest,
): Promise<Sending> {
  const user = await lockRecipient(trx, request)
  if (!user || user.emailChange === null || !(await isYoungChange(trx, deps.now(), user, 'email'))) return 'nobody'
  const hasAgreed = user.emailChangeConfirmStatus > 0
  const wanted = { kinds: changeKinds(user, deps), hasAgreed, now: deps.now() }
  const { places, isLost } = await findFreePlaces(trx, user, wanted)
  // A sign-in by another message has invalidated both mails, and the user row does not say which address has agreed.
  const restarts = isLost || restartsChange(deps, request)
  if (places.length === 0 && !restarts) return 'nobody'
  if (!(await claimResend(trx, deps, user, { kind: 'email_change', address: user.emailChange }))) return 'nobody'
  const { pkce, messageId } = request
  const message = { newEmail: user.emailChange, pkce, context: request, messageId } as const
  if (restarts) await sendEmailChange(trx, deps, user, message)
  else {
    await updateUser(trx, user.id, { email_change_sent_at: deps.now(), updated_at: deps.now() })
    await mailChange(trx, deps, user, { ...message, onlyIfFree: user.isAnonymous, places })
  }
  await recordResend(trx, deps, user, { provider: 'email', ip: request.ip })
  return 'sent'
}

/**
 * Sends the code of a pending change of phone again. The codes of earlier SMS stay valid, as in a change of email.
 * @returns `nobody` if no change of the last day is pending, if two codes are valid, or if an interval is not over
 */
export async function resendPhoneChange(trx: Trx, deps: ResendDeps, request: MessageRequest): Promise<Sending> {
  const { channel = 'sms', messageId } = request
  const user = await lockRecipient(trx, request)
  if (!user || user.phoneChange === null || !(await isYoungChange(trx, deps.now(), user, 'phone'))) return 'nobody'
  const wanted = { kinds: ['phone_change'], hasAgreed: false, now: deps.now() } as const
  const restarts = restartsChange(deps, request)
  const [place] = restarts ? [] : (await findFreePlaces(trx, user, wanted)).places
  if (!place && !restarts) return 'nobody'
  if (!(await claimResend(trx, deps, user, { kind: 'sms', address: user.phoneChange }))) return 'nobody'
  const message = { newPhone: user.phoneChange, channel, messageId, place } as const
  await recordResend(trx, deps, user, { provider: 'phone', ip: request.ip })
  return (await sendPhoneChange(trx, deps, user, message)) ? 'sent' : 'unsent'
}

function recordResend(
  trx: Trx,
  deps: AuditDeps,
  user: User,
  { ip, ...traits }: { readonly provider: IdentifierKind; readonly ip: string },
): Promise<void> {
  return recordAudit(trx, deps, { action: 'user_confirmation_requested', actor: user, ip, traits })
}

/** Locks the user of a request. The request identifies the user by a current email or phone, even if the other one changes. */
async function lockRecipient(
  trx: Trx,
  { audience, identifier }: Pick<MessageRequest, 'audience' | 'identifier'>,
): Promise<User | undefined> {
  const user = await lockIdentifierOwner(trx, identifier)
  return user?.audience === audience && !user.isSsoUser ? user : undefined
}

async function isYoungChange(trx: Trx, now: Date, { id }: User, kind: IdentifierKind): Promise<boolean> {
  const askedAt = await findChangeAskedAt(trx, id, kind)
  return askedAt !== null && now.getTime() - Date.parse(askedAt) < YOUNG_MS
}
