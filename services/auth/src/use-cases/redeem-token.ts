import { randomUUID } from 'node:crypto'
import type { ErrorFactory } from '@trestle/common/errors/define-error.ts'
import type { Transaction } from 'kysely'
import { applyPhoneChange, confirmEmailChange } from '../address-changes/apply-address-change.ts'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { userBanned } from '../errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { issueAuthCode } from '../flows/flow-repository.ts'
import { askBeforeUserCreated } from '../hooks/before-user-created.ts'
import { queueUserCreated } from '../hooks/user-created-job.ts'
import { listIdentities, mergeIdentityData } from '../identities/identity-repository.ts'
import { consumeToken, deleteTokensOfUser, type OneTimeToken } from '../one-time-tokens/one-time-token-repository.ts'
import { addressFor, answeredType, type VerifyType } from '../one-time-tokens/verify-type.ts'
import { refuseBreached } from '../passwords/breached-passwords.ts'
import { requirePassword } from '../passwords/password-policy.ts'
import type { RequestContext } from '../request-context.ts'
import { passwordMissingAtVerify } from '../request-errors.ts'
import { createSession, type SignIn } from '../sessions/create-session.ts'
import type { IssuedSession } from '../sessions/session.ts'
import { replaceIdentityData, type SignUpContent, takeSignUpContent } from '../sign-ups/sign-up-content-repository.ts'
import { TAKEN_FOR_USER, withUniqueIdentifiers } from '../users/claim-identifier.ts'
import { awaitsFirstSignIn, confirmerOwns, takeOverAccount } from '../users/take-over-account.ts'
import { isBanned, isStaged, type User } from '../users/user.ts'
import { findAddressChange, updateUser } from '../users/user-change-repository.ts'
import { lockUserById } from '../users/user-repository.ts'

type RedeemTokenDeps = Pick<
  AuthDeps,
  'config' | 'db' | 'names' | 'logger' | 'now' | 'randomBytes' | 'passwords' | 'jobs' | 'outbound' | 'hooks'
>

/** A message whose code or link token was right, and which is about to be used up. */
export interface Redemption {
  readonly type: VerifyType
  readonly user: User
  readonly token: OneTimeToken
  readonly secret: { readonly linkHash: Buffer } | { readonly codeHash: Buffer }
  /** Undefined where the request has none; `not-asked` where no password is ever taken (GET /verify). */
  readonly password: string | 'not-asked' | undefined
  /** `pkce` gives an auth code instead of a session. */
  readonly flow: 'implicit' | 'pkce'
  /** The error for the later of two requests with the same secret. */
  readonly expired: ErrorFactory
  readonly context: RequestContext
}

/** The result of a used message. `type` is a member of the answer (reference: Session object). */
export type Redeemed =
  | { readonly verdict: 'session'; readonly session: IssuedSession; readonly type: string | undefined }
  | { readonly verdict: 'auth-code'; readonly code: string }
  /** One of the two addresses of a change of email has confirmed. Nobody is signed in. */
  | { readonly verdict: 'other-address-left' }

/**
 * Uses a message up: confirms the address that it went to, and signs the user in. Of two requests at once only one can delete the
 * row, so a message is used once.
 */
