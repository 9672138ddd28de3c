import { randomUUID } from 'node:crypto'
import { auditToLog } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { emailSignupsDisabled, phoneSignupsDisabled, userAlreadyExists, userAlreadyRegistered } from '../errors.ts'
import { type PkceChallenge, parsePkce } from '../flows/pkce.ts'
import { askBeforeUserCreated } from '../hooks/before-user-created.ts'
import { failHook } from '../hooks/hook-answer.ts'
import { announceUser, holdUserCreated } from '../hooks/user-created-job.ts'
import { ownIdentityData } from '../identities/identity.ts'
import { insertUnconfirmed } from '../message-requests/sign-up-confirmation.ts'
import type { SmsChannel } from '../messages/gateway-protocol.ts'
import { requireChannel } from '../messages/require-channel.ts'
import { takeSms } from '../messages/sms-allowance.ts'
import { refuseBreached } from '../passwords/breached-passwords.ts'
import { requireSignUpPassword } from '../passwords/password-policy.ts'
import { hashOfUnknownPassword } from '../passwords/stored-hash.ts'
import { type Allowance, NOTHING_TAKEN } from '../rate-limits/rate-limits.ts'
import { refuseTooSoon, restOfInterval } from '../rate-limits/send-interval.ts'
import { pkceAtPhoneSignUp, twoAddressesAtSignUp } from '../request-errors.ts'
import { requireIdentifier, type UserIdentifier } from '../requests/identifier.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken } from '../sessions/refresh-token.ts'
import type { IssuedSession } from '../sessions/session.ts'
import { type SessionView, signFirstSession } from '../sessions/session-view.ts'
import type { SignUpOutcome } from '../sign-ups/sign-up-repository.ts'
import { requireSignUpsEnabled } from '../sign-ups/sign-up-switches.ts'
import { signUpMetadata } from '../users/address-metadata.ts'
import { requireMetadata } from '../users/metadata.ts'
import { findProfileById } from '../users/profile-repository.ts'
import { createUnconfirmedUser, type UnconfirmedUser } from '../users/unconfirmed-user.ts'

/** What a sign-up works with, by email or by phone. */
export type SignUpDeps = Pick<
  AuthDeps,
  | 'config'
  | 'db'
  | 'logger'
  | 'now'
  | 'randomBytes'
  | 'passwords'
  | 'serverKeys'
  | 'insertSignUp'
  | 'rateLimits'
  | 'jobs'
  | 'outbox'
  | 'sms'
  | 'outbound'
  | 'hooks'
  | 'signingKeys'
>

/** The members of a request to sign up. Empty members count as absent. */
export interface SignUpFields {
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly password?: string | undefined
  readonly channel?: string | undefined
  readonly data?: Readonly<Record<string, unknown>> | undefined
  readonly code_challenge?: string | undefined
  readonly code_challenge_method?: string | undefined
}

/** A request to sign up. Its context is read after the first checks, since reading may refuse the request too. */
export interface SignUpInput {
  readonly fields: SignUpFields
  readonly readContext: () => Promise<RequestContext>
}

/** A session where no confirmation is needed; else a user record that reveals nothing about an existing account. */
export type SignUpResult =
  | { readonly verdict: 'signed-in'; readonly session: SessionView }
  | ({ readonly verdict: 'confirm' } & UnconfirmedUser)

/**
 * Signs a user up by email or phone (reference: POST /signup).
 * @throws metadataTooLarge, and what `checkSignUp`, `readContext`, `createSignUp` and `signFirstSession` throw
 */
export async function signUp(deps: SignUpDeps, { fields, readContext }: SignUpInput): Promise<SignUpResult> {
  const checked = await checkSignUp(deps, fields)
  const data = requireMetadata(deps.config, fields.data)
  const created = await createSignUp(deps, { ...checked, data, context: await readContext() })
  if (created.verdict === 'confirm') return created
  return { verdict: 'signed-in', session: await signFirstSession(deps, created.session) }
}

