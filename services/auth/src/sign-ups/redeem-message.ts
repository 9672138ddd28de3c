import type { Names } from '@trestle/migrations/migration.ts'
import { type ApplyDeps, applyPhoneChange, confirmEmailChange } from '../address-changes/apply-address-change.ts'
import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { linkExpired } from '../errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { callEndSessionWork, updateMailFlow } from '../flows/flow-repository.ts'
import { generateAuthCode } from '../flows/pkce.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { askBeforeUserCreated, queueUserCreated } from '../hooks/user-created-job.ts'
import { deleteUnverifiedIdentities, listIdentities, updateIdentityData } from '../identities/identity-repository.ts'
import { notify, toMailTime } from '../messages/mail-job.ts'
import { hashLinkToken, type TokenKind } from '../one-time-tokens/one-time-token.ts'
import {
  claimToken,
  deleteAnonymousChanges,
  deleteTokensOfUser,
  findTokenByLink,
  type OneTimeToken,
  type StoredSecret,
} from '../one-time-tokens/one-time-token-repository.ts'
import {
  ACCEPTED_KINDS,
  addressFor,
  answeredType,
  isAccepted,
  type VerifyType,
} from '../one-time-tokens/verify-request.ts'
import { listPasskeysSince } from '../passkeys/passkey-repository.ts'
import { hashNewPassword, type NewPasswordRules } from '../passwords/hash-new-password.ts'
import type { PasswordHasher } from '../passwords/password-hasher.ts'
import { passwordMissingAtVerify } from '../request-errors.ts'
import type { IdentifierKind } from '../requests/fields.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { RandomBytes } from '../secrets/encrypted-secret.ts'
import { createSession, type SignIn } from '../sessions/create-session.ts'
import type { IssuedSession } from '../sessions/session.ts'
import {
  awaitsFirstSignIn,
  type ConfirmerDeps,
  confirmerTakesOver,
  refuseTaken,
  releaseUnused,
  takeOverAccount,
  withUniqueIdentifiers,
} from '../users/claim-identifier.ts'
import { type AddressMetadataConfig, confirmedMetadata, signUpMetadata } from '../users/metadata.ts'
import { isPendingSignUp, requireNotBanned, type User } from '../users/user.ts'
import {
  clearedTimes,
  findAddressChange,
  type PasswordRules,
  setOwnIdentity,
  updateUser,
} from '../users/user-change-repository.ts'
import { findUserById, isUnclaimed, lockUserById } from '../users/user-repository.ts'
import { claimSignUpContent, replaceIdentityData, type SignUpContent } from './sign-up-repository.ts'

export interface RedeemDeps extends ApplyDeps, VerificationPasswordDeps {
  readonly config: ApplyDeps['config'] & Pick<AuthConfig, 'passwords' | 'signup'>
  readonly db: Db
  readonly logger: VerificationPasswordDeps['logger']
  readonly names: Names
  readonly randomBytes: RandomBytes
  readonly hooks: Hooks
}

/** The result of a used message. With `other-address-left`, an email change needs its other address first. */
export type Redeemed =
  | { readonly verdict: 'session'; readonly session: IssuedSession; readonly type: string | undefined }
  | { readonly verdict: 'auth-code'; readonly code: string }
  | { readonly verdict: 'other-address-left' }

/** The token of a followed link, or of a link that was posted to the API. */
export interface RedeemedLink {
  readonly type: VerifyType
  readonly token: string
  readonly via: MessageVia
  readonly context: RequestContext
}