export async function redeemToken(deps: RedeemTokenDeps, redemption: Redemption): Promise<Redeemed> {
  const hashed = await hashWantedPassword(deps, redemption)
  if (isStaged(redemption.user)) await askForStaged(deps, redemption)
  return withUniqueIdentifiers(deps, TAKEN_FOR_USER, async (trx) => {
    const user = await lockUserById(trx, redemption.user.id)
    if (!user || user.deletedAt !== null) throw redemption.expired()
    if (isBanned(user, deps.now())) throw userBanned()
    if (addressFor(redemption.token.kind, user) !== redemption.token.relatesTo) throw redemption.expired()
    if (!(await consumeToken(trx, redemption.token, redemption.secret))) throw redemption.expired()
    // While the password was hashed, somebody may have signed in or added a second factor.
    const locked = { ...deps, db: trx }
    const isWanted = hashed && (await judgePassword(locked, { type: redemption.type, user })) !== 'ignored'
    const passwordHash = isWanted ? hashed : undefined
    const isTakenOver = await confirmerOwns(locked, user)
    if ((await confirmByMessage(trx, deps, user, { ...redemption, passwordHash })) === 'other-address-left') {
      return { verdict: 'other-address-left' }
    }
    if (isTakenOver) await takeOverAccount(trx, deps, user, passwordHash)
    await deleteTokensOfUser(trx, user.id)
    if (isStaged(user)) await queueUserCreated(trx, deps, { userId: user.id, ip: redemption.context.ip })
    return signIn(trx, deps, user, redemption)
  })
}

/** Asks the hook about a staged user, whom this verification makes a user (reference: Staged users). */
async function askForStaged(
  deps: Pick<AuthDeps, 'db' | 'now' | 'hooks'>,
  { user, context }: Redemption,
): Promise<void> {
  const identities = await listIdentities(deps.db, user.id)
  await askBeforeUserCreated(deps, { user, identities }, context.ip)
}

/** Confirms what the message is for: a change of address, or the address that it went to. */
async function confirmByMessage(
  trx: Transaction<AuthDatabase>,
  deps: Pick<AuthDeps, 'config' | 'logger' | 'now' | 'jobs'>,
  user: User,
  redemption: Redemption & { readonly passwordHash: string | undefined },
): Promise<'done' | 'other-address-left'> {
  const { token, context, passwordHash, expired } = redemption
  const { ip } = context
  if (token.kind === 'email_change_new' || token.kind === 'email_change_current') {
    const outcome = await confirmEmailChange(trx, deps, user, { used: token.kind, ip })
    if (outcome === 'refused') throw expired()
    return outcome === 'applied' ? 'done' : outcome
  }
  if (token.kind === 'phone_change') {
    if (user.phoneChange === null) throw expired()
    await applyPhoneChange(trx, deps, user, { newPhone: user.phoneChange, ip })
    return 'done'
  }
  await confirmAddress(trx, deps, user, {
    kind: addressKind(token),
    content: await takeContent(trx, user, token),
    passwordHash,
  })
  await audit(trx, deps, user, redemption)
  return 'done'
}

function addressKind({ kind }: OneTimeToken): 'email' | 'phone' {
  return kind === 'sms' ? 'phone' : 'email'
}

/** Hashes the password before any lock is taken. A missing or weak password leaves the message unused. */
async function hashWantedPassword(
  deps: Pick<AuthDeps, 'config' | 'db' | 'logger' | 'passwords' | 'outbound'>,
  { type, user, password }: Redemption,
): Promise<string | undefined> {
  if (password === 'not-asked') return undefined
  const verdict = await judgePassword(deps, { type, user })
  if (!password && verdict === 'needed') throw passwordMissingAtVerify()
  if (!password || verdict === 'ignored') return undefined
  requirePassword(deps.config.passwords.policy, password)
  await refuseBreached(deps, password)
  return deps.passwords.hash(password)
}

/**
 * Whether the password of the request is stored (reference: Passwords at verification). An account that somebody has signed in to
 * keeps its password, and an account with a second factor gets none. Both can change it in a session that has shown the factor.
 */
async function judgePassword(
  deps: Pick<AuthDeps, 'config' | 'db'>,
  { type, user }: Pick<Redemption, 'type' | 'user'>,
): Promise<'needed' | 'taken' | 'ignored'> {
  if (type === 'signup' && user.passwordHash === null && !(await hasOtherWayIn(deps, user))) return 'needed'
  const isInvited = type === 'invite' && (await awaitsFirstSignIn(deps, user))
  return isInvited || (await confirmerOwns(deps, user)) ? 'taken' : 'ignored'
}

