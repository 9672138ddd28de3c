import { siteKey } from '@trestle/common/server/address-key.ts'
import type { AuthDeps } from '../deps.ts'
import { linkExpired, otpExpired, userBanned } from '../errors.ts'
import type { UserIdentifier } from '../identifier.ts'
import { codeMatches, hashCode, hashLinkToken } from '../one-time-tokens/one-time-token.ts'
import {
  countGuess,
  findTokenByLink,
  forgetGuesses,
  hashGuessKey,
  type OneTimeToken,
  returnGuess,
} from '../one-time-tokens/one-time-token-repository.ts'
import { ACCEPTED_KINDS, isAccepted, type VerifyType } from '../one-time-tokens/verify-type.ts'
import { isBlocked, recordFailure } from '../rate-limits/failed-attempts.ts'
import type { RequestContext } from '../request-context.ts'
import { isBanned, type User } from '../users/user.ts'
import { findUserById, findUserByIdentifier } from '../users/user-repository.ts'
import { type Redeemed, redeemToken } from './redeem-token.ts'

export type VerifyLinkDeps = Pick<
  AuthDeps,
  'config' | 'db' | 'names' | 'logger' | 'now' | 'randomBytes' | 'passwords' | 'jobs' | 'outbound' | 'hooks'
>

export type VerifyCodeDeps = VerifyLinkDeps & Pick<AuthDeps, 'serverKeys' | 'rateLimits'>

export interface VerifyCode {
  readonly type: VerifyType
  /** The address that got the code. For a change of email or phone it is not the user's own yet. */
  readonly identifier: UserIdentifier
  readonly code: string
  readonly password: string | undefined
  readonly context: RequestContext
}

/** Verifies a typed code. An address that nobody has gets the same answer, after the same work, as a wrong code. */
export async function verifyCode(deps: VerifyCodeDeps, input: VerifyCode): Promise<Redeemed> {
  const { type, identifier, context } = input
  const attempt = { identifier: identifier.value, address: context.address }
  const blocked = await isBlocked(deps, attempt)
  const owner = await findUserByIdentifier(deps.db, context.audience, identifier)
  const { network } = context
  const wanted = { audience: context.audience, relatesTo: identifier.value, kinds: ACCEPTED_KINDS[type] }
  const hmacKey = deps.serverKeys.hmac
  const keyHash = hashGuessKey(hmacKey, wanted)
  const networkHash = network === undefined ? undefined : hashGuessKey(hmacKey, wanted, siteKey(context.address))
  const guess = { ...wanted, keyHash, networkHash, network, now: deps.now() }
  const candidates = await countGuess(deps.db, guess, blocked ? 0 : deps.config.security.codeAttemptsMax)
  const token = matchCode(deps, input, owner, candidates)
  if (!token || blocked) {
    await recordFailure(deps, attempt)
    throw otpExpired()
  }
  const user = owner?.id === token.userId ? owner : await findUserById(deps.db, token.userId)
  if (!user) throw otpExpired()
  const secret = { codeHash: token.codeHash }
  // Only a right code is refused because of a ban, since the refusal reveals that the account exists.
  try {
    const redeemed = await redeemToken(deps, { ...input, user, token, secret, flow: 'implicit', expired: otpExpired })
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
  { type, identifier, code }: VerifyCode,
  owner: User | undefined,
  candidates: readonly OneTimeToken[],
): Guessed | undefined {
  let found: Guessed | undefined
  for (const token of candidates.length === 0 ? [undefined] : candidates) {
    const hashes = serverKeys.hmacs.map((key) =>
      hashCode(key, token?.codeSalt ?? Buffer.alloc(16), identifier.value, code),
    )
    const matches = hashes.some((hash) => codeMatches(token?.codeHash ?? Buffer.alloc(hash.length), hash))
    const isAlive = token !== undefined && Date.parse(token.expiresAt) > now().getTime()
    if (matches && isAlive && token.codeHash && isAccepted(type, token, owner)) {
      found = { ...token, codeHash: token.codeHash }
    }
  }
  return found
}

export interface VerifyLink {
  readonly type: VerifyType
  readonly token: string
  readonly password: string | undefined
  /** `redirect`: GET /verify and its form, which take no password and may give an auth code. */
  readonly via: 'body' | 'redirect'
  readonly context: RequestContext
}

/** Verifies the token of a link. The token finds its user in any audience, since a link cannot send the header X-JWT-AUD. */
export async function verifyLink(deps: VerifyLinkDeps, input: VerifyLink): Promise<Redeemed> {
  const { type, via } = input
  const linkHash = hashLinkToken(input.token)
  const token = await findTokenByLink(deps.db, linkHash, ACCEPTED_KINDS[type])
  const user = token && (await findUserById(deps.db, token.userId))
  if (!token || !user || !isAccepted(type, token, user)) throw linkExpired()
  if (isBanned(user, deps.now())) throw userBanned()
  if (Date.parse(token.expiresAt) <= deps.now().getTime()) throw linkExpired()
  const flow = via === 'redirect' && token.flowStateId !== null ? 'pkce' : 'implicit'
  return redeemToken(deps, {
    ...input,
    password: via === 'redirect' ? 'not-asked' : input.password,
    user,
    token,
    secret: { linkHash },
    flow,
    expired: linkExpired,
  })
}