/** The members of a sign-up that has passed every check. */
export interface CheckedSignUp {
  readonly identifier: UserIdentifier
  /** Meets the policy. */
  readonly password: string
  readonly pkce: PkceChallenge | undefined
  readonly channel: SmsChannel
}

/**
 * Checks the members of a request (reference: POST /signup). The order of the checks decides which error a client sees.
 * @throws signupDisabled, twoAddressesAtSignUp, pkceAtPhoneSignUp, passwordMissingAtSignUp, passwordTooLong,
 * channelUnsupported, phoneMalformed, weakPassword, emailSignupsDisabled, phoneSignupsDisabled, serviceUnavailable, and
 * what `parsePkce` and `requireIdentifier` throw
 */
export async function checkSignUp(
  deps: Pick<AuthDeps, 'config' | 'logger' | 'outbound'>,
  fields: SignUpFields,
): Promise<CheckedSignUp> {
  const { signup, sms, passwords } = deps.config
  const { email, phone } = fields
  requireSignUpsEnabled(deps.config)
  const password = requireSignUpPassword(passwords.policy, fields.password)
  await refuseBreached(deps, password)
  if (email && phone) throw twoAddressesAtSignUp()
  const channel = phone ? requireChannel(sms.provider, fields.channel) : 'sms'
  const hasPkce = Boolean(fields.code_challenge || fields.code_challenge_method)
  if (phone && hasPkce) throw pkceAtPhoneSignUp()
  const pkce = parsePkce(fields, signup.pkce)
  if (email && !signup.emailEnabled) throw emailSignupsDisabled()
  if (phone && !signup.phoneEnabled) throw phoneSignupsDisabled()
  return { identifier: requireIdentifier(fields), password, pkce, channel }
}

