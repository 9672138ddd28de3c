import type { Names } from '@trestle/migrations/migration.ts'
import { type ApplyDeps, applyPhoneChange, confirmEmailChange } from '../address-changes/apply-address-change.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { linkExpired } from '../errors.ts'
import { updateMailFlow } from '../flows/flow-repository.ts'
import { generateAuthCode } from '../flows/pkce.ts'
import { callEndSessionWork } from '../flows/session-work-repository.ts'
import { askBeforeUserCreated } from '../hooks/before-user-created.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { queueUserCreated } from '../hooks/user-created-job.ts'
import { listIdentities } from '../identities/identity-repository.ts'
import { notify, toMailTime } from '../messages/notification.ts'
import { hashLinkToken } from '../one-time-tokens/one-time-token.ts'
import {
  claimToken,
  deleteTokensOfUser,
  findTokenByLink,
  type OneTimeToken,
  type StoredSecret,
} from '../one-time-tokens/one-time-token-repository.ts'
import { deleteAnonymousChanges } from '../one-time-tokens/pending-change-repository.ts'
import {
  ACCEPTED_KINDS,
  addressFor,
  answeredType,
  isAccepted,
  type VerifyType,
} from '../one-time-tokens/verify-type.ts'
import { listPasskeysSince } from '../passkeys/passkey-repository.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { RandomBytes } from '../secrets/sealed-secret.ts'
import { createSession, type SignIn } from '../sessions/create-session.ts'
import type { IssuedSession } from '../sessions/session.ts'
import { refuseTaken, releaseUnused, withUniqueIdentifiers } from '../users/claim-identifier.ts'
import { confirmerTakesOver, takeOverAccount } from '../users/take-over-account.ts'
import { isStaged, requireNotBanned, type User } from '../users/user.ts'
import { findAddressChange } from '../users/user-change-repository.ts'
import { findUserById, lockUserById } from '../users/user-repository.ts'
import { confirmAddress } from './confirm-address.ts'
import {
  hashVerificationPassword,
  judgeVerificationPassword,
  type MessageVia,
  type VerificationPasswordDeps,
} from './verification-password.ts'

/** The dependencies of a redeemed message: those of each purpose, and those that check a password that comes with it. */
export interface RedeemDeps extends ApplyDeps, VerificationPasswordDeps {
  readonly config: ApplyDeps['config'] & Pick<AuthConfig, 'passwords' | 'signup'>
  readonly db: Db
  readonly logger: VerificationPasswordDeps['logger']
  readonly names: Names
  readonly randomBytes: RandomBytes
  readonly hooks: Hooks
}

/** The result of a used message. `other-address-left`: a change of email waits for its other address, and nobody signs in. */
export type Redeemed =
  | { readonly verdict: 'session'; readonly session: IssuedSession; readonly type: string | undefined }
  | { readonly verdict: 'auth-code'; readonly code: string }
  | { readonly verdict: 'other-address-left' }

/** The token of a link that somebody has followed, or posted to the API. */
export interface RedeemedLink {
  readonly type: VerifyType
  readonly token: string
  readonly via: MessageVia
  readonly context: RequestContext
}

/**
 * Confirms the address of a message and signs its user in. Only one of two requests can delete the message's row.
 * @throws userBanned, emailExists, phoneExists, and what `refuse`, `hashVerificationPassword` and `askBeforeUserCreated` throw
 */
export async function redeemMessage(deps: RedeemDeps, redemption: Redemption): Promise<Redeemed> {
  const { type, user: found, context } = redemption
  const hashed = await hashVerificationPassword(deps, redemption)
  if (isStaged(found)) {
    const identities = await listIdentities(deps.db, found.id)
    await askBeforeUserCreated(deps, { user: found, identities }, context.ip)
  }
  return withUniqueIdentifiers(deps, refuseTaken, async (trx) => {
    const user = await lockUserById(trx, found.id)
    // A message from before leads nowhere: an SSO user who leaves the company must find no other way in.
    if (!user || user.deletedAt !== null || user.isSsoUser) return redemption.refuse()
    requireNotBanned(user, deps.now())
    const { message, secret } = redemption
    if (addressFor(message.kind, user) !== message.identifier) return redemption.refuse()
    if (secret !== 'test-code' && !(await claimToken(trx, secret))) return redemption.refuse()
    // While the password was hashed, somebody may have signed in or added a second factor.
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
    if (isStaged(user)) await queueUserCreated(trx, deps, { userId: user.id, ip: context.ip })
    return signIn(trx, deps, user, redemption)
  })
}

/**
 * Verifies the token of a link. The token finds its user in any audience, since a link cannot send the header X-JWT-AUD.
 * @throws linkExpired, userBanned, emailExists, phoneExists, and what `hashVerificationPassword` and
 * `askBeforeUserCreated` throw
 */
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

/** The purpose of a message, and the address that it went to. */
type MessagePurpose = Pick<OneTimeToken, 'kind' | 'identifier'>

/** How a sign-in by a message ends: in a session, or in an auth code of a PKCE flow. */
type MessageFlow = { readonly kind: 'implicit' } | { readonly kind: 'pkce'; readonly id: string }

const IMPLICIT: MessageFlow = { kind: 'implicit' }

/** A message whose code or link token was right, and which is about to be used up. */
export interface Redemption {
  readonly type: VerifyType
  readonly user: User
  readonly message: MessagePurpose
  /** The secret that was right, and the id of its row. A test code has no row, and is not used up. */
  readonly secret: StoredSecret | 'test-code'
  readonly via: MessageVia
  readonly flow: MessageFlow
  /** Refuses the later of two requests with the same secret. */
  readonly refuse: () => never
  readonly context: RequestContext
}

/** Confirms what the message is for: a change of address, or the address that it went to. */
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

/** How far back the passkeys go of which a recovery warns. */
const WARNED_MS = 30 * 86_400_000

/**
 * Ends what any session has started, since somebody who recovers an account may have lost it to a thief. A
 * recovery proves no more than the address, so it removes no passkey: it warns of those that a thief may have added.
 */
async function guardRecovered(trx: Trx, deps: Pick<RedeemDeps, 'config' | 'now' | 'jobs'>, user: User): Promise<void> {
  await callEndSessionWork(trx, user.id, { scope: 'all' })
  const passkeys = await listPasskeysSince(trx, user.id, new Date(deps.now().getTime() - WARNED_MS))
  if (passkeys.length === 0) return
  const Passkeys = passkeys.map(({ createdAt }) => toMailTime(new Date(createdAt))).join(', ')
  await notify(trx, deps, user, { name: 'PASSKEYS_KEPT', variables: { Passkeys } })
}

/** A message of a change of address proves that the new address is the user's, but not that they had the account before. */
async function findProof(
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
  const proof = await findProof(trx, deps, user, message)
  const session = await createSession(trx, deps, user, { ...context, ...proof })
  return { verdict: 'session', session, type: answeredType(type, message.kind) }
}

/** Refuses a link that is unknown, used up or too old. @throws linkExpired */
function refuseLink(): never {
  throw linkExpired()
}
