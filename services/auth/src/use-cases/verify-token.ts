import { siteKey } from '@trestle/common/server/address-key.ts'
import { applyPhoneChange, confirmEmailChange } from '../address-changes/apply-address-change.ts'
import type { AuthDeps } from '../deps.ts'
import { linkExpired, otpExpired } from '../errors.ts'
import { issueAuthCode } from '../flows/flow-repository.ts'
import { type FlowKind, makeAuthCode } from '../flows/pkce.ts'
import { askBeforeUserCreated } from '../hooks/before-user-created.ts'
import { queueUserCreated } from '../hooks/user-created-job.ts'
import { listIdentities } from '../identities/identity-repository.ts'
import { hashCode, hashLinkToken } from '../one-time-tokens/one-time-token.ts'
import {
  consumeToken,
  countGuess,
  deleteTokensOfUser,
  findTokenByLink,
  forgetGuesses,
  hashGuessKey,
  type OneTimeToken,
  returnGuess,
} from '../one-time-tokens/one-time-token-repository.ts'
import {
  ACCEPTED_KINDS,
  addressFor,
  answeredType,
  isAccepted,
  type VerifyType,
} from '../one-time-tokens/verify-type.ts'
import { isBlocked, recordFailedCheck } from '../rate-limits/failed-checks.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { equalSecrets } from '../secrets/equal-secrets.ts'
import { createSession } from '../sessions/create-session.ts'
import type { IssuedSession } from '../sessions/session.ts'
import { confirmAddress, findMessageProof } from '../sign-ups/confirm-address.ts'
import {
  hashVerificationPassword,
  judgeVerificationPassword,
  type MessageVia,
} from '../sign-ups/verification-password.ts'
import type { Trx } from '../transaction.ts'
import { refuseTaken, withUniqueIdentifiers } from '../users/claim-identifier.ts'
import { confirmerTakesOver, takeOverAccount } from '../users/take-over-account.ts'
import { isStaged, requireNotBanned, type User } from '../users/user.ts'
import { findUserById, findUserByIdentifier, lockUserById } from '../users/user-repository.ts'

/** What the use of a link works with. */
export type VerifyLinkDeps = Pick<
  AuthDeps,
  'config' | 'db' | 'names' | 'logger' | 'now' | 'randomBytes' | 'passwords' | 'jobs' | 'outbound' | 'hooks'
>

/** What the use of a code works with. Codes are guessed, so guesses are counted. */
export type VerifyCodeDeps = VerifyLinkDeps & Pick<AuthDeps, 'serverKeys' | 'rateLimits'>

/** The result of a used message. `other-address-left`: a change of email waits for its other address, and nobody signs in. */
export type Redeemed =
  | { readonly verdict: 'session'; readonly session: IssuedSession; readonly type: string | undefined }
  | { readonly verdict: 'auth-code'; readonly code: string }
  | { readonly verdict: 'other-address-left' }

/** A code that somebody has typed, and the address to which it was sent. */
export interface VerifyCodeInput {
  readonly type: VerifyType
  /** The address that got the code. For a change of email or phone it is not the user's own yet. */
  readonly identifier: UserIdentifier
  readonly code: string
  readonly password: string | undefined
  readonly context: RequestContext
}

/**
 * Verifies a typed code. An address that nobody has gets the same answer, after the same work, as a wrong code.
 * @throws otpExpired, userBanned, emailExists, phoneExists, and what `hashVerificationPassword` and `askBeforeUserCreated`
 * throw
 */
