import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { askBeforeExternalUser } from '../external-accounts/ask-before-user.ts'
import { askProvider, type ProviderAnswer, type ProviderSignIn } from '../external-accounts/ask-provider.ts'
import { adoptProfile } from '../external-accounts/find-owner.ts'
import { linkExternalIdentity, requireOwnIdentity } from '../external-accounts/link.ts'
import {
  confirmOwner,
  type ExternalOutcome,
  type ExternalSignIn,
  signInExternally,
} from '../external-accounts/sign-in.ts'
import { mailConfirmation, refuseUnverified } from '../external-accounts/unverified-email.ts'
import {
  invitedEmailElsewhere,
  inviteNotFound,
  profileWithoutEmail,
  providerNotSupported,
  stateExpired,
  stateInvalid,
  stateMissing,
  stateUnknown,
  stateUsed,
} from '../external-errors.ts'
import { findProvider } from '../external-providers/find-provider.ts'
import {
  type AuthorizationFlow,
  claimAuthorizationFlow,
  finishAuthorizationFlow,
  hashAuthCode,
} from '../flows/flow-repository.ts'
import { makeAuthCode, requirePkce } from '../flows/pkce.ts'
import type { ExternalAccount } from '../identities/external-account.ts'
import { findExternalIdentity, insertExternalIdentity } from '../identities/external-identity-repository.ts'
import { identitySince } from '../identities/identity.ts'
import { consumeToken, findTokenByLink } from '../one-time-tokens/one-time-token-repository.ts'
import { parseId } from '../records/ids.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { sealOptional, sealSecret } from '../secrets/sealed-secret.ts'
import { lockLinkingUser } from '../sessions/active-caller.ts'
import { createSession } from '../sessions/create-session.ts'
import { requireIdentityFactor } from '../sessions/require-owner.ts'
import type { IssuedSession } from '../sessions/session.ts'
import type { Trx } from '../transaction.ts'
import { withUniqueAccount } from '../users/claim-identifier.ts'
import { awaitsFirstSignIn } from '../users/take-over-account.ts'
import { requireNotBanned, type User } from '../users/user.ts'
import { lockUserById } from '../users/user-repository.ts'

/** What a sign-in at a provider needs to finish. */
export type FinishAuthorizationDeps = Pick<
  AuthDeps,
  | 'config'
  | 'db'
  | 'names'
  | 'logger'
  | 'now'
  | 'randomBytes'
  | 'encryptionKeys'
  | 'serverKeys'
  | 'rateLimits'
  | 'jobs'
  | 'outbound'
  | 'keySets'
  | 'hooks'
>

type AcceptDeps = Pick<AuthDeps, 'config' | 'logger' | 'now' | 'jobs' | 'hooks'>

/**
 * Takes the flow of a `state`, once (reference: GET /callback and POST /callback).
 * @throws stateMissing, stateInvalid, stateUnknown, stateUsed, stateExpired, pkceRequired
 */
export async function takeAuthorization(
  deps: Pick<AuthDeps, 'config' | 'db' | 'now'>,
  state: string | undefined,
): Promise<AuthorizationFlow> {
  if (!state) throw stateMissing()
  const id = parseId(state)
  if (id === undefined) throw stateInvalid()
  const now = deps.now()
  const taken = await claimAuthorizationFlow(deps.db, id, now)
  if (taken.verdict === 'used') throw stateUsed()
  if (taken.verdict !== 'claimed') return refuseState()
  const { flow } = taken
  if (now.getTime() >= Date.parse(flow.startedAt) + deps.config.external.flowStateLifetimeMs) throw stateExpired()
  // The flow may have begun before the setting was changed.
  requirePkce(flow.pkce, deps.config.signup.pkce)
  return flow
}

/** How a sign-in at a provider ends: with a session, or in a PKCE flow with an auth code. */
export type FinishedAuthorization =
  | { readonly verdict: 'session'; readonly session: IssuedSession; readonly tokens: ProviderSignIn['tokens'] }
  | { readonly verdict: 'auth-code'; readonly code: string }

/** A flow that was taken once, and the answer of its provider. */
export interface FinishAuthorizationInput {
  readonly flow: AuthorizationFlow
  readonly answer: ProviderAnswer
  readonly context: RequestContext
}

/**
 * Finishes a sign-in when its browser returns from the provider. Asks the provider before any lock is taken.
 * @throws providerNotSupported, profileWithoutEmail, stateUnknown, inviteNotFound, invitedEmailElsewhere, userBanned,
 * identityTaken, and what `askProvider`, `askBeforeExternalUser`, `linkExternalIdentity`, `signInExternally` and
 * `refuseUnverified` throw
 */
export async function finishAuthorization(
  deps: FinishAuthorizationDeps,
  { flow, answer, context }: FinishAuthorizationInput,
): Promise<FinishedAuthorization> {
  const { provider: name } = flow
  const configured = await findProvider(deps, name)
  if (!configured) throw providerNotSupported({ provider: name })
  const { account, tokens } = await askProvider(deps, configured, flow, answer)
  if (!flow.linking && !flow.inviteTokenHash) await askBeforeExternalUser(deps, account, context)
  const outcome = await withUniqueAccount(deps, async (trx) => {
    const signedIn = await signInOrLink(trx, deps, { flow, account, context })
    if (signedIn.verdict !== 'signed-in') return signedIn
    return { ...signedIn, finished: await createSessionOrCode(trx, deps, signedIn, { flow, account, tokens, context }) }
  })
  if (outcome.verdict === 'no-email') throw profileWithoutEmail()
  const mail = { mailTo: outcome.mailTo, context: { ...context, audience: outcome.user.audience } }
  if (outcome.verdict === 'unverified') {
    return refuseUnverified(deps, {
      provider: name,
      user: outcome.user,
      linking: flow.linking ?? undefined,
      ...mail,
    })
  }
  await mailConfirmation(deps, mail)
  return outcome.finished
}

