import { randomUUID } from 'node:crypto'
import type { Outbox } from '@trestle/jobs/outbox.ts'
import { auditToLog } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import { userAlreadyExists, userAlreadyRegistered } from '../errors.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import { failHook } from '../hooks/hooks.ts'
import { announceUser, askBeforeUserCreated, holdUserCreated, type UserCreatedDeps } from '../hooks/user-created-job.ts'
import { ownIdentityData } from '../identities/identity.ts'
import { isSentInRequest, runHooked } from '../messages/hooked-transaction.ts'
import { type MailJob, mailTask, queueMail } from '../messages/mail-job.ts'
import { prepareMailToken } from '../messages/mail-token.ts'
import { describeMail, describeSms } from '../messages/message-record.ts'
import { messageRequestTask } from '../messages/message-request.ts'
import { prepareSmsCode, type SmsAllowanceDeps, takeSms } from '../messages/sms-code.ts'
import type { SmsChannel } from '../messages/sms-gateway.ts'
import { queueSms, type SmsJob, smsTask } from '../messages/sms-job.ts'
import type { MessageSecrets } from '../one-time-tokens/one-time-token-repository.ts'
import type { PasswordHasher } from '../passwords/password-hasher.ts'
import { hashOfUnknownPassword } from '../passwords/stored-hash.ts'
import { type Allowance, NOTHING_TAKEN, type RateLimits } from '../rate-limits/rate-limits.ts'
import {
  confirmationInterval,
  hashIntervalKey,
  intervalMs,
  refuseTooSoon,
  restOfInterval,
} from '../rate-limits/send-interval.ts'
import type { UserIdentifier } from '../requests/fields.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { RandomBytes } from '../secrets/encrypted-secret.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken, type IssuedSession } from '../sessions/session.ts'
import {
  type InsertSignUp,
  insertSignUpWithin,
  type SignUp,
  type SignUpOutcome,
} from '../sign-ups/sign-up-repository.ts'
import { buildUnconfirmedUser, type UnconfirmedUser } from '../users/claim-identifier.ts'
import { signUpMetadata } from '../users/metadata.ts'
import { findProfileById } from '../users/profile-repository.ts'
import { type MessageRequestDeps, sendRequested, toMessageRequest } from './request-message.ts'

export interface CreateSignUpDeps extends ConfirmationDeps, SmsAllowanceDeps, UserCreatedDeps {
  readonly config: AuthConfig
  readonly rateLimits: Pick<RateLimits, 'email' | 'sms'>
  readonly passwords: Pick<PasswordHasher, 'hash'>
  readonly randomBytes: RandomBytes
  readonly outbox: Pick<Outbox, 'wake'>
}

