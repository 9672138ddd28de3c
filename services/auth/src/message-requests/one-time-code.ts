import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { otpDisabled } from '../errors.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import {
  magicLinkInterval,
  type ReservedInterval,
  reserveInterval,
  restoreIntervals,
} from '../rate-limits/send-interval.ts'
import type { UserIdentifier } from '../requests/fields.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { type SessionViewDeps, signFirstSession } from '../sessions/session-view.ts'
import { requireSignUpsEnabled } from '../sign-ups/sign-up-repository.ts'
import { isPendingSignUp } from '../users/user.ts'
import { findUserByIdentifier, hasClaimedEmail } from '../users/user-repository.ts'
import { type CreateSignUpDeps, createSignUp, type NewSignUp } from './create-sign-up.ts'
import { type MessageRequestDeps, requestMessage } from './request-message.ts'

export interface WantedCode {
  readonly identifier: UserIdentifier
  /** Whether an unknown identifier may become a user after its code is verified. */
  readonly createUser: boolean
  /** The metadata of such a user. */
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

/** The metadata of a pending sign-up for an unknown identifier. `undefined` if none is created. */
export type PendingContent = { readonly data: Readonly<Record<string, unknown>> } | undefined

/**
 * Decides whether an unknown identifier gets a pending sign-up. Looks for a user only if unknown identifiers are refused, because
 * the answer then reveals accounts anyway.
 */
export async function decidePendingSignUp(
  { config, db }: { readonly config: Pick<AuthConfig, 'signup'>; readonly db: Db },
  { identifier, createUser, data, context }: WantedCode,
): Promise<PendingContent> {
  const maySignUp = createUser && !config.signup.disabled
  const user = maySignUp ? undefined : await findUserByIdentifier(db, context.audience, identifier)
  if (user && !isPendingSignUp(user)) return undefined
  if (!createUser) throw otpDisabled()
  requireSignUpsEnabled(config)
  return { data }
}

/**
 * Signs up an unknown identifier, like POST /signup with an unknown random password. For an unconfirmed user, sends the
 * confirmation again. With autoconfirm, the user counts as confirmed and gets the sign-in message.
 */
export async function signUpUnlessKnown(
  deps: CreateSignUpDeps & SessionViewDeps,
  { createUser, ...input }: Omit<NewSignUp, 'password'> & Pick<WantedCode, 'createUser'>,
): Promise<'known' | 'confirmation-sent'> {
  const { config, db } = deps
  const { identifier, context } = input
  const isEmail = identifier.kind === 'email'
  const isKnown = async () => {
    const user = await findUserByIdentifier(db, context.audience, identifier)
    if (user === undefined || isPendingSignUp(user)) return false
    // The address is unclaimed. A sign-up would create an account, which the request did not ask for.
    if (!createUser && (await hasClaimedEmail(db, user))) return true
    const confirmedAt = isEmail ? user.emailConfirmedAt : user.phoneConfirmedAt
    return confirmedAt !== null || (isEmail ? config.mail : config.sms).autoconfirm
  }
  if (await isKnown()) return 'known'
  requireSignUpsEnabled(config)
  const interval = await reserveUnrevealedInterval(deps, input)
  const signedUp = await createSignUp(deps, { ...input, password: undefined }).catch(async (error: unknown) => {
    await restoreIntervals(db, interval)
    // A parallel request may have signed up the same identifier.
    if (await isKnown()) return undefined
    throw error
  })
  // The sign-up has started a session, so call its hooks, although no client receives its token.
  if (signedUp?.verdict === 'signed-in') await signFirstSession(deps, signedUp.session)
  return signedUp?.verdict === 'confirm' ? 'confirmation-sent' : 'known'
}

/**
 * Uses up the interval of a magic link if a sign-up does not reveal its own interval. Otherwise the 429 of the next request would
 * reveal which accounts are confirmed.
 */
async function reserveUnrevealedInterval(
  deps: CreateSignUpDeps,
  { identifier, context }: Pick<NewSignUp, 'identifier' | 'context'>,
): Promise<readonly ReservedInterval[]> {
  const { compatibility, mail } = deps.config
  if (identifier.kind !== 'email' || mail.autoconfirm || compatibility.revealRepeatedSignUp) return []
  const key = magicLinkInterval(compatibility, { identifier: identifier.value, audience: context.audience })
  return [await reserveInterval(deps.db, deps, key)]
}

export type MagicLinkDeps = CreateSignUpDeps & SessionViewDeps & MessageRequestDeps

interface WantedMagicLink extends WantedCode {
  readonly pkce: PkceChallenge | undefined
}

/** Requests a mail with a sign-in link and code, for `POST /magiclink` and `POST /otp`. */
export async function mailMagicLink(deps: MagicLinkDeps, { pkce, ...wanted }: WantedMagicLink): Promise<void> {
  const { identifier, context } = wanted
  const stage = await decidePendingSignUp(deps, wanted)
  const { createUserOnCodeRequest } = deps.config.compatibility
  if (createUserOnCodeRequest && (await signUpUnlessKnown(deps, { ...wanted, pkce, channel: 'sms' })) !== 'known')
    return
  const request = { purpose: 'magiclink', identifier, pkce, context } as const
  await requestMessage(deps, createUserOnCodeRequest ? request : { ...request, stage })
}