export async function verifyCode(deps: VerifyCodeDeps, input: VerifyCodeInput): Promise<Redeemed> {
  const { type, identifier, password, context } = input
  const check = { identifier: identifier.value, ip: context.ip }
  const blocked = await isBlocked(deps, check)
  const owner = await findUserByIdentifier(deps.db, context.audience, identifier)
  const wanted = { audience: context.audience, identifier: identifier.value, kinds: ACCEPTED_KINDS[type] }
  const { hmac } = deps.serverKeys
  const keyHash = hashGuessKey(hmac, wanted)
  const networkHash = context.network === undefined ? undefined : hashGuessKey(hmac, wanted, siteKey(context.ip))
  const guess = { ...wanted, keyHash, networkHash, network: context.network, now: deps.now() }
  const candidates = await countGuess(deps.db, guess, blocked ? 0 : deps.config.security.codeAttemptsMax)
  const token = matchCode(deps, input, owner, candidates)
  if (!token || blocked) {
    await recordFailedCheck(deps, check)
    return refuseCode()
  }
  const user = owner?.id === token.userId ? owner : await findUserById(deps.db, token.userId)
  if (!user) return refuseCode()
  const message = { user, token, secret: { codeHash: token.codeHash }, via: { kind: 'body', password } } as const
  // Only a right code is refused because of a ban, since the refusal reveals that the account exists.
  try {
    const redeemed = await redeemToken(deps, { ...input, ...message, flow: 'implicit', refuse: refuseCode })
    await forgetGuesses(deps.db, guess)
    return redeemed
  } catch (error) {
    await returnGuess(deps.db, token.id)
    throw error
  }
}

type Guessed = OneTimeToken & { readonly codeHash: Buffer }

/** Compares the code with every candidate, or with a dummy, so that the work is the same for any address. */
function matchCode(
  { serverKeys, now }: Pick<AuthDeps, 'serverKeys' | 'now'>,
  { type, identifier, code }: VerifyCodeInput,
  owner: User | undefined,
  candidates: readonly OneTimeToken[],
): Guessed | undefined {
  let found: Guessed | undefined
  for (const token of candidates.length === 0 ? [undefined] : candidates) {
    const salt = token?.codeSalt ?? Buffer.alloc(16)
    const hashes = serverKeys.hmacs.map((key) => hashCode(key, salt, identifier.value, code))
    const matches = hashes.some((hash) => equalSecrets(token?.codeHash ?? Buffer.alloc(hash.length), hash))
    if (!matches || !token?.codeHash || Date.parse(token.expiresAt) <= now().getTime()) continue
    if (isAccepted(type, token, owner)) found = { ...token, codeHash: token.codeHash }
  }
  return found
}

/** The token of a link that somebody has followed, or posted to the API. */
export interface VerifyLinkInput {
  readonly type: VerifyType
  readonly token: string
  readonly via: MessageVia
  readonly context: RequestContext
}

/**
 * Verifies the token of a link. The token finds its user in any audience, since a link cannot send the header X-JWT-AUD.
 * @throws linkExpired, userBanned, emailExists, phoneExists, and what `hashVerificationPassword` and
 * `askBeforeUserCreated` throw
 */
export async function verifyLink(deps: VerifyLinkDeps, input: VerifyLinkInput): Promise<Redeemed> {
  const { type, via } = input
  const linkHash = hashLinkToken(input.token)
  const token = await findTokenByLink(deps.db, linkHash, ACCEPTED_KINDS[type])
  const user = token && (await findUserById(deps.db, token.userId))
  if (!token || !user || !isAccepted(type, token, user)) return refuseLink()
  requireNotBanned(user, deps.now())
  if (Date.parse(token.expiresAt) <= deps.now().getTime()) return refuseLink()
  return redeemToken(deps, {
    ...input,
    user,
    token,
    secret: { linkHash },
    flow: via.kind === 'redirect' && token.flowStateId !== null ? 'pkce' : 'implicit',
    refuse: refuseLink,
  })
}

/** A message whose code or link token was right, and which is about to be used up. */
interface Redemption {
  readonly type: VerifyType
  readonly user: User
  readonly token: OneTimeToken
  readonly secret: { readonly linkHash: Buffer } | { readonly codeHash: Buffer }
  readonly via: MessageVia
  /** `pkce` gives an auth code instead of a session. */
  readonly flow: FlowKind
  /** Refuses the later of two requests with the same secret. */
  readonly refuse: () => never
  readonly context: RequestContext
}