/** A validated sign-up with its metadata and request. */
export interface NewSignUp {
  readonly identifier: UserIdentifier
  /** If it is `undefined`, the user gets an unknown random password. */
  readonly password: string | undefined
  readonly pkce: PkceChallenge | undefined
  readonly channel: SmsChannel
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

/** A session if no confirmation is needed. Otherwise a user that does not reveal whether an account exists. */
type CreatedSignUp =
  | { readonly verdict: 'signed-in'; readonly session: IssuedSession }
  | ({ readonly verdict: 'confirm' } & UnconfirmedUser)

const ACTIONS = {
  'signed-in': 'user_signedup',
  sent: 'user_confirmation_requested',
  'sent-again': 'user_repeated_signup',
  repeated: 'user_repeated_signup',
  taken: 'user_repeated_signup',
} as const

/**
 * Stores a sign-up without revealing whether the identifier is taken (reference: Duplicate sign-ups). Every path hashes the
 * password, prepares the message and makes one database call. The answer does not depend on the database rows.
 * @throws userAlreadyExists, userAlreadyRegistered, overEmailRateLimit, emailTooSoon, smsTooSoon, serverBusy, and the errors of
 * `takeSms` and `askBeforeUserCreated`
 */
export async function createSignUp(deps: CreateSignUpDeps, input: NewSignUp): Promise<CreatedSignUp> {
  const { identifier, context } = input
  const user = drawUser(deps, input)
  await askBeforeUserCreated(deps, buildUnconfirmedUser({ ...user.row, identifier, data: input.data }), context.ip)
  const allowance = user.isConfirmed ? NOTHING_TAKEN : await takeAllowance(deps, identifier, context.limitKey)
  try {
    const stored = await storeSignUp(deps, input, user)
    const answer = await answerSignUp(deps, input, user, stored)
    if (stored.outcome.verdict === 'taken' || stored.outcome.verdict === 'repeated') giveBackLater(deps, allowance)
    return answer
  } catch (error) {
    await allowance.giveBack()
    throw error
  }
}

/** Returns an unsent message to the limit for a duplicate. Runs after the answer, whose time would reveal the duplicate. */
function giveBackLater({ logger }: Pick<CreateSignUpDeps, 'logger'>, allowance: Allowance): void {
  allowance.giveBackUnsent().catch((err: unknown) => logger.warn({ err }, 'a message is not given back to its limit'))
}

/** A user who is created if the identifier is free. */
interface DrawnUser {
  readonly row: Pick<SignUp, 'userId' | 'identityId' | 'audience' | 'role' | 'data' | 'now'>
  readonly isConfirmed: boolean
}

function drawUser(deps: Pick<CreateSignUpDeps, 'config' | 'now'>, { identifier, data, context }: NewSignUp): DrawnUser {
  const userId = randomUUID()
  const isConfirmed = isAutoconfirmed(deps, identifier)
  const row = {
    userId,
    identityId: randomUUID(),
    audience: context.audience,
    role: deps.config.jwt.defaultRole,
    data: signUpMetadata(deps.config, data, { ...identifier, userId, isVerified: isConfirmed }),
    now: deps.now(),
  }
  return { row, isConfirmed }
}

interface StoredSignUp {
  readonly outcome: SignUpOutcome
  /** Starts the session of a sign-up that signs the user in. */
  readonly refreshToken: string
}

/** Makes the same database call, whether or not the identifier is taken. */
async function storeSignUp(
  deps: CreateSignUpDeps,
  input: NewSignUp,
  { row, isConfirmed }: DrawnUser,
): Promise<StoredSignUp> {
  const { identifier, context } = input
  const passwordHash = await hashPassword(deps, input.password)
  await holdUserCreated(deps, { userId: row.userId, ip: context.ip })
  const refreshToken = firstRefreshToken(deps.randomBytes(FIRST_TOKEN_BYTES))
  const signUp = {
    ...row,
    email: identifier.kind === 'email' ? identifier.value : null,
    phone: identifier.kind === 'phone' ? identifier.value : null,
    passwordHash,
    identityData: {
      ...ownIdentityData(identifier.kind, { userId: row.userId, value: identifier.value }, input.data),
      [`${identifier.kind}_verified`]: isConfirmed,
    },
    tokenHash: hashRefreshToken(refreshToken),
    userAgent: context.userAgent,
    ip: context.ip,
    audit: deps.config.database.auditInPostgres,
  }
  const outcome = isConfirmed
    ? await deps.insertSignUp({ ...signUp, confirmation: undefined })
    : await insertUnconfirmed(deps, signUp, { ...input, data: row.data })
  // Wake the outbox for a taken address too. Otherwise the later work would reveal that the address is taken.
  if (!isConfirmed) deps.outbox.wake()
  auditToLog(deps, { action: ACTIONS[outcome.verdict], actorId: outcome.actorId, ip: context.ip })
  return { outcome, refreshToken }
}

/** @param password if it is `undefined`, the user gets an unknown random password */
async function hashPassword(
  { config, passwords, randomBytes }: Pick<CreateSignUpDeps, 'config' | 'passwords' | 'randomBytes'>,
  password: string | undefined,
): Promise<string> {
  return password === undefined
    ? hashOfUnknownPassword(randomBytes, config.passwords.algorithm)
    : passwords.hash(password)
}

async function answerSignUp(
  deps: CreateSignUpDeps,
  input: NewSignUp,
  { row }: DrawnUser,
  { outcome, refreshToken }: StoredSignUp,
): Promise<CreatedSignUp> {
  const { verdict, actorId } = outcome
  const { identifier } = input
  if (verdict === 'signed-in') return { verdict, session: { ...outcome.session, refreshToken } }
  if (verdict === 'taken' && revealsTakenIdentifier(deps, identifier)) refuseTaken(deps)
  const fresh = buildUnconfirmedUser({ ...row, identifier })
  if (verdict !== 'sent') return { verdict: 'confirm', ...(await answerDuplicate(deps, input, outcome, fresh)) }
  // The user already exists, so a refusal by the hook is reported as a failure.
  await announceUser(deps, actorId).catch(failHook)
  return { verdict: 'confirm', ...fresh }
}

/** Whether the status itself reveals that an identifier is taken (reference: Duplicate sign-ups). */
function revealsTakenIdentifier(deps: Pick<CreateSignUpDeps, 'config'>, identifier: UserIdentifier): boolean {
  const { mail, sms, compatibility } = deps.config
  return (
    isAutoconfirmed(deps, identifier) || (compatibility.revealTakenAddress && (mail.autoconfirm || sms.autoconfirm))
  )
}

function refuseTaken({ config }: Pick<CreateSignUpDeps, 'config'>): never {
  throw config.compatibility.confirmedDuplicateStatus === 422 ? userAlreadyRegistered() : userAlreadyExists()
}

async function answerDuplicate(
  deps: Pick<CreateSignUpDeps, 'config' | 'db' | 'now' | 'serverKeys'>,
  { identifier, data, context: { audience } }: NewSignUp,
  { verdict, actorId }: SignUpOutcome,
  fresh: UnconfirmedUser,
): Promise<UnconfirmedUser> {
  const { revealTakenAddress, revealRepeatedSignUp } = deps.config.compatibility
  const concealed = { ...fresh.user, role: '', userMetadata: data }
  if (verdict === 'taken') return revealTakenAddress ? { user: concealed, identities: [] } : fresh
  if (!revealRepeatedSignUp) return fresh
  const interval = confirmationInterval(identifier, { audience })
  const waitMs = verdict === 'repeated' && (await restOfInterval(deps.db, deps, interval))
  if (waitMs) refuseTooSoon(interval, waitMs)
  const stored = await findProfileById(deps.db, actorId)
  // The user may have been deleted in the meantime.
  if (stored === undefined) return fresh
  const { user, identities } = stored
  // Only the invited user may see the content of the invitation.
  return user.invitedAt === null ? { user, identities } : { user: { ...user, userMetadata: {} }, identities: [] }
}

function takeAllowance(
  deps: Pick<CreateSignUpDeps, 'config' | 'now' | 'rateLimits' | 'sms' | 'hooks'>,
  { kind, value }: UserIdentifier,
  limitKey: string | undefined,
): Promise<Allowance> {
  return kind === 'email' ? deps.rateLimits.email.take(limitKey) : takeSms(deps, value, limitKey)
}

function isAutoconfirmed({ config }: Pick<CreateSignUpDeps, 'config'>, { kind }: UserIdentifier): boolean {
  return kind === 'email' ? config.mail.autoconfirm : config.sms.autoconfirm
}

interface ConfirmationDeps extends MessageRequestDeps {
  readonly insertSignUp: InsertSignUp
}

/** A sign-up that waits for the confirmation of its identifier. */
interface ConfirmedSignUp {
  readonly identifier: UserIdentifier
  readonly pkce: PkceChallenge | undefined
  readonly channel: SmsChannel
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

/** Stores a sign-up with its confirmation message, or with the request that mails an unconfirmed user again. */
async function insertUnconfirmed(
  deps: ConfirmationDeps,
  signUp: Omit<SignUp, 'confirmation'>,
  input: ConfirmedSignUp,
): Promise<SignUpOutcome> {
  const { identifier, pkce, context, channel } = input
  const interval = confirmationInterval(identifier, context)
  const { kind } = interval
  const { secrets, mail, sms } = prepareMessage(deps, input, signUp.userId)
  const again = toMessageRequest(deps, { purpose: 'confirmation', identifier, pkce, channel, context })
  const dueBefore = new Date(deps.now().getTime() - intervalMs(deps.config, kind))
  const confirmation = {
    interval: { kind, key: hashIntervalKey(deps, interval), dueBefore },
    secrets,
    pkce,
    message: undefined,
    messageAgain: undefined,
  } as const
  if (!isSentInRequest(deps, identifier.kind === 'email' ? 'email' : 'sms')) {
    const message = mail
      ? { ...(await deps.jobs.prepare(mailTask, mail)), message: describeMail(mail) }
      : sms && { ...(await deps.jobs.prepare(smsTask, sms)), message: describeSms(sms) }
    const messageAgain = await deps.jobs.prepare(messageRequestTask, again)
    return deps.insertSignUp({ ...signUp, confirmation: { ...confirmation, message, messageAgain } })
  }
  return runHooked(deps, async (trx, repeatable) => {
    const outcome = await insertSignUpWithin(trx, { ...signUp, confirmation })
    const { verdict } = outcome
    if (verdict === 'sent' || verdict === 'sent-again') repeatable.recordInterval?.(interval)
    if (verdict === 'sent-again') await sendRequested(trx, repeatable, again)
    if (verdict === 'sent' && mail) await queueMail(trx, repeatable, mail)
    if (verdict === 'sent' && sms) await queueSms(trx, repeatable, sms)
    return outcome
  })
}

interface PreparedMessage {
  readonly secrets: MessageSecrets
  readonly mail?: MailJob
  /** `undefined` for a test phone, which receives no message. */
  readonly sms?: SmsJob | undefined
}

function prepareMessage(deps: ConfirmationDeps, input: ConfirmedSignUp, userId: string): PreparedMessage {
  const { identifier, channel, data, pkce, context } = input
  if (identifier.kind === 'phone') {
    return prepareSmsCode(deps, {
      user: { id: userId },
      phone: identifier.value,
      tokenKind: 'sms',
      channel,
      messageId: randomUUID(),
    })
  }
  return prepareMailToken(deps, {
    user: { id: userId, userMetadata: data },
    email: identifier.value,
    tokenKind: 'confirmation',
    mailKind: 'CONFIRMATION',
    linkType: 'signup',
    linkPath: deps.config.mail.linkPaths.confirmation,
    flow: { method: 'email/signup', pkce },
    context,
  })
}
