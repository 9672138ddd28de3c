import { siteKey } from '@trestle/common/server/address-key.ts'
import type { AuthDeps } from '../deps.ts'
import { otpExpired } from '../errors.ts'
import { findTestCode } from '../messages/test-code.ts'
import { matchesCode } from '../one-time-tokens/one-time-token.ts'
import {
  countGuess,
  deleteGuesses,
  hashGuessKey,
  type OneTimeToken,
  returnGuess,
} from '../one-time-tokens/one-time-token-repository.ts'
import { parseVerifyBody, type VerifyFields } from '../one-time-tokens/verify-request.ts'
import { ACCEPTED_KINDS, isAccepted, type VerifyType } from '../one-time-tokens/verify-type.ts'
import { isBlocked, recordFailedCheck } from '../rate-limits/failed-checks.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { equalSecrets } from '../secrets/equal-secrets.ts'
import { type SessionView, signNewSession } from '../sessions/session-view.ts'
import { type Redeemed, redeemLink, redeemMessage } from '../sign-ups/redeem-message.ts'
import type { User } from '../users/user.ts'
import { findUserById, findUserByIdentifier } from '../users/user-repository.ts'

/** What the use of a typed code works with. Codes are guessed, so guesses are counted. */
export type VerifyCodeDeps = Pick<
  AuthDeps,
  | 'config'
  | 'db'
  | 'names'
  | 'logger'
  | 'now'
  | 'randomBytes'
  | 'passwords'
  | 'jobs'
  | 'outbound'
  | 'hooks'
  | 'serverKeys'
  | 'rateLimits'
>

/** What the use of a message works with that ends in a session. */
export type VerifyMessageDeps = VerifyCodeDeps & Pick<AuthDeps, 'signingKeys'>

/** The body of a verification, and its request. */
export interface VerifyMessageInput {
  readonly fields: VerifyFields & { readonly password?: string | undefined }
  readonly context: RequestContext
}

/** A session, or `other-address-left`: a change of email waits for its other address, and nobody signs in. */
export type VerifiedMessage =
  | { readonly verdict: 'session'; readonly session: SessionView; readonly type: string | undefined }
  | { readonly verdict: 'other-address-left' }

/**
 * Exchanges the code or the link token of a message for a session (reference: POST /verify).
 * @throws what `parseVerifyBody`, `verifyCode`, `redeemLink` and `signNewSession` throw
 */
export async function verifyMessage(deps: VerifyMessageDeps, input: VerifyMessageInput): Promise<VerifiedMessage> {
  const { fields, context } = input
  const { password } = fields
  const wanted = { ...parseVerifyBody(fields), context }
  const redeemed =
    wanted.kind === 'code'
      ? await verifyCode(deps, { ...wanted, password })
      : await redeemLink(deps, { ...wanted, via: { kind: 'body', password } })
  if (redeemed.verdict === 'auth-code') throw new Error('a flow without redirect ended in an auth code')
  if (redeemed.verdict !== 'session') return redeemed
  return { ...redeemed, session: await signNewSession(deps, redeemed.session) }
}

/** A code that somebody has typed, and the address to which it was sent. */
interface VerifyCodeInput {
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
  if (
    !blocked &&
    owner &&
    type === 'sms' &&
    deps.config.behaviours.acceptTestCodesRepeatedly &&
    isTestCode(deps, input)
  ) {
    return redeemMessage(deps, { ...input, ...standingMessage(owner, input), refuse: refuseCode })
  }
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
    const redeemed = await redeemMessage(deps, { ...input, ...message, flow: 'implicit', refuse: refuseCode })
    await deleteGuesses(deps.db, guess)
    return redeemed
  } catch (error) {
    await returnGuess(deps.db, token.id)
    throw error
  }
}

type Guessed = OneTimeToken & { readonly codeHash: Buffer }

const NO_CODE = { codeHash: null, codeSalt: Buffer.alloc(16) } as const

/** Compares the code with every candidate, or with a dummy, so that the work is the same for any address. */
function matchCode(
  deps: Pick<AuthDeps, 'config' | 'serverKeys' | 'now'>,
  input: VerifyCodeInput,
  owner: User | undefined,
  candidates: readonly OneTimeToken[],
): Guessed | undefined {
  const { serverKeys, now } = deps
  const { type, identifier, code } = input
  const isStanding = deps.config.behaviours.acceptTestCodesRepeatedly && isTestCode(deps, input)
  let found: Guessed | undefined
  for (const token of candidates.length === 0 ? [undefined] : candidates) {
    const matches = matchesCode(serverKeys.hmacs, token ?? NO_CODE, { identifier: identifier.value, code })
    if (!matches || !token?.codeHash || (Date.parse(token.expiresAt) <= now().getTime() && !isStanding)) continue
    if (isAccepted(type, token, owner)) found = { ...token, codeHash: token.codeHash }
  }
  return found
}

/** Whether the code is the fixed code of a test phone. */
function isTestCode(
  { config, now }: Pick<AuthDeps, 'config' | 'now'>,
  { identifier: { kind, value }, code }: VerifyCodeInput,
): boolean {
  const testCode = kind === 'phone' ? findTestCode(config.sms, value, now()) : undefined
  return testCode !== undefined && equalSecrets(testCode, code)
}

/** The message of a test phone to which nothing was sent. */
function standingMessage(user: User, { identifier, password }: VerifyCodeInput) {
  const token = { id: '', userId: user.id, kind: 'sms', identifier: identifier.value, flowStateId: null } as const
  return { user, token, secret: 'standing', via: { kind: 'body', password }, flow: 'implicit' } as const
}

/** Refuses a code that is wrong, used up or too old. @throws otpExpired */
function refuseCode(): never {
  throw otpExpired()
}