/** Confirms the address of a message and signs its user in. Only one of two requests can delete the message's row. */
export async function redeemMessage(deps: RedeemDeps, redemption: Redemption): Promise<Redeemed> {
  const { type, user: found, context } = redemption
  const hashed = await hashVerificationPassword(deps, redemption)
  if (isPendingSignUp(found)) {
    const identities = await listIdentities(deps.db, found.id)
    await askBeforeUserCreated(deps, { user: found, identities }, context.ip)
  }
  return withUniqueIdentifiers(deps, refuseTaken, async (trx) => {
    const user = await lockUserById(trx, found.id)
    // Refuse SSO users, so that a user who leaves the company has no other way to sign in. This message may be older.
    if (!user || user.deletedAt !== null || user.isSsoUser) return redemption.refuse()
    requireNotBanned(user, deps.now())
    const { message, secret } = redemption
    if (addressFor(message.kind, user) !== message.identifier) return redemption.refuse()
    if (secret !== 'test-code' && !(await claimToken(trx, secret))) return redemption.refuse()
    // Check again: during hashing, another request may have signed in or added a second factor.
    const locked = { ...deps, db: trx }
    const isWanted = hashed && (await judgeVerificationPassword(locked, { type, user })) !== 'ignored'
    const passwordHash = isWanted ? hashed : undefined
    const isTakenOver = await confirmerTakesOver(locked, user)
    const outcome = await confirmByMessage(trx, deps, user, { ...redemption, passwordHash })
    if (outcome === 'other-address-left') return { verdict: outcome }
    if (isTakenOver) await takeOverAccount(trx, deps, user, passwordHash)
    else await deleteAnonymousChanges(trx, deps.config, user, { id: user.id, isAnonymous: false })
    await deleteTokensOfUser(trx, user.id)
    if (type === 'recovery') await guardRecovered(trx, deps, user)
    if (isPendingSignUp(user)) await queueUserCreated(trx, deps, { userId: user.id, ip: context.ip })
    return signIn(trx, deps, user, redemption)
  })
}

/** Verifies the token of a link. The user may be in any audience, because a link cannot send the header X-JWT-AUD. */
export async function redeemLink(deps: RedeemDeps, input: RedeemedLink): Promise<Redeemed> {
  const { type, via } = input
  const linkHash = hashLinkToken(input.token)
  const token = await findTokenByLink(deps.db, linkHash, ACCEPTED_KINDS[type])
  const user = token && (await findUserById(deps.db, token.userId))
  if (!token || !user || user.isSsoUser || !isAccepted(type, token, user)) return refuseLink()
  requireNotBanned(user, deps.now())
  if (Date.parse(token.expiresAt) <= deps.now().getTime()) return refuseLink()
  return redeemMessage(deps, {
    ...input,
    user,
    message: token,
    secret: { id: token.id, linkHash },
    flow: via.kind === 'redirect' && token.flowStateId !== null ? { kind: 'pkce', id: token.flowStateId } : IMPLICIT,
    refuse: refuseLink,
  })
}

/** The purpose of a message, and the address to which it was sent. */
type MessagePurpose = Pick<OneTimeToken, 'kind' | 'identifier'>

/** How a sign-in by a message ends: with a session, or with the auth code of a PKCE flow. */
type MessageFlow = { readonly kind: 'implicit' } | { readonly kind: 'pkce'; readonly id: string }

const IMPLICIT: MessageFlow = { kind: 'implicit' }

/** A message with a correct code or link token, which is about to be used up. */
interface Redemption {
  readonly type: VerifyType
  readonly user: User
  readonly message: MessagePurpose
  /** The correct secret with the id of its row. A test code has no row and is not used up. */
  readonly secret: StoredSecret | 'test-code'
  readonly via: MessageVia
  readonly flow: MessageFlow
  /** Refuses the second of two requests with the same secret. */
  readonly refuse: () => never
  readonly context: RequestContext
}

/** Confirms an address change, or the address to which the message was sent. */
async function confirmByMessage(
  trx: Trx,
  deps: Pick<RedeemDeps, 'config' | 'logger' | 'now' | 'jobs'>,
  user: User,
  redemption: Redemption & { readonly passwordHash: string | undefined },
): Promise<'done' | 'other-address-left'> {
  const { message, context, passwordHash, refuse } = redemption
  if (message.kind === 'email_change_new' || message.kind === 'email_change_current') {
    const outcome = await confirmEmailChange(trx, deps, user, { used: message.kind, ip: context.ip })
    if (outcome === 'refused') return refuse()
    return outcome === 'applied' ? 'done' : outcome
  }
  if (message.kind === 'phone_change') {
    if (user.phoneChange === null) return refuse()
    await releaseUnused(trx, { kind: 'phone', value: user.phoneChange }, deps.now())
    await applyPhoneChange(trx, deps, user, { newPhone: user.phoneChange, ip: context.ip })
    return 'done'
  }
  await confirmAddress(trx, deps, user, { tokenKind: message.kind, passwordHash, ip: context.ip })
  return 'done'
}