/** A checked sign-up with its metadata and its request. */
export interface NewSignUp extends Omit<CheckedSignUp, 'password'> {
  /** Undefined for a password that nobody knows. */
  readonly password: string | undefined
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

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
 * Stores a sign-up. Nothing reveals whether the identifier is taken (reference: Duplicate sign-ups): every path
 * hashes the password, prepares the message and makes one call of the database, and the answer does not depend on its rows.
 * @throws userAlreadyExists, userAlreadyRegistered, overEmailRateLimit, emailTooSoon, smsTooSoon, serverBusy, and what `takeSms` and `askBeforeUserCreated` throw
 */
export async function createSignUp(deps: Omit<SignUpDeps, 'outbound'>, input: NewSignUp): Promise<CreatedSignUp> {
  const { identifier, data, context } = input
  const isConfirmed = isAutoconfirmed(deps, identifier)
  const fresh = {
    userId: randomUUID(),
    identityId: randomUUID(),
    audience: context.audience,
    role: deps.config.jwt.defaultRole,
    data,
    now: deps.now(),
  }
  const metadata = signUpMetadata(deps.config, data, { ...identifier, userId: fresh.userId, isVerified: isConfirmed })
  await askBeforeUserCreated(deps, createUnconfirmedUser({ ...fresh, identifier }), context.ip)
  const allowance = isConfirmed ? NOTHING_TAKEN : await takeAllowance(deps, identifier, context.limitKey)
  try {
    const passwordHash =
      input.password === undefined
        ? hashOfUnknownPassword(deps.randomBytes, deps.config.passwords.algorithm)
        : await deps.passwords.hash(input.password)
    await holdUserCreated(deps, { userId: fresh.userId, ip: context.ip })
    const refreshToken = firstRefreshToken(deps.randomBytes(FIRST_TOKEN_BYTES))
    const signUp = {
      ...fresh,
      data: metadata,
      email: identifier.kind === 'email' ? identifier.value : null,
      phone: identifier.kind === 'phone' ? identifier.value : null,
      passwordHash,
      identityData: {
        ...ownIdentityData(identifier.kind, { userId: fresh.userId, value: identifier.value }, data),
        [`${identifier.kind}_verified`]: isConfirmed,
      },
      tokenHash: hashRefreshToken(refreshToken),
      userAgent: context.userAgent,
      ip: context.ip,
      audit: deps.config.database.auditInPostgres,
    }
    const outcome = isConfirmed
      ? await deps.insertSignUp({ ...signUp, confirmation: undefined })
      : await insertUnconfirmed(deps, signUp, { ...input, data: metadata })
    // Wake the outbox for a taken address too: the work after the answer must not reveal that the address is taken.
    if (!isConfirmed) deps.outbox.wake()
    const { verdict, actorId } = outcome
    auditToLog(deps, { action: ACTIONS[verdict], actorId, ip: context.ip })
    if (verdict === 'signed-in') return { verdict, session: { ...outcome.session, refreshToken } }
    if (verdict === 'taken' && isTakenTold(deps, isConfirmed)) refuseTaken(deps)
    const made = createUnconfirmedUser({ ...fresh, identifier, data: metadata })
    if (verdict === 'sent') {
      // The user stays, so a refusal by the hook is told as a failure.
      await announceUser(deps, actorId).catch(failHook)
      return { verdict: 'confirm', ...made }
    }
    return { verdict: 'confirm', ...(await answerDuplicate(deps, input, outcome, made)) }
  } catch (error) {
    // A duplicate gives nothing back. Otherwise the limit would reveal to the next request that nothing was sent.
    await allowance.giveBack()
    throw error
  }
}

/** Whether the status alone tells that an identifier is taken. */
function isTakenTold({ config }: Pick<AuthDeps, 'config'>, isConfirmed: boolean): boolean {
  const anyConfirmed = config.mail.autoconfirm || config.sms.autoconfirm
  return isConfirmed || (config.behaviours.duplicateIsTold && anyConfirmed)
}

function refuseTaken({ config }: Pick<AuthDeps, 'config'>): never {
  throw config.behaviours.confirmedDuplicateStatus === 422 ? userAlreadyRegistered() : userAlreadyExists()
}

/** @param made what a fresh sign-up is answered. Without the two behaviours a duplicate gets the same. */
async function answerDuplicate(
  deps: Pick<AuthDeps, 'config' | 'db' | 'now' | 'serverKeys'>,
  { identifier, data, context: { audience } }: NewSignUp,
  { verdict, actorId }: SignUpOutcome,
  made: UnconfirmedUser,
): Promise<UnconfirmedUser> {
  const { duplicateIsTold, repeatedSignUpIsTold } = deps.config.behaviours
  const untold = { ...made.user, role: '', userMetadata: data }
  if (verdict === 'taken') return duplicateIsTold ? { user: untold, identities: [] } : made
  if (!repeatedSignUpIsTold) return made
  const kind = identifier.kind === 'email' ? 'confirmation' : 'sms'
  const waitMs =
    verdict === 'repeated' && (await restOfInterval(deps.db, deps, { kind, identifier: identifier.value, audience }))
  if (waitMs) refuseTooSoon({ kind }, waitMs)
  const stored = await findProfileById(deps.db, actorId)
  // The user may have been deleted since.
  if (stored === undefined) return made
  const { user, identities } = stored
  // Nobody but the invited user may learn what the invitation says.
  return user.invitedAt === null ? { user, identities } : { user: { ...user, userMetadata: {} }, identities: [] }
}

function takeAllowance(
  deps: Pick<AuthDeps, 'config' | 'now' | 'rateLimits' | 'sms' | 'hooks'>,
  { kind, value }: UserIdentifier,
  limitKey: string | undefined,
): Promise<Allowance> {
  return kind === 'email' ? deps.rateLimits.email.take(limitKey) : takeSms(deps, value, limitKey)
}

function isAutoconfirmed({ config }: Pick<AuthDeps, 'config'>, { kind }: UserIdentifier): boolean {
  return kind === 'email' ? config.mail.autoconfirm : config.sms.autoconfirm
}