async function hasOtherWayIn({ db }: Pick<AuthDeps, 'db'>, { id }: User): Promise<boolean> {
  const identities = await listIdentities(db, id)
  return identities.some(({ provider }) => provider !== 'email' && provider !== 'phone') || hasVerifiedFactor(db, id)
}

/** Takes the content of the sign-up whose message is the first to confirm the account. */
async function takeContent(
  trx: Transaction<AuthDatabase>,
  user: User,
  { kind }: OneTimeToken,
): Promise<SignUpContent | undefined> {
  if (user.confirmedAt !== null || isStaged(user)) return undefined
  const content = await takeSignUpContent(trx, user.id, kind)
  return user.invitedAt === null ? content : undefined
}

interface Confirmation {
  readonly kind: 'email' | 'phone'
  readonly content: SignUpContent | undefined
  readonly passwordHash: string | undefined
}

async function confirmAddress(
  trx: Transaction<AuthDatabase>,
  { now }: Pick<AuthDeps, 'now'>,
  user: User,
  { kind, content, passwordHash }: Confirmation,
): Promise<void> {
  const at = now()
  const confirmedAt = kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt
  await updateUser(trx, user.id, {
    updated_at: at,
    is_anonymous: false,
    ...(confirmedAt === null ? { [`${kind}_confirmed_at`]: at } : {}),
    ...(isStaged(user) ? { staged_at: null, created_at: at } : {}),
    ...(content && { aud: content.aud, raw_user_meta_data: content.data, encrypted_password: content.passwordHash }),
    ...(passwordHash === undefined ? {} : { encrypted_password: passwordHash }),
  })
  const value = user[kind]
  if (content && value !== null) await replaceIdentityData(trx, user, { kind, value }, content.data)
  await mergeIdentityData(trx, { userId: user.id, provider: kind }, { [`${kind}_verified`]: true }, at)
}

async function audit(
  trx: Transaction<AuthDatabase>,
  deps: Pick<AuthDeps, 'config' | 'logger' | 'now'>,
  user: User,
  { token, context }: Redemption,
): Promise<void> {
  const kind = addressKind(token)
  const isFirst = (kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt) === null
  const action = !isFirst ? 'login' : user.invitedAt !== null ? 'invite_accepted' : 'user_signedup'
  await recordAudit(trx, deps, { action, actor: user, ip: context.ip, traits: { provider: kind } })
}

/** A message of a change of address proves that the new address is the user's, but not that they had the account before. */
async function toProof(
  trx: Transaction<AuthDatabase>,
  { now }: Pick<AuthDeps, 'now'>,
  user: User,
  { kind }: OneTimeToken,
): Promise<Pick<SignIn, 'method' | 'credentialSince'>> {
  const isEmailChange = kind === 'email_change_new' || kind === 'email_change_current'
  if (isEmailChange || kind === 'phone_change') {
    const method = isEmailChange ? 'email_change' : 'phone_change'
    return { method, credentialSince: user.isAnonymous ? null : now() }
  }
  const changedAt = await findAddressChange(trx, user.id, kind === 'sms' ? 'phone' : 'email')
  return { method: 'otp', credentialSince: changedAt ?? null }
}

async function signIn(
  trx: Transaction<AuthDatabase>,
  deps: Pick<AuthDeps, 'now' | 'randomBytes'>,
  user: User,
  { type, token, flow, expired, context }: Redemption,
): Promise<Redeemed> {
  if (flow === 'implicit') {
    const session = await createSession(trx, deps, user, { ...context, ...(await toProof(trx, deps, user, token)) })
    return { verdict: 'session', session, type: answeredType(type, token.kind) }
  }
  const code = randomUUID()
  const isBound = await issueAuthCode(trx, token.flowStateId ?? '', { code, now: deps.now() })
  if (!isBound) throw expired()
  return { verdict: 'auth-code', code }
}