/** A recovery warns of passkeys that are newer than this. */
const WARNED_MS = 30 * 86_400_000

/**
 * Ends what sessions have started, because an attacker may control the account before a recovery. A recovery proves only the
 * address, so it removes no passkeys. It warns of recent ones, which the attacker may have added.
 */
async function guardRecovered(trx: Trx, deps: Pick<RedeemDeps, 'config' | 'now' | 'jobs'>, user: User): Promise<void> {
  await callEndSessionWork(trx, user.id, { scope: 'all' })
  const passkeys = await listPasskeysSince(trx, user.id, new Date(deps.now().getTime() - WARNED_MS))
  if (passkeys.length === 0) return
  const Passkeys = passkeys.map(({ createdAt }) => toMailTime(new Date(createdAt))).join(', ')
  await notify(trx, deps, user, { name: 'PASSKEYS_KEPT', variables: { Passkeys } })
}

/** A message of an address change proves only the new address, not that the user had the account before. */
async function findMethod(
  trx: Trx,
  { now }: Pick<RedeemDeps, 'now'>,
  user: User,
  { kind }: MessagePurpose,
): Promise<Pick<SignIn, 'method' | 'credentialSince'>> {
  const credentialSince = user.isAnonymous ? null : now()
  if (kind === 'phone_change') return { method: 'phone_change', credentialSince }
  if (kind === 'email_change_new' || kind === 'email_change_current') return { method: 'email_change', credentialSince }
  const changedAt = await findAddressChange(trx, user.id, kind === 'sms' ? 'phone' : 'email')
  return { method: 'otp', credentialSince: changedAt ?? null }
}

async function signIn(
  trx: Trx,
  deps: Pick<RedeemDeps, 'now' | 'randomBytes'>,
  user: User,
  { type, message, flow, refuse, context }: Redemption,
): Promise<Redeemed> {
  if (flow.kind === 'pkce') {
    const code = generateAuthCode(deps.randomBytes)
    return (await updateMailFlow(trx, flow.id, { code, now: deps.now() })) ? { verdict: 'auth-code', code } : refuse()
  }
  const shown = await findMethod(trx, deps, user, message)
  const session = await createSession(trx, deps, user, { ...context, ...shown })
  return { verdict: 'session', session, type: answeredType(type, message.kind) }
}

function refuseLink(): never {
  throw linkExpired()
}

interface AddressConfirmation {
  readonly tokenKind: TokenKind
  /** The new hash. `undefined` to keep the stored one. */
  readonly passwordHash: string | undefined
  readonly ip: string
}

/**
 * Confirms an address of a user and records this in the audit log. The user is then neither pending nor anonymous. The first
 * message that confirms an account sets the metadata, the password and the audience of its own request (reference: Duplicate
 * sign-ups).
 * @param user locked, in the state before the change
 */
async function confirmAddress(
  trx: Trx,
  deps: AuditDeps & { readonly config: AddressMetadataConfig & PasswordRules },
  user: User,
  { tokenKind, passwordHash, ip }: AddressConfirmation,
): Promise<void> {
  const at = deps.now()
  const kind = tokenKind === 'sms' ? 'phone' : 'email'
  const content = await takeContent(trx, user, tokenKind)
  const mayHoldStrangers = content !== undefined || (user.invitedAt !== null && (await isUnclaimed(trx, user)))
  const confirmedAt = kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt
  const isAccepted = confirmedAt === null && user.invitedAt !== null && user.passwordHash === null
  await updateUser(trx, user.id, {
    updated_at: at,
    is_anonymous: false,
    ...(confirmedAt === null ? { [`${kind}_confirmed_at`]: at } : {}),
    ...(isPendingSignUp(user) ? { staged_at: null, created_at: at } : {}),
    ...(isAccepted ? clearedTimes(deps.config) : {}),
    ...(confirmedAt === null ? { raw_user_meta_data: metadataOf(deps.config, user, kind, content) } : {}),
    ...(content && {
      aud: content.audience,
      encrypted_password: content.passwordHash,
    }),
    ...(passwordHash === undefined ? {} : { encrypted_password: passwordHash }),
  })
  const value = user[kind]
  // An import may have added another person's accounts at providers, without an identity of the address.
  if (mayHoldStrangers && value !== null && (await deleteUnverifiedIdentities(trx, user.id))) {
    await setOwnIdentity(trx, user, { identifier: { kind, value }, isVerified: true, at })
  }
  if (content && value !== null) await replaceIdentityData(trx, user, { kind, value }, content.data)
  await updateIdentityData(trx, { userId: user.id, provider: kind }, { [`${kind}_verified`]: true }, at)
  const firstAction = user.invitedAt === null ? 'user_signedup' : 'invite_accepted'
  const action = confirmedAt === null ? firstAction : 'login'
  await recordAudit(trx, deps, { action, actor: user, ip, traits: { provider: kind } })
}