/** Confirms the address of a message and signs its user in. Only one of two requests can delete the message's row. */
async function redeemToken(deps: VerifyLinkDeps, redemption: Redemption): Promise<Redeemed> {
  const { type, user: found, context } = redemption
  const hashed = await hashVerificationPassword(deps, redemption)
  if (isStaged(found)) {
    const identities = await listIdentities(deps.db, found.id)
    await askBeforeUserCreated(deps, { user: found, identities }, context.ip)
  }
  return withUniqueIdentifiers(deps, refuseTaken, async (trx) => {
    const user = await lockUserById(trx, found.id)
    if (!user || user.deletedAt !== null) return redemption.refuse()
    requireNotBanned(user, deps.now())
    if (addressFor(redemption.token.kind, user) !== redemption.token.identifier) return redemption.refuse()
    if (!(await consumeToken(trx, redemption.token, redemption.secret))) return redemption.refuse()
    // While the password was hashed, somebody may have signed in or added a second factor.
    const locked = { ...deps, db: trx }
    const isWanted = hashed && (await judgeVerificationPassword(locked, { type, user })) !== 'ignored'
    const passwordHash = isWanted ? hashed : undefined
    const isTakenOver = await confirmerTakesOver(locked, user)
    const outcome = await confirmByMessage(trx, deps, user, { ...redemption, passwordHash })
    if (outcome === 'other-address-left') return { verdict: outcome }
    if (isTakenOver) await takeOverAccount(trx, deps, user, passwordHash)
    await deleteTokensOfUser(trx, user.id)
    if (isStaged(user)) await queueUserCreated(trx, deps, { userId: user.id, ip: context.ip })
    return signIn(trx, deps, user, redemption)
  })
}

/** Confirms what the message is for: a change of address, or the address that it went to. */
async function confirmByMessage(
  trx: Trx,
  deps: Pick<AuthDeps, 'config' | 'logger' | 'now' | 'jobs'>,
  user: User,
  redemption: Redemption & { readonly passwordHash: string | undefined },
): Promise<'done' | 'other-address-left'> {
  const { token, context, passwordHash, refuse } = redemption
  if (token.kind === 'email_change_new' || token.kind === 'email_change_current') {
    const outcome = await confirmEmailChange(trx, deps, user, { used: token.kind, ip: context.ip })
    if (outcome === 'refused') return refuse()
    return outcome === 'applied' ? 'done' : outcome
  }
  if (token.kind === 'phone_change') {
    if (user.phoneChange === null) return refuse()
    await applyPhoneChange(trx, deps, user, { newPhone: user.phoneChange, ip: context.ip })
    return 'done'
  }
  await confirmAddress(trx, deps, user, { tokenKind: token.kind, passwordHash, ip: context.ip })
  return 'done'
}

async function signIn(
  trx: Trx,
  deps: Pick<AuthDeps, 'now' | 'randomBytes'>,
  user: User,
  { type, token, flow, refuse, context }: Redemption,
): Promise<Redeemed> {
  if (flow === 'implicit') {
    const session = await createSession(trx, deps, user, {
      ...context,
      ...(await findMessageProof(trx, deps, user, token)),
    })
    return { verdict: 'session', session, type: answeredType(type, token.kind) }
  }
  const code = makeAuthCode(deps.randomBytes)
  if (!(await issueAuthCode(trx, token.flowStateId ?? '', { code, now: deps.now() }))) refuse()
  return { verdict: 'auth-code', code }
}

/** Refuses a code that is wrong, used up or too old. @throws otpExpired */
function refuseCode(): never {
  throw otpExpired()
}

/** Refuses a link that is unknown, used up or too old. @throws linkExpired */
function refuseLink(): never {
  throw linkExpired()
}