/**
 * Whether the exchange of the code links the identity, rather than the callback. An attacker may lead somebody else to the
 * provider, but the exchange needs the verifier, which only the browser that began the flow has.
 */
function linksAtExchange({ config }: Pick<AuthDeps, 'config'>): boolean {
  return config.signup.pkce === 'required'
}

/** Signs the user in, links the identity or accepts the invitation, as the flow wants. */
async function signInOrLink(
  trx: Trx,
  deps: AcceptDeps,
  { flow, account, context }: Pick<FinishAuthorizationInput, 'flow' | 'context'> & Pick<ProviderSignIn, 'account'>,
): Promise<ExternalSignIn> {
  const { linking: target, inviteTokenHash } = flow
  if (target && linksAtExchange(deps)) {
    const caller = await lockLinkingUser(trx, deps, target)
    await requireIdentityFactor(trx, deps, caller)
    const { user } = caller
    return { verdict: 'signed-in', user, credentialSince: user.isAnonymous ? null : deps.now() }
  }
  if (target) return linkExternalIdentity(trx, deps, { account, target, ip: context.ip })
  if (inviteTokenHash) return acceptInvitation(trx, deps, { account, inviteTokenHash, ip: context.ip })
  return signInExternally(trx, deps, { account, context })
}

/** Opens a session, or stores an auth code for which the client gets one. */
async function createSessionOrCode(
  trx: Trx,
  deps: Pick<AuthDeps, 'config' | 'now' | 'randomBytes' | 'encryptionKeys'>,
  { user, credentialSince }: Extract<ExternalOutcome, { verdict: 'signed-in' }>,
  { flow, account, tokens, context }: Pick<FinishAuthorizationInput, 'flow' | 'context'> & ProviderSignIn,
): Promise<FinishedAuthorization> {
  const continues = flow.linking?.sessionId ?? null
  if (!flow.pkce) {
    return {
      verdict: 'session',
      session: await createSession(trx, deps, user, { ...context, method: 'oauth', credentialSince, continues }),
      tokens,
    }
  }
  const code = makeAuthCode(deps.randomBytes)
  const isBound = await finishAuthorizationFlow(trx, flow.id, {
    userId: user.id,
    codeHash: hashAuthCode(code),
    tokens: { access: sealSecret(deps, flow.id, tokens.access), refresh: sealOptional(deps, flow.id, tokens.refresh) },
    credentialSince,
    linkedAccount: flow.linking && linksAtExchange(deps) ? account : null,
    at: deps.now(),
  })
  if (!isBound) refuseState()
  return { verdict: 'auth-code', code }
}

interface AcceptedInvitation {
  readonly account: ExternalAccount
  readonly inviteTokenHash: Buffer
  /** The client's address, for the audit log. */
  readonly ip: string
}

/**
 * Signs an invited user in by an external account, and consumes the invitation. Its token was in a mail, so it confirms the user's
 * email (reference: Invitations at a provider). Runs in a transaction of `withUniqueAccount`.
 * @throws inviteNotFound, invitedEmailElsewhere, userBanned, identityTaken, and what `confirmOwner` throws
 */
async function acceptInvitation(
  trx: Trx,
  deps: AcceptDeps,
  { account, inviteTokenHash, ip }: AcceptedInvitation,
): Promise<ExternalOutcome> {
  const invited = await lockInvitedUser(trx, deps, inviteTokenHash)
  const matching = account.emails.find(({ email }) => email === invited.email)
  if (!matching) throw invitedEmailElsewhere()
  const known = await findExternalIdentity(trx, account)
  requireOwnIdentity(known, invited.id)
  const identity = known ?? (await insertExternalIdentity(trx, invited.id, account, deps.now()))
  const credentialSince = identitySince(identity, invited)
  const owner = {
    credentialSince,
    decision: 'link',
    user: await adoptProfile(trx, deps, invited, account),
    identityId: identity.id,
    isFirstAddress: false,
  } as const
  const user = await confirmOwner(trx, deps, owner, { ...account, email: matching })
  const traits = { provider: account.provider }
  await recordAudit(trx, deps, { action: 'invite_accepted', actor: user, ip, traits })
  return { verdict: 'signed-in', user, credentialSince }
}

async function lockInvitedUser(trx: Trx, { now }: Pick<AuthDeps, 'now'>, linkHash: Buffer): Promise<User> {
  const token = await findTokenByLink(trx, linkHash, ['confirmation'])
  const user = token && (await lockUserById(trx, token.userId))
  const isValid = token && Date.parse(token.expiresAt) > now().getTime()
  if (!isValid || !user || user.invitedAt === null || user.deletedAt !== null) return refuseInvitation()
  requireNotBanned(user, now())
  // An account that somebody signs in to gets no further way in by a mail alone.
  const isConsumed = (await awaitsFirstSignIn({ db: trx }, user)) && (await consumeToken(trx, token, { linkHash }))
  if (!isConsumed) refuseInvitation()
  return user
}

/** Refuses a state whose flow does not exist, or has just been deleted. @throws stateUnknown */
function refuseState(): never {
  throw stateUnknown()
}

/** Refuses an invitation that is unknown, too old or used. @throws inviteNotFound */
function refuseInvitation(): never {
  throw inviteNotFound()
}