/** Returns the metadata of a user who confirms an address for the first time. */
function metadataOf(
  config: AddressMetadataConfig,
  user: User,
  kind: IdentifierKind,
  content: SignUpContent | undefined,
): Record<string, unknown> {
  const data = content?.data ?? user.userMetadata
  const address = { kind, value: user[kind] ?? '', userId: user.id, isVerified: true }
  const isSignUp = content !== undefined || isPendingSignUp(user)
  return confirmedMetadata(config, isSignUp ? signUpMetadata(config, data, address) : data, kind)
}

/** Returns the content of the sign-up whose message is the first to confirm the account, and deletes it. */
async function takeContent(trx: Trx, user: User, tokenKind: TokenKind): Promise<SignUpContent | undefined> {
  if (user.confirmedAt !== null || isPendingSignUp(user)) return undefined
  const content = await claimSignUpContent(trx, user.id, tokenKind)
  // Invited users keep the admin's values, because an earlier sign-up of an attacker may have sent the content.
  return user.invitedAt === null ? content : undefined
}

interface VerificationPasswordDeps extends NewPasswordRules, ConfirmerDeps {
  readonly config: NewPasswordRules['config'] & ConfirmerDeps['config']
  readonly passwords: Pick<PasswordHasher, 'hash'>
}

/** A message that is about to be used up, and its user. */
interface MessageUse {
  readonly type: VerifyType
  readonly user: User
}

/** The source of a code or link. A redirect (GET /verify and its form) takes no password and may return an auth code. */
type MessageVia = { readonly kind: 'body'; readonly password: string | undefined } | { readonly kind: 'redirect' }

/**
 * Hashes the password of a request with a code or a link. The caller must hold no lock. A missing or weak password leaves the
 * message unused.
 * @returns `undefined` if the password is ignored
 * @throws passwordMissingAtVerify, serverBusy, passwordTooLong, weakPassword, serviceUnavailable
 */
async function hashVerificationPassword(
  deps: VerificationPasswordDeps,
  { type, user, via }: MessageUse & { readonly via: MessageVia },
): Promise<string | undefined> {
  if (via.kind === 'redirect') return undefined
  const { password } = via
  const verdict = await judgeVerificationPassword(deps, { type, user })
  if (!password && verdict === 'needed') throw passwordMissingAtVerify()
  if (!password || verdict === 'ignored') return undefined
  return hashNewPassword(deps, password)
}

/**
 * Decides whether the request's password is stored (reference: Passwords at verification). An account with an earlier sign-in
 * keeps its password, and an account with a second factor gets none. Both can set it in a session of aal2.
 */
async function judgeVerificationPassword(
  deps: ConfirmerDeps,
  { type, user }: MessageUse,
): Promise<'needed' | 'taken' | 'ignored'> {
  if (type === 'signup' && user.passwordHash === null && !(await canSignInOtherwise(deps.db, user.id))) return 'needed'
  const isInvited = type === 'invite' && (await awaitsFirstSignIn(deps, user))
  return isInvited || (await confirmerTakesOver(deps, user)) ? 'taken' : 'ignored'
}

async function canSignInOtherwise(db: Db, userId: string): Promise<boolean> {
  const identities = await listIdentities(db, userId)
  const isExternal = identities.some(({ provider }) => provider !== 'email' && provider !== 'phone')
  return isExternal || hasVerifiedFactor(db, userId)
}
